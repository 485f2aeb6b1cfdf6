// wave_tile.h for M- and N-contiguous operands: 64 × 64 by four waves that share nothing, each every fourth block of K.
//
// There, each MFMA of 16 rows would need two v_perm_b32, a multiply-add and a load of one word beside it: 5 issue slots
// where it takes 4. Here an MFMA of 32 rows stands for two of those, and a load brings 16 rows of one k. So a lane does
// not load what it multiplies: bytes change from rows of M or N to rows of K in registers, and then from lane to lane
// in LDS, where each wave has 8 KiB for itself. A wave's accesses come in order: there is no barrier, and a slot may be
// written once its reads are issued. The price: LDS is as busy as the matrix pipe, where it would have nothing to do.
//
//   patch  what a lane loads of a block: rows 16 * (lane % 4) + 0 … 15, k = 8 * (lane / 4) + 0 … 7
//   unit   a half of an operand, 32 rows by 128 k: rows 8 * half + 0 … 7 of each patch. 4 KiB, a slot of LDS, and the
//          fragments of a chain of 8 MFMAs
//
// A block is four chains: halves (0, 0), (0, 1), (1, 0), (1, 1) of A and B. During each, a unit of the next block is
// transposed; it is written when its words are ready, and read when the registers of the one before it are free.
//
//   chain       0         1         2         3
//   transposed  A0        A1        B0        B1        of the next block
//   written     B1, A0    A0, A1    A1, B0    B0, B1    A1 to slot 1, others to slot 0; B1 in chain 0: of this block
//   read        B1        A1        A0        B0        B1 and A1: of this block
//   loaded      B                   A                   B of the next block, A of the one after it
#pragma once
#include "arguments.h"
#include "epilogue.h"
#include "lds.h"
#include "mfma.h"
#include "split.h"
#include "tile.h"
#include "transpose.h"
#include "wave_tile.h"

namespace gemm {

// Row r = 0 … 31 of a unit in LDS, and lane r % 32 of an MFMA: its row of the tile, for half 0. D gives a lane rows
// 8 (v / 4) + 4 (lane / 32) + v % 4 of B: of both halves together, 16 consecutive n.
constexpr GEMM_DEVICE int row_of_unit(int r) {
    return (r & 1) + (r >> 3 & 1) * 2 + (r >> 1 & 1) * 4 + (r >> 2 & 1) * 16 + (r >> 4) * 32;
}

// Of D's value v, with half j of B: which of the lane's 16 consecutive n, and which 32 of the tile's 64 columns.
struct Value {
    int of_16, of_2;
    constexpr GEMM_DEVICE Value(int v, int j) : of_16(j * 8 + row_of_unit(v % 4 + v / 4 % 2 * 8)), of_2(v / 8) {}
};

// One operand: a lane's patch, and its fragments.
struct Patch {
    typedef RowContiguous<true> Layout;
    static constexpr int loads = 8;
    u32 first_k, last_k;   // offsets of the patch's
    u32x4 data[loads];     // [k] words of 4 rows. Transposed: [row of 4, 4 k of 8] as interleave() leaves them
    u32x4 fragment[2][4];  // [half][pair of MFMAs]

    GEMM_DEVICE Patch(const Layout::Source& source, int lane, int rows) {
        int row = lane % 4 * 16, k = lane / 4 * loads;
        first_k = row < rows ? k * source.k_stride + row : outside;
        last_k = row < rows ? (k + loads - 1) * source.k_stride + row : outside;
    }
    // NOTE: some documents exclude the scalar offset from the bounds check. In the last k of all, where 16 rows may go
    // past the end of the matrix, there is none.
    GEMM_DEVICE void load(int j, const Layout::Source& source) {
        Buffer from = buffer(source.base, source.bytes);
        data[j] = j < loads - 1 ? __builtin_amdgcn_raw_buffer_load_b128(from, first_k, j * source.k_stride, 0)
                                : __builtin_amdgcn_raw_buffer_load_b128(from, last_k, 0, 0);
    }
    // Step 0 … 7 for a unit: half the transposition of one of its four squares of 4 × 4 bytes, four v_perm_b32.
    GEMM_DEVICE void transpose(int half, int step) {
        int word = half * 2 + step / 4, first = step / 2 % 2 * 4;
        u32 x[4];
        for (int e = 0; e < 4; e++) x[e] = data[first + e][word];
        if (step % 2 == 0) {  // what was loaded last comes first: one wait for all
            Layout::interleave(x[2], x[3], 0x05010400, 0x07030602);
            Layout::interleave(x[0], x[1], 0x05010400, 0x07030602);
        } else {
            Layout::interleave(x[0], x[2], 0x05040100, 0x07060302);
            Layout::interleave(x[1], x[3], 0x05040100, 0x07060302);
        }
        for (int e = 0; e < 4; e++) {
            settle(x[e]);  // here, and not just before it is used
            data[first + e][word] = x[e];
        }
    }
};

// A wave's two slots of LDS: in each, rows of 128 bytes; chunks of 16 bytes are two patches' k of a row, and chunk c of
// row r lies at c ^ key(r).
struct Exchange {
    static constexpr int slot_bytes = 32 * lds_row_bytes, bytes = 2 * slot_bytes;
    u8* lds;
    u32 write_at[2][2], read_at[4];  // [word of a half][row of it, 0 or 1]; [pair of MFMAs]

    // Apart are: eight lanes that read, with eight r; 16 lanes that write two chunks (0, 1 or 0, 2) of four patches.
    static constexpr GEMM_DEVICE u32 key(u32 r) { return (r & 1) ^ (r & 2) * 2 ^ (r >> 2 & 1) * 3 ^ (r >> 4) * 4; }
    GEMM_DEVICE Exchange(u8* lds, int lane) : lds(lds) {
        int patch_k = lane / 4;
        for (int word = 0; word < 2; word++)
            for (int e = 0; e < 2; e++) {
                int r = e + word * 2 + lane % 2 * 4 + lane / 2 % 2 * 16;
                write_at[word][e] = r * lds_row_bytes + ((patch_k / 2 ^ key(r)) << 4) + patch_k % 2 * 8;
                settle(write_at[word][e]);  // a register each, not one and sums in the loop
            }
        int r = lane % 32;
        for (int pair = 0; pair < 4; pair++) {
            read_at[pair] = r * lds_row_bytes + (((pair * 2 + lane / 32) ^ key(r)) << 4);
            settle(read_at[pair]);
        }
    }
    // Quarter 0 … 3 of a unit: two rows of the patch by 8 k a lane, r and r + 8 (ds_write2st64_b64).
    GEMM_DEVICE void write(const Patch& patch, int half, int quarter, int slot) const {
        int e = quarter % 2, word = half * 2 + quarter / 2;
        u8* to = lds + write_at[quarter / 2][e] + slot * slot_bytes;
        for (int up = 0; up < 2; up++) {
            int at = e * 2 + up;  // the transposition leaves rows 0, 1, 2, 3 of four in words 0, 2, 1, 3
            *reinterpret_cast<u32x2*>(to + up * 8 * lds_row_bytes) =
                u32x2{patch.data[at][word], patch.data[at + 4][word]};
        }
    }
    GEMM_DEVICE void read(Patch& patch, int half, int pair, int slot) const {
        patch.fragment[half][pair] = *reinterpret_cast<const u32x4*>(lds + read_at[pair] + slot * slot_bytes);
    }
};

// Between a write and a read by other lanes of the wave: no instruction, as LDS serves a wave in order.
GEMM_DEVICE void wave_fence() {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront", "local");
    __builtin_amdgcn_wave_barrier();
}

GEMM_DEVICE void gemm_wave_tile_mn(const Arguments& arg) {
    int m = arg.a.rows, n = arg.b.rows, k_blocks = arg.a.k / block_k, n_blocks = (n + block_k - 1) / block_k;
    int thread = __builtin_amdgcn_workitem_id_x(), lane = thread % 64;
    int wave = __builtin_amdgcn_readfirstlane(thread / 64);
    Place at = place<WaveTile>(m, n, arg.a.k, arg.parts);
    int first_block = at.first_block + wave, rest = at.last_block - first_block;
    int blocks = (rest + WaveTile::waves - 1) / WaveTile::waves;  // every fourth, from first_block on

    static __attribute__((shared, aligned(1024))) f32x4 lds[4 * 4 * 2 * 64];
    static_assert(sizeof(lds) == WaveTile::waves * Exchange::bytes, "both uses of it are as large");
    Exchange exchange(reinterpret_cast<u8*>(lds) + wave * Exchange::bytes, lane);
    Patch::Layout::Source a_source(arg.a, {at.row, WaveTile::m, first_block * block_k, blocks > 0});
    Patch::Layout::Source b_source(arg.b, {at.column, WaveTile::n, first_block * block_k, blocks > 0});
    Patch a(a_source, lane, m - at.row), b(b_source, lane, n - at.column);
    u32 a_pitch = u32(m) * 4, b_pitch = u32(n_blocks) * 4;  // bytes from one block of K to the next
    Buffer a_scales = buffer(arg.a_scale, k_blocks * a_pitch), b_scales = buffer(arg.b_scale, k_blocks * b_pitch);
    u32 a_scale_at = first_block * a_pitch + u32(at.row + row_of_unit(lane % 32)) * 4;
    u32 b_scale_at = first_block * b_pitch + at.column / block_k * 4;
    float a_scale[2], b_scale, scale[2] = {0, 0};  // [half of A]
    auto load_scales = [&] {
        for (int i = 0; i < 2; i++) a_scale[i] = load_f32(a_scales, a_scale_at + i * 8 * 4);
        b_scale = load_f32(b_scales, b_scale_at);
    };

    f32x4 total[4][4];  // [half of A, Value::of_2][Value::of_16 / 4]
    f32x16 part[2];     // [chain, in turn]
    auto add = [&](auto chain, auto v) __attribute__((always_inline)) {
        constexpr int i = chain.value / 2;
        constexpr Value to(v.value, chain.value % 2);
        float& sum = reinterpret_cast<float (&)[4]>(total[i * 2 + to.of_2][to.of_16 / 4])[to.of_16 % 4];
        sum = __builtin_fmaf(part[chain.value % 2][v.value], scale[i], sum);
    };
    GEMM_UNROLL
    for (int i = 0; i < 4; i++) GEMM_UNROLL
    for (int j = 0; j < 4; j++) total[i][j] = 0;
    part[1] = 0;
    if (blocks > 0) {  // what the loop's chains would have done for block 0, and for A of block 1
        load_scales();
        static_for<Patch::loads>([&](auto j) { b.load(j.value, b_source); });
        static_for<Patch::loads>([&](auto j) { a.load(j.value, a_source); });
        schedule_fence();
        a_source.advance(WaveTile::waves * block_k, blocks > 1);
        static_for<4>([&](auto unit) __attribute__((always_inline)) {
            constexpr int half = unit.value % 2, slot = unit.value == 1;
            Patch& x = unit.value < 2 ? a : b;
            static_for<8>([&](auto step) { x.transpose(half, step.value); });
            static_for<unit.value == 3 ? 2 : 4>([&](auto quarter) { exchange.write(x, half, quarter.value, slot); });
            wave_fence();
            if (half == 0) static_for<4>([&](auto pair) { exchange.read(x, 0, pair.value, slot); });
            schedule_fence();
            if (unit.value == 1) static_for<Patch::loads>([&](auto j) { a.load(j.value, a_source); });
        });
    }

    _Pragma("unroll 1") for (int block = 0; block < blocks; block++) {
        static_for<32>([&](auto index) __attribute__((always_inline)) {
            constexpr int chain = index.value / 8, p = index.value % 8, i = chain / 2, j = chain % 2;
            schedule_fence();
            if (index.value == 0) b_source.advance(WaveTile::waves * block_k, block + 1 < blocks);
            if (index.value == 16) a_source.advance(WaveTile::waves * block_k, block + 2 < blocks);
            if (p == 0) settle(chain == 2 ? a.fragment[1][3] : b.fragment[j][3]);  // the last read: one wait for all
            f32x16 zero = 0;
            part[chain % 2] =
                mfma_32x32x16(__builtin_bit_cast(i64x2, b.fragment[j][p / 2])[p % 2],
                              __builtin_bit_cast(i64x2, a.fragment[i][p / 2])[p % 2], p ? part[chain % 2] : zero);
            settle(part[chain % 2]);  // here, and not together with the chain's last
            schedule_fence();

            // Scale and add two or three values of the chain before, an MFMA late: its last has only just begun.
            constexpr int first = p < 3 ? 3 * p - 3 : 2 * p, last = p < 3 ? 3 * p : 2 * p + 2;
            if constexpr (p > 0)
                static_for<last - first>([&](auto v) { add(Int<(chain + 3) % 4>(), Int<first + v.value>()); });
            schedule_fence();

            // A unit of the next block: transpose, write, read, load. Both A's, then both B's.
            constexpr int before = (chain + 3) % 4;  // whose last words are ready
            Patch& x = chain < 2 ? a : b;
            x.transpose(chain % 2, p);
            if (p < 2) exchange.write(before < 2 ? a : b, before % 2, p + 2, before == 1);
            if (p == 4 || p == 5) exchange.write(x, chain % 2, p - 4, chain == 1);
            if (p == 2) wave_fence();
            if (p == 2 || p == 3)
                for (int pair = p * 2 - 4; pair < p * 2 - 2; pair++)
                    exchange.read(chain == 1 || chain == 2 ? a : b, chain < 2, pair, chain == 1);
            constexpr int to_load = index.value % 16 - 1;
            if (to_load >= 0 && to_load < Patch::loads)
                (chain < 2 ? b : a).load(to_load, chain < 2 ? b_source : a_source);

            if (index.value == 8) {
                for (int h = 0; h < 2; h++) {
                    scale[h] = a_scale[h] * b_scale;
                    settle(scale[h]);  // here, and not where a_scale's register is wanted again
                }
                a_scale_at += WaveTile::waves * a_pitch;
                b_scale_at += WaveTile::waves * b_pitch;
                settle(b_scale_at);
            }
            if (index.value == 11) load_scales();
        });
    }
    static_for<16>([&](auto v) { add(Int<3>(), v); });

    lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));  // again: the loop leaves no register
    thread = wave * 64 + lane;
    f32x4 sum[1][4];
    lds_barrier();  // the others' slots are in use until here
    add_waves(total, sum, wave, lane, lds);
    if (arg.parts > 1 && !reduce_parts<WaveTile>(sum, arg.workspace, at, arg.parts, thread, reinterpret_cast<u8*>(lds)))
        return;
    Output out(arg.out, m, n, arg.out_stride, at.row, WaveTile::m);
    int row = row_of_unit(lane % 32) + wave / 2 * 8, column = at.column + wave % 2 * 32 + lane / 32 * 16;
    out.store(row, column, sum[0][0], sum[0][1]);
    out.store(row, column + 8, sum[0][2], sum[0][3]);
}

}  // namespace gemm
