// C = A · B with block scales: a (m, k) and b (n, k) K-contiguous e4m3fnuz, out (m, n) bfloat16; m, n, k multiples of
// the tile. A lane computes one element of C; the workgroup reads each byte once and shares it in LDS.
#include "words.h"

extern "C" __global__ __launch_bounds__(256) void gemm(const u8* a, const u8* b, const float* a_scale,
                                                       const float* b_scale, bf16* out, int m, int n, int k) {
    __shared__ u8 a_lds[16 * 128], b_lds[16 * 128];
    int thread = threadIdx.x;
    int row = blockIdx.y * 16 + thread / 16, column = blockIdx.x * 16 + thread % 16;
    float sum = 0;
    for (int kb = 0; kb < k / 128; kb++) {
        for (int i = thread; i < 16 * 128; i += 256) {
            a_lds[i] = a[(blockIdx.y * 16 + i / 128) * k + kb * 128 + i % 128];
            b_lds[i] = b[(blockIdx.x * 16 + i / 128) * k + kb * 128 + i % 128];
        }
        __syncthreads();
        float part = 0;
#pragma unroll 1
        for (int kk = 0; kk < 128; kk++) {
            u8 x = a_lds[thread / 16 * 128 + kk], y = b_lds[thread % 16 * 128 + kk];
            part += to_float(x) * to_float(y);
        }
        sum += part * a_scale[kb * m + row] * b_scale[kb * ((n + 127) / 128) + column / 128];
        __syncthreads();
    }
    out[row * n + column] = sum;
}
