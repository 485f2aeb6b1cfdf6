// What a kernel is given.
#pragma once
#include "device.h"
#include "load.h"
#include "split.h"

namespace gemm {

struct Arguments {
    Operand a, b;                    // b: B^T, N rows of K
    const float *a_scale, *b_scale;  // (K / 128, M), (K / 128, ceil(N / 128))
    u16* out;                        // (M, N) bfloat16, rows out_stride elements apart
    int out_stride;
    int parts;            // into which K is split
    Workspace workspace;  // for more than one
};

}  // namespace gemm
