"""FP8 matrix instructions against mmasim's CDNA3 model, a million outputs each and the edges; EXEC, special values."""

import numpy as np
import pytest
from gfx942_kernels import needs_clang, run_lanes
from gfx942_matrices import (
    MODES,
    TYPES,
    assert_same,
    mmasim_matrix,
    random_accumulator,
    random_operand,
    run_matrix,
    tensor,
    torch,
)

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


@pytest.mark.parametrize("name", FP8)
def test_numbers_at_the_edges_of_the_emulators_two_ways_match_mmasim(name):
    """Exponents as far apart as fit into 32-bit integers, one less, one more; C whose last bit is about the unit."""
    op, rng = BY_NAME[name], np.random.default_rng(4)
    m, k = op.more["m"], op.more["k"]
    tiles = 51_200 // m**2
    room = {"fp8": 18, "bf8": 20}  # of two products' spans; one of each type: 19
    fits = (room[op.src[0]] + room[op.src[1]]) // 2
    spans = rng.integers(6, 13, (tiles, 1, 1, 1))
    a, top_a = two_exponents(rng, (1, m, k), op.src[0], spans)
    b, top_b = two_exponents(rng, (1, m, k), op.src[1], fits - spans + rng.integers(-1, 2, spans.shape))
    shape = (tiles, 1, m, m)
    rows = (*shape[:3], 1)  # alike along a row, as the two ways are chosen for several columns at once
    significand = np.where(rng.random(rows) < 0.2, (1 << 24) - 1, rng.integers(1 << 23, 1 << 24, shape))
    last_bit = rng.integers(0, 24, rows)
    exponent = top_a + top_b.swapaxes(-1, -2) + rng.integers(-28, 12, rows) - 23
    c = ((significand >> last_bit << last_bit) * 2.0**exponent * rng.choice([-1, 1], shape)).astype(np.float32)
    c = c.view(np.uint32)
    special = rng.random(shape) < rng.choice([0, 0, 0.1], rows)
    c[special] = rng.choice(np.array([0, 1 << 31, 1, 0x80000001, 0x7F7FFFFF, 0xFF7FFFFF], np.uint32), special.sum())
    got = run_matrix(name, a, b.swapaxes(-1, -2), c)
    assert_same(name, a, b[..., None, :, :], c, got, mmasim_matrix(name, a, b[..., None, :, :], c))


def two_exponents(rng, shape, type, span):
    """Codes whose rows hold one exponent, one that lies span below it, and zeros; and the larger ones."""
    fraction = 3 if type == "fp8" else 2
    top = (1 << 7 - fraction) - 1  # exponent bits
    rows = (len(span), *shape[:-1], 1)
    high = np.minimum(span + rng.integers(0, 3, rows), top)
    exponent = high - span * rng.integers(0, 2, (len(span), *shape))
    codes = np.maximum(exponent, 0) << fraction | rng.integers(0, 1 << fraction, exponent.shape)
    codes[rng.random(codes.shape) < 0.2] = 0
    codes[rng.random(rows[:-1]) < 0.03] = 0  # whole rows
    codes |= np.where(codes > 0, rng.integers(0, 2, codes.shape) << 7, 0)
    return codes.astype(np.uint8), high - (8 if type == "fp8" else 16)


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("k", [1, 2])  # the smaller product with the larger one's odd k, or even
def test_what_lies_beyond_31_bits_of_the_sum_breaks_no_tie(name, k):
    """C + half its last place + something smaller: rounded down to 31 fractional bits first, it may be a tie."""
    shape = {operand: (1, *layouts.layout(name, operand).shape) for operand in "ABC"}
    for below in range(1, 12):
        a, b = np.zeros(shape["A"], np.float32), np.zeros(shape["B"], np.float32)
        a[..., 0], b[..., 0, :] = 2.0**3, 2.0**2  # 2^5 is half the last place of 2^29
        a[..., k], b[..., k, :] = 2.0 ** (3 - below // 2), 2.0 ** (2 - (below + 1) // 2)
        c = np.full(shape["C"], 2.0**29, np.float32)
        up, kept = c + 2.0**6, below <= 7
        assert np.array_equal(run_floats(name, a, b, c), up if kept else c), below
        a[..., 0] *= -1  # -(C + 2^6) - 2^5 + something: rounded down, it is the tie between an odd and an even one
        assert np.array_equal(run_floats(name, a, b, -up), -up if kept else -up - 2.0**6), below


def run_floats(name, a, b, c):
    """Float32 values in, and out."""
    types = BY_NAME[name].src[:2]
    codes = [tensor(x, "f32").to(TYPES[type]).view(torch.uint8).numpy() for x, type in zip((a, b), types, strict=True)]
    return run_matrix(name, *codes, c.view(np.uint32)).view(np.float32)


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("wide", [False, True], ids=["close exponents", "wide exponents"])
def test_special_accumulators_stay_what_they_are(name, wide):
    """Infinite, NaN, -0 and denormal C: where all products are zeros, where some are not, and beside a NaN operand."""
    shape = {operand: (1, *layouts.layout(name, operand).shape) for operand in "ABC"}
    a, b = np.zeros(shape["A"], np.float32), np.ones(shape["B"], np.float32)
    a[..., 1, :] = 1  # row 0 zeros, row 1 ones, row 2 with a NaN
    a[..., 2, 3] = np.nan
    if wide:
        a[..., 3] = np.where(np.isnan(a[..., 3]), np.nan, a[..., 3] * 2.0**-7)
        a[..., 4], b[..., 4, :] = a[..., 4] * 2.0**7, 2.0**7
        a[..., 0, 5], b[..., 5, 0] = 2.0**-7, 0
        b[..., 5, 1:] = 0
    c = np.zeros(shape["C"], np.uint32)
    c[...] = np.resize(
        np.array([0x7F800000, 0xFF800000, 0x7FC12345, 0x80000000, 1, 0x80000001], np.uint32), c.shape[-1]
    )
    got = run_floats(name, a, b, c.view(np.float32))[0, 0]
    given = c.view(np.float32)[0, 0, 0]
    dot = np.nansum(a[0, 0, 1].astype(np.float64) * b[0, 0, :, 0])
    want_zero, want_one = given + np.float32(0), (given + dot).astype(np.float32)  # -0 + 0 is 0
    assert got[0].tobytes() == np.where(np.isnan(given), np.uint32(0x7FFFFFFF).view(np.float32), want_zero).tobytes()
    assert np.array_equal(got[1], want_one, equal_nan=True)
    assert np.isnan(got[2]).all()


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
