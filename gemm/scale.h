// Block scales on their way from global memory into registers; no LDS.
//
//   a_scale  (K / 128, M) float32: one value a lane and sub-tile
//   b_scale  (K / 128, ceil(N / 128)) float32: one value a wave, as its 64 columns lie in one block of 128
#pragma once
#include "device.h"
#include "lds.h"

namespace gemm {

template <class Tile>
struct Scales {
    Buffer a, b;
    u32 a_offset, b_offset;  // bytes; of the block of K to load next. Past the last one nothing is read.
    u32 a_pitch, b_pitch;    // bytes from one block of K to the next
    float a_value[Tile::subtiles_m], b_value, b_next;

    // row, column: of the wave's first element in the matrix; first_block: where along K this workgroup starts
    GEMM_DEVICE Scales(const float* a_scale, const float* b_scale, int m, int n, int k, int row, int column, int lane,
                       int first_block) {
        int blocks = k / block_k, b_columns = (n + block_k - 1) / block_k;
        a_pitch = u32(m) * 4;
        b_pitch = u32(b_columns) * 4;
        a = buffer(a_scale, blocks * a_pitch);
        b = buffer(b_scale, blocks * b_pitch);
        a_offset = first_block * a_pitch + u32(row + lane_row(lane % 16)) * 4;
        b_offset = first_block * b_pitch + min(column / block_k, b_columns - 1) * 4;
    }

    GEMM_DEVICE void load_a(int i) { a_value[i] = load_f32(a, a_offset + Tile::subtile_row_m(i) * 4); }

    // NOTE: a vector load of one address by all lanes. A scalar load returns out of order with LDS, so that every later
    // wait for a fragment would become a wait for everything.
    GEMM_DEVICE void load_b() { b_next = load_f32(b, b_offset); }

    GEMM_DEVICE void advance() {
        a_offset += a_pitch;
        b_offset += b_pitch;
        settle(b_offset);  // into a vector register, to stay
    }
};

}  // namespace gemm
