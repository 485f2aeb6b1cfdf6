// AVX-512 with BF16: Intel since Cooper Lake, AMD since Zen 4. An FP8 number is exact in bfloat16, and vdpbf16ps does
// two k-steps at once.
//
// Its definition (Intel SDM, "VDPBF16PS") adds the product of the odd elements first, then that of the even ones, each
// addition rounded to nearest even, subnormals as zero. So k goes to the odd element and k + 1 to the even one: the
// sums are then those of the float32 paths, in their order, and none is subnormal (products are multiples of 2^-20). On
// a Xeon with AMX all bits were those of the other paths. A CPU that rounds once after both products would differ by
// less than the error bound of the sum, 128 * 2^-24 of the sum of magnitudes.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,f16c"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,f16c,prefer-vector-width=512")
#endif

#include "avx512.h"
#include "quantize.h"
#include "tile.h"

namespace gemm_cpu {
namespace {

// [k, k + 1] as two bfloat16 in one 32-bit lane, k in the upper half
struct Avx512Pairs : Avx512Common {
    static constexpr int k_step = 2;
    static Vec packed(const uint8_t* codes, int64_t row_pitch) {
        const __m512i first = _mm512_castps_si512(decode(codes));
        const __m512i second = _mm512_castps_si512(decode(codes + row_pitch));
        return _mm512_castsi512_ps(_mm512_or_si512(first, _mm512_srli_epi32(second, 16)));
    }
};

struct Avx512Bf16 : Avx512Pairs {
    static Vec step(Vec sum, Vec a, Vec b) {
        return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(a), (__m512bh)_mm512_castps_si512(b));
    }
};

// The same path with the instruction's definition in its place, so that machines without it can test the rest.
struct Avx512Bf16Standin : Avx512Pairs {
    static Vec odd(Vec x) { return _mm512_and_ps(x, _mm512_castsi512_ps(_mm512_set1_epi32(-0x10000))); }
    static Vec even(Vec x) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(x), 16)); }
    static Vec step(Vec sum, Vec a, Vec b) {
        return _mm512_fmadd_ps(even(a), even(b), _mm512_fmadd_ps(odd(a), odd(b), sum));
    }
};

bool has_avx512_bf16() {
    return has_avx512() && __builtin_cpu_supports("avx512bf16");
}

}  // namespace

const Isa isa_avx512_bf16 = {"avx512_bf16",
                             has_avx512_bf16,
                             Avx512Bf16::tile_m,
                             Gemm<Avx512Bf16>::tile_n,
                             Gemm<Avx512Bf16>::workspace_bytes,
                             Gemm<Avx512Bf16>::run,
                             quantize_blocks};
const Isa isa_avx512_bf16_standin = {"avx512_bf16_standin",
                                     has_avx512,
                                     Avx512Bf16Standin::tile_m,
                                     Gemm<Avx512Bf16Standin>::tile_n,
                                     Gemm<Avx512Bf16Standin>::workspace_bytes,
                                     Gemm<Avx512Bf16Standin>::run,
                                     quantize_blocks};

}  // namespace gemm_cpu

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
