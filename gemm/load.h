// Global memory to LDS, through registers: how the next block of K gets into place while the current one is multiplied.
// A layout of an operand has a Source (where the workgroup's rows are) and a Loader (one lane's share of the tile). The
// rows are one part or two halves, refilled at different times. The work is a list of small steps, which the main loop
// deals out between its MFMAs:
//
//   refill<part>(step)   all steps in order: what was loaded a block ago goes to LDS, and the next block is asked for
//   slots_before(step)   issue slots that the steps before it take
//   store_step           the first that writes to LDS
#pragma once
#include "device.h"
#include "lds.h"

namespace gemm {

// One row is contiguous in K: 16 bytes of it are a chunk in LDS. 8 lanes bring a row, so a load fetches whole lines.
struct KContiguous {
    typedef KContiguousKey Key;

    struct Source {
        const u8* base;
        u32 pitch, bytes, k_offset;

        GEMM_DEVICE Source(const u8* matrix, int pitch, int rows, int k, int tile_rows, int first_row, int first_k,
                           bool any)
            : base(matrix + i64(first_row) * pitch), pitch(pitch), k_offset(first_k) {
            bytes = any ? u32(min(rows - first_row, tile_rows) - 1) * pitch + k : 0;
        }
        GEMM_DEVICE void advance(bool more) {
            k_offset += block_k;
            bytes = more ? bytes : 0;
        }
    };

    template <int rows, int parts, int lanes>
    struct Loader {
        static constexpr int part_rows = rows / parts, pass_rows = lanes / 8, loads = part_rows / pass_rows;
        static constexpr int store_step = 0, refill_steps = loads;
        static constexpr GEMM_DEVICE int slots_before(int step) { return 2 * step; }
        static_assert(loads > 0 && pass_rows % 32 == 0 && Key::of(32) == 0, "a pass is whole rows and keeps the key");
        u32 global_offset, lds_offset;
        u32x4 data[parts][loads];

        GEMM_DEVICE Loader(const Source& source, int thread) {
            int row = thread / 8, chunk = thread % 8;
            global_offset = row * source.pitch + chunk * 16;
            lds_offset = row * lds_row_bytes + ((chunk ^ Key::of(row)) << 4);
        }

        template <int part>
        GEMM_DEVICE void load(int pass, const Source& source) {
            u32 offset = global_offset + (part * part_rows + pass * pass_rows) * source.pitch;
            data[part][pass] =
                __builtin_amdgcn_raw_buffer_load_b128(buffer(source.base, source.bytes), offset, source.k_offset, 0);
        }
        template <int part>
        GEMM_DEVICE void load_all(const Source& source) {
            static_for<loads>([&](auto pass) { load<part>(pass.value, source); });
        }
        template <int part>
        GEMM_DEVICE void refill(int pass, u8* lds, const Source& source) {
            int row = part * part_rows + pass * pass_rows;
            *reinterpret_cast<u32x4*>(lds + lds_offset + row * lds_row_bytes) = data[part][pass];
            load<part>(pass, source);
        }
        template <int part>
        GEMM_DEVICE void arrive() {
            GEMM_UNROLL
            for (int pass = 0; pass < loads; pass++) settle(data[part][pass]);
        }
        GEMM_DEVICE void settle_offsets() {}
    };
};

// Consecutive rows are contiguous, for one k: a lane brings a patch of 8 rows by 4 or 8 consecutive k, 8 rows a load,
// and transposes it in registers. 8 lanes bring 64 contiguous bytes.
struct RowContiguous {
    typedef RowContiguousKey Key;

    struct Source {
        const u8* base;
        u32 pitch, bytes;

        GEMM_DEVICE Source(const u8* matrix, int pitch, int rows, int k, int tile_rows, int first_row, int first_k,
                           bool any)
            : base(matrix + i64(first_k) * pitch + first_row), pitch(pitch) {
            bytes = any ? (block_k - 1) * u32(pitch) + rows - first_row : 0;
        }
        GEMM_DEVICE void advance(bool more) {
            base += i64(block_k) * pitch;
            __builtin_assume(reinterpret_cast<unsigned long>(base) >> 48 == 0);  // an address fits a buffer's 48 bits
            bytes = more ? bytes : 0;
        }
    };

    // Two bytes of `low` and two of `high`, by a selector of v_perm_b32: bytes 0-3 are of low, 4-7 of high.
    static GEMM_DEVICE void interleave(u32& low, u32& high, u32 first, u32 second) {
        u32 x = __builtin_amdgcn_perm(high, low, first), y = __builtin_amdgcn_perm(high, low, second);
        low = x, high = y;
    }

    template <int rows, int parts, int lanes>
    struct Loader {
        static constexpr int part_rows = rows / parts, patch_rows = 8, words = patch_rows / 4;
        static constexpr int patch_k = part_rows * block_k / lanes / patch_rows;
        static_assert(patch_k == 4 || patch_k == 8, "what is written to LDS is 4 or 8 bytes of a row");
        static constexpr int transpose_steps = 2 * patch_k, store_steps = 4, load_steps = patch_k;
        static constexpr int store_step = transpose_steps, refill_steps = transpose_steps + store_steps + load_steps;
        static constexpr GEMM_DEVICE int slots_before(int step) {  // two v_perm, or one access
            return step < transpose_steps ? 2 * step : transpose_steps + step;
        }
        static constexpr int groups = part_rows / patch_rows;
        static_assert(Key::of(64) == 0 && part_rows % 64 == 0, "the second half has the keys of the first");
        u32 global_offset[patch_k], lds_offset[4];  // of each k; of each row of four
        u32 data[parts][patch_k][words];  // loaded: k, rows of 4. After the transposition: k / 4, row % 4; row / 4

        GEMM_DEVICE Loader(const Source& source, int thread) {
            // Low bits of the lane: which 8 rows, then which part of a 16-byte chunk, so that LDS serves 16 lanes (32
            // for 4 bytes) without conflict. NOTE: for 8 bytes both halves of a chunk occur in lanes 0-15 and in 0-7,
            // 16-23: which 16 lanes are served together is documented nowhere.
            int in_chunk = patch_k == 8 ? (thread / 8 ^ thread / 16) % 2 : thread / 8 % 4;
            int rest = thread / (patch_k == 8 ? 16 : 32);
            int group = thread % 8 + 8 * (rest % (groups / 8)), chunk = rest / (groups / 8);
            int row = group * patch_rows, k = chunk * 16 + in_chunk * patch_k;
            for (int j = 0; j < patch_k; j++) global_offset[j] = (k + j) * source.pitch + row;
            for (int e = 0; e < 4; e++)
                lds_offset[e] = (row + e) * lds_row_bytes + ((chunk ^ Key::of(row + e)) << 4) + in_chunk * patch_k;
            for (int e = 0; e < 4; e++) settle(lds_offset[e]);  // four registers, not one and additions in the loop
        }

        template <int part>
        GEMM_DEVICE void load(int j, const Source& source) {
            u32x2 loaded = __builtin_amdgcn_raw_buffer_load_b64(buffer(source.base, source.bytes),
                                                                global_offset[j] + part * part_rows, 0, 0);
            data[part][j][0] = loaded[0];
            data[part][j][1] = loaded[1];
        }
        // Half of the transposition of a 4 × 4 bytes: two of its four words.
        template <int part>
        GEMM_DEVICE void transpose(int step) {
            int word = step / 4 % words, first = step / (4 * words) * 4;
            u32* w[4];
            for (int e = 0; e < 4; e++) w[e] = &data[part][first + e][word];
            switch (step % 4) {
                case 0:
                    return interleave(*w[0], *w[1], 0x05010400, 0x07030602);
                case 1:
                    return interleave(*w[2], *w[3], 0x05010400, 0x07030602);
                case 2:
                    return interleave(*w[0], *w[2], 0x05040100, 0x07060302);
                default:
                    return interleave(*w[1], *w[3], 0x05040100, 0x07060302);
            }
        }
        // One row of each four, for all k of the patch: two rows of one key, 512 bytes apart (ds_write2st64).
        template <int part>
        GEMM_DEVICE void store(int row, u8* lds) {
            int at = row / 2 + row % 2 * 2;  // the transposition leaves rows 0, 1, 2, 3 of four in words 0, 2, 1, 3
            GEMM_UNROLL
            for (int word = 0; word < words; word++) {
                u8* to = lds + lds_offset[row] + (part * part_rows + word * 4) * lds_row_bytes;
                if constexpr (patch_k == 8)
                    *reinterpret_cast<u32x2*>(to) = u32x2{data[part][at][word], data[part][at + 4][word]};
                else
                    *reinterpret_cast<u32*>(to) = data[part][at][word];
            }
        }
        template <int part>
        GEMM_DEVICE void load_all(const Source& source) {
            static_for<load_steps>([&](auto j) { load<part>(j.value, source); });
        }
        template <int part>
        GEMM_DEVICE void refill(int step, u8* lds, const Source& source) {
            if (step < transpose_steps)
                transpose<part>(step);
            else if (step < transpose_steps + store_steps)
                store<part>(step - transpose_steps, lds);
            else
                load<part>(step - transpose_steps - store_steps, source);
        }
        template <int part>
        GEMM_DEVICE void arrive() {
            GEMM_UNROLL
            for (int j = 0; j < patch_k; j++)
                for (int word = 0; word < words; word++) settle(data[part][j][word]);
        }
        GEMM_DEVICE void settle_offsets() {
            GEMM_UNROLL
            for (int j = 0; j < patch_k; j++) settle(global_offset[j]);
        }
    };
};

}  // namespace gemm
