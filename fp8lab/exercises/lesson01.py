"""Notebook 01: read a byte, predict a byte, and repair weights that were stored in the other format."""

import numpy as np

from ..formats import E4M3FN, E4M3FNUZ, E5M2FNUZ, decode, encode
from .exercise import Exercise, Wrong


def _fields(code):
    return code >> 7, code >> 3 & 15, code & 7


def _decode(code, bias=8, hidden=1, subnormal_exponent=None, nan_code=0x80):
    """Decode an e4m3 byte as a reader of the format would, or would not: each argument is one mistake."""
    if code == nan_code:
        return float("nan")
    sign, exponent, mantissa = _fields(code)
    if exponent == 0:
        power = 1 - bias if subnormal_exponent is None else subnormal_exponent
        magnitude = (mantissa / 8 if hidden else 1 + mantissa / 8) * 2.0**power
        magnitude = magnitude if mantissa or not hidden else 0.0
    else:
        magnitude = (hidden + mantissa / 8) * 2.0 ** (exponent - bias)
    return -magnitude if sign else magnitude


def _always_hidden(code):
    if code in (0x00, 0x80):
        return 0.0 if code == 0 else float("nan")
    sign, exponent, mantissa = _fields(code)
    return (-1.0) ** sign * (1 + mantissa / 8) * 2.0 ** (exponent - 8)


def _one_formula(code):
    sign, exponent, mantissa = _fields(code)
    return (-1.0) ** sign * (1 + mantissa / 8) * 2.0 ** (exponent - 8)


def _whole_mantissa(code):
    sign, exponent, mantissa = _fields(code)
    if code == 0x80:
        return float("nan")
    return (-1.0) ** sign * (((exponent > 0) + mantissa) * 2.0 ** (max(exponent, 1) - 8))


def _never_hidden(code):
    sign, exponent, mantissa = _fields(code)
    if exponent == 0:
        return _decode(code)
    return (-1.0) ** sign * (mantissa / 8) * 2.0 ** (exponent - 8)


DECODE = Exercise(
    id="01.decode",
    name="decode_e4m3fnuz",
    question="Write decode_e4m3fnuz(code): the value of a byte 0 to 255, from its sign, exponent and mantissa bits, "
             "without a table and without fp8lab.",
    minutes=10,
    read="One byte, three fields",
    cases=lambda: [(f"0x{code:02x}", (code,)) for code in range(256)],
    reference=lambda code: float(decode(code, E4M3FNUZ)),
    wrong=(
        Wrong("e4m3fn codes",
              "It equals e4m3fn, the other format of the same fields: bias 7, NaN at 0x7f and 0xff.",
              lambda code: float(decode(code, E4M3FN)), "Two formats, one byte"),
        Wrong("bias 7",
              "Every number is twice too large: the bias is off by one. It is 8 here, and 7 in e4m3fn.",
              lambda code: _decode(code, bias=7), "Two formats, one byte"),
        Wrong("bias 9",
              "Every number is half of what it should be: the bias is off by one. It is 8.",
              lambda code: _decode(code, bias=9)),
        Wrong("NaN code ignored",
              "Everything is right but one byte: 0x80 is not -0, it is the NaN of this format.",
              lambda code: _decode(code, nan_code=None), "The code 0x80"),
        Wrong("subnormals have a hidden 1",
              "The exponent field 0 is read like the others. There the hidden 1 is absent: the value is mantissa/8 · "
              "2^-7.",
              _always_hidden, "Subnormals: the last numbers before zero"),
        Wrong("one formula for all",
              "It is right for the normal numbers only. The exponent field 0 means mantissa/8 · 2^-7, without a hidden "
              "1, so 0x00 is zero; and 0x80 is NaN.",
              _one_formula, "Subnormals: the last numbers before zero"),
        Wrong("subnormals a step too high",
              "The subnormals are twice what they should be: their exponent is 1 - 8 = -7, that of the smallest normal "
              "number.",
              lambda code: _decode(code, subnormal_exponent=-6), "Subnormals: the last numbers before zero"),
        Wrong("mantissa not divided",
              "The mantissa is taken as a whole number. It counts eighths: 1 + mantissa/8.",
              _whole_mantissa),
        Wrong("0x7f is NaN too",
              "All right but 0x7f: that is NaN in e4m3fn. Here it is 240, the largest number; the only NaN is 0x80.",
              lambda code: float("nan") if code == 0x7F else _decode(code), "The code 0x80"),
        Wrong("subnormal exponent",
              "The subnormals are half of what they should be: their exponent is 1 - 8 = -7, that of the smallest "
              "normal number, not 0 - 8.",
              lambda code: _decode(code, subnormal_exponent=-8), "Subnormals: the last numbers before zero"),
        Wrong("hidden 1 missing",
              "The normal numbers lack their hidden 1: a mantissa of 3 means 1 + 3/8, not 3/8.",
              _never_hidden),
        Wrong("sign ignored",
              "The negative half comes out positive: bit 7 is the sign.",
              lambda code: float("nan") if code == 0x80 else abs(_decode(code))),
        Wrong("e5m2 fields",
              "The byte is cut in the wrong place: that is 5 exponent and 2 mantissa bits, e5m2fnuz.",
              lambda code: float(decode(code, E5M2FNUZ))),
    ),
    rtol=0.0,
)

INPUTS = (1.0, 241.0, 248.0, -0.0, float("nan"), -0.0001)


def _codes(**changed):
    """The codes of INPUTS as {text: code}, with some changed, named by their place: at2=0x7f."""
    codes = encode(list(INPUTS), E4M3FNUZ).tolist()
    for place, code in changed.items():
        codes[int(place[2:])] = code
    return dict(zip(map(str, INPUTS), codes, strict=True))


PREDICT = Exercise(
    id="01.predict",
    name="codes",
    question="Which byte does each number become in e4m3fnuz, rounded to nearest even, with overflow to NaN?",
    minutes=6,
    read="Past the maximum",
    reference=_codes(),
    wrong=(
        Wrong("saturation",
              "All right but 248: you let it saturate at the largest number, 240. It is the tie between 240 and the "
              "next step, 256; ties go to the even code, 256 does not exist, so it overflows.",
              _codes(at2=0x7F)),
        Wrong("overflow too early",
              "All right but 241: it is past the largest number, but nearer to 240 than to the next step, 256, so it "
              "rounds back to 240. Overflow begins at 248.",
              _codes(at1=0x80)),
        Wrong("0x80 for -0",
              "All right but -0.0: the byte with only the sign bit set is NaN here. There is no -0; it becomes 0x00.",
              _codes(at3=0x80), "The code 0x80"),
        Wrong("0x80 for both zeros",
              "All right but -0.0 and -0.0001, which rounds to zero too: there is no -0, zero is 0x00. 0x80 is NaN.",
              _codes(at3=0x80, at5=0x80), "The code 0x80"),
        Wrong("NaN of e4m3fn",
              "All right but NaN: 0x7f is NaN in e4m3fn; here it is 240, and NaN is 0x80.",
              _codes(at4=0x7F), "Two formats, one byte"),
        Wrong("NaN for an underflow",
              "All right but -0.0001: it rounds to zero, and a negative zero becomes 0x00. 0x80 would be NaN.",
              _codes(at5=0x80), "The code 0x80"),
        Wrong("no underflow",
              "All right but -0.0001: that byte is -2^-10, the smallest number. -0.0001 is nearer to zero.",
              _codes(at5=0x81), "Subnormals: the last numbers before zero"),
        Wrong("e4m3fn codes",
              "Those are the bytes of e4m3fn. Here the bias is 8, so 1.0 is 0x40, and the largest number 240.",
              dict(zip(map(str, INPUTS), encode(list(INPUTS), E4M3FN, overflow="saturate").tolist(), strict=True)),
              "Two formats, one byte"),
    ),
    rtol=0.0,
)


def _fn_weights():
    codes = np.array([0x38, 0xB8, 0x00, 0x80, 0x7E, 0xFE, 0x7F, 0xFF, 0x01, 0x81, 0x5B, 0x08], np.uint8)
    every = np.arange(256, dtype=np.uint8)
    return [("codes with -0, NaN and both maxima", (codes, 0.5)), ("every code", (every, 0.25))]


def _repaired(codes, scale, minus_zero=0x00, nan=0x80, factor=2.0):
    fixed = codes.copy()
    if minus_zero is not None:
        fixed[codes == 0x80] = minus_zero
    if nan is not None:
        fixed[(codes == 0x7F) | (codes == 0xFF)] = nan
    return fixed, scale * factor


REPAIR = Exercise(
    id="01.repair",
    name="fn_to_fnuz",
    question="Weights were stored as e4m3fn codes with a scale. Write fn_to_fnuz(codes, scale), which returns codes "
             "and scale that mean the same numbers when read as e4m3fnuz. Mind -0 and NaN.",
    minutes=8,
    read="Moving weights from one format to the other",
    parts=("codes", "scale"),
    cases=_fn_weights,
    reference=_repaired,
    wrong=(
        Wrong("missing factor 2",
              "The codes are right, the scale is not: the same byte means half as much in e4m3fnuz, so the scale has "
              "to make up for it.",
              lambda c, s: _repaired(c, s, factor=1.0), "Two formats, one byte"),
        Wrong("factor inverted",
              "The codes are right, and the scale moved the wrong way: every number came out a quarter of what it "
              "was.",
              lambda c, s: _repaired(c, s, factor=0.5), "Two formats, one byte"),
        Wrong("-0 became NaN",
              "The scale is right, but 0x80 was left alone: -0 in e4m3fn, NaN in e4m3fnuz. One such weight poisons a "
              "whole row of results.",
              lambda c, s: _repaired(c, s, minus_zero=None), "The code 0x80"),
        Wrong("NaN became 240",
              "The scale is right, but 0x7f and 0xff were left alone: NaN in e4m3fn, ±240 in e4m3fnuz. A fault that "
              "was visible now looks like a weight.",
              lambda c, s: _repaired(c, s, nan=None)),
        Wrong("only the scale",
              "The scale is right, and no code was changed: 0x80, 0x7f and 0xff mean other things now.",
              lambda c, s: _repaired(c, s, minus_zero=None, nan=None), "The code 0x80"),
        Wrong("nothing changed",
              "Codes and scale came back as they went in: read as e4m3fnuz they mean half as much.",
              lambda c, s: (c, s), "Two formats, one byte"),
        Wrong("NaN lost",
              "The scale is right, but the NaN codes became 0x00: a fault that was visible is now a zero.",
              lambda c, s: _repaired(c, s, nan=0x00)),
        Wrong("encoded anew at the old scale",
              "You decoded and encoded again with the same scale. What was past 240 overflows; leave the bytes and "
              "change the scale.",
              lambda c, s: (encode(decode(c, E4M3FN), E4M3FNUZ), s)),
        Wrong("encoded anew, saturated",
              "You decoded and encoded again with the same scale, saturating: everything past 240 became 240. Leave "
              "the bytes and change the scale.",
              lambda c, s: (encode(decode(c, E4M3FN), E4M3FNUZ, overflow="saturate"), s)),
        Wrong("factor counted twice",
              "You encoded the values anew, which needs no factor, and doubled the scale as well: every number came "
              "out twice as large.",
              lambda c, s: (encode(decode(c, E4M3FN), E4M3FNUZ), 2 * s)),
    ),
    rtol=0.0,
)

EXERCISES = [DECODE, PREDICT, REPAIR]
