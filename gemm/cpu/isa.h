// What one instruction set offers the dispatcher. Each isa_*.cpp defines one or two of these from the templates in
// tile.h and quantize.h; nothing else in those files is visible outside, so no code compiled for AVX-512 can end up
// in a program part that runs everywhere.
#pragma once

#include "gemm_cpu.h"

namespace gemm_cpu {

// The part of C that one thread computes from start to end: rows [m0, m1), columns [n0, n1).
struct Task {
    int64_t m0, m1, n0, n1;
};

struct Isa {
    const char* name;
    bool (*is_supported)();
    int tile_m, tile_n;                                      // C elements that are computed in registers
    int64_t (*workspace_bytes)(int64_t rows, int64_t cols);  // for a task of that size
    void (*run)(const Problem&, const Task&, void* workspace);
    void (*quantize)(const Quantization&, int64_t first_block, int64_t last_block);  // rows of blocks
};

extern const Isa isa_portable;
#if defined(__x86_64__)
extern const Isa isa_avx2, isa_avx512, isa_avx512_bf16, isa_avx512_bf16_standin;
#endif

}  // namespace gemm_cpu
