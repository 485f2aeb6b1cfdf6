// FP8 (e4m3fnuz) block-scaled GEMM for gfx942:
//
//   C[m, n] = sum over blocks kb of 128 k:  a_scale[kb, m] * b_scale[kb, n / 128] * sum over k in kb: a[m, k] * b[k, n]
//
// One workgroup computes one tile of C, one block of K after the other:
//
//   global memory ──(registers)──> LDS ──fragments──> MFMA ──scale──> accumulators ──> bfloat16 C
//
// * The tile lies in LDS once, in three regions: B, half 0 of A, half 1 of A. Each is refilled for the next block while
//   another is read, so there are two barriers a block, each with a quarter of the block's MFMAs of slack.
// * B is the first operand of the MFMA. A lane then holds 4 consecutive n of one m: one a_scale for a sub-tile,
//   and wide stores.
// * A slot is 2 sub-tiles × 4 MFMAs into 8 temporary registers; the next slot scales and adds them to the accumulators.
// * Every MFMA is fenced, and all other work stands between them by hand, where the matrix pipe hides it: left to
//   itself the compiler piles it up, and needs 50 more registers. An MFMA takes 4 issue slots, so 3 instructions fit
//   behind it: one multiply-add, and one step of the refill or one fragment.
// * Past the last block of K the buffers are empty: the loop has no tail, and such loads cost nothing.
#pragma once
#include "arguments.h"
#include "epilogue.h"
#include "lds.h"
#include "load.h"
#include "mfma.h"
#include "scale.h"
#include "schedule.h"
#include "split.h"
#include "tile.h"
#include "transpose.h"

namespace gemm {

template <class Tile, class ALayout, class BLayout>
GEMM_DEVICE void gemm_tile(const Arguments& arg) {
    constexpr int mi = Tile::subtiles_m, nj = Tile::subtiles_n;
    typedef Schedule<mi, nj> Schedule;

    // Where am I.
    int m = arg.a.rows, n = arg.b.rows;
    int thread = __builtin_amdgcn_workitem_id_x(), lane = thread % 64;
    int wave = __builtin_amdgcn_readfirstlane(thread / 64);
    int wave_row = Tile::wave_row(wave), wave_column = wave % Tile::waves_n * (16 * nj);
    Place at = place<Tile>(m, n, arg.a.k, arg.parts);
    int blocks = at.last_block - at.first_block, first_k = at.first_block * block_k;

    // What I bring: my share of the tile.
    static __attribute__((shared, aligned(1024))) u8 lds[(Tile::m + Tile::n) * lds_row_bytes];
    u8 *a_lds = lds, *b_lds = lds + Tile::m * lds_row_bytes;
    typename ALayout::Source a_source(arg.a, {at.row, Tile::m, first_k, blocks > 0});
    typename BLayout::Source b_source(arg.b, {at.column, Tile::n, first_k, blocks > 0});
    typedef typename ALayout::template Loader<Tile::m, 2, Tile::lanes> ALoader;
    typedef typename BLayout::template Loader<Tile::n, 1, Tile::lanes> BLoader;
    constexpr Spread<Schedule, BLoader, Schedule::first_to_transpose(BLoader::store_step), Schedule::middle> b_refill;
    constexpr Spread<Schedule, ALoader, Schedule::middle, Schedule::second_barrier> a_refill_0;
    constexpr Spread<Schedule, ALoader, Schedule::second_barrier, Schedule::mfmas> a_refill_1;
    static_assert(b_refill.position[BLoader::store_step] >= Schedule::first_barrier, "B is still being read");
    ALoader a(a_source, thread);
    BLoader b(b_source, thread);
    int blocks_to_load = blocks;
    auto advance_tiles = [&] {
        blocks_to_load--;
        a_source.advance(block_k, blocks_to_load > 0);
        b_source.advance(block_k, blocks_to_load > 0);
    };

    // What I multiply.
    Fragments<typename ALoader::Key> a_rows(a_lds, wave_row, lane);
    Fragments<typename BLoader::Key> b_rows(b_lds, wave_column, lane);
    Scales<Tile> scales(arg.a_scale, arg.b_scale, m, n, arg.a.k, at.row + wave_row, at.column + wave_column, lane,
                        at.first_block);
    i64x2 a_fragment[2][2], b_fragment[nj][2];  // [sub-tile, in turn][half of the 128 k]
    f32x4 total[mi][nj], part[2][2];            // [slot, in turn][sub-tile of the slot]
    float scale = 0;

    // Prologue: block 0 into LDS, block 1 on its way.
    static_for<mi>([&](auto i) { scales.load_a(i.value); });
    scales.load_b();
    schedule_fence();
    b.template load_all<0>(b_source);
    a.template load_all<0>(a_source);
    a.template load_all<1>(a_source);
    advance_tiles();
    scales.advance();
    scales.b_value = scales.b_next;
    schedule_fence();
    a.template arrive<1>();  // before block 1 is asked for, or the order of this prologue would bound the loop's waits
    schedule_fence();
    static_for<b.refill_steps>([&](auto step) { b.template refill<0>(step.value, b_lds, b_source); });
    static_for<a.refill_steps>([&](auto step) { a.template refill<0>(step.value, a_lds, a_source); });
    static_for<a.refill_steps>([&](auto step) { a.template refill<1>(step.value, a_lds, a_source); });
    GEMM_UNROLL
    for (int i = 0; i < mi; i++) GEMM_UNROLL
    for (int j = 0; j < nj; j++) total[i][j] = 0;
    part[0][1] = part[1][0] = part[1][1] = 0;
    lds_barrier();
    GEMM_UNROLL
    for (int h = 0; h < 2; h++) {
        a_fragment[0][h] = a_rows.read(0, h);
        b_fragment[0][h] = b_rows.read(0, h);
        b_fragment[1][h] = b_rows.read(subtile_row(1), h);
    }

    _Pragma("unroll 1") for (int block = 0; block < blocks; block++) {
        constexpr bool few_registers = Tile::subtiles_m * Tile::subtiles_n > 16;
        a.settle_offsets(few_registers);
        b.settle_offsets(few_registers);
        static_for<Schedule::mfmas>([&](auto index) __attribute__((always_inline)) {
            constexpr int position = index.value, i = Schedule::row(position), in_row = Schedule::in_row(position);
            constexpr int slot = in_row / 8, in_slot = in_row % 8, k_step = in_slot / 2, c = in_slot % 2;
            schedule_fence();
            if (position == Schedule::first_barrier || position == Schedule::second_barrier) lds_barrier();
            if (position == Schedule::advance) advance_tiles();

            f32x4 zero = 0;
            part[slot][c] = mfma_16x16x32(b_fragment[slot * 2 + c][k_step / 2][k_step % 2],
                                          a_fragment[i % 2][k_step / 2][k_step % 2], k_step ? part[slot][c] : zero);
            schedule_fence();

            // Scale and add one element of what the slot before has left, one MFMA late: its last has only just begun.
            constexpr int e = (in_slot + 7) % 8, done = 2 * i + slot - (in_slot ? 1 : 2) + 2 * mi;
            f32x4& sum = total[done / 2 % mi][done % 2 * 2 + e / 4];
            sum[e % 4] = __builtin_fmaf(part[done % 2][e / 4][e % 4], scale, sum[e % 4]);
            schedule_fence();

            if (Schedule::scale(position)) {
                scale = scales.a_value[i] * scales.b_value;
                settle(scale);  // so that the old a_value is used up before its register is loaded again
            }
            if (Schedule::load_a_scale(position)) scales.load_a(i);
            if (Schedule::load_b_scale(position)) scales.load_b();
            if constexpr (constexpr int read = Schedule::b_read(position); read >= 0)
                b_fragment[read % nj][read / nj] = b_rows.read(subtile_row(read % nj), read / nj);
            if constexpr (constexpr int read = Schedule::a_read(position), next = (i + 1) % mi; read >= 0)
                a_fragment[next % 2][read] = a_rows.read(Tile::subtile_row_m(next), read);

            // The next block's tile, and the one after.
            static_for<BLoader::refill_steps>([&](auto step) __attribute__((always_inline)) {
                if constexpr (b_refill.position[step.value] == position)
                    b.template refill<0>(step.value, b_lds, b_source);
            });
            static_for<ALoader::refill_steps>([&](auto step) __attribute__((always_inline)) {
                if constexpr (a_refill_0.position[step.value] == position)
                    a.template refill<0>(step.value, a_lds, a_source);
                if constexpr (a_refill_1.position[step.value] == position)
                    a.template refill<1>(step.value, a_lds, a_source);
            });
        });
        scales.advance();
        scales.b_value = scales.b_next;
    }
    GEMM_UNROLL
    for (int e = 0; e < 8; e++) {
        f32x4& sum = total[mi - 1][2 + e / 4];
        sum[e % 4] = __builtin_fmaf(part[1][e / 4][e % 4], scale, sum[e % 4]);
    }
    total[mi - 1][1][3] = __builtin_fmaf(part[0][1][3], scale, total[mi - 1][1][3]);

    if (arg.parts > 1 && !reduce_parts<Tile>(total, arg.workspace, at, arg.parts, thread, lds)) return;
    Output out(arg.out, m, n, arg.out_stride, at.row, Tile::m);
    store<Tile>(total, out, wave_row, at.column + wave_column, lane);
}

}  // namespace gemm
