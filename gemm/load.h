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

// A or B^T in global memory: row x, k at data + x * row_stride + k * k_stride. One of the strides is 1.
struct Operand {
    const u8* data;
    int rows, k, row_stride, k_stride;
};

// What a workgroup reads of it: rows from first_row on, k from first_k on; nothing at all if there are no blocks.
struct Window {
    int first_row, tile_rows, first_k;
    bool any;
};

// One lane's share as chunks of 16 consecutive k of a row, 8 lanes a row: a load fetches whole lines.
template <class Source, int rows, int parts, int lanes>
struct ChunkLoader {
    typedef KContiguousKey Key;
    static constexpr int part_rows = rows / parts, pass_rows = lanes / 8, loads = part_rows / pass_rows;
    static constexpr int store_step = 0, refill_steps = loads;
    static constexpr GEMM_DEVICE int slots_before(int step) { return 2 * step; }
    static_assert(part_rows % pass_rows == 0, "a part is whole passes: m / 2 and n are multiples of 8 rows a wave");
    static_assert(Key::of(pass_rows) == 0, "a pass keeps the key: the number of waves is even");
    u32 global_offset, lds_offset;
    u32x4 data[parts][loads];

    GEMM_DEVICE ChunkLoader(const Source& source, int thread) {
        int row = thread / 8, chunk = thread % 8;
        global_offset = source.offset(row, chunk * 16);
        lds_offset = row * lds_row_bytes + ((chunk ^ Key::of(row)) << 4);
    }

    GEMM_DEVICE u32 offset(int part, int pass, const Source& source) const {
        return global_offset + source.offset(part * part_rows + pass * pass_rows, 0);
    }
    template <int part>
    GEMM_DEVICE void load(int pass, const Source& source) {
        data[part][pass] = source.chunk(offset(part, pass, source));
    }
    template <int part>
    GEMM_DEVICE void store(int pass, u8* lds) {
        int row = part * part_rows + pass * pass_rows;
        *reinterpret_cast<u32x4*>(lds + lds_offset + row * lds_row_bytes) = data[part][pass];
    }
    template <int part>
    GEMM_DEVICE void load_all(const Source& source) {
        static_for<loads>([&](auto pass) { load<part>(pass.value, source); });
    }
    template <int part>
    GEMM_DEVICE void refill(int pass, u8* lds, const Source& source) {
        store<part>(pass, lds);
        load<part>(pass, source);
    }
    template <int part>
    GEMM_DEVICE void arrive() {
        static_for<loads>([&](auto pass) { settle(data[part][pass.value]); });
    }
    // Not worth a register for each load's offset where the tile leaves none: one more addition a load then.
    GEMM_DEVICE void settle_offsets(bool few_registers) {
        if (few_registers) settle(global_offset);
    }
};

// k_stride 1, data and row_stride multiples of 4.
struct KContiguous {
    struct Source {
        const u8* base;
        u32 row_stride, bytes, k_offset;

        GEMM_DEVICE Source(const Operand& x, const Window& w)
            : base(x.data + i64(w.first_row) * x.row_stride), row_stride(x.row_stride), k_offset(w.first_k) {
            bytes = w.any ? u32(min(x.rows - w.first_row, w.tile_rows) - 1) * row_stride + x.k : 0;
        }
        GEMM_DEVICE u32 offset(int row, int k) const { return row * row_stride + k; }
        // NOTE: k is kept out of `offset` and in the scalar one, which some documents exclude from the bounds check and
        // others do not. Rows past the end are outside under both readings.
        GEMM_DEVICE u32x4 chunk(u32 offset) const {
            return __builtin_amdgcn_raw_buffer_load_b128(buffer(base, bytes), offset, k_offset, 0);
        }
        GEMM_DEVICE void advance(int k, bool more) {
            k_offset += k;
            bytes = more ? bytes : 0;
        }
    };
    template <int rows, int parts, int lanes>
    using Loader = ChunkLoader<Source, rows, parts, lanes>;
};

// The same with a load for each byte. The bytes of a chunk are put together only when those of the next have been asked
// for, so that no wait is for all loads.
template <class Source, int rows, int parts, int lanes>
struct ByteLoader : ChunkLoader<Source, rows, parts, lanes> {
    typedef ChunkLoader<Source, rows, parts, lanes> Chunks;
    using Chunks::ChunkLoader, Chunks::loads, Chunks::data;
    static constexpr int chunks = parts * loads;
    u32x4 bytes[2][4];  // of the chunk asked for last, and of the one before

    GEMM_DEVICE void load(int chunk, const Source& source) {
        source.load_bytes(bytes[chunk % 2], this->offset(chunk / loads, chunk % loads, source));
    }
    GEMM_DEVICE void pack(int chunk) {
        for (int word = 3; word >= 0; word--) settle(bytes[chunk % 2][word]);  // the last first: one wait for all
        data[chunk / loads][chunk % loads] = Source::packed(bytes[chunk % 2]);
    }
    template <int part>
    GEMM_DEVICE void load_all(const Source& source) {
        static_for<loads>([&](auto pass) {
            int chunk = part * loads + pass.value;
            load(chunk, source);
            if (chunk < chunks - 1) pack(chunk);
        });
    }
    template <int part>
    GEMM_DEVICE void refill(int pass, u8* lds, const Source& source) {
        int chunk = part * loads + pass;
        this->template store<part>(pass, lds);
        load(chunk, source);
        schedule_fence();
        pack((chunk + chunks - 1) % chunks);
    }
};

// Any address and any strides. For what the others cannot do; slow.
struct AnyStrides {
    struct Source {
        const u8* base;
        u32 row_stride, k_stride, bytes;

        GEMM_DEVICE Source(const Operand& x, const Window& w)
            : base(x.data + i64(w.first_row) * x.row_stride + i64(w.first_k) * x.k_stride),
              row_stride(x.row_stride),
              k_stride(x.k_stride) {
            u32 last_row = min(x.rows - w.first_row, w.tile_rows) - 1;
            bytes = w.any ? last_row * row_stride + (block_k - 1) * k_stride + 1 : 0;
        }
        GEMM_DEVICE u32 offset(int row, int k) const { return row * row_stride + k * k_stride; }
        GEMM_DEVICE void load_bytes(u32x4 (&chunk)[4], u32 offset) const {
            settle(offset);  // so that 16 sums of it and a stride are not kept in registers for the whole loop
            GEMM_UNROLL
            for (int i = 0; i < 16; i++)
                chunk[i / 4][i % 4] =
                    __builtin_amdgcn_raw_buffer_load_b8(buffer(base, bytes), offset + i * k_stride, 0, 0);
        }
        static GEMM_DEVICE u32x4 packed(const u32x4 (&chunk)[4]) {
            u32x4 words = 0;
            GEMM_UNROLL
            for (int i = 0; i < 16; i++) words[i / 4] |= chunk[i / 4][i % 4] << i % 4 * 8;
            return words;
        }
        GEMM_DEVICE void advance(int k, bool more) {
            base += i64(k) * k_stride;
            bytes = more ? bytes : 0;
        }
    };
    template <int rows, int parts, int lanes>
    using Loader = ByteLoader<Source, rows, parts, lanes>;
};

}  // namespace gemm
