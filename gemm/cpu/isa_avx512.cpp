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

    // The same with an element of A as the FMA's memory operand, which compilers undo when the element is used twice. A
    // row then costs two instructions and two loads, where a broadcast and two FMAs are three and one. Measured on a
    // Skylake-SP with a busy neighbour on the core: the GEMM takes 0.92 of the time with 5 to 11 such rows of 14.
    static constexpr int memory_rows = 5;
    static Vec step_memory(Vec sum, const float* a, Vec b) {
        __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(b), "m"(*a));
        return sum;
    }

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
