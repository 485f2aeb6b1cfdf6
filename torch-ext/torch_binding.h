#pragma once
#include <string>

#include "operands.h"

// out = the block-scaled product of a and b; the contract is in gemm/__init__.py, every rule of it is checked here too.
void gemm(const Tensor a, const Tensor b, const Tensor a_scale, const Tensor b_scale, Tensor out);

// x (rows, K) float32 -> codes (rows, K) e4m3fnuz and scale (K/128, ceil(rows/block_rows)) float32. CPU only.
void quantize(const Tensor x, int64_t block_rows, Tensor codes, Tensor scale);

// What this build is for: "cpu", "rocm" or "emulated".
std::string backend_name();
