// The GEMM of one task, as a template over the instruction set.
//
//   for each block kb of 128 along k (their codes gathered eight blocks at a time)
//       pack A: the task's rows, in tiles of up to tile_m rows          stays in the L2 cache
//       for each tile_n columns
//           pack B: 128 x tile_n                                        stays in the L1 cache
//           for each tile of rows: the micro-tile                       its sums stay in registers
//
// An Isa has: lanes, k_step (k-steps in one 32-bit lane), tile_m <= lanes, Vec (lanes x 32 bit), and the functions used
// below; one may also have memory_rows and step_memory. step(sum, a, b) is sum + a * b in k order: products of two FP8
// numbers are exact in float32, so with or without FMA every path rounds the same sums in the same order and gives the
// same bits.
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
            __builtin_prefetch(a + 256);  // A comes from L2; a KiB ahead is soon enough, and L1 keeps its B
            GEMM_UNROLL for (int row = 0; row < rows; ++row) {
                if constexpr (requires { Isa::memory_rows; }) {
                    if (row < Isa::memory_rows) {
                        dot[row][0] = Isa::step_memory(dot[row][0], a + row, b0);
                        dot[row][1] = Isa::step_memory(dot[row][1], a + row, b1);
                        continue;
                    }
                }
                const Vec a_row = Isa::broadcast(a[row]);
                dot[row][0] = Isa::step(dot[row][0], a_row, b0);
                dot[row][1] = Isa::step(dot[row][1], a_row, b1);
            }
            a += rows;
            b += 2 * lanes;
        }
    }
    GEMM_UNROLL for (int row = 0; row < rows; ++row) {
        const Vec scale = Isa::mul(Isa::broadcast(a_scale[row]), Isa::broadcast(b_scale));
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

    // k-blocks whose codes are gathered at a time: a page of codes along k holds up to 32.
    static constexpr int64_t chunk = 8;

    // [codes of A] [codes of B] [packed A, and a vector that pack() may write past it] [packed B] [acc]
    static int64_t code_bytes(int64_t count) { return (count * chunk * k_block + 63) / 64 * 64; }
    static int64_t a_floats(int64_t rows) { return (panel_floats(rows) + lanes + 15) / 16 * 16; }
    static int64_t workspace_bytes(int64_t rows, int64_t cols) {
        const int64_t padded_cols = (cols + tile_n - 1) / tile_n * tile_n;
        return code_bytes(rows) + code_bytes(cols) + 4 * (a_floats(rows) + panel_floats(tile_n) + rows * padded_cols);
    }

    static void run(const Problem& p, const Task& task, void* workspace) {
        const int64_t rows = task.m1 - task.m0, cols = task.n1 - task.n0, blocks = p.k / k_block;
        uint8_t* const a_codes = static_cast<uint8_t*>(workspace);
        uint8_t* const b_codes = a_codes + code_bytes(rows);
        float* const a_panels = reinterpret_cast<float*>(b_codes + code_bytes(cols));
        float* const b_panel = a_panels + a_floats(rows);
        float* const acc = b_panel + panel_floats(tile_n);
        MicroTile micro_tiles[tile_m + 1];
        MicroTiles<Isa, tile_m>::fill(micro_tiles);

        // Tile heights differ by at most one: a last tile of two rows would cost almost as much as a full one. The
        // higher ones come first, so that the CPU predicts which micro-tile is called.
        const int64_t tiles = (rows + tile_m - 1) / tile_m, higher_tiles = rows % tiles;
        const auto tile_height = [&, lower = rows / tiles](int64_t tile) { return lower + (tile < higher_tiles); };

        Operand a = {p.a + task.m0 * p.a_stride_m, p.a_stride_m, p.a_stride_k, k_block * p.a_stride_k};
        Operand b = {p.b + task.n0 * p.b_stride_n, p.b_stride_n, p.b_stride_k, k_block * p.b_stride_k};
        const float* a_scale = p.a_scale + task.m0;
        const float* b_scale = p.b_scale;
        for (int64_t kb0 = 0; kb0 < blocks;
             kb0 += chunk, a.codes += chunk * a.stride_kb, b.codes += chunk * b.stride_kb) {
            const int64_t chunk_blocks = blocks - kb0 < chunk ? blocks - kb0 : chunk;
            const Operand a_chunk = gathered(a, rows, chunk_blocks, a_codes);
            const Operand b_chunk = gathered(b, cols, chunk_blocks, b_codes);

            for (int64_t kb = 0; kb < chunk_blocks; ++kb, a_scale += p.m, b_scale += (p.n + k_block - 1) / k_block) {
                for (int64_t tile = 0, row = 0; tile < tiles; row += tile_height(tile++))
                    pack<Isa, lanes>(a_chunk, row, kb, rows - row, static_cast<int>(tile_height(tile)),
                                     a_panels + panel_floats(row));
                for (int64_t col = 0; col < cols; col += tile_n) {
                    pack<Isa, tile_n>(b_chunk, col, kb, cols - col, tile_n, b_panel);
                    const float scale = b_scale[(task.n0 + col) / k_block];
                    float* const acc_panel = acc + col * rows;  // [rows][tile_n]
                    for (int64_t tile = 0, row = 0; tile < tiles; row += tile_height(tile++))
                        micro_tiles[tile_height(tile)](a_panels + panel_floats(row), b_panel, a_scale + row, scale,
                                                       kb0 + kb == 0, acc_panel + row * tile_n);
                    if (kb0 + kb == blocks - 1) write_out(p, task, task.n0 + col, acc_panel);
                }
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
