#pragma once

#include <torch/csrc/stable/tensor.h>

#include <string>

using torch::stable::Tensor;

// out = the block-scaled product of a and b; the contract is in gemm/__init__.py, every rule of it is checked here too.
void gemm(const Tensor a, const Tensor b, const Tensor a_scale, const Tensor b_scale, Tensor out);

// x (rows, K) float32 -> codes (rows, K) e4m3fnuz and scale (K/128, ceil(rows/block_rows)) float32.
void quantize(const Tensor x, int64_t block_rows, Tensor codes, Tensor scale);

// The code path that the next call on the CPU takes, see gemm/cpu/gemm_cpu.h.
std::string cpu_isa();
