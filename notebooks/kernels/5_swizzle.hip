// C = A · B with block scales: a (m, k) and b (n, k) K-contiguous e4m3fnuz, out (m, n) bfloat16; m, n, k multiples of
// the tile. A wave computes 64 × 64 elements of C by matrix instructions. LDS is read without bank conflicts.
#include "words.h"

// Where a chunk of 16 bytes of a row lies in a tile. Eight rows put it at eight places: all 32 banks are used at once.
__device__ int place(int row, int chunk) {
    return row * 128 + (chunk ^ row % 8) * 16;
}

// What a lane hands to two MFMAs: a chunk of 16 bytes of a row of a tile.
__device__ i64x2 fragment(const u8* lds, int row, int chunk) {
    return *(const i64x2*)(lds + place(row, chunk));
}

extern "C" __global__ __launch_bounds__(256) void gemm(const u8* a, const u8* b, const float* a_scale,
                                                       const float* b_scale, bf16* out, int m, int n, int k) {
    __shared__ alignas(16) u8 a_lds[128 * 128], b_lds[128 * 128];
    __shared__ float scale_lds[128];
    int thread = threadIdx.x, lane = thread % 64, wave = thread / 64;
    int row = wave / 2 * 64, column = wave % 2 * 64;  // of the wave, in the tile
    f32x4 sum[4][4] = {};
    for (int kb = 0; kb < k / 128; kb++) {
        for (int i = 0; i < 4; i++) {
            int r = i * 32 + thread / 8, chunk = thread % 8;
            u32x4 x = *(const u32x4*)(a + (blockIdx.y * 128 + r) * k + kb * 128 + chunk * 16);
            u32x4 y = *(const u32x4*)(b + (blockIdx.x * 128 + r) * k + kb * 128 + chunk * 16);
            *(u32x4*)(a_lds + place(r, chunk)) = x;
            *(u32x4*)(b_lds + place(r, chunk)) = y;
        }
        if (thread < 128) scale_lds[thread] = a_scale[kb * m + blockIdx.y * 128 + thread];
        float column_scale = b_scale[kb * ((n + 127) / 128) + blockIdx.x];
        __syncthreads();
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                f32x4 part = {};
                for (int half = 0; half < 2; half++) {
                    int chunk = half * 4 + lane / 16;
                    i64x2 x = fragment(a_lds, row + i * 16 + lane % 16, chunk);
                    i64x2 y = fragment(b_lds, column + j * 16 + lane % 16, chunk);
                    part = mfma(x[1], y[1], mfma(x[0], y[0], part));
                }
                for (int e = 0; e < 4; e++)
                    sum[i][j][e] += part[e] * scale_lds[row + i * 16 + lane / 16 * 4 + e] * column_scale;
            }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 4; e++) {
                int r = blockIdx.y * 128 + row + i * 16 + lane / 16 * 4 + e;
                out[r * n + blockIdx.x * 128 + column + j * 16 + lane % 16] = sum[i][j][e];
            }
}
