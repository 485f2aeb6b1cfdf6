// x86-64 with AVX2, FMA and F16C: every CPU since 2013 (Intel Haswell) or 2015 (AMD Excavator).
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

#include "quantize.h"
#include "tile.h"

namespace gemm_cpu {
namespace {

struct Avx2 {
    using Vec = __m256;
    static constexpr int lanes = 8, k_step = 1, tile_m = 6, transpose_k = 16;

    static void transpose(const uint8_t* src, int64_t stride_i, int valid, uint8_t* dst, int dst_pitch) {
        transpose_16x16(src, stride_i, valid, dst, dst_pitch);
    }
    static Vec load(const float* p) { return _mm256_loadu_ps(p); }
    static void store(float* p, Vec x) { _mm256_storeu_ps(p, x); }
    static Vec broadcast(float x) { return _mm256_set1_ps(x); }
    static Vec add(Vec x, Vec y) { return _mm256_add_ps(x, y); }
    static Vec mul(Vec x, Vec y) { return _mm256_mul_ps(x, y); }
    static Vec step(Vec sum, Vec a, Vec b) { return _mm256_fmadd_ps(a, b, sum); }

    // Moved to float16's place, the seven lower bits are value * 2^-7, subnormals included: only the bias differs.
    static Vec packed(const uint8_t* codes, int64_t) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
        const __m128i high = _mm_unpacklo_epi8(_mm_setzero_si128(), bytes);  // code << 8
        const __m128i half = _mm_and_si128(_mm_srai_epi16(high, 1), _mm_set1_epi16(static_cast<short>(0xbfff)));
        const Vec value = _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(128.0f));
        const __m256i code = _mm256_cvtepu8_epi32(bytes);
        const Vec is_nan = _mm256_castsi256_ps(_mm256_cmpeq_epi32(code, _mm256_set1_epi32(0x80)));
        return _mm256_or_ps(value, is_nan);  // all ones is a NaN
    }
};

bool is_supported() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

}  // namespace

const Isa isa_avx2 = {"avx2",          is_supported,   Avx2::tile_m, Gemm<Avx2>::tile_n, Gemm<Avx2>::workspace_bytes,
                      Gemm<Avx2>::run, quantize_blocks};

}  // namespace gemm_cpu

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
