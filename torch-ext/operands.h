// What the ops are given, and the rules that all of it obeys.
#pragma once
#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <utility>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

constexpr int64_t k_block = 128;  // elements along k that share a scale; for b_scale also along n

inline int64_t blocks(int64_t size, int64_t block) {
    return (size + block - 1) / block;
}

// An axis with one element has no step, whatever its stride says; 1 suits every layout.
inline int64_t stride(const Tensor& x, int axis) {
    return x.size(axis) <= 1 ? 1 : x.stride(axis);
}

// Bytes from the first element of a matrix to behind its last.
struct Extent {
    const char *begin, *end;
    Extent(const Tensor& x, int64_t item_bytes) {
        begin = static_cast<const char*>(x.data_ptr());
        const int64_t last = x.numel() ? (x.size(0) - 1) * x.stride(0) + (x.size(1) - 1) * x.stride(1) + 1 : 0;
        end = begin + last * item_bytes;
    }
    std::pair<const char*, const char*> bytes() const { return {begin, end}; }
    // From the word of 4 bytes that holds the first one: where an operand begins inside a word, gemm/transpose.h loads
    // all of it and shifts. No GPU's page begins inside a word, so such a load can fault nowhere.
    std::pair<const char*, const char*> words() const { return {begin - reinterpret_cast<uintptr_t>(begin) % 4, end}; }
};

// The operands of a product, all of them checked: shapes, dtypes, layouts, and that out lies apart.
struct Operands {
    int64_t m, n, k;  // k is a multiple of 128
    const Tensor &a, &b, &a_scale, &b_scale;
    Tensor& out;
};
