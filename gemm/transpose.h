// Loading M- or N-contiguous operands: the bytes change from rows of M (or N) to rows of K on their way to LDS.
//
// Two v_perm_b32 a word, and once a byte of the tile, not once a fragment; the main loop has room for them behind its
// MFMAs. See load.h for what a layout is.
#pragma once
#include "device.h"
#include "lds.h"
#include "load.h"

namespace gemm {

// row_stride 1: a lane brings a patch of 8 rows by 4 or 8 consecutive k, 8 rows a load, and transposes it in registers.
// 8 lanes bring 64 contiguous bytes. The data must end at a multiple of 4 bytes, because what is outside is decided for
// 4 bytes at a time. aligned: so must each k begin. If not, a load takes one word more and v_alignbyte cuts out the
// middle: the shift is the same in all lanes.
template <bool aligned>
struct RowContiguous {
    struct Source {
        const u8* base;  // rounded down to a multiple of 4
        u32 k_stride, skew, bytes;

        GEMM_DEVICE Source(const Operand& x, const Window& w) : k_stride(x.k_stride) {
            base = x.data + i64(w.first_k) * x.k_stride + w.first_row;
            skew = aligned ? 0 : reinterpret_cast<unsigned long>(base) % 4;
            base -= skew;
            bytes = w.any ? skew + (block_k - 1) * k_stride + x.rows - w.first_row : 0;
        }
        GEMM_DEVICE u32 shift(int k) const { return aligned ? 0 : (skew + k % 4 * k_stride) % 4; }
        GEMM_DEVICE void advance(int k, bool more) {
            base += i64(k) * k_stride;
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
        static_assert(part_rows * 4 == lanes || part_rows * 2 == lanes,
                      "a lane writes 4 or 8 bytes of a row to LDS: m / 2 and n are 16 or 32 rows a wave");
        static constexpr int align_steps = aligned ? 0 : patch_k, transpose_steps = 2 * patch_k, load_steps = patch_k;
        static constexpr int store_step = align_steps + transpose_steps, load_step = store_step + 4;
        static constexpr int refill_steps = load_step + load_steps;
        static constexpr GEMM_DEVICE int slots_before(int step) {  // two v_alignbyte or v_perm, or one access
            return step < store_step ? 2 * step : store_step + step;
        }
        static constexpr int groups = part_rows / patch_rows, near = groups < 8 ? groups : 8;
        static_assert(near == 8 || patch_k == 4, "LDS would serve two lanes of one bank together");
        typedef RowContiguousKey<near == 8> Key;
        static_assert(Key::of(part_rows) == 0, "the second half has the keys of the first");
        u32 global_offset[patch_k], lds_offset[4];   // of each k; of each row of four
        u32 shift[4];                                // bytes, of each k of four
        u32 data[parts][patch_k][words + !aligned];  // loaded: k, rows of 4. Transposed: k / 4, row % 4; row / 4

        GEMM_DEVICE Loader(const Source& source, int thread) {
            // Low bits of the lane: which 8 rows, then which part of a 16-byte chunk, so that LDS serves 16 lanes (32
            // for 4 bytes) without conflict. NOTE: for 8 bytes both halves of a chunk occur in lanes 0-15 and in 0-7,
            // 16-23: which 16 lanes are served together is documented nowhere.
            int far = thread / near, in_chunk = patch_k == 8 ? (far ^ far / 2) % 2 : far % 4;
            far /= patch_k == 8 ? 2 : 4;
            int group = thread % near + near * (far % (groups / near)), chunk = far / (groups / near);
            int row = group * patch_rows, k = chunk * 16 + in_chunk * patch_k;
            for (int j = 0; j < 4; j++) shift[j] = source.shift(j);
            for (int j = 0; j < patch_k; j++)
                global_offset[j] = source.skew + (k + j) * source.k_stride + row - shift[j % 4];
            for (int e = 0; e < 4; e++)
                lds_offset[e] = (row + e) * lds_row_bytes + ((chunk ^ Key::of(row + e)) << 4) + in_chunk * patch_k;
            for (int e = 0; e < 4; e++) settle(lds_offset[e]);  // four registers, not one and additions in the loop
        }

        template <int part>
        GEMM_DEVICE void load(int j, const Source& source) {
            Buffer from = buffer(source.base, source.bytes);
            u32 offset = global_offset[j] + part * part_rows;
            if constexpr (aligned) {
                u32x2 loaded = __builtin_amdgcn_raw_buffer_load_b64(from, offset, 0, 0);
                for (int word = 0; word < 2; word++) data[part][j][word] = loaded[word];
            } else {
                u32x3 loaded = __builtin_amdgcn_raw_buffer_load_b96(from, offset, 0, 0);
                for (int word = 0; word < 3; word++) data[part][j][word] = loaded[word];
            }
        }
        template <int part>
        GEMM_DEVICE void align(int j) {
            u32* w = data[part][j];
            for (int word = 0; word < words; word++)
                w[word] = __builtin_amdgcn_alignbyte(w[word + 1], w[word], shift[j % 4]);
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
            if (step < align_steps)
                align<part>(step);
            else if (step < store_step)
                transpose<part>(step - align_steps);
            else if (step < load_step)
                store<part>(step - store_step, lds);
            else
                load<part>(step - load_step, source);
        }
        template <int part>
        GEMM_DEVICE void arrive() {
            GEMM_UNROLL
            for (int j = 0; j < patch_k; j++)
                for (u32& word : data[part][j]) settle(word);
        }
        GEMM_DEVICE void settle_offsets(bool) {
            GEMM_UNROLL
            for (int j = 0; j < patch_k; j++) settle(global_offset[j]);
        }
    };
};

}  // namespace gemm
