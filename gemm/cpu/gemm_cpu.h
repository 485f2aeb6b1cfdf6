// The CPU backend's interface: plain pointers, no torch types. The binding has checked everything before it calls.
#pragma once

#include <cstdint>

namespace gemm_cpu {

constexpr int k_block = 128;  // elements along k that share a scale; for b_scale also along n

// C[m,n] = sum over kb of a_scale[kb,m] * b_scale[kb,n/128] * (sum over k in block kb of a[m,k] * b[k,n])
struct Problem {
    int64_t m, n, k;                 // k is a multiple of 128
    const uint8_t* a;                // e4m3fnuz codes; one of the two strides is 1
    int64_t a_stride_m, a_stride_k;  //
    const uint8_t* b;                // the same
    int64_t b_stride_k, b_stride_n;  //
    const float* a_scale;            // (k/128, m) contiguous
    const float* b_scale;            // (k/128, ceil(n/128)) contiguous
    uint16_t* out;                   // bfloat16 bits, (m, n), elements of a row adjacent
    int64_t out_stride_m;
};

// x[rows, k] float32 -> e4m3fnuz codes, one scale for every block of block_rows x 128.
struct Quantization {
    int64_t rows, k;     // k is a multiple of 128
    int64_t block_rows;  // 1: an activation, 128: a weight
    const float* x;      // contiguous
    uint8_t* codes;      // (rows, k) contiguous
    float* scale;        // (k/128, ceil(rows/block_rows)) contiguous
};

// The code path that the next call takes: the fastest this CPU has, or the one that the environment variable
// GEMM_CPU_ISA names. Null if that one is unknown or this CPU lacks it; isa_names() says which there are here.
const char* isa_name();
const char* isa_names();

// Both use torch's threads, as many as torch.get_num_threads() says, and may be called from several threads at once.
// False: out of memory, or isa_name() is null. Nothing was written then.
bool gemm(const Problem& problem);
bool quantize(const Quantization& q);

}  // namespace gemm_cpu
