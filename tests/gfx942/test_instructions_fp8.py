"""FP8 conversions one by one: rounding to nearest against ml_dtypes, stochastic rounding against exact fractions."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from gfx942_kernels import needs_clang, run_lanes

pytestmark = needs_clang
FORMATS = {"fp8": (ml_dtypes.float8_e4m3fnuz, 3), "bf8": (ml_dtypes.float8_e5m2fnuz, 2)}


def floats(seed, n):
    """n float32 dwords: random bits, values in a format's range, its neighbourhood of zero, ties, special values."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(n) * 2.0 ** rng.integers(-24, 18, n)).astype(np.float32)
    x[: n // 4] = rng.integers(0, 1 << 32, n // 4, dtype=np.uint32).view(np.float32)
    ties = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fnuz).astype(np.float32)
    x[n // 4 : n // 4 + 255] = np.nan_to_num(ties[:255] + np.nan_to_num(ties[1:])) / 2
    x[-6:] = [0, -0.0, np.inf, -np.inf, np.nan, 3e38]
    return x.view(np.uint32)


@pytest.mark.parametrize("name", FORMATS)
def test_rounding_to_nearest_matches_ml_dtypes_and_writes_one_half(name):
    dtype, _ = FORMATS[name]
    x = floats(1, 2 * 64 * 400).reshape(400, 2, 64)
    out, _ = run_lanes(
        f"v_cvt_pk_{name}_f32 v60, v10, v11\n  v_cvt_pk_{name}_f32 v61, v10, v11 op_sel:[0,0,1]",
        x,
        2,
        directives=".amdhsa_float_denorm_mode_32 3",
    )
    with np.errstate(all="ignore"):
        code = x.view(np.float32).astype(dtype).view(np.uint8).astype(np.uint32)
    pair = code[:, 0] | code[:, 1] << 8
    assert np.array_equal(out[:, 0], pair | 0x5A5A0000) and np.array_equal(out[:, 1], pair << 16 | 0x5A5A)


def stochastic(bits, random, dtype, mantissa):
    """The code of one float32: of two neighbours in the format, the upper one if the fraction and the random reach 1.

    The fraction is what lies between the value and its lower neighbour, in units of the gap, to as many bits as a
    float32 mantissa has more than the format; random is as many high bits of the dword.
    """
    x = float(np.uint32(bits).view(np.float32))
    if not np.isfinite(x):
        return 0x80
    table = np.arange(128, dtype=np.uint8).view(dtype).astype(np.float64)  # 0x00-0x7f: all values from 0 up
    magnitude, drop = abs(Fraction(x)), 23 - mantissa
    below = int(np.searchsorted(table, float(magnitude), side="right")) - 1
    low = min(below, 126)
    gap = Fraction(table[low + 1] - table[low])
    fraction = (magnitude - Fraction(table[below])) / gap
    steps = int(fraction * 2**drop) + (random >> (32 - drop))
    code = below + (steps >> drop)
    return 0x80 if code > 127 else code | (0x80 if x < 0 else 0) if code else 0


@pytest.mark.parametrize("name", FORMATS)
def test_stochastic_rounding_goes_up_where_fraction_and_random_reach_the_next_value(name):
    dtype, mantissa = FORMATS[name]
    rng = np.random.default_rng(2)
    x = np.stack([floats(3, 64 * 60).reshape(60, 64), rng.integers(0, 1 << 32, (60, 64), dtype=np.uint32)], axis=1)
    x[0, 1] = 0xFFFFFFFF
    x[1, 1] = 0
    body = "\n  ".join(f"v_cvt_sr_{name}_f32 v{60 + i}, v10, v11 op_sel:[0,0,{i & 1},{i >> 1}]" for i in range(4))
    out, _ = run_lanes(body, x, 4, directives=".amdhsa_float_denorm_mode_32 3")
    want = np.array(
        [[stochastic(a, int(r), dtype, mantissa) for a, r in zip(*tile, strict=True)] for tile in x], np.uint32
    )
    for byte in range(4):
        assert np.array_equal(out[:, byte], (0x5A5A5A5A & ~(255 << 8 * byte)) | want << 8 * byte), byte


def test_stochastic_rounding_keeps_what_fits_and_is_right_on_average():
    codes = np.arange(1, 0x7F, dtype=np.uint8)
    exact = np.resize(codes.view(ml_dtypes.float8_e4m3fnuz).astype(np.float32), 128).reshape(2, 64)
    rng = np.random.default_rng(4)
    x = np.stack([exact.view(np.uint32), rng.integers(0, 1 << 32, (2, 64), dtype=np.uint32)], axis=1)
    out, _ = run_lanes("v_cvt_sr_fp8_f32 v60, v10, v11", x)
    assert np.array_equal((out[:, 0] & 255).ravel(), np.resize(codes, 128))
    third = np.full((200, 64), 1 + 1 / 24, np.float32)  # a third of the way from 1 to 1.125
    x = np.stack([third.view(np.uint32), rng.integers(0, 1 << 32, (200, 64), dtype=np.uint32)], axis=1)
    out, _ = run_lanes("v_cvt_sr_fp8_f32 v60, v10, v11", x)
    assert abs(((out[:, 0] & 255) == 0x41).mean() - 1 / 3) < 0.02
