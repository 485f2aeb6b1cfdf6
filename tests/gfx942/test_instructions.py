"""Scalar and vector instructions one by one: random and edge operands in, exact bits out, against Python and numpy.

The expectations are written in Python integers or numpy, never taken from the table in isa/, whose C they check.
"""

# ruff: noqa: E501  (an instruction sequence or a kernel's line is kept whole)

import numpy as np
import pytest
from gfx942_kernels import needs_clang, run_lanes

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
    "v_dot4_i32_i8": lambda a, b, c: c + sum(s(a >> i, 8) * s(b >> i, 8) for i in (0, 8, 16, 24)),
    "v_dot4_u32_u8": lambda a, b, c: c + sum((a >> i & 255) * (b >> i & 255) for i in (0, 8, 16, 24)),
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


def arity(f):
    return f.__code__.co_argcount if hasattr(f, "__code__") else None


@pytest.mark.parametrize("name", sorted(VECTOR))
def test_vector_integers(name):
    f = VECTOR[name]
    count = arity(f) or (3 if "3" in name.split("_")[1] else 2)
    x = operands(count)
    out, _ = run_lanes(f"{name} v60, " + ", ".join(f"v{10 + i}" for i in range(count)), x)
    want = [f(*map(int, column)) & M32 for column in x.T]
    assert out[0].tolist() == want


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


@pytest.mark.parametrize(
    "relation, f",
    [
        ("lt", lambda a, b: a < b),
        ("eq", lambda a, b: a == b),
        ("le", lambda a, b: a <= b),
        ("gt", lambda a, b: a > b),
        ("ne", lambda a, b: a != b),
        ("ge", lambda a, b: a >= b),
    ],
)
@pytest.mark.parametrize("type", ["u32", "i32", "u16", "i16", "u64", "i64"])
def test_integer_comparisons(relation, f, type):
    x = operands(4, 4)
    x[2:, 20:30] = x[:2, 20:30]  # some equal ones
    wide, bits = type[1:] == "64", int(type[1:])
    text = "v[10:11], v[12:13]" if wide else "v10, v12"
    out, _ = run_lanes(
        f"v_cmp_{relation}_{type} vcc, {text}\n  v_mov_b32_e32 v60, vcc_lo\n  v_mov_b32_e32 v61, vcc_hi", x, 2
    )
    value = lambda c, i: (int(c[i]) | int(c[i + 1]) << 32) & (1 << bits) - 1  # noqa: E731
    sign = (lambda v: s(v, bits)) if type[0] == "i" else (lambda v: v)
    want = sum(int(f(sign(value(c, 0)), sign(value(c, 2)))) << lane for lane, c in enumerate(x.T))
    assert int(out[0, 0]) | int(out[1, 0]) << 32 == want


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


# --- floating point -----------------------------------------------------------------------------------------------------

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
    assert np.array_equal((out[1] & 0xFFFF).astype(np.uint16).view(np.float16), exact.astype(np.float16))
    assert np.array_equal(
        (out[1] >> 16).astype(np.uint16).view(np.float16),
        (c - halves[:, 0].astype(np.float64) * halves[:, 1]).astype(np.float16),
    )


def test_classes_of_numbers():
    values = np.array(
        [0x7FA00000, 0x7FC00000, 0xFF800000, 0xBF800000, 0x80000001, 0x80000000, 0, 1, 0x3F800000, 0x7F800000],
        np.uint32,
    )
    x = np.zeros((2, 64), np.uint32)
    x[0, :10], x[1, :10] = values, 1 << np.arange(10)
    out, _ = run_lanes("v_cmp_class_f32_e32 vcc, v10, v11\n  v_mov_b32_e32 v60, vcc_lo", x)
    assert out[0, 0] & 0x3FF == 0x3FF
    x[1, :10] = 0x3FF ^ 1 << np.arange(10)
    assert run_lanes("v_cmp_class_f32_e32 vcc, v10, v11\n  v_mov_b32_e32 v60, vcc_lo", x)[0][0, 0] & 0x3FF == 0


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
