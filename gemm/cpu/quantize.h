// float32 -> e4m3fnuz with block scales, plain loops that the compiler vectorises for the instruction set of the
// file that includes this one. The rule, step by step the same float32 operations as fp8lab/scaling.py:
//
//     amax  = largest |x| of the block, over its finite elements
//     scale = max(amax / 240, 2^-126), and 1 for amax = 0
//     code  = encode(x / scale), nearest even; infinite or NaN gives NaN
#pragma once

#include <cstring>

#include "gemm_cpu.h"

namespace gemm_cpu {
namespace {

inline uint32_t float_bits(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return bits;
}
inline float bits_float(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}

// |x| as bits, which sort like the numbers; 0 for infinite and NaN
inline uint32_t largest_finite(const float* x, uint32_t amax) {
    for (int i = 0; i < k_block; ++i) {
        const uint32_t magnitude = float_bits(x[i]) & 0x7fffffff;
        const uint32_t finite = magnitude < 0x7f800000 ? magnitude : 0;
        amax = amax > finite ? amax : finite;
    }
    return amax;
}

inline uint8_t encode(float y) {
    const uint32_t bits = float_bits(y), magnitude = bits & 0x7fffffff;
    // Normal: keep 3 mantissa bits, nearest even; the exponent bias goes from 127 to 8.
    const uint32_t normal = ((magnitude + 0x7ffff + ((magnitude >> 20) & 1)) >> 20) - ((127 - 8) << 3);
    // Below 2^-7: at 8192 float32 steps by 2^-10, the distance of e4m3fnuz's subnormals, so the addition rounds.
    const uint32_t subnormal = float_bits(bits_float(magnitude) + 8192.0f) - 0x46000000;
    const uint32_t code = magnitude < 0x3c000000 ? subnormal : normal;
    const uint32_t sign = code == 0 ? 0 : (bits >> 24) & 0x80;  // there is no -0
    return static_cast<uint8_t>(code > 0x7f ? 0x80 : code | sign);
}

// Rows of blocks [first, last).
inline void quantize_blocks(const Quantization& q, int64_t first, int64_t last) {
    const int64_t blocks = (q.rows + q.block_rows - 1) / q.block_rows;
    for (int64_t block = first; block < last; ++block) {
        const int64_t row0 = block * q.block_rows;
        const int64_t row1 = row0 + q.block_rows < q.rows ? row0 + q.block_rows : q.rows;
        for (int64_t k = 0; k < q.k; k += k_block) {
            uint32_t amax = 0;
            for (int64_t row = row0; row < row1; ++row) amax = largest_finite(q.x + row * q.k + k, amax);
            float scale = bits_float(amax) / 240.0f;
            if (scale < 0x1p-126f) scale = 0x1p-126f;
            if (amax == 0) scale = 1.0f;
            q.scale[k / k_block * blocks + block] = scale;
            for (int64_t row = row0; row < row1; ++row) {
                const float* const x = q.x + row * q.k + k;
                uint8_t* const codes = q.codes + row * q.k + k;
                for (int i = 0; i < k_block; ++i) codes[i] = encode(x[i] / scale);
            }
        }
    }
}

}  // namespace
}  // namespace gemm_cpu
