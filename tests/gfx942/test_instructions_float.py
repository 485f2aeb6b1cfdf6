"""Floating-point instructions one by one against numpy: special and random operands in, exact bits out."""

# ruff: noqa: E501  (an instruction sequence or a kernel's line is kept whole)

import numpy as np
import pytest
from gfx942_kernels import arity, needs_clang, run_lanes

pytestmark = needs_clang
M32 = (1 << 32) - 1
SPECIAL = [
    0,
    0x80000000,
    1,
    0x80000001,
    0x7FFFFF,
    0x800000,
    0x3F800000,
    0xBF800000,
    0x7F7FFFFF,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    0x33800000,
    0x4B000001,
]


def floats(n, seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((n, 64)) * 2.0 ** rng.integers(-40, 40, (n, 64))).astype(np.float32).view(np.uint32)
    for k in range(n):
        x[k, : len(SPECIAL)] = np.roll(SPECIAL, 3 * k)
    return x


def same(got, want):
    """Bits alike, or NaN both: which NaN an operation makes is not compared."""
    return np.array_equal(
        np.where(np.isnan(got), 0, got.view(np.uint32)), np.where(np.isnan(want), 0, want.view(np.uint32))
    ) and np.array_equal(np.isnan(got), np.isnan(want))


F32 = {
    "v_add_f32": lambda a, b: a + b,
    "v_sub_f32": lambda a, b: a - b,
    "v_subrev_f32": lambda a, b: b - a,
    "v_mul_f32": lambda a, b: a * b,
    "v_trunc_f32": np.trunc,
    "v_ceil_f32": np.ceil,
    "v_floor_f32": np.floor,
    "v_rndne_f32": np.rint,
    "v_sqrt_f32": np.sqrt,
    "v_rcp_f32": lambda a: np.float32(1) / a,
    "v_min_f32": np.fmin,
    "v_max_f32": np.fmax,
    "v_min3_f32": lambda a, b, c: np.fmin(np.fmin(a, b), c),
}


@pytest.mark.parametrize("name", sorted(F32))
def test_float32(name):
    f = F32[name]
    count = getattr(f, "nin", None) or arity(f)
    x = floats(count)
    if name in ("v_min_f32", "v_max_f32", "v_min3_f32"):
        x[x == 0x80000000] = 0  # numpy does not order the zeros; see the next test
    with np.errstate(all="ignore"):
        want = f(*x.view(np.float32))
    out, _ = run_lanes(
        f"{name} v60, " + ", ".join(f"v{10 + i}" for i in range(count)), x, directives=".amdhsa_float_denorm_mode_32 3"
    )
    assert same(out[0].view(np.float32), want.astype(np.float32))


def test_minus_zero_is_below_plus_zero_for_min_and_max():
    x = np.zeros((2, 64), np.uint32)
    x[0, ::2] = x[1, 1::2] = 0x80000000
    out, _ = run_lanes("v_min_f32_e32 v60, v10, v11\n  v_max_f32_e32 v61, v10, v11", x, 2)
    assert (out[0] == 0x80000000).all() and (out[1] == 0).all()


def test_fma_rounds_once_and_mul_then_add_twice():
    a = np.full(64, 1 + 2.0**-12, np.float32)
    x = np.stack([a, a, np.full(64, -1, np.float32)]).view(np.uint32)
    out, _ = run_lanes(
        "v_fma_f32 v60, v10, v11, v12\n  v_mul_f32_e32 v61, v10, v11\n  v_add_f32_e32 v61, v61, v12", x, 2
    )
    assert out[0, 0] == np.float32(2.0**-11 + 2.0**-24).view(np.uint32) and out[1, 0] == np.float32(2.0**-11).view(
        np.uint32
    )


def test_source_modifiers_omod_and_clamp():
    x = floats(2, 1)
    a, b = x.view(np.float32)
    out, _ = run_lanes(
        "v_add_f32_e64 v60, -|v10|, v11\n  v_mul_f32_e64 v61, v10, v11 mul:2\n  v_add_f32_e64 v62, v10, v11 clamp\n  v_mul_f32_e64 v63, v10, -v11 div:2",
        x,
        4,
        directives=".amdhsa_float_denorm_mode_32 3",
    )
    with np.errstate(all="ignore"):
        total = a + b
        wants = [
            -abs(a) + b,
            a * b * np.float32(2),
            np.where(np.isnan(total), 0, np.clip(total, 0, 1)).astype(np.float32),
            a * -b * np.float32(0.5),
        ]
    for got, want in zip(out, wants, strict=True):
        assert same(got.view(np.float32) + np.float32(0), want + np.float32(0))


def test_conversions_to_integers_saturate_and_nan_is_zero():
    a = np.zeros(64, np.float32)
    a[:14] = [
        0.9,
        -0.9,
        1.5,
        -1.5,
        2147483520,
        2147483648,
        -2147483648,
        -3e9,
        4294967040,
        4294967296,
        np.inf,
        -np.inf,
        np.nan,
        65536.5,
    ]
    out, _ = run_lanes(
        "v_cvt_i32_f32_e32 v60, v10\n  v_cvt_u32_f32_e32 v61, v10\n  v_cvt_f32_i32_e32 v62, v60\n  v_cvt_f32_u32_e32 v63, v61",
        a[None].view(np.uint32),
        4,
    )
    signed = [
        0,
        0,
        1,
        -1,
        2147483520,
        2147483647,
        -2147483648,
        -2147483648,
        2147483647,
        2147483647,
        2147483647,
        -2147483648,
        0,
        65536,
    ]
    unsigned = [0, 0, 1, 0, 2147483520, 2147483648, 0, 0, 4294967040, M32, M32, 0, 0, 65536]
    assert out[0, :14].view(np.int32).tolist() == signed and out[1, :14].tolist() == unsigned
    assert np.array_equal(out[2].view(np.float32), out[0].view(np.int32).astype(np.float32)) and np.array_equal(
        out[3].view(np.float32), out[1].astype(np.float32)
    )


def test_every_half_converts_both_ways():
    codes = np.arange(65536, dtype=np.uint32).reshape(1024, 1, 64)
    out, _ = run_lanes("v_cvt_f32_f16_e32 v60, v10\n  v_cvt_f16_f32_e32 v61, v60", codes, 2)
    halves = codes[:, 0].astype(np.uint16).view(np.float16)
    assert np.array_equal(out[:, 0].view(np.float32), halves.astype(np.float32), equal_nan=True)
    numbers = ~np.isnan(halves)
    assert np.array_equal(out[:, 1][numbers], codes[:, 0][numbers])


def test_float_to_half_rounds_to_nearest_even_and_rtz_cuts():
    rng = np.random.default_rng(2)
    a = (rng.standard_normal(64 * 200) * 2.0 ** rng.integers(-26, 18, 64 * 200)).astype(np.float32)
    a[:8] = [65504, 65519.9, 65520, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 2049, 2051]
    out, _ = run_lanes(
        "v_cvt_f16_f32_e32 v60, v10\n  v_cvt_pkrtz_f16_f32 v61, v10, -v10", a.reshape(200, 1, 64).view(np.uint32), 2
    )
    with np.errstate(over="ignore"):
        near = a.astype(np.float16)
    assert np.array_equal(out[:, 0].ravel(), near.view(np.uint16))
    toward = np.where(abs(near.astype(np.float64)) > abs(a), np.nextafter(near, np.float16(0)), near).astype(np.float16)
    assert np.array_equal((out[:, 1] & 0xFFFF).ravel(), toward.view(np.uint16))


def test_mixed_precision_fma_chooses_halves():
    rng = np.random.default_rng(3)
    halves, c = rng.standard_normal((64, 2)).astype(np.float16), rng.standard_normal(64).astype(np.float32)
    x = np.stack([halves.view(np.uint32)[:, 0], c.view(np.uint32)])
    out, _ = run_lanes(
        "v_fma_mix_f32 v60, v10, v10, v11 op_sel:[0,1,0] op_sel_hi:[1,1,0]\n  v_fma_mixlo_f16 v61, v10, v10, v11 op_sel:[0,1,0] op_sel_hi:[1,1,0]\n  "
        "v_fma_mixhi_f16 v61, -v10, v10, v11 op_sel:[0,1,0] op_sel_hi:[1,1,0]",
        x,
        2,
    )
    exact = halves[:, 0].astype(np.float64) * halves[:, 1] + c
    assert np.array_equal(out[0].view(np.float32), exact.astype(np.float32))
    narrow = lambda x: x.astype(np.float32).astype(np.float16)  # noqa: E731  (rounded twice, as the guide says)
    assert np.array_equal((out[1] & 0xFFFF).astype(np.uint16).view(np.float16), narrow(exact))
    assert np.array_equal(
        (out[1] >> 16).astype(np.uint16).view(np.float16),
        narrow(c - halves[:, 0].astype(np.float64) * halves[:, 1]),
    )


def halves(seed=0):
    """v10, v11, v12: three halves with every special value, in dwords whose high half is something else."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 1 << 16, (3, 64)).astype(np.uint32)
    for k in range(3):
        x[k, :16] = np.roll(
            [
                0,
                0x8000,
                1,
                0x8001,
                0x3FF,
                0x400,
                0x3C00,
                0xBC00,
                0x7BFF,
                0x7C00,
                0xFC00,
                0x7E00,
                0x1400,
                0x4D3F,
                0x3800,
                0xC200,
            ],
            5 * k,
        )
    return x | rng.integers(0, 1 << 16, (3, 64)).astype(np.uint32) << 16


def half(x):
    return (x & 0xFFFF).astype(np.uint16).view(np.float16)


def test_parts_of_halves():
    x = halves()
    out, _ = run_lanes(
        "v_fract_f16_e32 v60, v10\n  v_frexp_mant_f16_e32 v61, v10\n  v_frexp_exp_i16_f16_e32 v62, v10", x, 3
    )
    a = half(x[0])
    finite = np.isfinite(a)
    whole = np.floor(a[finite].astype(np.float64))
    fract = np.minimum(a[finite].astype(np.float64) - whole, 2047 / 2048).astype(np.float16)
    mantissa, exponent = np.frexp(a[finite].astype(np.float64))
    assert np.array_equal(half(out[0])[finite], fract)
    assert np.array_equal(half(out[1])[finite], mantissa.astype(np.float16))
    assert np.array_equal((out[2] & 0xFFFF).astype(np.int16), np.where(finite, np.frexp(np.where(finite, a, 0))[1], 0))
    assert (out[2, finite] >> 16 == 0).all() and exponent.max() < 17


def test_division_fixup_of_halves():
    """The compiler's half division ends in it: x / y, special cases patched, the high half of the result kept."""
    x = halves(2)
    a, b, c = (half(row).astype(np.float64) for row in x)
    out, _ = run_lanes("v_div_fixup_f16 v60, v10, v11, v12", x)
    with np.errstate(all="ignore"):
        want = np.copysign(np.abs(a), np.copysign(1, b) * np.copysign(1, c))
        want = np.where((b == 0) | np.isinf(c) | np.isinf(b) | (c == 0), c / b, want)
        want = np.where(np.isnan(b) | np.isnan(c), np.nan, want)
    numbers = ~np.isnan(want)
    assert (
        np.array_equal(half(out[0])[numbers], want[numbers].astype(np.float16))
        and np.isnan(half(out[0])[~numbers]).all()
    )
    assert (out[0] >> 16 == 0x5A5A).all()


def test_dot_product_of_halves_adds_the_low_ones_first_and_rounds_twice():
    rng = np.random.default_rng(7)
    pairs = rng.standard_normal((2, 64, 2)).astype(np.float16)
    c = (rng.standard_normal(64) * 2.0 ** rng.integers(-20, 20, 64)).astype(np.float32)
    x = np.stack([*pairs.view(np.uint32)[..., 0], c.view(np.uint32)])
    out, _ = run_lanes(
        "v_dot2_f32_f16 v60, v10, v11, v12\n  v_mov_b32_e32 v61, v12\n  v_dot2c_f32_f16_e32 v61, v10, v11", x, 2
    )
    products = pairs[0].astype(np.float32) * pairs[1].astype(np.float32)
    want = (c + products[:, 0]) + products[:, 1]
    assert np.array_equal(out[0].view(np.float32), want) and np.array_equal(out[1], out[0])


def test_conversions_to_normalised_integers_and_bytes():
    x = floats(2, 3)
    x[0, 14:30] = np.linspace(-1.5, 1.5, 16, dtype=np.float32).view(np.uint32)
    x[1, 14:30] = np.linspace(-20, 300.5, 16, dtype=np.float32).view(np.uint32)
    out, _ = run_lanes(
        "v_cvt_pknorm_i16_f32 v60, v10, v11\n  v_cvt_pknorm_u16_f32 v61, v10, v11\n  v_cvt_pk_u8_f32 v62, v11, 2, v10\n  v_cvt_off_f32_i4_e32 v63, v10",
        x,
        4,
        directives=".amdhsa_float_denorm_mode_32 3",
    )
    a, b = np.nan_to_num(x.view(np.float32), nan=0, posinf=1e9, neginf=-1e9)
    signed = lambda v: np.rint(np.clip(v, -1, 1) * np.float32(32767)).astype(np.int64) & 0xFFFF  # noqa: E731
    unsigned = lambda v: np.rint(np.clip(v, 0, 1) * np.float32(65535)).astype(np.int64)  # noqa: E731
    assert np.array_equal(out[0], signed(a) | signed(b) << 16)
    assert np.array_equal(out[1], unsigned(a) | unsigned(b) << 16)
    assert np.array_equal(out[2], (x[0] & 0xFF00FFFF) | np.rint(np.clip(b, 0, 255)).astype(np.uint32) << 16)
    assert np.array_equal(out[3].view(np.float32), (((x[0] & 15) ^ 8).astype(np.float32) - 8) / 16)
