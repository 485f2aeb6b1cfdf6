"""fp8lab.formats against ml_dtypes and torch, bit for bit, and against the definition in exact arithmetic."""

import subprocess
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fp8lab.formats import (
    E4M3FN,
    E4M3FNUZ,
    E5M2,
    E5M2FNUZ,
    FORMATS,
    convert_codes,
    decode,
    encode,
    fields,
    neighbours,
    to_torch,
)

ALL = list(FORMATS.values())
FNUZ = [E4M3FNUZ, E5M2FNUZ]
PAIRS = [(E4M3FN, E4M3FNUZ), (E4M3FNUZ, E4M3FN), (E5M2, E5M2FNUZ), (E5M2FNUZ, E5M2)]
CODES = np.arange(256, dtype=np.uint8)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.3, -1e-5, 240, 247.99, 248, 255.99, 256, 448, 464.01, 480, 61439, -2e4]


@pytest.fixture(autouse=True, scope="module")
def _quiet():
    """numpy warns of signalling NaNs in the casts of the two other libraries."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(scope="module")
def bfloat16():
    """All 2^16 bfloat16 numbers as float32."""
    return (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)


@pytest.fixture(scope="module")
def float32():
    """10^7 random float32 bit patterns, an equal share of every exponent, NaN and infinity included."""
    return np.random.default_rng(20).integers(0, 1 << 32, 10_000_000, dtype=np.uint32).view(np.float32)


def ml_dtype(fmt):
    return np.dtype(getattr(ml_dtypes, f"float8_{fmt.name}"))


def by_ml_dtypes(x, fmt):
    return x.astype(ml_dtype(fmt)).view(np.uint8)


def by_torch(x, fmt):
    return torch.from_numpy(x).to(fmt.torch_dtype).view(torch.uint8).numpy()


def assert_same_codes(got, expected, x, fmt):
    """The same code everywhere; where the format has several NaN codes (e5m2), any of them equals any other."""
    differs = got != expected
    if fmt is E5M2:
        differs &= ~(np.isin(got, fmt.nan_codes) & np.isin(expected, fmt.nan_codes))
    first = np.flatnonzero(differs)[:1]
    assert not first.size, (f"{differs.sum()} codes differ, first of {x[first[0]]!r}: "
                            f"0x{got[first[0]]:02x}, expected 0x{expected[first[0]]:02x}")


# --- the formats themselves ---


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_every_code_decodes_as_ml_dtypes_and_torch_do(fmt):
    np.testing.assert_array_equal(decode(CODES, fmt), CODES.view(ml_dtype(fmt)).astype(np.float32))
    np.testing.assert_array_equal(decode(CODES, fmt), torch.from_numpy(CODES).view(fmt.torch_dtype).float().numpy())
    assert np.array_equal(np.signbit(decode(CODES, fmt))[CODES == 0x80], [fmt.has_negative_zero])


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_derived_properties_are_those_of_ml_dtypes_finfo(fmt):
    info = ml_dtypes.finfo(ml_dtype(fmt))
    assert fmt.max == float(info.max) == torch.finfo(fmt.torch_dtype).max
    assert fmt.smallest_normal == float(info.smallest_normal)
    assert fmt.smallest_subnormal == float(info.smallest_subnormal)
    assert (1 + fmt.exponent_bits + fmt.mantissa_bits, 2**-fmt.mantissa_bits) == (8, float(info.eps))
    assert sorted(fmt.nan_codes) == np.flatnonzero(np.isnan(decode(CODES, fmt))).tolist()


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_fields_put_together_again_give_the_code_and_its_value(fmt):
    for code in range(256):
        parts = fields(code, fmt)
        assert parts.sign << 7 | parts.exponent << fmt.mantissa_bits | parts.mantissa == code
        np.testing.assert_equal(parts.value, float(decode(code, fmt)))
        if parts.kind in ("normal", "subnormal"):
            significand, power = parts.formula.split(" × 2^")
            assert float(significand) * 2.0 ** int(power) == parts.value
            assert parts.kind == ("normal" if abs(parts.value) >= fmt.smallest_normal else "subnormal")
            assert abs(float(significand)) >= 1 or parts.kind == "subnormal"
        else:
            assert parts.kind == ("nan" if np.isnan(parts.value) else "infinity" if parts.value else "zero")


# --- encoding ---


@pytest.mark.parametrize("inputs", ["bfloat16", "float32"])
@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_nearest_even_with_nan_overflow_gives_the_codes_of_ml_dtypes(fmt, inputs, request):
    x = request.getfixturevalue(inputs)
    assert_same_codes(encode(x, fmt), by_ml_dtypes(x, fmt), x, fmt)


@pytest.mark.parametrize("inputs", ["bfloat16", "float32"])
@pytest.mark.parametrize("fmt", [*FNUZ, E5M2], ids=lambda fmt: fmt.name)
def test_nearest_even_with_nan_overflow_gives_the_codes_of_torch(fmt, inputs, request):
    x = request.getfixturevalue(inputs)
    assert_same_codes(encode(x, fmt), by_torch(x, fmt), x, fmt)


@pytest.mark.parametrize("inputs", ["bfloat16", "float32"])
def test_saturation_of_e4m3fn_gives_the_codes_of_torch(inputs, request):
    x = request.getfixturevalue(inputs)
    assert_same_codes(encode(x, E4M3FN, overflow="saturate"), by_torch(x, E4M3FN), x, E4M3FN)


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_saturation_changes_nothing_but_what_overflows(fmt, bfloat16):
    plain, saturated = encode(bfloat16, fmt), encode(bfloat16, fmt, overflow="saturate")
    changed = plain != saturated
    assert (np.abs(bfloat16[changed]) > fmt.max).all() and changed.any()
    np.testing.assert_array_equal(decode(saturated[changed], fmt), np.copysign(fmt.max, bfloat16[changed]))
    assert np.isnan(decode(saturated, fmt)[np.isnan(bfloat16)]).all()


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_float64_is_rounded_once(fmt):
    """A hair to either side of each midpoint: rounding to float32 on the way would lose the hair."""
    numbers = decode(np.arange(fmt.max_code + 1), fmt).astype(np.float64)
    middle = (numbers[1:] + numbers[:-1]) / 2
    hair = np.maximum(middle * 2.0**-50, 2.0**-200)
    lower = np.arange(fmt.max_code)
    np.testing.assert_array_equal(encode(middle - hair, fmt), lower)
    np.testing.assert_array_equal(encode(middle + hair, fmt), lower + 1)
    np.testing.assert_array_equal(encode(middle, fmt), lower + lower % 2)
    np.testing.assert_array_equal(encode(numbers[1:] - hair, fmt, "toward-zero"), lower)
    by_way_of_float32 = encode(np.float32(middle + hair), fmt)
    np.testing.assert_array_equal(by_way_of_float32, lower + lower % 2)    # the trap is real
    assert encode([1e300, 1e-300], fmt, overflow="saturate").tolist() == [fmt.max_code, 0]


@given(x=st.floats(allow_nan=False, allow_infinity=False), fmt=st.sampled_from(ALL))
def test_any_float64_goes_to_the_nearest_number_or_toward_zero(x, fmt):
    numbers = [Fraction(float(v)) for v in decode(CODES, fmt) if np.isfinite(v)]
    clipped = min(max(Fraction(x), -Fraction(fmt.max)), Fraction(fmt.max))
    nearest = Fraction(float(decode(encode(x, fmt, overflow="saturate"), fmt)))
    assert abs(clipped - nearest) == min(abs(clipped - v) for v in numbers)
    truncated = Fraction(float(decode(encode(x, fmt, "toward-zero", "saturate"), fmt)))
    assert abs(truncated) == max(abs(v) for v in numbers if abs(v) <= abs(clipped))
    assert truncated * clipped >= 0


@pytest.mark.parametrize(("fmt", "rounding", "last_kept", "first_lost"), [
    (E4M3FNUZ, "nearest-even", 247.99, 248.0), (E4M3FNUZ, "toward-zero", 255.99, 256.0),
    (E4M3FNUZ, "stochastic", 247.99, 248.0),   (E4M3FN, "nearest-even", 464.0, 464.01),
    (E4M3FN, "toward-zero", 479.99, 480.0),    (E4M3FN, "stochastic", 464.0, 464.01),
    (E5M2, "nearest-even", 61439.0, 61440.0),  (E5M2FNUZ, "toward-zero", 65535.0, 65536.0),
])
def test_the_overflow_boundary_is_where_the_docstring_says(fmt, rounding, last_kept, first_lost):
    kept, lost = decode(encode([last_kept, first_lost], fmt, rounding), fmt)
    assert kept == fmt.max
    assert np.isinf(lost) if fmt.has_infinity else np.isnan(lost)


@pytest.mark.parametrize(("x", "fmt", "code"), [
    (-0.0, E4M3FNUZ, 0x00), (-1e-9, E5M2FNUZ, 0x00), (-0.0, E4M3FN, 0x80), (-1e-9, E5M2, 0x80),
    (np.inf, E4M3FNUZ, 0x80), (-np.inf, E4M3FN, 0xFF), (-np.inf, E5M2, 0xFC), (1e9, E5M2, 0x7C),
])
def test_signed_zero_and_infinity(x, fmt, code):
    assert encode(x, fmt) == code


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_stochastic_rounding_is_unbiased_and_seeded(fmt):
    draws = 200_000
    for x in (1.03, -1.11, 0.3 * fmt.smallest_subnormal, -1.7 * fmt.smallest_subnormal, 0.999 * fmt.max):
        codes = encode(np.full(draws, x), fmt, "stochastic", seed=1)
        values = decode(codes, fmt).astype(np.float64)
        low, high = np.unique(values)
        assert low < x < high and abs(neighbours(codes[values == low][0], fmt)[1] - int(codes[values == high][0])) == 0
        share = (x - low) / (high - low)
        five_sigma = 5 * (high - low) * np.sqrt(share * (1 - share) / draws)
        assert abs(values.mean() - x) < five_sigma
        np.testing.assert_array_equal(codes, encode(np.full(draws, x), fmt, "stochastic", seed=1))
        assert (codes != encode(np.full(draws, x), fmt, "stochastic", seed=2)).any()


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_stochastic_rounding_keeps_every_number_of_the_format(fmt):
    values = decode(CODES, fmt)
    np.testing.assert_array_equal(decode(encode(values, fmt, "stochastic", seed=0), fmt), values)


@pytest.mark.parametrize("rounding", ["nearest-even", "toward-zero", "stochastic"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_torch_ml_dtypes_and_numpy_input_give_the_same_codes(dtype, rounding):
    x = torch.tensor(SPECIAL).to(getattr(torch, dtype)).reshape(17, 1).expand(17, 3).requires_grad_()
    as_numpy = x.detach().double().numpy()
    codes = encode(x, E4M3FNUZ, rounding, seed=0)
    assert (codes.dtype, codes.shape) == (np.uint8, (17, 3))
    np.testing.assert_array_equal(codes, encode(as_numpy, E4M3FNUZ, rounding, seed=0))
    if dtype == "bfloat16":
        np.testing.assert_array_equal(codes, encode(as_numpy.astype(ml_dtypes.bfloat16), E4M3FNUZ, rounding, seed=0))


def test_layout_of_the_input_does_not_matter():
    x = np.random.default_rng(0).standard_normal((6, 8))
    np.testing.assert_array_equal(encode(x.T, E4M3FN), encode(x, E4M3FN).T)
    np.testing.assert_array_equal(encode(np.float32(x)[::2, ::-3], E4M3FN), encode(np.float32(x), E4M3FN)[::2, ::-3])
    assert encode(np.zeros((0, 4), np.float32), E4M3FN).shape == (0, 4)


# --- neighbours and conversion ---


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_neighbours_walk_through_all_numbers_in_order(fmt):
    values = decode(CODES, fmt)
    code, walked = int(np.nanargmin(values)), []
    while code is not None:
        walked.append(float(values[code]))
        below, code_above = neighbours(code, fmt)
        assert below is None or values[below] == walked[-2]
        code = code_above
    assert walked == np.unique(values[~np.isnan(values)]).tolist()
    assert neighbours(fmt.nan_codes[0], fmt) == (None, None)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda fmt: fmt.name)
def test_converting_one_code_keeps_what_it_stands_for(source, target):
    for code in range(256):
        codes, factor = convert_codes([code], source, target)
        before, after = float(decode(code, source)), float(decode(codes[0], target))
        if np.isfinite(before):
            assert after * factor == before, hex(code)
        else:
            assert np.isnan(after) or (np.isinf(before) and after == before)


@pytest.mark.parametrize(("source", "target"), [(E4M3FN, E4M3FNUZ), (E5M2, E5M2FNUZ)])
def test_fn_to_fnuz_doubles_the_scale_and_keeps_all_bytes_but_the_special_ones(source, target):
    codes, factor = convert_codes(CODES, source, target)
    assert factor == 2
    special = ~np.isfinite(decode(CODES, source)) | (CODES == 0x80)
    np.testing.assert_array_equal(codes[~special], CODES[~special])
    assert set(codes[special & (CODES != 0x80)]) == {0x80} and codes[0x80] == 0x00


def test_fnuz_to_fn_halves_the_scale_unless_240_is_there():
    without = np.setdiff1d(CODES, [0x7F, 0xFF]).astype(np.uint8)
    codes, factor = convert_codes(without, E4M3FNUZ, E4M3FN)
    assert factor == 0.5
    np.testing.assert_array_equal(codes[without != 0x80], without[without != 0x80])
    assert np.isnan(decode(codes[without == 0x80], E4M3FN)).all()
    codes, factor = convert_codes([0x7F, 0x40, 0x02], E4M3FNUZ, E4M3FN)
    assert factor == 1 and decode(codes, E4M3FN).tolist() == [240, 1, 2 * 2.0**-10]


def test_fnuz_to_fn_with_240_and_an_odd_tiny_number_is_an_error():
    with pytest.raises(ValueError, match=r"codes hold both .*±240 .* block by block"):
        convert_codes([0x7F, 0x01], E4M3FNUZ, E4M3FN)


# --- the edges ---


def test_numpy_alone_is_enough():
    program = ("import sys, numpy as np; from fp8lab import formats, scaling, reference, hardware; "
               "scaling.quantize(np.ones((2, 2))).dequantize(); reference.compare([1.0], [1.0]); "
               "sys.exit('torch' in sys.modules or 'ml_dtypes' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_torch_codes_come_in_and_go_out_as_the_same_bytes(fmt):
    tensor = to_torch(CODES.copy(), fmt)
    assert tensor.dtype == fmt.torch_dtype
    np.testing.assert_array_equal(decode(tensor, fmt), decode(CODES, fmt))
    np.testing.assert_array_equal(decode(tensor.view(torch.uint8), fmt), decode(CODES, fmt))


@pytest.mark.parametrize("codes", [[1, 2], np.uint8(7), CODES[::-1], np.broadcast_to(np.uint8(3), 4), np.arange(3)],
                         ids=["list", "scalar", "negative stride", "read-only", "int64"])
def test_whatever_holds_codes_becomes_a_tensor(codes):
    tensor = to_torch(codes, E4M3FNUZ)
    assert tensor.dtype == torch.float8_e4m3fnuz
    np.testing.assert_array_equal(tensor.view(torch.uint8).numpy(), codes)


def test_a_tensor_of_codes_shares_their_memory():
    codes = np.zeros(4, np.uint8)
    to_torch(codes, E4M3FNUZ).view(torch.uint8)[1] = 9
    assert codes.tolist() == [0, 9, 0, 0]


def test_an_empty_list_of_codes_has_no_values():
    assert decode([], E4M3FN).shape == (0,) and decode([], E4M3FN).dtype == np.float32


def test_a_tensor_whose_sign_is_a_view_is_read_with_its_sign():
    x = torch.tensor([1.0 + 2.0j]).conj().imag
    assert x.is_neg() and decode(encode(x, E4M3FN), E4M3FN).tolist() == [-2.0]


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: encode(1.0, E4M3FN, "nearest"), ValueError, "rounding is 'nearest', needs one of 'nearest-even'"),
    (lambda: encode(1.0, E4M3FN, overflow="clip"), ValueError, "overflow is 'clip', needs one of 'nan', 'saturate'"),
    (lambda: encode(np.arange(3), E4M3FN), TypeError, "x is int64, needs float64.*astype"),
    (lambda: encode(["a"], E4M3FN), TypeError, "x is <U1, needs float64"),
    (lambda: decode([256], E4M3FN), TypeError, "codes is int64, needs uint8 or integers 0…255"),
    (lambda: decode([0.5], E4M3FN), TypeError, "codes is float64, needs uint8"),
    (lambda: decode(np.zeros(0), E4M3FN), TypeError, "codes is float64, needs uint8"),
    (lambda: decode(torch.ones(2).bfloat16(), E4M3FN), TypeError, "codes is float32, needs uint8"),
    (lambda: encode(to_torch(CODES, E5M2), E4M3FN), TypeError, r"x is torch.float8_e5m2, needs .*x.float\(\)"),
    (lambda: to_torch(np.zeros(4, np.float32), E4M3FN), TypeError, "codes is float32, needs uint8"),
    (lambda: decode(to_torch(CODES.copy(), E4M3FN), E4M3FNUZ), TypeError, "needs torch.float8_e4m3fnuz.*another"),
    (lambda: fields(3.7, E4M3FN), TypeError, "code is 3.7, needs a whole number, 0…255"),
    (lambda: fields("3", E4M3FN), TypeError, "code is '3', needs a whole number"),
    (lambda: fields(256, E4M3FN), ValueError, "code is 256, needs one byte"),
    (lambda: neighbours(-1, E4M3FN), ValueError, "code is -1, needs one byte"),
    (lambda: convert_codes([0], E4M3FN, E5M2), ValueError, "divide the byte differently.*encode"),
])
def test_bad_input_is_named_with_the_way_out(call, error, message):
    with pytest.raises(error, match=message):
        call()
