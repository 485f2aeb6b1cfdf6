// Global memory straight to the registers that an MFMA reads, for wave_tile.h. See load.h for what a Source is.
//
//   begin()             before the loop: what its first steps read and do not load
//   work<step, p>()     what stands behind MFMA p = 0 … 7 of a step: bytes of the next block are asked for, or
//                       transposed
#pragma once
#include "device.h"
#include "load.h"
#include "transpose.h"

namespace gemm {

typedef u32x4 WaveFragments[4][2];  // [sub-tile][half of the 128 k]: k = 64 * half + 16 * (lane / 16) + byte

GEMM_DEVICE i64 operand(const WaveFragments& fragment, int subtile, int k_step) {
    return __builtin_bit_cast(i64x2, fragment[subtile][k_step / 2])[k_step % 2];
}

enum Role { ROWS_OF_A, ROWS_OF_B };

// The last step that reads a sub-tile.
constexpr GEMM_DEVICE int last_step(Role role, int subtile) {
    return role == ROWS_OF_A ? 4 + subtile : subtile / 2 * 4 + 3;
}

// K-contiguous or any strides: a chunk of 16 bytes is a fragment. A sub-tile is loaded in the step after its last.
template <class Layout, Role role>
struct WaveLoader {
    typedef typename Layout::Source Source;
    static constexpr int advance_at = 8;  // a block's first step loads what the steps before it had no register for
    u32 global_offset[4];

    GEMM_DEVICE WaveLoader(const Source& source, int lane, int) {
        for (int i = 0; i < 4; i++) global_offset[i] = source.offset(lane % 16 * 4 + i, lane / 16 * 16);
    }
    GEMM_DEVICE void load(WaveFragments& fragment, int i, int half, const Source& source) {
        fragment[i][half] = source.chunk(global_offset[i] + source.offset(0, half * 64));
    }
    GEMM_DEVICE void begin(WaveFragments& fragment, const Source& source) {
        GEMM_UNROLL
        for (int i = 0; i < 4; i++)
            for (int half = 0; half < 2; half++)
                if (last_step(role, i) < 7) load(fragment, i, half, source);
    }
    template <int step, int p>
    GEMM_DEVICE void work(WaveFragments& fragment, const Source& source) {
        int loads = 0;
        GEMM_UNROLL
        for (int i = 0; i < 4; i++)
            for (int half = 0; half < 2; half++)
                if ((last_step(role, i) + 1) % 8 == step && p == 2 * loads++ + 1) load(fragment, i, half, source);
    }
    GEMM_DEVICE void settle_offsets() {
        for (u32& offset : global_offset) settle(offset);
    }
};

// M- or N-contiguous: a word is four rows of one k, one of each sub-tile. Words of four k are transposed into one word
// of each sub-tile, two sub-tiles (a pair) at a time, as these are free at different times:
//
//   A   pair 0 in steps 6, 7; pair 1 in steps 0, 1 of the block; loads from the middle of step 1 to that of step 5
//   B   pair 0 in steps 4 … 7; pair 1 in steps 0 … 3 of the block; loads from the middle of step 0 to that of step 4
//
// The data must begin, and every k begin and end, at a multiple of 4 bytes.
template <Role role>
struct WaveLoader<RowContiguous<true>, role> {
    typedef RowContiguous<true>::Source Source;
    static constexpr int words = 32, groups = words / 4;           // groups of four k
    static constexpr int turns = role == ROWS_OF_A ? 2 : 1;        // behind each MFMA
    static constexpr int turn_steps = groups * 4 / turns / 8;      // for a pair
    static constexpr int first_load = role == ROWS_OF_A ? 12 : 4;  // behind which MFMA of the block
    static constexpr int advance_at = first_load;
    u32 global_offset[4], word[words], half_turned[2];  // word j: k = 64 * (j / 16) + 16 * (lane / 16) + j % 16

    // NOTE: what lies past the last row is outside by its lane's offset alone: the offset of the word is a scalar one,
    // which some documents exclude from the bounds check.
    GEMM_DEVICE WaveLoader(const Source& source, int lane, int rows) {
        int row = lane % 16 * 4;
        for (int j = 0; j < 4; j++)
            global_offset[j] = row < rows ? (lane / 16 * 16 + j) * source.k_stride + row : outside;
    }
    GEMM_DEVICE void load(int j, const Source& source) {
        u32 k_offset = (j / 16 * 64 + j % 16 / 4 * 4) * source.k_stride;
        word[j] =
            __builtin_amdgcn_raw_buffer_load_b32(buffer(source.base, source.bytes), global_offset[j % 4], k_offset, 0);
    }
    // A quarter of the transposition of a group for a pair: one v_perm_b32.
    GEMM_DEVICE void turn(WaveFragments& fragment, int pair, int group, int quarter) {
        u32 interleave = pair ? 0x07030602 : 0x05010400;
        const u32* k = word + group * 4;
        u32 turned =
            quarter < 2 ? __builtin_amdgcn_perm(k[quarter * 2 + 1], k[quarter * 2], interleave)
                        : __builtin_amdgcn_perm(half_turned[1], half_turned[0], quarter == 2 ? 0x05040100 : 0x07060302);
        settle(turned);  // here, and not just before it is used
        if (quarter < 2)
            half_turned[quarter] = turned;
        else
            fragment[pair * 2 + quarter - 2][group / 4][group % 4] = turned;
    }
    GEMM_DEVICE void begin(WaveFragments& fragment, const Source& source) {
        static_for<words>([&](auto j) { load(j.value, source); });
        schedule_fence();
        static_for<groups * 4>([&](auto i) { turn(fragment, 0, i.value / 4, i.value % 4); });
    }
    template <int step, int p>
    GEMM_DEVICE void work(WaveFragments& fragment, const Source& source) {
        constexpr int pair = step < turn_steps ? 1 : 0, first = pair ? 0 : 8 - turn_steps;
        constexpr int quarter = ((step - first) * 8 + p) * turns, position = step * 8 + p;
        if constexpr (pair == 0 && step >= first && quarter % 8 == 0)  // the last word first: one wait for two groups
            for (int j = 7; j >= 0; j--) settle(word[quarter + j]);
        if constexpr (step >= first && step < first + turn_steps)
            for (int q = quarter; q < quarter + turns; q++) turn(fragment, pair, q / 4, q % 4);
        if constexpr (position >= first_load && position < first_load + words) load(position - first_load, source);
    }
    GEMM_DEVICE void settle_offsets() {
        for (u32& offset : global_offset) settle(offset);
    }
};

}  // namespace gemm
