// x86-64 with AVX-512F/BW/VL/DQ: Intel since Skylake-SP (2017), AMD since Zen 4.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,f16c"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,f16c,prefer-vector-width=512")
#endif

#include "avx512.h"
#include "quantize.h"
#include "tile.h"

namespace gemm_cpu {
namespace {

struct Avx512 : Avx512Common {
    static constexpr int k_step = 1;
    static Vec step(Vec sum, Vec a, Vec b) { return _mm512_fmadd_ps(a, b, sum); }
    static Vec packed(const uint8_t* codes, int64_t) { return decode(codes); }
};

}  // namespace

const Isa isa_avx512 = {
    "avx512",          has_avx512,     Avx512::tile_m, Gemm<Avx512>::tile_n, Gemm<Avx512>::workspace_bytes,
    Gemm<Avx512>::run, quantize_blocks};

}  // namespace gemm_cpu

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
