// Packing: FP8 codes of 128 k-steps, in whatever layout the caller has them, become a panel that the micro-tile reads
// from front to back: for each k-step the decoded values of its rows (or columns), side by side.
//
// "i" is the other axis than k: m for A, n for B. One of stride_i, stride_k is 1.
#pragma once

#include <cstring>

#include "gemm_cpu.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define GEMM_UNROLL _Pragma("GCC unroll 16")  // GCC and clang; arrays of vectors become registers only when unrolled

namespace gemm_cpu {
namespace {

// dst[k][i] = src[i][k] for a block of 16 x 16 bytes. Rows i >= valid are not read; they give code 0, which is 0.0.
inline void transpose_16x16(const uint8_t* src, int64_t stride_i, int valid, uint8_t* dst, int dst_pitch) {
#if defined(__SSE2__)
    // Interleaving row i with row i + 8 shuffles the 256 bytes like a deck of cards; after four times, byte (i, k)
    // lies at (k, i).
    __m128i x[16], y[16];
    for (int i = 0; i < 16; ++i)
        x[i] = i < valid ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i * stride_i)) : _mm_setzero_si128();
    for (int pass = 0; pass < 4; ++pass) {
        for (int i = 0; i < 8; ++i) {
            y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
            y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
        }
        std::memcpy(x, y, sizeof x);
    }
    for (int k = 0; k < 16; ++k) _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + k * dst_pitch), x[k]);
#else
    for (int k = 0; k < 16; ++k)
        for (int i = 0; i < 16; ++i) dst[k * dst_pitch + i] = i < valid ? src[i * stride_i + k] : 0;
#endif
}

// Codes of one operand: element (i, k) of k-block kb at codes[i * stride_i + k * stride_k + kb * stride_kb].
struct Operand {
    const uint8_t* codes;
    int64_t stride_i, stride_k, stride_kb;

    const uint8_t* at(int64_t i, int64_t kb) const { return codes + i * stride_i + kb * stride_kb; }
};

// The first `blocks` k-blocks of a K-contiguous operand, copied so that all of one k-block lies together; another
// layout has that already. Rows of a matrix are pages apart: read 128 bytes at a time, one k-block after the other,
// each read costs a page walk. Measured on a Skylake-SP, K = 7168: 1 to 4 % of the time of the whole GEMM.
// The buffer has left the L2 cache since it was last written, so its lines are prefetched as well (1 %).
inline Operand gathered(const Operand& x, int64_t count, int64_t blocks, uint8_t* buffer) {
    if (x.stride_k != 1) return x;
    for (int64_t i = 0; i < count; ++i)
        for (int64_t kb = 0; kb < blocks; ++kb) {
            uint8_t* const row = buffer + (kb * count + i) * k_block;
            if (i + 4 < count)
                for (int line = 0; line < k_block; line += 64) {
                    __builtin_prefetch(x.at(i + 4, kb) + line);
                    __builtin_prefetch(row + 4 * k_block + line, 1);
                }
            std::memcpy(row, x.at(i, kb), k_block);
        }
    return {buffer, k_block, 1, count * k_block};
}

// Writes panel[step][i], i < panel_width, of 128 / Isa::k_step steps.
//   read_width  elements decoded per step, a multiple of Isa::lanes and at least panel_width. What is decoded beyond
//               panel_width is overwritten by the next step; the panel needs room for it after the last one.
//   available   elements that x has along i from here on
template <class Isa, int read_width>
void pack(const Operand& x, int64_t i0, int64_t kb, int64_t available, int panel_width, float* panel) {
    constexpr int pitch = (read_width + 15) / 16 * 16;
    const uint8_t* const src = x.at(i0, kb);
    alignas(64) uint8_t codes[k_block * pitch];
    const uint8_t* rows = codes;  // codes of step k at rows + k * row_pitch
    int64_t row_pitch = pitch;
    const int valid = available < pitch ? static_cast<int>(available) : pitch;

    if (x.stride_k == 1) {
        for (int k = 0; k < k_block; k += Isa::transpose_k)
            for (int i = 0; i < pitch; i += 16)
                Isa::transpose(src + i * x.stride_i + k, x.stride_i, valid - i, codes + k * pitch + i, pitch);
    } else if (valid >= read_width) {
        rows = src;  // already in the panel's order
        row_pitch = x.stride_k;
    } else {
        std::memset(codes, 0, sizeof codes);
        for (int k = 0; k < k_block; ++k) std::memcpy(codes + k * pitch, src + k * x.stride_k, valid);
    }

    for (int k = 0; k < k_block; k += Isa::k_step, panel += panel_width)
        for (int i = 0; i < read_width; i += Isa::lanes)
            Isa::store(panel + i, Isa::packed(rows + k * row_pitch + i, row_pitch));
}

}  // namespace
}  // namespace gemm_cpu
