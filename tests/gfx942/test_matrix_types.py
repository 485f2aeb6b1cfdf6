"""Matrix instructions of other types: f32, xf32, f16, bf16 and f64 against mmasim, a million outputs each; and i8."""

import numpy as np
import pytest
from gfx942_kernels import needs_clang
from gfx942_matrices import MODES, assert_same, mmasim_matrix, random_accumulator, random_operand, run_matrix

from fp8lab.gfx942 import layouts
from fp8lab.gfx942.isa import BY_NAME

pytestmark = needs_clang
DENSE = [name for name in layouts.instructions() if name.startswith("v_mfma")]
FLOATS = [name for name in DENSE if BY_NAME[name].src[0] in ("f32", "xf32", "f16", "bf16", "f64")]


@pytest.mark.parametrize("name", FLOATS)
def test_a_million_outputs_match_mmasim(name):
    op = BY_NAME[name]
    rng, compared = np.random.default_rng(0), 0
    for mode in MODES:
        tiles = -(-200_000 // (op.more["m"] ** 2 * op.more["blocks"]))
        a, b = (random_operand(rng, (tiles, *layouts.layout(name, x).shape), op.src[0], mode) for x in "AB")
        c = random_accumulator(rng, (tiles, *layouts.layout(name, "C").shape), op.dst[0], mode)
        got, rows_of_b = run_matrix(name, a, b, c), b.swapaxes(-1, -2)[..., None, :, :]
        assert_same(name, a, rows_of_b, c, got, mmasim_matrix(name, a, rows_of_b, c))
        compared += got.size
    assert compared >= 1_000_000


@pytest.mark.parametrize("name", [name for name in DENSE if BY_NAME[name].src[0] == "i8"])
def test_int8_is_exact_and_wraps_at_32_bits(name):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, (4, *layouts.layout(name, x).shape)).astype(np.int8) for x in "AB")
    c = rng.integers(-(1 << 31), 1 << 31, (4, *layouts.layout(name, "C").shape)).astype(np.int32)
    got = run_matrix(name, a.view(np.uint8), b.view(np.uint8), c.view(np.uint32))
    assert np.array_equal(got.view(np.int32), (a.astype(np.int64) @ b.astype(np.int64) + c).astype(np.int32))
