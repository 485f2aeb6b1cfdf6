"""Lanes that read other lanes, and addresses that depend on the lane: DPP with masks, ds_swizzle, swizzled buffers."""

# ruff: noqa: E501  (an instruction sequence or a kernel's line is kept whole)

import numpy as np
import pytest
from gfx942_kernels import needs_clang, run_lanes

from fp8lab.gfx942 import KernelFault

pytestmark = needs_clang
M32 = (1 << 32) - 1
LANE = np.arange(64)


def values(n, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 32, (n, 64), dtype=np.uint32)


def test_a_carry_out_of_dpp_is_0_in_lanes_that_dpp_leaves_out():
    """row_shr:1 gives no source to the first lane of a row; row_mask leaves out the rows of lanes 16-31 and 48-63."""
    x = values(2)
    body = "s_mov_b64 vcc, -1\n  v_add_co_u32_dpp v60, vcc, v10, v11 row_shr:1 row_mask:0x5 bank_mask:0xf\n  v_mov_b32_e32 v61, vcc_lo\n  v_mov_b32_e32 v62, vcc_hi"
    out, _ = run_lanes(body, x, 3)
    a, b = x.astype(object)
    takes_part = (LANE % 16 != 0) & (LANE // 16 % 2 == 0)
    total = np.roll(a, 1) + b
    assert np.array_equal(out[0], np.where(takes_part, total & M32, 0x5A5A5A5A).astype(np.uint32))
    carry = sum(1 << lane for lane in range(64) if takes_part[lane] and total[lane] >> 32)
    assert int(out[1, 0]) | int(out[2, 0]) << 32 == carry


def reverse5(x):
    return int(f"{x:05b}"[::-1], 2)


def fft(mask):
    return lambda i: (reverse5(i) >> bin(mask).count("1")) | (i & mask)


def rotate(by, mask):
    return lambda i: (i & mask) | ((i + by) % 32 & ~mask & 31)


@pytest.mark.parametrize(
    "offset, source",
    [
        (0xE000, fft(0)),
        (0xE010, fft(0x10)),
        (0xE01F, lambda i: i),
        (0xC000 | 3 << 5, rotate(3, 0)),
        (0xC000 | 1 << 10 | 3 << 5, rotate(-3, 0)),
        (0xC000 | 5 << 5 | 0x18, rotate(5, 0x18)),
        (0x8000 | 0b00_01_10_11, lambda i: i & ~3 | 3 - (i & 3)),
        (0x1F | 0x10 << 10, lambda i: i ^ 16),
        (0x18 | 5 << 5, lambda i: i & 0x18 | 5),
    ],
)
def test_swizzle_reads_the_lane_its_offset_names(offset, source):
    x = values(1, 1)
    out, _ = run_lanes(f"ds_swizzle_b32 v60, v10 offset:{offset:#x}", x)
    assert np.array_equal(out[0], x[0, [lane & 32 | source(lane & 31) for lane in range(64)]])


def test_the_fft_orders_are_those_of_the_isa_guide():
    """Its table, which counts lanes from 1, for masks 0x00 and 0x10."""
    assert [fft(0)(i) + 1 for i in range(8)] == [0x1, 0x11, 0x9, 0x19, 0x5, 0x15, 0xD, 0x1D]
    assert [fft(0x10)(i) + 1 for i in range(14, 20)] == [0x8, 0x10, 0x11, 0x19, 0x15, 0x1D]


def descriptor(stride, swizzle, index_stride, records, add_lane=0):
    """Instructions that make v10's buffer a descriptor in s[12:15]; s[4:5] points behind the inputs' base."""
    return "\n  ".join(
        [
            "s_mov_b32 s12, s4",
            "s_and_b32 s13, s5, 0xffff",
            f"s_or_b32 s13, s13, {stride << 16 | swizzle << 31:#x}",
            f"s_mov_b32 s14, {records}",
            f"s_mov_b32 s15, {index_stride << 21 | add_lane << 23 | 0x7000:#x}",
        ]
    )


@pytest.mark.parametrize("index_stride", range(4))
def test_a_swizzled_buffer_deals_the_dwords_of_neighbouring_records_side_by_side(index_stride):
    """Record i of 16 bytes, dword n: at 4 i + together * 4 n within its group of `together` records."""
    x = values(4, 2)
    together = 8 << index_stride
    index, dword = (LANE * 7) % 64, LANE % 4
    ins = np.concatenate([x, [index.astype(np.uint32), (4 * dword).astype(np.uint32)]])
    body = (
        descriptor(16, 1, index_stride, 64)
        + "\n  v_mov_b32_e32 v20, v14\n  v_mov_b32_e32 v21, v15\n  buffer_load_dword v60, v[20:21], s[12:15], 0 idxen offen"
    )
    out, _ = run_lanes(body, ins)
    place = index // together * together * 4 + dword * together + index % together
    assert np.array_equal(out[0], ins.ravel()[place])


def test_a_buffer_that_adds_the_lane_counts_lanes_as_records():
    x = values(2, 3)
    body = descriptor(8, 0, 0, 40, add_lane=1) + "\n  buffer_load_dword v60, off, s[12:15], 0 offset:4"
    out, _ = run_lanes(body.replace("0x807000", "0x800000"), x)
    assert np.array_equal(out[0], np.where(LANE < 40, x.ravel()[(2 * LANE + 1) % 128], 0))


def test_two_dwords_at_once_from_a_swizzled_buffer_are_refused():
    body = (
        descriptor(16, 1, 0, 64) + "\n  v_mov_b32_e32 v20, v10\n  buffer_load_dwordx2 v[60:61], v20, s[12:15], 0 idxen"
    )
    with pytest.raises(KernelFault, match="buffer_load_dwordx2"):
        run_lanes(body, np.zeros((1, 64), np.uint32), 2)
