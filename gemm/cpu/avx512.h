// Included by the two AVX-512 files, after they have switched the compiler to these instructions.
#pragma once

#include <immintrin.h>

#include "gemm_cpu.h"

namespace gemm_cpu {
namespace {

// What both AVX-512 paths share. 14 x 32 elements of C take 28 of the 32 registers; two hold B, one a broadcast of A.
struct Avx512Common {
    using Vec = __m512;
    static constexpr int lanes = 16, tile_m = 14;

    static Vec load(const float* p) { return _mm512_loadu_ps(p); }
    static void store(float* p, Vec x) { _mm512_storeu_ps(p, x); }
    static Vec broadcast(float x) { return _mm512_set1_ps(x); }
    static Vec add(Vec x, Vec y) { return _mm512_add_ps(x, y); }
    static Vec mul(Vec x, Vec y) { return _mm512_mul_ps(x, y); }

    // Moved to float16's place, the seven lower bits are value * 2^-7, subnormals included: only the bias differs.
    static Vec decode16(const uint8_t* codes) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
        const __m256i high = _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 8);
        const __m256i half = _mm256_and_si256(_mm256_srai_epi16(high, 1), _mm256_set1_epi16(static_cast<short>(0xbfff)));
        const Vec value = _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(128.0f));
        const __mmask16 is_nan = _mm_cmpeq_epi8_mask(bytes, _mm_set1_epi8(static_cast<char>(0x80)));
        return _mm512_mask_mov_ps(value, is_nan, _mm512_set1_ps(__builtin_nanf("")));
    }
};

inline bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

}  // namespace
}  // namespace gemm_cpu
