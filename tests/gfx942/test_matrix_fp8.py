"""FP8 matrix instructions against mmasim's CDNA3 model, a million outputs each; EXEC and NaN operands."""

import numpy as np
import pytest
from gfx942_kernels import needs_clang, run_lanes
from gfx942_matrices import MODES, assert_same, mmasim_matrix, random_accumulator, random_operand, run_matrix

from fp8lab.gfx942 import layouts
from fp8lab.gfx942.isa import BY_NAME

pytestmark = needs_clang
FP8 = [name for name in layouts.instructions() if name.startswith("v_mfma") and BY_NAME[name].src[0] in ("fp8", "bf8")]


@pytest.mark.parametrize("name", FP8)
def test_a_million_outputs_match_mmasim(name):
    op = BY_NAME[name]
    rng, compared = np.random.default_rng(0), 0
    for mode in MODES:
        tiles = -(-200_000 // op.more["m"] ** 2)
        shape = {operand: (tiles, *layouts.layout(name, operand).shape) for operand in "ABC"}
        a, b = random_operand(rng, shape["A"], op.src[0], mode), random_operand(rng, shape["B"], op.src[1], mode)
        c = random_accumulator(rng, shape["C"], op.dst[0], mode)
        got, rows_of_b = run_matrix(name, a, b, c), b.swapaxes(-1, -2)[..., None, :, :]
        assert_same(name, a, rows_of_b, c, got, mmasim_matrix(name, a, rows_of_b, c))
        compared += got.size
    assert compared >= 1_000_000


def fp8_lanes():
    """v10-v11 A and v12-v13 B of ordinary values, v14-v17 C."""
    rng = np.random.default_rng(2)
    return rng.integers(0x20, 0x50, (8, 64, 4)).astype(np.uint8).view(np.uint32)[..., 0]


def test_exec_plays_no_part_in_a_matrix_instruction():
    """All lanes multiply and all lanes are written, whatever EXEC says."""
    mfma = "v_mfma_f32_16x16x32_fp8_fp8 v[128:131], v[10:11], v[12:13], v[14:17]\n  s_nop 15\n"
    moves = "\n  ".join(f"v_mov_b32_e32 v{60 + i}, v{128 + i}" for i in range(4))
    full, _ = run_lanes(mfma + moves, fp8_lanes(), 4)
    masked, _ = run_lanes(f"s_mov_b64 exec, 0xff\n  s_nop 4\n  {mfma}  s_mov_b64 exec, -1\n  {moves}", fp8_lanes(), 4)
    assert np.array_equal(full, masked)


def test_a_nan_operand_spoils_its_row():
    ins = fp8_lanes()
    ins[4:] = 0
    ins[0, 5] = 0x80  # A's row 5 holds a NaN
    out, _ = run_lanes("v_mfma_f32_16x16x32_fp8_fp8 v[60:63], v[10:11], v[12:13], v[14:17]", ins, 4)
    values = out.view(np.float32).reshape(4, 4, 16)  # register, lane group, column: row is 4 * group + register
    nan = np.isnan(values).all(axis=2)
    assert nan[1, 1] and nan.sum() == 1
