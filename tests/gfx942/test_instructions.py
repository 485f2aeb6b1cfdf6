"""Integer instructions, scalar and vector, one by one: random and edge operands in, exact bits out, against Python.

The expectations are written in Python integers, never taken from the table in isa/, whose C they check.
"""

# ruff: noqa: E501  (an instruction sequence or a kernel's line is kept whole)

import functools

import numpy as np
import pytest
from gfx942_kernels import arity, needs_clang, run_lanes

pytestmark = needs_clang
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
EDGES = [
    0,
    1,
    2,
    31,
    32,
    33,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x00FFFFFF,
    0x800000,
]


def s(x, bits=32):
    """x as a signed number."""
    return ((x & (1 << bits) - 1) ^ 1 << bits - 1) - (1 << bits - 1)


def operands(n, seed=0):
    """(n, 64) uint32: edge values against each other in the first lanes, then random ones of every magnitude."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 1 << 32, (n, 64), dtype=np.uint64) >> rng.integers(0, 32, (n, 64), dtype=np.uint64)
    for k in range(n):
        x[k, : len(EDGES)] = np.roll(EDGES, 5 * k)
    return x.astype(np.uint32)


def clz(x, bits=32):
    return bits - x.bit_length() if x else M32


def ctz(x):
    return (x & -x).bit_length() - 1 if x else M32


def popcount(x):
    return bin(x).count("1")


def field(x, low, width, signed=False, bits=32):
    got = x >> low & (1 << width) - 1
    return s(got, width) if signed and width else got


def perm(a, b, c):
    out, data = 0, a << 32 | b
    for i in range(4):
        k = c >> 8 * i & 255
        byte = (
            data >> 8 * k & 255
            if k < 8
            else (0xFF if data >> 16 * (k - 8) + 15 & 1 else 0)
            if k < 12
            else 0
            if k == 12
            else 0xFF
        )
        out |= byte << 8 * i
    return out


def med3(*x):
    return sorted(x)[1]


def nonzero(d):
    """(d, scc) of scalar instructions that tell whether the result is other than 0."""
    return d, d != 0


def dot(a, b, bits, signed):
    """The sum of products of a register's fields with another's."""
    value = (lambda x: s(x, bits)) if signed else (lambda x: x & (1 << bits) - 1)
    return sum(value(a >> i) * value(b >> i) for i in range(0, 32, bits))


def clamp(x, low, high):
    return max(low, min(high, x))


low24, low16 = (lambda x: s(x, 24)), (lambda x: s(x, 16))

VECTOR = {
    "v_mov_b32": lambda a: a,
    "v_not_b32": lambda a: ~a,
    "v_bfrev_b32": lambda a: int(f"{a:032b}"[::-1], 2),
    "v_ffbh_u32": lambda a: clz(a),
    "v_ffbl_b32": ctz,
    "v_ffbh_i32": lambda a: clz((a ^ -(a >> 31)) & M32),
    "v_and_b32": lambda a, b: a & b,
    "v_or_b32": lambda a, b: a | b,
    "v_xor_b32": lambda a, b: a ^ b,
    "v_xnor_b32": lambda a, b: ~(a ^ b),
    "v_lshrrev_b32": lambda a, b: b >> (a & 31),
    "v_ashrrev_i32": lambda a, b: s(b) >> (a & 31),
    "v_lshlrev_b32": lambda a, b: b << (a & 31),
    "v_bfe_u32": lambda a, b, c: field(a, b & 31, c & 31),
    "v_bfe_i32": lambda a, b, c: field((a >> 31 and a | ~M32) or a, b & 31, c & 31, True),
    "v_bfi_b32": lambda a, b, c: (a & b) | (~a & c),
    "v_bfm_b32": lambda a, b: ((1 << (a & 31)) - 1) << (b & 31),
    "v_alignbit_b32": lambda a, b, c: (a << 32 | b) >> (c & 31),
    "v_alignbyte_b32": lambda a, b, c: (a << 32 | b) >> 8 * (c & 3),
    "v_perm_b32": perm,
    "v_bcnt_u32_b32": lambda a, b: popcount(a) + b,
    "v_add_u32": lambda a, b: a + b,
    "v_sub_u32": lambda a, b: a - b,
    "v_subrev_u32": lambda a, b: b - a,
    "v_mul_lo_u32": lambda a, b: a * b,
    "v_mul_hi_u32": lambda a, b: a * b >> 32,
    "v_mul_hi_i32": lambda a, b: s(a) * s(b) >> 32,
    "v_mul_i32_i24": lambda a, b: low24(a) * low24(b),
    "v_mul_hi_i32_i24": lambda a, b: low24(a) * low24(b) >> 32,
    "v_mul_u32_u24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "v_mul_hi_u32_u24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32,
    "v_mad_i32_i24": lambda a, b, c: low24(a) * low24(b) + c,
    "v_mad_u32_u24": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
    "v_mad_u32_u16": lambda a, b, c: (a & 0xFFFF) * (b & 0xFFFF) + c,
    "v_mad_i32_i16": lambda a, b, c: low16(a) * low16(b) + c,
    "v_min_i32": lambda a, b: min(s(a), s(b)),
    "v_max_i32": lambda a, b: max(s(a), s(b)),
    "v_min_u32": min,
    "v_max_u32": max,
    "v_min3_i32": lambda a, b, c: min(s(a), s(b), s(c)),
    "v_min3_u32": min,
    "v_max3_i32": lambda a, b, c: max(s(a), s(b), s(c)),
    "v_max3_u32": max,
    "v_med3_i32": lambda a, b, c: med3(s(a), s(b), s(c)),
    "v_med3_u32": med3,
    "v_sad_u8": lambda a, b, c: c + sum(abs((a >> i & 255) - (b >> i & 255)) for i in (0, 8, 16, 24)),
    "v_sad_hi_u8": lambda a, b, c: c + (sum(abs((a >> i & 255) - (b >> i & 255)) for i in (0, 8, 16, 24)) << 16),
    "v_sad_u16": lambda a, b, c: c + sum(abs((a >> i & 0xFFFF) - (b >> i & 0xFFFF)) for i in (0, 16)),
    "v_sad_u32": lambda a, b, c: c + abs(a - b),
    "v_xad_u32": lambda a, b, c: (a ^ b) + c,
    "v_lshl_add_u32": lambda a, b, c: (a << (b & 31)) + c,
    "v_add_lshl_u32": lambda a, b, c: (a + b & M32) << (c & 31),
    "v_add3_u32": lambda a, b, c: a + b + c,
    "v_lshl_or_b32": lambda a, b, c: a << (b & 31) | c,
    "v_and_or_b32": lambda a, b, c: a & b | c,
    "v_or3_b32": lambda a, b, c: a | b | c,
    "v_dot2_i32_i16": lambda a, b, c: c + dot(a, b, 16, True),
    "v_dot2_u32_u16": lambda a, b, c: c + dot(a, b, 16, False),
    "v_dot4_i32_i8": lambda a, b, c: c + dot(a, b, 8, True),
    "v_dot4_u32_u8": lambda a, b, c: c + dot(a, b, 8, False),
    "v_dot8_i32_i4": lambda a, b, c: c + dot(a, b, 4, True),
    "v_dot8_u32_u4": lambda a, b, c: c + dot(a, b, 4, False),
    "v_dot2c_i32_i16": lambda a, b: 0x5A5A5A5A + dot(a, b, 16, True),
    "v_dot4c_i32_i8": lambda a, b: 0x5A5A5A5A + dot(a, b, 8, True),
    "v_dot8c_i32_i4": lambda a, b: 0x5A5A5A5A + dot(a, b, 4, True),
    "v_msad_u8": lambda a, b, c: c + sum(abs((a >> i & 255) - (b >> i & 255)) for i in (0, 8, 16, 24) if b >> i & 255),
    "v_lerp_u8": lambda a, b, c: sum(
        ((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) // 2 << i for i in (0, 8, 16, 24)
    ),
    "v_med3_i16": lambda a, b, c: med3(s(a, 16), s(b, 16), s(c, 16)) & 0xFFFF,
    "v_med3_u16": lambda a, b, c: med3(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF),
    "v_sat_pk_u8_i16": lambda a: clamp(s(a, 16), 0, 255) | clamp(s(a >> 16, 16), 0, 255) << 8,
    "v_add_u16": lambda a, b: a + b & 0xFFFF,
    "v_sub_u16": lambda a, b: a - b & 0xFFFF,
    "v_subrev_u16": lambda a, b: b - a & 0xFFFF,
    "v_mul_lo_u16": lambda a, b: a * b & 0xFFFF,
    "v_lshlrev_b16": lambda a, b: b << (a & 15) & 0xFFFF,
    "v_lshrrev_b16": lambda a, b: (b & 0xFFFF) >> (a & 15),
    "v_ashrrev_i16": lambda a, b: low16(b) >> (a & 15) & 0xFFFF,
    "v_max_u16": lambda a, b: max(a & 0xFFFF, b & 0xFFFF),
    "v_min_u16": lambda a, b: min(a & 0xFFFF, b & 0xFFFF),
    "v_max_i16": lambda a, b: max(low16(a), low16(b)) & 0xFFFF,
    "v_min_i16": lambda a, b: min(low16(a), low16(b)) & 0xFFFF,
    "v_add_i16": lambda a, b: a + b & 0xFFFF,
    "v_sub_i16": lambda a, b: a - b & 0xFFFF,
    "v_mad_u16": lambda a, b, c: a * b + c & 0xFFFF | 0x5A5A0000,
    "v_mad_i16": lambda a, b, c: a * b + c & 0xFFFF | 0x5A5A0000,
    "v_min3_u16": lambda a, b, c: min(x & 0xFFFF for x in (a, b, c)),
    "v_max3_i16": lambda a, b, c: max(low16(x) for x in (a, b, c)) & 0xFFFF,
    "v_pack_b32_f16": lambda a, b: a & 0xFFFF | b << 16,
    "v_cvt_pk_u16_u32": lambda a, b: min(a, 65535) | min(b, 65535) << 16,
    "v_cvt_pk_i16_i32": lambda a, b: clamp(s(a), -32768, 32767) & 0xFFFF | (clamp(s(b), -32768, 32767) & 0xFFFF) << 16,
}
PACKED = {
    "v_pk_add_u16": lambda a, b: a + b,
    "v_pk_sub_i16": lambda a, b: a - b,
    "v_pk_mul_lo_u16": lambda a, b: a * b,
    "v_pk_lshlrev_b16": lambda a, b: b << (a & 15),
    "v_pk_lshrrev_b16": lambda a, b: b >> (a & 15),
    "v_pk_ashrrev_i16": lambda a, b: low16(b) >> (a & 15),
    "v_pk_max_i16": lambda a, b: max(low16(a), low16(b)),
    "v_pk_min_u16": min,
    "v_pk_mad_u16": lambda a, b, c: a * b + c,
    "v_pk_min_i16": lambda a, b: min(low16(a), low16(b)),
    "v_pk_max_u16": max,
}
WIDE = {
    "v_lshlrev_b64": (1, 2, lambda a, b: b << (a & 63)),
    "v_lshrrev_b64": (1, 2, lambda a, b: b >> (a & 63)),
    "v_ashrrev_i64": (1, 2, lambda a, b: s(b, 64) >> (a & 63)),
    "v_lshl_add_u64": (2, 1, 2, lambda a, b, c: (a << (b & 7)) + c),
}
SCALAR = {  # name -> (words of d, words of each source, d and scc)
    "s_quadmask_b32": (1, 1, lambda a: nonzero(sum((a >> 4 * i & 15 != 0) << i for i in range(8)))),
    "s_quadmask_b64": (2, 2, lambda a: nonzero(sum((a >> 4 * i & 15 != 0) << i for i in range(16)))),
    "s_wqm_b32": (1, 1, lambda a: nonzero(sum(15 << 4 * i for i in range(8) if a >> 4 * i & 15))),
    "s_wqm_b64": (2, 2, lambda a: nonzero(sum(15 << 4 * i for i in range(16) if a >> 4 * i & 15))),
    "s_add_u32": (1, 1, 1, lambda a, b: (a + b, a + b >> 32)),
    "s_sub_u32": (1, 1, 1, lambda a, b: (a - b, a < b)),
    "s_add_i32": (1, 1, 1, lambda a, b: (a + b, s(a) + s(b) != s(a + b))),
    "s_sub_i32": (1, 1, 1, lambda a, b: (a - b, s(a) - s(b) != s(a - b))),
    "s_min_i32": (1, 1, 1, lambda a, b: (min(s(a), s(b)), s(a) < s(b))),
    "s_max_u32": (1, 1, 1, lambda a, b: (max(a, b), a >= b)),
    "s_and_b64": (2, 2, 2, lambda a, b: (a & b, a & b != 0)),
    "s_orn2_b32": (1, 1, 1, lambda a, b: ((a | ~b) & M32, (a | ~b) & M32 != 0)),
    "s_nand_b32": (1, 1, 1, lambda a, b: (~(a & b), ~(a & b) & M32 != 0)),
    "s_xnor_b64": (2, 2, 2, lambda a, b: (~(a ^ b), ~(a ^ b) & M64 != 0)),
    "s_lshl_b32": (1, 1, 1, lambda a, b: (a << (b & 31), a << (b & 31) & M32 != 0)),
    "s_lshr_b64": (2, 2, 1, lambda a, b: (a >> (b & 63), a >> (b & 63) != 0)),
    "s_ashr_i32": (1, 1, 1, lambda a, b: (s(a) >> (b & 31), s(a) >> (b & 31) != 0)),
    "s_ashr_i64": (2, 2, 1, lambda a, b: (s(a, 64) >> (b & 63), s(a, 64) >> (b & 63) != 0)),
    "s_bfm_b32": (1, 1, 1, lambda a, b: (((1 << (a & 31)) - 1) << (b & 31), None)),
    "s_mul_i32": (1, 1, 1, lambda a, b: (a * b, None)),
    "s_mul_hi_u32": (1, 1, 1, lambda a, b: (a * b >> 32, None)),
    "s_mul_hi_i32": (1, 1, 1, lambda a, b: (s(a) * s(b) >> 32, None)),
    "s_absdiff_i32": (1, 1, 1, lambda a, b: (abs(s(a) - s(b)), s(a) != s(b))),
    "s_lshl2_add_u32": (1, 1, 1, lambda a, b: ((a << 2) + b, (a << 2) + b >> 32 != 0)),
    "s_pack_lh_b32_b16": (1, 1, 1, lambda a, b: (a & 0xFFFF | b & 0xFFFF0000, None)),
    "s_pack_hh_b32_b16": (1, 1, 1, lambda a, b: (a >> 16 | b & 0xFFFF0000, None)),
    "s_not_b64": (2, 2, lambda a: (~a, ~a & M64 != 0)),
    "s_brev_b32": (1, 1, lambda a: (int(f"{a:032b}"[::-1], 2), None)),
    "s_bcnt1_i32_b64": (1, 2, lambda a: (popcount(a), a != 0)),
    "s_ff1_i32_b32": (1, 1, lambda a: (ctz(a), None)),
    "s_ff1_i32_b64": (1, 2, lambda a: (ctz(a), None)),
    "s_flbit_i32_b32": (1, 1, lambda a: (clz(a), None)),
    "s_flbit_i32_b64": (1, 2, lambda a: (clz(a, 64), None)),
    "s_flbit_i32": (1, 1, lambda a: (clz((a ^ -(a >> 31)) & M32), None)),
    "s_sext_i32_i8": (1, 1, lambda a: (s(a, 8), None)),
    "s_sext_i32_i16": (1, 1, lambda a: (s(a, 16), None)),
    "s_abs_i32": (1, 1, lambda a: (abs(s(a)), a != 0)),
    "s_bitreplicate_b64_b32": (2, 1, lambda a: (sum((a >> i // 2 & 1) << i for i in range(64)), None)),
    "s_bfe_u32": (1, 1, 1, lambda a, b: (field(a, b & 31, b >> 16 & 127), field(a, b & 31, b >> 16 & 127) != 0)),
    "s_bfe_i32": (1, 1, 1, lambda a, b: ((x := field(s(a), b & 31, b >> 16 & 127, True)), x & M32 != 0)),
}


def sources(name):
    return arity(VECTOR[name]) or (3 if "3" in name.split("_")[1] else 2)


@functools.cache
def vector_results():
    """{name: its 64 results}: all of VECTOR on the same operands, in one kernel, as assembling is what takes time."""
    names = sorted(VECTOR)
    lines = [
        f"{name} v{60 + n}, " + ", ".join(f"v{10 + i}" for i in range(sources(name))) for n, name in enumerate(names)
    ]
    out, _ = run_lanes("\n  ".join(lines), operands(3), len(names))
    return dict(zip(names, out, strict=True))


@pytest.mark.parametrize("name", sorted(VECTOR))
def test_vector_integers(name):
    f, x = VECTOR[name], operands(3)[: sources(name)]
    assert vector_results()[name].tolist() == [f(*map(int, column)) & M32 for column in x.T]


@pytest.mark.parametrize("name", sorted(PACKED))
def test_packed_16_bit_integers_choose_their_halves(name):
    f = PACKED[name]
    count = arity(f) or 2
    x = operands(count, 1)
    for lo, hi in ((0, 7), (5, 2), (7, 0)):
        choice = lambda bits: "[" + ",".join(str(bits >> i & 1) for i in range(count)) + "]"  # noqa: E731
        out, _ = run_lanes(
            f"{name} v60, "
            + ", ".join(f"v{10 + i}" for i in range(count))
            + f" op_sel:{choice(lo)} op_sel_hi:{choice(hi)}",
            x,
        )
        half = lambda column, bits: [int(v) >> 16 * (bits >> i & 1) & 0xFFFF for i, v in enumerate(column)]  # noqa: E731
        want = [(f(*half(c, lo)) & 0xFFFF) | (f(*half(c, hi)) & 0xFFFF) << 16 for c in x.T]
        assert out[0].tolist() == want, (lo, hi)


@pytest.mark.parametrize("name", sorted(WIDE))
def test_vector_64_bit_integers(name):
    *words, f = WIDE[name]
    x = operands(2 * len(words), 2)
    at = [10 + 2 * i for i in range(len(words))]
    text = [f"v[{r}:{r + 1}]" if w == 2 else f"v{r}" for r, w in zip(at, words, strict=True)]
    out, _ = run_lanes(f"{name} v[60:61], {', '.join(text)}", x, 2)
    value = lambda c, r, w: int(c[r - 10]) | (int(c[r - 9]) << 32 if w == 2 else 0)  # noqa: E731
    want = [f(*(value(c, r, w) for r, w in zip(at, words, strict=True))) & M64 for c in x.T]
    assert (out[0].astype(object) | out[1].astype(object) << 32).tolist() == want


@pytest.mark.parametrize("name", sorted(SCALAR))
def test_scalar_integers(name):
    d_words, *words, f = SCALAR[name]
    x = operands(4, 3)
    if name.startswith("s_bfe"):
        x[2] = (x[2] & 31) | (x[3] & 63) % 33 << 16
    text = [f"s[{12 + 2 * i}:{13 + 2 * i}]" if w == 2 else f"s{12 + 2 * i}" for i, w in enumerate(words)]
    lines, want = [], []
    for lane in range(0, 64, 3):
        value = [int(x[2 * i, lane]) | (int(x[2 * i + 1, lane]) << 32 if w == 2 else 0) for i, w in enumerate(words)]
        for i, v in enumerate(value):
            lines += [f"s_mov_b32 s{12 + 2 * i}, {v & M32:#x}", f"s_mov_b32 s{13 + 2 * i}, {v >> 32:#x}"]
        lines += [
            "s_cmp_eq_u32 s0, s0",
            f"{name} {'s[20:21]' if d_words == 2 else 's20'}, {', '.join(text)}",
            "s_cselect_b32 s22, 1, 0",
            f"v_writelane_b32 v60, s20, {lane}",
            f"v_writelane_b32 v61, s{21 if d_words == 2 else 20}, {lane}",
            f"v_writelane_b32 v62, s22, {lane}",
        ]
        d, scc = f(*value)
        d &= M64 if d_words == 2 else M32
        want.append((d & M32, d >> 32 if d_words == 2 else d, 1 if scc is None else int(bool(scc))))
    out, _ = run_lanes("\n  ".join(lines), np.zeros((1, 64), np.uint32), 3)
    assert list(zip(*(out[i, ::3].tolist() for i in range(3)), strict=True)) == want


RELATIONS = {
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("type", ["u32", "i32", "u16", "i16", "u64", "i64"])
def test_integer_comparisons(type):
    x = operands(4, 4)
    x[2:, 20:30] = x[:2, 20:30]  # some equal ones
    wide, bits = type[1:] == "64", int(type[1:])
    text = "v[10:11], v[12:13]" if wide else "v10, v12"
    lines = []
    for n, relation in enumerate(RELATIONS):
        lines += [f"v_cmp_{relation}_{type} vcc, {text}"]
        lines += [f"v_mov_b32_e32 v{60 + 2 * n}, vcc_lo", f"v_mov_b32_e32 v{61 + 2 * n}, vcc_hi"]
    out, _ = run_lanes("\n  ".join(lines), x, 2 * len(RELATIONS))
    value = lambda c, i: (int(c[i]) | int(c[i + 1]) << 32) & (1 << bits) - 1  # noqa: E731
    sign = (lambda v: s(v, bits)) if type[0] == "i" else (lambda v: v)
    for n, (relation, f) in enumerate(RELATIONS.items()):
        want = sum(int(f(sign(value(c, 0)), sign(value(c, 2)))) << lane for lane, c in enumerate(x.T))
        assert int(out[2 * n, 0]) | int(out[2 * n + 1, 0]) << 32 == want, relation


def test_carries_in_and_out():
    x = operands(4, 5)
    out, _ = run_lanes(
        "v_add_co_u32_e32 v60, vcc, v10, v12\n  v_addc_co_u32_e32 v61, vcc, v11, v13, vcc\n  "
        "v_sub_co_u32_e32 v62, vcc, v10, v12\n  v_subb_co_u32_e32 v63, vcc, v11, v13, vcc\n  v_mad_u64_u32 v[64:65], s[12:13], v10, v11, v[12:13]",
        x,
        6,
    )
    a, b = ((x[i].astype(object) | x[i + 1].astype(object) << 32) for i in (0, 2))
    joined = lambda i: (out[i].astype(object) | out[i + 1].astype(object) << 32).tolist()  # noqa: E731
    assert joined(0) == [(p + q) & M64 for p, q in zip(a, b, strict=True)]
    assert joined(2) == [(p - q) & M64 for p, q in zip(a, b, strict=True)]
    assert joined(4) == [(int(p) * int(q) + r) & M64 for p, q, r in zip(x[0], x[1], b, strict=True)]


@pytest.mark.parametrize(
    "body, f",
    [
        ("v_add_u32_e64 v60, v10, v11 clamp", lambda a, b: min(a + b, M32)),
        ("v_sub_u32_e64 v60, v10, v11 clamp", lambda a, b: max(a - b, 0)),
        ("v_add_i32 v60, v10, v11 clamp", lambda a, b: clamp(s(a) + s(b), -(1 << 31), (1 << 31) - 1)),
        ("v_sub_u16_e64 v60, v10, v11 clamp", lambda a, b: max((a & 0xFFFF) - (b & 0xFFFF), 0)),
        (
            "v_and_b32_sdwa v60, v10, v11 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:WORD_1",
            lambda a, b: (a >> 16 & 255) & (b >> 16),
        ),
        (
            "v_add_u32_sdwa v60, sext(v10), v11 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:BYTE_0",
            lambda a, b: 0x5A5A005A | (s(a >> 24, 8) + (b & 255) & 255) << 8,
        ),
        (
            "v_mov_b32_sdwa v60, v10 dst_sel:WORD_1 dst_unused:UNUSED_SEXT src0_sel:WORD_0",
            lambda a, b: (a & 0xFFFF) << 16,
        ),
        ("v_mov_b32_sdwa v60, v10 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_1", lambda a, b: s(a >> 8, 8)),
        (
            "v_dot4_i32_i8 v60, v10, v11, v10 clamp",
            lambda a, b: clamp(s(a) + dot(a, b, 8, True), -(1 << 31), (1 << 31) - 1),
        ),
        ("v_dot2_u32_u16 v60, v10, v11, v10 clamp", lambda a, b: min(a + dot(a, b, 16, False), M32)),
        ("v_cndmask_b32_e64 v60, v10, v11, s[0:1]", None),
        (
            "v_add_u16 v60, v10, v11 op_sel:[1,0,1]" if False else "v_mad_u16 v60, v10, v11, 0 op_sel:[1,0,0,1]",
            lambda a, b: 0x5A5A | ((a >> 16) * (b & 0xFFFF) & 0xFFFF) << 16,
        ),
    ],
)
def test_modifiers(body, f):
    x = operands(2, 6)
    if f is None:
        body, f = (
            "s_mov_b32 s12, 0xf0f0f0f0\n  s_mov_b32 s13, 0x12345678\n  v_cndmask_b32_e64 v60, v10, v11, s[12:13]",
            None,
        )
    out, _ = run_lanes(body, x)
    mask = 0x12345678F0F0F0F0
    want = [
        (f(int(a), int(b)) if f else int(b) if mask >> lane & 1 else int(a)) & M32 for lane, (a, b) in enumerate(x.T)
    ]
    assert out[0].tolist() == want


def test_dynamic_register_indices():
    x = operands(8, 7)
    body = (
        "s_mov_b32 s12, 3\n  s_set_gpr_idx_on s12, gpr_idx(SRC0)\n  v_mov_b32_e32 v60, v10\n  s_set_gpr_idx_off\n  v_mov_b32_e32 v61, v10\n  "
        "s_set_gpr_idx_on s12, gpr_idx(DST)\n  v_mov_b32_e32 v60, v11\n  s_set_gpr_idx_off"
    )
    out, _ = run_lanes(body, x, 4)
    assert np.array_equal(out[0], x[3]) and np.array_equal(out[1], x[0]) and np.array_equal(out[3], x[1])


def test_lane_masks_of_partial_waves():
    """Inactive lanes keep their registers, and give 0 to comparisons and to bpermute."""
    x = operands(1, 8)
    body = (
        "v_mov_b32_e32 v60, 7\n  s_mov_b64 s[12:13], exec\n  s_mov_b64 exec, 0xffff\n  v_mov_b32_e32 v60, v10\n  v_cmp_ge_u32_e32 vcc, v10, v10\n  "
        "s_mov_b64 exec, s[12:13]\n  v_mov_b32_e32 v61, vcc_lo\n  v_mov_b32_e32 v62, vcc_hi"
    )
    out, _ = run_lanes(body, x, 3)
    assert np.array_equal(out[0, :16], x[0, :16]) and (out[0, 16:] == 7).all()
    assert (out[1] == 0xFFFF).all() and (out[2] == 0).all()
