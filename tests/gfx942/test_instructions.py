"""What surrounds an integer instruction: op_sel, clamp, SDWA, dynamic register numbers, partial waves, against Python.

What the instructions themselves compute is in test_scalar_instructions.py and test_vector_instructions.py.
"""

# ruff: noqa: E501  (an instruction sequence or a kernel's line is kept whole)

import numpy as np
import pytest
from gfx942_kernels import arity, needs_clang, run_lanes

pytestmark = needs_clang
M32 = (1 << 32) - 1
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


def dot(a, b, bits, signed):
    """The sum of products of a register's fields with another's."""
    value = (lambda x: s(x, bits)) if signed else (lambda x: x & (1 << bits) - 1)
    return sum(value(a >> i) * value(b >> i) for i in range(0, 32, bits))


def clamp(x, low, high):
    return max(low, min(high, x))


low16 = lambda x: s(x, 16)  # noqa: E731

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
