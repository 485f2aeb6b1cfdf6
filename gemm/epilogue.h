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

// A lane holds 8 consecutive n of one m in each pair of sub-tiles: 16 bytes, and 64 bytes a row over 4 lanes.
// row, column: the wave's first element inside the tile's rows and in the matrix.
template <class Tile>
GEMM_DEVICE void store(f32x4 (&total)[Tile::subtiles_m][Tile::subtiles_n], u16* out, int m, int n, int pitch,
                       int tile_row, int row, int column, int lane) {
    bool words = reinterpret_cast<u64>(out) % 4 == 0 && pitch % 2 == 0;  // what a store of more than 2 bytes needs
    Buffer c = buffer(out + i64(tile_row) * pitch, (u32(min(m - tile_row, Tile::m) - 1) * pitch + n) * 2);
    int first = column + lane / 16 * 8;
    GEMM_UNROLL
    for (int i = 0; i < Tile::subtiles_m; i++) {
        u32 row_offset = u32(row + Tile::subtile_row_m(i) + lane_row(lane % 16)) * pitch;
        GEMM_UNROLL
        for (int j = 0; j < Tile::subtiles_n; j += 2) {
            f32x4 x = total[i][j], y = total[i][j + 1];
            u32x4 packed = {bf16_pair(x[0], x[1]), bf16_pair(x[2], x[3]), bf16_pair(y[0], y[1]), bf16_pair(y[2], y[3])};
            int at = first + subtile_row(j);
            u32 offset = (row_offset + at) * 2;
            if (words && n % 8 == 0) {
                __builtin_amdgcn_raw_buffer_store_b128(packed, c, at < n ? offset : outside, 0, 0);
            } else if (words && n % 4 == 0) {
                u32x2 low = {packed[0], packed[1]}, high = {packed[2], packed[3]};
                __builtin_amdgcn_raw_buffer_store_b64(low, c, at < n ? offset : outside, 0, 0);
                __builtin_amdgcn_raw_buffer_store_b64(high, c, at + 4 < n ? offset + 8 : outside, 0, 0);
            } else {
                GEMM_UNROLL
                for (int v = 0; v < 8; v++)
                    __builtin_amdgcn_raw_buffer_store_b16(packed[v / 2] >> v % 2 * 16, c,
                                                          at + v < n ? offset + v * 2 : outside, 0, 0);
            }
        }
    }
}

}  // namespace gemm
