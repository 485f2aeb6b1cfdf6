// Accumulators to bfloat16 in C.
#pragma once
#include "device.h"
#include "lds.h"
#include "tile.h"

namespace gemm {

// Round to nearest even; a NaN stays one.
GEMM_DEVICE u32 bf16_bits(float x) {
    u32 bits = __builtin_bit_cast(u32, x), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return x == x ? rounded : 0x7fc0;
}
GEMM_DEVICE u32 bf16_pair(float low, float high) {
    return bf16_bits(low) | bf16_bits(high) << 16;
}

// The rows of C that a tile has; a row past the end, or n outside, is not written.
struct Output {
    Buffer rows;
    int n, pitch;
    bool words;  // what a store of more than 2 bytes needs

    GEMM_DEVICE Output(u16* out, int m, int n, int pitch, int first_row, int tile_rows) : n(n), pitch(pitch) {
        words = reinterpret_cast<u64>(out) % 4 == 0 && pitch % 2 == 0;
        rows = buffer(out + i64(first_row) * pitch, (u32(min(m - first_row, tile_rows) - 1) * pitch + n) * 2);
    }

    // 8 consecutive n of one row of the tile: 16 bytes.
    GEMM_DEVICE void store(int row, int column, f32x4 low, f32x4 high) const {
        u32x4 packed = {bf16_pair(low[0], low[1]), bf16_pair(low[2], low[3]), bf16_pair(high[0], high[1]),
                        bf16_pair(high[2], high[3])};
        u32 offset = (u32(row) * pitch + column) * 2;
        if (words && n % 8 == 0) {
            __builtin_amdgcn_raw_buffer_store_b128(packed, rows, column < n ? offset : outside, 0, 0);
        } else if (words && n % 4 == 0) {
            u32x2 first = {packed[0], packed[1]}, second = {packed[2], packed[3]};
            __builtin_amdgcn_raw_buffer_store_b64(first, rows, column < n ? offset : outside, 0, 0);
            __builtin_amdgcn_raw_buffer_store_b64(second, rows, column + 4 < n ? offset + 8 : outside, 0, 0);
        } else {
            GEMM_UNROLL
            for (int v = 0; v < 8; v++)
                __builtin_amdgcn_raw_buffer_store_b16(packed[v / 2] >> v % 2 * 16, rows,
                                                      column + v < n ? offset + v * 2 : outside, 0, 0);
        }
    }
};

// A lane holds 8 consecutive n of one m in each pair of sub-tiles, and four lanes 64 bytes of a row.
// row, column: the wave's first element inside the tile's rows and in the matrix.
template <class Tile>
GEMM_DEVICE void store(f32x4 (&total)[Tile::subtiles_m][Tile::subtiles_n], const Output& out, int row, int column,
                       int lane) {
    GEMM_UNROLL
    for (int i = 0; i < Tile::subtiles_m; i++) GEMM_UNROLL
    for (int j = 0; j < Tile::subtiles_n; j += 2)
        out.store(row + Tile::subtile_row_m(i) + lane_row(lane % 16), column + lane / 16 * 8 + subtile_row(j),
                  total[i][j], total[i][j + 1]);
}

}  // namespace gemm
