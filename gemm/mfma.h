// The matrix instruction: one wave multiplies 16 rows by 16 rows over 32 k.
//
//   A, B  8 bytes a lane    A row (B column) lane % 16, k = 8 * (lane / 16) + byte
//   C, D  4 floats a lane   column lane % 16, row 4 * (lane / 16) + element
//
// Source: CDNA3 ISA guide, "Matrix Arithmetic Instructions"; every lane: tests/gfx942/test_layouts.py.
#pragma once
#include "device.h"

namespace gemm {

GEMM_DEVICE f32x4 mfma_16x16x32(i64 a, i64 b, f32x4 c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0);  // cbsz, abid, blgp: no broadcast
}

GEMM_DEVICE f32x16 mfma_32x32x16(i64 a, i64 b, f32x16 c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, c, 0, 0, 0);
}

}  // namespace gemm
