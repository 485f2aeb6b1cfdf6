// A 64 × 64 tile by four waves that share nothing: for results too small to give every CU one of the larger tiles.
//
// Each wave computes the whole tile over every fourth block of K; the four sums are added through LDS at the end. As no
// other wave needs a wave's operands, they go straight from global memory to the registers that the MFMA reads: the
// loop has no LDS traffic and no barrier.
//
// * Sub-tile i stands for rows 4 r + i, r = 0 … 15, of A and of B^T alike: a lane brings four neighbouring rows.
// * A block is 8 steps of 2 sub-tiles × 4 MFMAs: sub-tile `step % 4` of A by sub-tiles 0, 1 (first four steps) or 2, 3
//   of B. So a register is free for the next block's bytes three steps or more before they are multiplied.
// * As in gemm_kernel.h, a step is scaled and added during the next one, and everything stands behind an MFMA by hand.
#pragma once
#include "arguments.h"
#include "epilogue.h"
#include "mfma.h"
#include "split.h"
#include "tile.h"
#include "wave_load.h"

namespace gemm {

// Four waves add up to this; then each has one sub-tile of A by all of B.
struct WaveTile {
    static constexpr int m = 64, n = 64, waves = 4, lanes = waves * 64, subtiles_m = 1, subtiles_n = 4;
};

// The four waves' sums of the tile, added in order: wave w gets those of sub-tile w of A. In two rounds, as a CU's LDS
// holds half a tile for each of the 8 waves that its registers are for.
GEMM_DEVICE void add_waves(f32x4 (&total)[4][4], f32x4 (&sum)[1][4], int wave, int lane, f32x4* lds) {
    GEMM_UNROLL
    for (int j = 0; j < 4; j += 2) {
        if (j) lds_barrier();
        GEMM_UNROLL
        for (int i = 0; i < 4; i++)
            for (int c = 0; c < 2; c++) lds[((wave * 4 + i) * 2 + c) * 64 + lane] = total[i][j + c];
        lds_barrier();
        GEMM_UNROLL
        for (int c = 0; c < 2; c++) {
            sum[0][j + c] = 0;
            for (int from = 0; from < 4; from++) sum[0][j + c] += lds[((from * 4 + wave) * 2 + c) * 64 + lane];
        }
    }
}

template <class ALayout, class BLayout>
GEMM_DEVICE void gemm_wave_tile(const Arguments& arg) {
    int m = arg.a.rows, n = arg.b.rows, k_blocks = arg.a.k / block_k, n_blocks = (n + block_k - 1) / block_k;
    int thread = __builtin_amdgcn_workitem_id_x(), lane = thread % 64;
    int wave = __builtin_amdgcn_readfirstlane(thread / 64);
    Place at = place<WaveTile>(m, n, arg.a.k, arg.parts);
    int first_block = at.first_block + wave, rest = at.last_block - first_block;
    int blocks = (rest + WaveTile::waves - 1) / WaveTile::waves;  // every fourth, from first_block on

    typename ALayout::Source a_source(arg.a, {at.row, WaveTile::m, first_block * block_k, blocks > 0});
    typename BLayout::Source b_source(arg.b, {at.column, WaveTile::n, first_block * block_k, blocks > 0});
    WaveLoader<ALayout, ROWS_OF_A> a(a_source, lane, m - at.row);
    WaveLoader<BLayout, ROWS_OF_B> b(b_source, lane, n - at.column);
    u32 a_pitch = u32(m) * 4, b_pitch = u32(n_blocks) * 4;  // bytes from one block of K to the next
    Buffer a_scales = buffer(arg.a_scale, k_blocks * a_pitch), b_scales = buffer(arg.b_scale, k_blocks * b_pitch);
    u32 a_scale_at = first_block * a_pitch + u32(at.row + lane % 16 * 4) * 4;
    u32 b_scale_at = first_block * b_pitch + at.column / block_k * 4;

    WaveFragments a_fragment, b_fragment;
    f32x4 total[4][4], part[2][2];        // [step, in turn][sub-tile of the step]
    f32x4 a_scale, scale = {0, 0, 0, 0};  // of the lane's four rows
    float b_scale;
    auto load_a_scale = [&] {
        a_scale = __builtin_bit_cast(f32x4, __builtin_amdgcn_raw_buffer_load_b128(a_scales, a_scale_at, 0, 0));
    };
    auto load_b_scale = [&] { b_scale = load_f32(b_scales, b_scale_at); };

    GEMM_UNROLL
    for (int i = 0; i < 4; i++) GEMM_UNROLL
    for (int j = 0; j < 4; j++) total[i][j] = 0;
    part[0][1] = part[1][0] = part[1][1] = 0;
    if (blocks > 0) {  // in the order of the loop, or this prologue would bound the waits of the loop
        b.begin(b_fragment, b_source);
        schedule_fence();
        load_a_scale();
        load_b_scale();
        schedule_fence();
        a.begin(a_fragment, a_source);
    }

    _Pragma("unroll 1") for (int block = 0; block < blocks; block++) {
        a.settle_offsets();
        b.settle_offsets();
        static_for<64>([&](auto index) __attribute__((always_inline)) {
            constexpr int step = index.value / 8, in_step = index.value % 8, i = step % 4, slot = step / 4;
            constexpr int k_step = in_step / 2, c = in_step % 2;
            schedule_fence();
            if (index.value == a.advance_at) a_source.advance(WaveTile::waves * block_k, block + 1 < blocks);
            if (index.value == b.advance_at) b_source.advance(WaveTile::waves * block_k, block + 1 < blocks);
            if (step == 5 && in_step == 0) {
                a_scale_at += WaveTile::waves * a_pitch;
                b_scale_at += WaveTile::waves * b_pitch;
                settle(b_scale_at);
            }
            f32x4 zero = 0;
            part[step % 2][c] = mfma_16x16x32(operand(b_fragment, slot * 2 + c, k_step), operand(a_fragment, i, k_step),
                                              k_step ? part[step % 2][c] : zero);
            schedule_fence();

            // Scale and add one element of the step before, one MFMA late: its last has only just begun.
            constexpr int e = (in_step + 7) % 8, done = (step - (in_step ? 1 : 2) + 8) % 8;
            f32x4& sum = total[done % 4][done / 4 * 2 + e / 4];
            sum[e % 4] = __builtin_fmaf(part[done % 2][e / 4][e % 4], scale[done % 4], sum[e % 4]);
            schedule_fence();

            a.template work<step, in_step>(a_fragment, a_source);
            b.template work<step, in_step>(b_fragment, b_source);
            if constexpr (in_step == 0 && step >= 1 && step <= 4) {
                float row_scale = a_scale[step - 1] * b_scale;
                settle(row_scale);  // here, and not where a_scale's register is wanted again
                scale[step - 1] = row_scale;
            }
            if (step == 6 && in_step == 0) load_a_scale();
            if (step == 6 && in_step == 2) load_b_scale();
        });
    }
    total[2][3][3] = __builtin_fmaf(part[0][1][3], scale[2], total[2][3][3]);
    GEMM_UNROLL
    for (int e = 0; e < 8; e++) {
        f32x4& sum = total[3][2 + e / 4];
        sum[e % 4] = __builtin_fmaf(part[1][e / 4][e % 4], scale[3], sum[e % 4]);
    }

    static __attribute__((shared, aligned(1024))) f32x4 lds[4 * 4 * 2 * 64];
    f32x4 sum[1][4];
    add_waves(total, sum, wave, lane, lds);
    if (arg.parts > 1 && !reduce_parts<WaveTile>(sum, arg.workspace, at, arg.parts, thread, reinterpret_cast<u8*>(lds)))
        return;

    // D gives a lane rows 4 (lane / 16) + e of each sub-tile of B: 16 consecutive n.
    Output out(arg.out, m, n, arg.out_stride, at.row, WaveTile::m);
    f32x4 n4[4];
    GEMM_UNROLL
    for (int e = 0; e < 4; e++) n4[e] = f32x4{sum[0][0][e], sum[0][1][e], sum[0][2][e], sum[0][3][e]};
    int row = lane % 16 * 4 + wave, column = at.column + lane / 16 * 16;
    out.store(row, column, n4[0], n4[1]);
    out.store(row, column + 8, n4[2], n4[3]);
}

}  // namespace gemm
