"""Operands for one-instruction and one-expression tests: edge values against each other, then random ones, as bits.

A type is named as in the C sources beside the tests: u8 … i64, f16 bf16 f32 f64, and x2 and x4 for vectors.
"""

import numpy as np

INTEGERS = {f"{sign}{bits}": bits for sign in "ui" for bits in (8, 16, 32, 64)}
FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}  # bits of exponent and mantissa


def split(type):
    """(type of an element, its bits, elements)."""
    element, _, count = type.partition("x")
    bits = INTEGERS.get(element) or 1 + sum(FLOATS[element])
    return element, bits, int(count or 1)


def integer_edges(bits):
    ones = (1 << bits) - 1
    found = [0, 1, 2, 3, 7, 15, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x8000, 0xFFFF, 0x800000, 0xFFFFFF]
    found += [ones >> 1, (ones >> 1) + 1, (ones >> 1) + 2, ones, ones - 1, 0x5555555555555555, 1 << bits // 2]
    return sorted({x & ones for x in found})


def float_edges(exponent, mantissa):
    """Zeros, ends of the denormals and normals, infinities, NaNs with payloads, powers of two and what is half-way."""
    one, top, low = ((1 << exponent - 1) - 1) << mantissa, ((1 << exponent) - 1) << mantissa, (1 << mantissa) - 1
    half, two = one - (1 << mantissa), one + (1 << mantissa)
    found = [0, 1, low, low + 1, one, one + 1, one - 1, half, half - 1, half + 1, two, top - 1, top]
    found += [top | 1 << mantissa - 1, top | 3 << mantissa - 2 | 5, top | 1, one | 1 << mantissa - 1]
    found += [two | 1 << mantissa - 2, two | 3 << mantissa - 2, two | 1 << mantissa - 1]  # 2.5, 3.5, 3
    found += [one + (e << mantissa) for e in (7, 8, 15, 16, 31, 32, 63, 64) if e < (1 << exponent - 1)]
    found += [one + (e << mantissa) - 1 for e in (15, 16, 31, 32, 63) if e < (1 << exponent - 1)]
    found += [one + (mantissa << mantissa) | 1, one + (mantissa - 1 << mantissa) | 1]  # the last with a fraction of 1/2
    return [sign << exponent + mantissa | x for x in found for sign in (0, 1)]


def operands(types, n, seed=0, signalling=True):
    """(len(types), n) uint64: up to n / 2 combinations of edge values, the rest random; quiet NaNs only, if asked."""
    random = np.random.default_rng(seed)
    return np.stack([_operand(type, place, n, random, signalling) for place, type in enumerate(types)])


def _operand(type, place, n, random, signalling):
    element, bits, count = split(type)
    made = np.zeros(n, np.uint64)
    for part in range(count):
        x = _floats(element, n, random) if element in FLOATS else _integers(bits, n, random)
        edges = np.array(float_edges(*FLOATS[element]) if element in FLOATS else integer_edges(bits), np.uint64)
        i, many = np.arange(n // 2), len(edges)
        # each of the first operand against each of the second; the third goes through all of them in another order
        x[: n // 2] = edges[(i % many, i // many % many, (i + i // many + i // many**2) % many)[place] - part]
        if element in FLOATS and not signalling:
            x |= np.where(is_nan(x, element), np.uint64(1 << FLOATS[element][1] - 1), np.uint64(0))
        made |= x << np.uint64(bits * part)
    return made


def _integers(bits, n, random):
    x = random.integers(0, 1 << 64, n, dtype=np.uint64) >> random.integers(64 - bits, 64, n, dtype=np.uint64)
    return np.where(random.integers(0, 2, n) == 0, x, ~x & np.uint64((1 << bits) - 1))  # of either sign


def _floats(element, n, random):
    """Half of any exponent, half near 1, where sums cancel and fractions exist."""
    exponent, mantissa = FLOATS[element]
    x = random.integers(0, 1 << 64, n, dtype=np.uint64) >> np.uint64(63 - exponent - mantissa)
    near = random.integers((1 << exponent - 1) - 5, (1 << exponent - 1) + 5, n, dtype=np.uint64) << np.uint64(mantissa)
    kept = np.uint64(1 << exponent + mantissa | (1 << mantissa) - 1)
    return np.where(random.integers(0, 2, n) == 0, x, (x & kept) | near)


def is_nan(x, element):
    exponent, mantissa = FLOATS[element]
    return (x & np.uint64((1 << exponent + mantissa) - 1)) > np.uint64(((1 << exponent) - 1) << mantissa)


def alike(x, type):
    """x with every NaN of a float type made the same one: which NaN arithmetic gives is not compared."""
    element, bits, count = split(type)
    if element not in FLOATS:
        return x
    out = np.zeros_like(x)
    for part in range(count):
        value = x >> np.uint64(bits * part) & np.uint64((1 << bits) - 1)
        value[is_nan(value, element)] = (1 << bits - 1) - 1
        out |= value << np.uint64(bits * part)
    return out


def differences(got, want, type, inputs):
    """How many results differ, and the first of them with its operands; None if all are alike."""
    wrong = np.flatnonzero(alike(got, type) != alike(want, type))
    if not len(wrong):
        return None
    i = wrong[0]
    at = ", ".join(f"{x:#x}" for x in inputs[:, i].tolist())
    return f"{len(wrong)} of {len(got)} differ; of ({at}) it is {got[i]:#x}, should be {want[i]:#x}"
