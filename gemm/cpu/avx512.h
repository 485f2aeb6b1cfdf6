// Included by the two AVX-512 files, after they have switched the compiler to these instructions.
#pragma once

#include <immintrin.h>

#include "pack.h"

namespace gemm_cpu {
namespace {

// What both AVX-512 paths share. 14 x 32 elements of C take 28 of the 32 registers; two hold B, one a broadcast of A.
struct Avx512Common {
    using Vec = __m512;
    static constexpr int lanes = 16, tile_m = 14, transpose_k = 64;

    static Vec load(const float* p) { return _mm512_loadu_ps(p); }
    static void store(float* p, Vec x) { _mm512_storeu_ps(p, x); }
    static Vec broadcast(float x) { return _mm512_set1_ps(x); }
    static Vec add(Vec x, Vec y) { return _mm512_add_ps(x, y); }
    static Vec mul(Vec x, Vec y) { return _mm512_mul_ps(x, y); }

    // Moved to float16's place, the seven lower bits of a code are value * 2^-7, subnormals included: only the bias
    // differs. Sign extension puts the sign at bit 15 and, one too many, at bit 14.
    static Vec decode(const uint8_t* codes) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
        const __m256i words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
        const __m256i half = _mm256_and_si256(words, _mm256_set1_epi16(static_cast<short>(0xbfff)));
        const Vec value = _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(128.0f));
        const __mmask16 is_nan = _mm_cmpeq_epi8_mask(bytes, _mm_set1_epi8(static_cast<char>(0x80)));
        return __builtin_expect(is_nan, 0) ? _mm512_mask_mov_ps(value, is_nan, _mm512_set1_ps(__builtin_nanf("")))
                                           : value;
    }

    // dst[k][i] = src[i][k] for 16 x 64 bytes; the shuffle of transpose_16x16 (pack.h), on four blocks at once.
    static void transpose(const uint8_t* src, int64_t stride_i, int valid, uint8_t* dst, int dst_pitch) {
        __m512i x[16], y[16];
        GEMM_UNROLL for (int i = 0; i < 16; ++i) x[i] =
            i < valid ? _mm512_loadu_si512(src + i * stride_i) : _mm512_setzero_si512();
        GEMM_UNROLL for (int pass = 0; pass < 4; ++pass) {
            GEMM_UNROLL for (int i = 0; i < 8; ++i) {
                y[2 * i] = _mm512_unpacklo_epi8(x[i], x[i + 8]);
                y[2 * i + 1] = _mm512_unpackhi_epi8(x[i], x[i + 8]);
            }
            GEMM_UNROLL for (int i = 0; i < 16; ++i) x[i] = y[i];
        }
        GEMM_UNROLL for (int k = 0; k < 16; ++k) {
            uint8_t* const row = dst + k * dst_pitch;
            _mm_storeu_si128(reinterpret_cast<__m128i*>(row), _mm512_extracti32x4_epi32(x[k], 0));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(row + 16 * dst_pitch), _mm512_extracti32x4_epi32(x[k], 1));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(row + 32 * dst_pitch), _mm512_extracti32x4_epi32(x[k], 2));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(row + 48 * dst_pitch), _mm512_extracti32x4_epi32(x[k], 3));
        }
    }
};

inline bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

}  // namespace
}  // namespace gemm_cpu
