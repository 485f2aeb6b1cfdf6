// The GEMM of one task, as a template over the instruction set.
//
//   for each block kb of 128 along k
//       pack A: the task's rows, in tiles of up to tile_m rows          stays in the L2 cache
//       for each tile_n columns
//           pack B: 128 x tile_n                                        stays in the L1 cache
//           for each tile of rows: the micro-tile                       its sums stay in registers
//
// An Isa has: lanes, k_step (k-steps in one 32-bit lane), tile_m <= lanes, Vec (lanes x 32 bit), and the functions used
// below. step(sum, a, b) is sum + a * b in k order: products of two FP8 numbers are exact in float32, so with or
// without FMA every path rounds the same sums in the same order and gives the same bits.
#pragma once

#include "isa.h"
#include "pack.h"

namespace gemm_cpu {
namespace {

// acc[row][col] += a_scale[row] * b_scale * dot(128 of k), for rows x tile_n elements.
//   a    [128 / k_step][rows]     b    [128 / k_step][tile_n]     acc  [rows][tile_n] float32
template <class Isa, int rows>
void micro_tile(const float* a, const float* b, const float* a_scale, float b_scale, bool first, float* acc) {
    using Vec = typename Isa::Vec;
    constexpr int lanes = Isa::lanes, steps = k_block / Isa::k_step;

    Vec dot[rows][2];
    GEMM_UNROLL for (int row = 0; row < rows; ++row) {
        dot[row][0] = dot[row][1] = Isa::broadcast(0.0f);
    }
    for (int step = 0; step < steps; step += 4) {
        __builtin_prefetch(acc + step * 4 * Isa::k_step);  // a cache line: 128 k-steps walk over all of acc
        GEMM_UNROLL for (int s = 0; s < 4; ++s) {
            const Vec b0 = Isa::load(b), b1 = Isa::load(b + lanes);
            __builtin_prefetch(a + 256);
            GEMM_UNROLL for (int row = 0; row < rows; ++row) {
                const Vec a_row = Isa::broadcast(a[row]);
                dot[row][0] = Isa::step(dot[row][0], a_row, b0);
                dot[row][1] = Isa::step(dot[row][1], a_row, b1);
            }
            a += rows;
            b += 2 * lanes;
        }
    }
    GEMM_UNROLL for (int row = 0; row < rows; ++row) {
        const Vec scale = Isa::broadcast(a_scale[row] * b_scale);
        GEMM_UNROLL for (int half = 0; half < 2; ++half) {
            float* p = acc + (2 * row + half) * lanes;
            const Vec before = first ? Isa::broadcast(0.0f) : Isa::load(p);
            Isa::store(p, Isa::add(before, Isa::mul(scale, dot[row][half])));
        }
    }
}

using MicroTile = void (*)(const float*, const float*, const float*, float, bool, float*);

// micro_tiles<Isa>[rows]: rows = 1 ... tile_m, recursion over a compile-time count
template <class Isa, int rows>
struct MicroTiles {
    static void fill(MicroTile* table) {
        table[rows] = &micro_tile<Isa, rows>;
        MicroTiles<Isa, rows - 1>::fill(table);
    }
};
template <class Isa>
struct MicroTiles<Isa, 0> {
    static void fill(MicroTile*) {}
};

// Nearest even. A NaN keeps its sign and stays a NaN, also where its payload is in the lower half only.
inline uint16_t bfloat16_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    return static_cast<uint16_t>(((bits & 0x7fffffff) > 0x7f800000 ? bits | 0x400000 : rounded) >> 16);
}

template <class Isa>
struct Gemm {
    static constexpr int lanes = Isa::lanes, tile_m = Isa::tile_m, tile_n = 2 * Isa::lanes;
    static_assert(tile_m <= lanes, "one vector per step has to hold a packed step of A");
    static_assert(k_block % tile_n == 0, "a tile's columns share one b_scale");

    static int64_t panel_floats(int64_t width) { return width * (k_block / Isa::k_step); }

    // [packed A | 16 floats that pack() may write past it] [packed B] [acc], each on a cache line
    static int64_t a_floats(int64_t rows) { return (panel_floats(rows) + lanes + 15) / 16 * 16; }
    static int64_t workspace_bytes(int64_t rows, int64_t cols) {
        const int64_t padded_cols = (cols + tile_n - 1) / tile_n * tile_n;
        return 4 * (a_floats(rows) + panel_floats(tile_n) + rows * padded_cols);
    }

    static void run(const Problem& p, const Task& task, void* workspace) {
        const int64_t rows = task.m1 - task.m0, scale_cols = (p.n + k_block - 1) / k_block;
        float* const a_panels = static_cast<float*>(workspace);
        float* const b_panel = a_panels + a_floats(rows);
        float* const acc = b_panel + panel_floats(tile_n);
        MicroTile micro_tiles[tile_m + 1];
        MicroTiles<Isa, tile_m>::fill(micro_tiles);

        // Tile heights differ by at most one: a last tile of two rows would cost almost as much as a full one.
        const int64_t tiles = (rows + tile_m - 1) / tile_m;
        const auto tile_begin = [&](int64_t tile) { return tile * rows / tiles; };

        for (int64_t kb = 0; kb < p.k / k_block; ++kb) {
            const uint8_t* const a = p.a + kb * k_block * p.a_stride_k;
            const uint8_t* const b = p.b + kb * k_block * p.b_stride_k;
            const float* const a_scale = p.a_scale + kb * p.m;
            const bool first = kb == 0, last = kb == p.k / k_block - 1;

            for (int64_t tile = 0; tile < tiles; ++tile) {
                const int64_t row = tile_begin(tile), m = task.m0 + row;
                pack<Isa, lanes>(a + m * p.a_stride_m, p.a_stride_m, p.a_stride_k, p.m - m,
                                 static_cast<int>(tile_begin(tile + 1) - row), a_panels + panel_floats(row));
            }
            float* acc_panel = acc;  // [rows][tile_n]
            for (int64_t n = task.n0; n < task.n1; n += tile_n, acc_panel += rows * tile_n) {
                pack<Isa, tile_n>(b + n * p.b_stride_n, p.b_stride_n, p.b_stride_k, p.n - n, tile_n, b_panel);
                // The next codes, while the micro-tiles keep the memory idle: B's next panel, and a share of A's next block.
                if (n + tile_n < task.n1)
                    prefetch_codes(b + (n + tile_n) * p.b_stride_n, p.b_stride_n, p.b_stride_k, tile_n);
                else if (!last)
                    prefetch_codes(b + k_block * p.b_stride_k + task.n0 * p.b_stride_n, p.b_stride_n, p.b_stride_k, tile_n);
                if (!last) {
                    const int64_t share = (rows * tile_n + task.n1 - task.n0 - 1) / (task.n1 - task.n0);
                    const int64_t m = task.m0 + (n - task.n0) / tile_n * share;
                    if (m < task.m1) prefetch_codes(a + k_block * p.a_stride_k + m * p.a_stride_m, p.a_stride_m, p.a_stride_k, share);
                }
                const float b_scale = p.b_scale[kb * scale_cols + n / k_block];
                for (int64_t tile = 0; tile < tiles; ++tile) {
                    const int64_t row = tile_begin(tile), height = tile_begin(tile + 1) - row;
                    micro_tiles[height](a_panels + panel_floats(row), b_panel, a_scale + task.m0 + row, b_scale, first,
                                        acc_panel + row * tile_n);
                }
                if (last) write_out(p, task, n, acc_panel);
            }
        }
    }

    static void write_out(const Problem& p, const Task& task, int64_t n, const float* acc) {
        const int64_t cols = task.n1 - n < tile_n ? task.n1 - n : tile_n;
        for (int64_t m = task.m0; m < task.m1; ++m, acc += tile_n) {
            uint16_t* const out = p.out + m * p.out_stride_m + n;
            for (int64_t col = 0; col < cols; ++col) out[col] = bfloat16_bits(acc[col]);
        }
    }
};

}  // namespace
}  // namespace gemm_cpu
