// What stands where in the main loop. One pass multiplies one block of K: a wave issues an MFMA for each position
// 0 … mfmas - 1, and everything else stands behind one of them.
//
// An MFMA occupies the matrix pipe for 4 issue slots, so 3 more instructions fit behind it. One is a multiply-add of
// the accumulators; the other two are free for a fragment, a scale, or the refill of the tile.
#pragma once
#include "device.h"

namespace gemm {

// mi × nj sub-tiles a wave, row after row of sub-tiles; nj = 4. Of each row, two slots of two sub-tiles × 4 MFMAs.
template <int mi, int nj>
struct Schedule {
    static constexpr int row_mfmas = nj * 4, mfmas = mi * row_mfmas;

    // Before the first barrier, the block's B and half 0 of A are read; after it they are refilled. Before the second,
    // half 1 of A is read; after it that is refilled, and the next block's B and half 0 of A are read.
    static constexpr int first_barrier = mi == 2 ? 4 : (mi / 2 - 1) * row_mfmas, second_barrier = (mi - 1) * row_mfmas;
    // B is refilled before it, half 0 of A after it.
    static constexpr int middle = (first_barrier + second_barrier) / 2;
    static constexpr int advance = first_barrier;  // the sources go to the block after next

    // B's bytes may be transposed, but not stored, before the first barrier.
    static constexpr GEMM_DEVICE int first_to_transpose(bool transposes) {
        return transposes && first_barrier >= 12 ? first_barrier - 12 : first_barrier;
    }

    static constexpr GEMM_DEVICE int row(int position) { return position / row_mfmas; }
    static constexpr GEMM_DEVICE int in_row(int position) { return position % row_mfmas; }

    // Which fragment of B is read behind this MFMA, as sub-tile + nj * half of the 128 k; -1 if none. Registers of the
    // first two sub-tiles are free for the next block when the last row is half done.
    static constexpr GEMM_DEVICE int b_read(int position) {
        int at = in_row(position), late = at - row_mfmas / 2;
        if (row(position) == 0 && at < 4) return 2 + at % 2 + nj * (at / 2);
        if (row(position) == mi - 1 && late >= 0 && late < 4) return late % 2 + nj * (late / 2);
        return -1;
    }
    // Which half of the next sub-tile of A is read behind this MFMA, or -1.
    static constexpr GEMM_DEVICE int a_read(int position) {
        int at = in_row(position) - (row(position) == 0 ? 4 : 0);
        return at == 0 ? 0 : at == 2 ? 1 : -1;
    }
    // The scale of a row of sub-tiles is needed from the MFMA after this one on.
    static constexpr GEMM_DEVICE bool scale(int position) { return in_row(position) == row_mfmas / 2; }
    static constexpr GEMM_DEVICE bool load_a_scale(int position) { return in_row(position) == row_mfmas / 2 + 4; }
    static constexpr GEMM_DEVICE bool load_b_scale(int position) { return position == row_mfmas / 2 + 5; }

    // Issue slots left for the refill behind this MFMA.
    static constexpr GEMM_DEVICE int free_slots(int position) {
        int taken = (b_read(position) >= 0) + (a_read(position) >= 0) + scale(position) + load_a_scale(position) +
                    load_b_scale(position) + (position == first_barrier || position == second_barrier);
        return taken < 2 ? 2 - taken : 0;
    }
};

// A loader's steps, spread evenly over the free issue slots of positions first … last - 1 of the loop.
template <class Schedule, class Loader, int first, int last>
struct Spread {
    int position[Loader::refill_steps];

    constexpr GEMM_DEVICE Spread() : position() {
        int slots = 0, passed = 0, p = first;
        for (int q = first; q < last; q++) slots += Schedule::free_slots(q);
        for (int step = 0; step < Loader::refill_steps; step++) {
            int slot = Loader::slots_before(step) * slots / Loader::slots_before(Loader::refill_steps);
            while (passed + Schedule::free_slots(p) <= slot) passed += Schedule::free_slots(p++);
            position[step] = p;
        }
    }
};

}  // namespace gemm
