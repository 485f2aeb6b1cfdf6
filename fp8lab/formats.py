"""The four FP8 formats as rows of data; decode, encode, and conversion between the fn and fnuz families.

An FP8 code is one byte: sign, exponent, mantissa from the top bit down. What differs between formats is where the
bits end, the exponent bias, and which codes are given up for NaN, infinity and -0:

    "fn"    finite plus NaN, no infinities (e4m3fn); e5m2 follows IEEE 754 and has infinities
    "fnuz"  also an Unsigned Zero: the code of -0, 0x80, is the only NaN, and the bias is larger by one, so that the
            same byte means half as much as in the fn family

gfx942 (MI300X) computes with the fnuz formats, gfx950, gfx12 and NVIDIA GPUs with the OCP ones (hardware.py).
Functions take numpy arrays, Python numbers or torch tensors, and return numpy arrays; to_torch() goes back.

Sources: e4m3fn, e5m2: OCP "8-bit Floating Point Specification (OFP8)" revision 1.0; fnuz: arXiv 2206.02915 and CDNA3
ISA guide, "FP8 and BF8 formats". Every code and rounding: tests/test_formats.py against ml_dtypes and torch.
"""

import functools
import operator
from dataclasses import dataclass

import numpy as np

ROUNDINGS = ("nearest-even", "toward-zero", "stochastic")
OVERFLOWS = ("nan", "saturate")


@dataclass(frozen=True)
class Format:
    """One FP8 format; nan_codes holds every NaN, the one that encode() writes first."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    nan_codes: tuple
    has_infinity: bool
    has_negative_zero: bool

    @property
    def max_code(self):
        """Code of the largest finite number."""
        finite = np.isfinite(_values(self)[:128])
        return int(np.flatnonzero(finite)[-1])

    @property
    def max(self):
        """Largest finite number."""
        return float(_values(self)[self.max_code])

    @property
    def smallest_normal(self):
        return 2.0 ** (1 - self.bias)

    @property
    def smallest_subnormal(self):
        return 2.0 ** (1 - self.bias - self.mantissa_bits)

    @property
    def infinity_code(self):
        """Code of +infinity, None where the format has none."""
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits if self.has_infinity else None

    @property
    def torch_dtype(self):
        """torch.float8_…; imports torch."""
        import torch

        return getattr(torch, f"float8_{self.name}")


E4M3FNUZ = Format("e4m3fnuz", 4, 3, 8, (0x80,), has_infinity=False, has_negative_zero=False)
E4M3FN = Format("e4m3fn", 4, 3, 7, (0x7F, 0xFF), has_infinity=False, has_negative_zero=True)
E5M2FNUZ = Format("e5m2fnuz", 5, 2, 16, (0x80,), has_infinity=False, has_negative_zero=False)
E5M2 = Format("e5m2", 5, 2, 15, (0x7E, 0x7D, 0x7F, 0xFE, 0xFD, 0xFF), has_infinity=True, has_negative_zero=True)
FORMATS = {fmt.name: fmt for fmt in (E4M3FNUZ, E4M3FN, E5M2FNUZ, E5M2)}


@dataclass(frozen=True)
class Fields:
    """The parts of one code: what the bits are, and what they mean."""

    sign: int        # 0 or 1, bit 7
    exponent: int    # the exponent bits as they stand, bias not subtracted
    mantissa: int    # the mantissa bits as an integer
    kind: str        # "zero", "subnormal", "normal", "infinity" or "nan"
    value: float
    formula: str     # such as "+1.375 × 2^3"; a subnormal has a leading 0: "+0.375 × 2^-7"


def fields(code, fmt):
    """Take one code apart, an int 0…255.

    Raises TypeError for what is no whole number, ValueError for one that is no byte.

    >>> fields(0x5B, E4M3FNUZ).formula, fields(0x5B, E4M3FN).formula
    ('+1.375 × 2^3', '+1.375 × 2^4')
    """
    code = _one_code(code)
    sign, exponent = code >> 7, code >> fmt.mantissa_bits & (1 << fmt.exponent_bits) - 1
    mantissa = code & (1 << fmt.mantissa_bits) - 1
    fraction = mantissa / (1 << fmt.mantissa_bits)
    plus_minus = "-" if sign else "+"
    if code in fmt.nan_codes:
        kind, value, formula = "nan", float("nan"), "NaN"
    elif fmt.has_infinity and code & 0x7F == fmt.infinity_code:
        kind, value, formula = "infinity", float("inf"), f"{plus_minus}infinity"
    elif exponent == 0 and mantissa == 0:
        kind, value, formula = "zero", 0.0, f"{plus_minus}0"
    elif exponent == 0:    # subnormal: no hidden 1, and the exponent of the smallest normal
        kind, value = "subnormal", fraction * 2.0 ** (1 - fmt.bias)
        formula = f"{plus_minus}{fraction:g} × 2^{1 - fmt.bias}"
    else:
        kind, value = "normal", (1 + fraction) * 2.0 ** (exponent - fmt.bias)
        formula = f"{plus_minus}{1 + fraction:g} × 2^{exponent - fmt.bias}"
    return Fields(sign, exponent, mantissa, kind, -value if sign and kind != "nan" else value, formula)


@functools.cache
def _values(fmt):
    """(256,) float32: the value of every code."""
    values = np.array([fields(code, fmt).value for code in range(256)], np.float32)
    values.flags.writeable = False
    return values


def decode(codes, fmt):
    """Return the float32 values of FP8 codes; every FP8 number is exact in float32.

    codes  any shape; uint8, a Python int or list of ints, or a torch tensor (uint8, or FP8 in this very format)

    Raises TypeError for anything else.

    >>> decode([0x40, 0x7F, 0x80], E4M3FNUZ)
    array([  1., 240.,  nan], dtype=float32)
    """
    return _values(fmt)[as_codes(codes, fmt)]


def encode(x, fmt, rounding="nearest-even", overflow="nan", seed=None):
    """Return the uint8 codes of x in fmt, each rounded once from x's own precision.

    x         any shape; float64, float32, float16 or bfloat16, numpy or torch, or Python numbers (float64)
    rounding  "nearest-even"  the nearest number, of two equally near the one whose code is even
              "toward-zero"   the nearest number that is not larger in magnitude
              "stochastic"    one of the two neighbours, drawn so that the mean of many draws is x
    overflow  what a number past the range becomes:
              "nan"       what the format has for it: infinity in e5m2, NaN in the three others
              "saturate"  ±max, infinite x included (as OFP8 and torch's e4m3fn cast do); NaN stays NaN
    seed      of the stochastic draws, as numpy.random.default_rng takes it; None draws differently each time

    Past the range means: rounded as if the exponent went on, the result is larger than max. So with e4m3fnuz (max 240,
    next 256) nearest-even overflows from 248 on, a tie that goes to the even 256, and e4m3fn (max 448, next 480) only
    above 464, a tie that goes to the even 448; toward-zero overflows from 256 and 480 on. Past max there is no upper
    neighbour to draw, so stochastic rounding does there what nearest-even does.

    -0 and negative numbers that round to zero give -0, except in the fnuz formats, which have none: they give 0x00.
    NaN keeps its sign where the format has two; its payload is lost.

    NOTE: libraries disagree on e4m3fn. Its specification allows both overflows; ml_dtypes gives NaN, torch's CPU cast
    (2.13) gives 448. For the fnuz formats both give NaN: a cast without scaling yields NaN there, not a large number.

    Raises ValueError for an unknown rounding or overflow, TypeError for data that is not floating point.

    >>> encode([1.0, -300.0, -0.0], E4M3FNUZ).tolist(), encode(-300.0, E4M3FNUZ, overflow="saturate").item()
    ([64, 128, 0], 255)
    """
    if rounding not in ROUNDINGS:
        raise ValueError(f"rounding is {rounding!r}, needs one of {', '.join(map(repr, ROUNDINGS))}")
    if overflow not in OVERFLOWS:
        raise ValueError(f"overflow is {overflow!r}, needs one of {', '.join(map(repr, OVERFLOWS))}")
    x = as_floats(x)
    bits = odd_float32_bits(x)
    # The upper half of a float32 is a bfloat16. With a sticky bit for the lower half it is a bfloat16 rounded to odd,
    # and rounding that again gives what rounding x gives, as FP8 is more than one bit coarser: a table of 2^16 does.
    index = (bits >> np.uint32(16)).astype(np.uint16)
    index |= (bits & np.uint32(0xFFFF)) != 0
    codes = _table(fmt, "nearest-even" if rounding == "stochastic" else rounding, overflow)[index]
    return _draw(codes, x, index, fmt, np.random.default_rng(seed)) if rounding == "stochastic" else codes


def _draw(codes, x, index, fmt, rng):
    """Stochastic rounding of the elements inside the range; codes holds the others already."""
    with np.errstate(invalid="ignore"):                                        # a signalling NaN
        magnitude = np.abs(x).astype(np.float64)
    inside = magnitude < fmt.max
    magnitude = magnitude[inside]
    lower = _table(fmt, "toward-zero", "saturate")[index[inside] & np.uint16(0x7FFF)]
    values = _values(fmt).astype(np.float64)
    share = (magnitude - values[lower]) / (values[lower + 1] - values[lower])
    drawn = lower + (rng.random(magnitude.shape) < share).astype(np.uint8)
    codes = np.array(codes)
    codes[inside] = _with_sign(drawn, np.signbit(x)[inside], fmt)
    return codes


@functools.cache
def _table(fmt, rounding, overflow):
    """(2^16,) uint8: the code of every bfloat16, found by looking between which two numbers of the format it lies."""
    with np.errstate(invalid="ignore"):                                        # signalling NaNs
        x = (np.arange(1 << 15, dtype=np.uint32) << 16).view(np.float32).astype(np.float64)
    numbers = _values(fmt)[: fmt.max_code + 1].astype(np.float64)              # of codes 0, 1, 2 … : they ascend
    numbers = np.append(numbers, 2 * numbers[-1] - numbers[-2])                # and what would come after max
    lower = np.minimum(np.searchsorted(numbers, x, side="right") - 1, fmt.max_code + 1)
    code = lower
    if rounding == "nearest-even":
        upper = np.minimum(lower + 1, fmt.max_code + 1)
        middle = (numbers[lower] + numbers[upper]) / 2
        code = np.where((x > middle) | ((x == middle) & (lower % 2 == 1)), upper, lower)
    too_large = fmt.infinity_code if fmt.has_infinity else fmt.nan_codes[0]
    code = np.where(code > fmt.max_code, fmt.max_code if overflow == "saturate" else too_large, code)
    code = np.where(np.isnan(x), fmt.nan_codes[0], code).astype(np.uint8)
    return np.concatenate([code, _with_sign(code, True, fmt)])


def _with_sign(code, negative, fmt):
    """Set bit 7 where negative, except for a zero in a format that has no -0."""
    negative = negative & ((code != 0) | fmt.has_negative_zero)
    return code | (negative.astype(np.uint8) << 7)


def odd_float32_bits(x):
    """The uint32 bits of x as float32; float64 is rounded to odd: cut, and the last bit set where something was lost.

    Rounding to odd keeps "just above" and "just below" a tie apart, so a later rounding is not a double one.
    """
    if x.dtype == np.float32:
        return x.view(np.uint32)
    with np.errstate(all="ignore"):
        nearest = x.astype(np.float32)
    bits = nearest.view(np.uint32) - (np.abs(nearest) > np.abs(x)).astype(np.uint32)
    return bits | (nearest != x)


def neighbours(code, fmt):
    """Return the codes of the next smaller and the next larger number; None where there is none, and for NaN.

    ±0 count as one number; the infinities of e5m2 are the neighbours of ±max.

    >>> neighbours(0x01, E4M3FNUZ), neighbours(0x00, E4M3FNUZ), neighbours(0x7F, E4M3FNUZ)
    ((0, 2), (129, 1), (126, None))
    """
    values = _values(fmt)
    value = values[_one_code(code)]
    ladder = sorted((c for c in range(256) if values[c] == values[c] and c != 0x80), key=values.__getitem__)
    smaller = [c for c in ladder if values[c] < value]
    larger = [c for c in ladder if values[c] > value]
    return (smaller[-1] if smaller else None, larger[0] if larger else None)


def convert_codes(codes, source, target):
    """Return (codes in target, factor to multiply the scales by): what the codes stand for stays exactly the same.

    codes           any shape, as decode() takes them
    source, target  the fn and the fnuz format of the same bits, either way round

    fn to fnuz: the bytes stay and the scales double, except for three bytes that are no numbers in one of the two:
        0x80        -0 in e4m3fn, NaN in e4m3fnuz: becomes 0x00
        0x7f, 0xff  NaN in e4m3fn, ±240 in e4m3fnuz: become 0x80 (as do the infinities of e5m2, which fnuz lacks)
    fnuz to fn: the bytes stay and the scales halve, 0x80 becomes the fn NaN. But e4m3fnuz ±240 (e5m2fnuz from ±32768)
    would have to be 480, past the end of fn. If one is there, all values are written anew with factor 1 instead, which
    is exact unless there are also odd multiples of the smallest fnuz number, 2^-10 (e5m2fnuz 2^-17): fn ends at twice
    that. Both at once fit no factor, and that is an error, never a silent loss.

    Raises ValueError in that case and for formats of different bits.

    >>> convert_codes([0x38, 0x80, 0x7F], E4M3FN, E4M3FNUZ)
    (array([ 56,   0, 128], dtype=uint8), 2.0)
    """
    if (source.exponent_bits, source.mantissa_bits) != (target.exponent_bits, target.mantissa_bits):
        raise ValueError(f"{source.name} and {target.name} divide the byte differently, needs two formats of the same "
                         f"bits; encode(decode(codes, {source.name}), {target.name}) rounds from one to the other")
    codes = as_codes(codes, source)
    values = _values(source).astype(np.float64)
    used = np.bincount(codes.reshape(-1), minlength=256) > 0
    for factor in (2.0 ** (target.bias - source.bias), 1.0):
        table = encode(values / factor, target)
        is_kept = (_values(target)[table] * factor == values) | ~np.isfinite(values)
        if is_kept[used].all():
            return table[codes], factor
    raise ValueError(f"codes hold both numbers too large and numbers too small for {target.name} at any one factor (±"
                     f"{np.abs(values[used & np.isfinite(values)]).max():g} and odd multiples of "
                     f"{source.smallest_subnormal:g}); convert them block by block, or accept the rounding of "
                     f"encode(decode(codes, {source.name}), {target.name})")


# --- the edges: what callers hold, as numpy ---


def is_torch(x):
    """Whether x is a torch tensor, without importing torch."""
    return type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "detach")


def as_codes(codes, fmt, name="codes"):
    """Return codes as a uint8 array; torch FP8 tensors give their bytes, without a copy where they lie on the CPU.

    Raises TypeError, which calls them by name.
    """
    is_array = isinstance(codes, np.ndarray) or is_torch(codes)
    if is_torch(codes):
        if _is_fp8(codes.dtype):
            if codes.dtype != fmt.torch_dtype:
                raise TypeError(f"{name} is {codes.dtype}, needs {fmt.torch_dtype} or torch.uint8: the same byte means "
                                f"another number in another format; see convert_codes()")
            import torch

            codes = codes.view(torch.uint8)
        codes = (codes.float() if _is_half(codes.dtype) else codes).numpy(force=True)   # numpy has no bfloat16
    codes = np.asarray(codes)
    if codes.dtype != np.uint8:
        is_empty_list = not is_array and codes.size == 0        # numpy calls [] float64
        if not is_empty_list and (codes.dtype.kind not in "iu"
                                  or (codes.size and not 0 <= codes.min() <= codes.max() <= 255)):
            raise TypeError(f"{name} is {codes.dtype}, needs uint8 or integers 0…255; encode() makes them from data")
        codes = codes.astype(np.uint8)
    return codes


def as_floats(x, name="x"):
    """Return x as a float32 or float64 array; bfloat16 and float16 become float32, which holds them exactly.

    Raises TypeError, which calls x by name.
    """
    wanted = "needs float64, float32, float16 or bfloat16"
    if is_torch(x):
        if _is_fp8(x.dtype):
            raise TypeError(f"{name} is {x.dtype}, {wanted}; {name}.float() gives the numbers of the codes")
        x = (x.float() if _is_half(x.dtype) else x).numpy(force=True)
    is_number = not isinstance(x, np.ndarray)
    x = np.asarray(x)
    if x.dtype in (np.float32, np.float64):
        return x
    if _is_half(x.dtype):
        return x.astype(np.float32)
    if is_number and x.dtype.kind in "iu":
        return x.astype(np.float64)
    raise TypeError(f"{name} is {x.dtype}, {wanted}; {name}.astype('float32') converts")


def to_torch(codes, fmt):
    """Return the codes, as decode() takes them, as a torch tensor of fmt's dtype.

    It shares the memory of a uint8 array, unless torch cannot: a negative stride, or memory that is read-only.
    """
    import torch

    codes = as_codes(codes, fmt)
    if min(codes.strides, default=0) < 0 or not codes.flags.writeable:
        codes = codes.copy()
    return torch.from_numpy(codes).view(fmt.torch_dtype)


def _is_half(dtype):
    return str(dtype).removeprefix("torch.") in ("float16", "bfloat16")


def _is_fp8(dtype):
    return str(dtype).startswith("torch.float8_")


def _one_code(code):
    try:
        code = operator.index(code)
    except TypeError:
        raise TypeError(f"code is {code!r}, needs a whole number, 0…255; encode() makes codes from numbers") from None
    if not 0 <= code <= 255:
        raise ValueError(f"code is {code}, needs one byte, 0…255")
    return code
