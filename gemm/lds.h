// The image of an operand tile in LDS, and how a wave reads its MFMA operands from it.
//
//   rows of 128 bytes: one matrix row (of A or of B transposed), 128 consecutive k
//   chunks of 16 bytes: chunk c of row x lies at chunk position c ^ key(x), so that lanes reading one chunk of eight
//   rows, and lanes writing one chunk of eight rows, always hit all 32 banks
#pragma once
#include "device.h"

namespace gemm {

constexpr int lds_row_bytes = block_k;

// Which rows the 16 lanes of a sub-tile stand for. Sub-tiles 2 s and 2 s + 1 interleave in fours: D of an MFMA gives a
// lane 4 consecutive rows of its first operand, so two sub-tiles give 8 consecutive n: one 16-byte store.
constexpr GEMM_DEVICE int subtile_row(int subtile) {
    return 32 * (subtile / 2) + 4 * (subtile % 2);
}
constexpr GEMM_DEVICE int lane_row(int lane) {
    return 8 * (lane / 4) + lane % 4;
}

// The three bits of a key. A fragment is read by rows 0-3, 8-11 (lanes 0-7) and 16-19, 24-27 (lanes 8-15): distinct in
// bits 0, 1 and 3 of the row. Writers of transposed bytes differ in bits 3 and up, eight rows apart: fold those in.
struct KContiguousKey {
    static constexpr GEMM_DEVICE u32 of(u32 row) { return (row & 3) | (row >> 1 & 4); }
};
template <bool eight_groups>  // of eight rows; or four, which the other two bits tell apart
struct RowContiguousKey {
    static constexpr GEMM_DEVICE u32 of(u32 row) {
        return ((row ^ (eight_groups ? row >> 5 : 0)) & 1) | ((row ^ row >> 3) & 2) | (row >> 1 & 4);
    }
};

// Waits for this wave's LDS traffic, then for the other waves. Global loads stay in flight: a fence over all memory
// would wait for them too, and end the prefetch.
GEMM_DEVICE void lds_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

// The rows that one wave multiplies: sub-tiles of 16 rows, from `first_row` of the tile at `lds`.
template <class Key>
struct Fragments {
    const u8* lds;
    u32 lane_offset;  // of chunk lane / 16, row lane_row(lane % 16)

    GEMM_DEVICE Fragments(const u8* lds, int first_row, int lane) : lds(lds) {
        u32 row = first_row + lane_row(lane % 16);
        lane_offset = row * lds_row_bytes + ((lane / 16 ^ Key::of(row)) << 4);
    }

    // The sub-tile at `row`, 16 bytes a lane: chunk lane / 16 (half 0) or lane / 16 + 4 (half 1), the operands of two
    // MFMAs. That a lane's k is not what the ISA document says does not matter, as A and B agree. ds_read_b128, 8 lanes
    // a clock.
    GEMM_DEVICE i64x2 read(int row, int half) const {
        u32 flip = (Key::of(row) ^ half * 4) << 4;  // a key is linear over xor
        return *reinterpret_cast<const i64x2*>(lds + (lane_offset ^ flip) + row * lds_row_bytes);
    }
};

}  // namespace gemm
