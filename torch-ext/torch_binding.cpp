// The ops of this kernel, on torch's stable ABI: one binary serves torch 2.10 and later.
//
// Messages for people come from the Python package, which checks the same rules first and raises ValueError or
// TypeError. The checks here keep a direct caller of the op, and a compiled graph, from reading or writing outside
// their tensors; torch turns them into RuntimeError.
#include "torch_binding.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include "../gemm/cpu/gemm_cpu.h"
#include "registration.h"

using torch::headeronly::ScalarType;

namespace {

void check_matrix(const Tensor& x, const char* name, ScalarType dtype, const char* dtype_name) {
    STD_TORCH_CHECK(x.dim() == 2, name, " has ", x.dim(), " axes, needs 2");
    STD_TORCH_CHECK(x.scalar_type() == dtype, name, " has the wrong dtype, needs ", dtype_name);
    STD_TORCH_CHECK(x.is_cpu(), name, " is not on the CPU");
}

void check_shape(const Tensor& x, const char* name, int64_t rows, int64_t cols) {
    STD_TORCH_CHECK(x.size(0) == rows && x.size(1) == cols, name, " is (", x.size(0), ", ", x.size(1), "), needs (",
                    rows, ", ", cols, ")");
}

bool runs_along(const Tensor& x, int axis) {
    const int other = 1 - axis;
    return (x.size(axis) <= 1 || x.stride(axis) == 1) && (x.size(other) <= 1 || x.stride(other) >= x.size(axis));
}

void check_operand(const Tensor& x, const char* name) {
    STD_TORCH_CHECK(runs_along(x, 0) || runs_along(x, 1), name, " has strides (", x.stride(0), ", ", x.stride(1),
                    "), needs one of them to be 1 and the other at least as large as the axis it steps over");
}

// Bytes from the first element to behind the last.
struct Extent {
    const char *begin, *end;
    Extent(const Tensor& x, int64_t item_bytes) {
        begin = static_cast<const char*>(x.data_ptr());
        const int64_t last = x.numel() ? (x.size(0) - 1) * x.stride(0) + (x.size(1) - 1) * x.stride(1) + 1 : 0;
        end = begin + last * item_bytes;
    }
};

void check_disjoint(const Extent& out, const Extent& x, const char* name) {
    STD_TORCH_CHECK(out.end <= x.begin || x.end <= out.begin, "out shares memory with ", name);
}

void check_isa() {
    STD_TORCH_CHECK(gemm_cpu::isa_name(), "GEMM_CPU_ISA is ", std::getenv("GEMM_CPU_ISA"), ", this CPU has ",
                    gemm_cpu::isa_names());
}

int64_t blocks(int64_t size, int64_t block) {
    return (size + block - 1) / block;
}

// An axis with one element has no step, whatever its stride says; 1 suits every layout.
int64_t stride(const Tensor& x, int axis) {
    return x.size(axis) <= 1 ? 1 : x.stride(axis);
}

}  // namespace

void gemm(const Tensor a, const Tensor b, const Tensor a_scale, const Tensor b_scale, Tensor out) {
    check_matrix(a, "a", ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz");
    check_matrix(b, "b", ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz");
    check_matrix(a_scale, "a_scale", ScalarType::Float, "float32");
    check_matrix(b_scale, "b_scale", ScalarType::Float, "float32");
    check_matrix(out, "out", ScalarType::BFloat16, "bfloat16");
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    STD_TORCH_CHECK(k % gemm_cpu::k_block == 0, "K is ", k, ", needs a multiple of 128");
    check_shape(b, "b", k, n);
    check_shape(a_scale, "a_scale", k / gemm_cpu::k_block, m);
    check_shape(b_scale, "b_scale", k / gemm_cpu::k_block, blocks(n, gemm_cpu::k_block));
    check_shape(out, "out", m, n);
    check_operand(a, "a");
    check_operand(b, "b");
    STD_TORCH_CHECK(a_scale.is_contiguous(), "a_scale is not contiguous");
    STD_TORCH_CHECK(b_scale.is_contiguous(), "b_scale is not contiguous");
    STD_TORCH_CHECK(runs_along(out, 1), "out has strides (", out.stride(0), ", ", out.stride(1),
                    "), needs (N or more, 1)");
    const Extent out_extent(out, 2);
    check_disjoint(out_extent, Extent(a, 1), "a");
    check_disjoint(out_extent, Extent(b, 1), "b");
    check_disjoint(out_extent, Extent(a_scale, 4), "a_scale");
    check_disjoint(out_extent, Extent(b_scale, 4), "b_scale");
    check_isa();

    const gemm_cpu::Problem problem = {m,
                                       n,
                                       k,
                                       static_cast<const uint8_t*>(a.data_ptr()),
                                       stride(a, 0),
                                       stride(a, 1),
                                       static_cast<const uint8_t*>(b.data_ptr()),
                                       stride(b, 0),
                                       stride(b, 1),
                                       static_cast<const float*>(a_scale.data_ptr()),
                                       static_cast<const float*>(b_scale.data_ptr()),
                                       static_cast<uint16_t*>(out.data_ptr()),
                                       out.stride(0)};
    STD_TORCH_CHECK(gemm_cpu::gemm(problem), "out of memory");
}

void quantize(const Tensor x, int64_t block_rows, Tensor codes, Tensor scale) {
    check_matrix(x, "x", ScalarType::Float, "float32");
    check_matrix(codes, "codes", ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz");
    check_matrix(scale, "scale", ScalarType::Float, "float32");
    const int64_t rows = x.size(0), k = x.size(1);
    STD_TORCH_CHECK(block_rows > 0, "block_rows is ", block_rows, ", needs to be positive");
    STD_TORCH_CHECK(k % gemm_cpu::k_block == 0, "K is ", k, ", needs a multiple of 128");
    check_shape(codes, "codes", rows, k);
    check_shape(scale, "scale", k / gemm_cpu::k_block, blocks(rows, block_rows));
    STD_TORCH_CHECK(x.is_contiguous() && codes.is_contiguous() && scale.is_contiguous(),
                    "x, codes or scale is not contiguous");
    check_isa();
    gemm_cpu::quantize({rows, k, block_rows, static_cast<const float*>(x.data_ptr()),
                        static_cast<uint8_t*>(codes.data_ptr()), static_cast<float*>(scale.data_ptr())});
}

std::string cpu_isa() {
    check_isa();
    return gemm_cpu::isa_name();
}

STABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
    ops.def("gemm(Tensor a, Tensor b, Tensor a_scale, Tensor b_scale, Tensor(a!) out) -> ()");
    ops.def("quantize(Tensor x, int block_rows, Tensor(a!) codes, Tensor(b!) scale) -> ()");
    ops.def("cpu_isa() -> str");
}

STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CPU, ops) {
    ops.impl("gemm", TORCH_BOX(&gemm));
    ops.impl("quantize", TORCH_BOX(&quantize));
}

STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CompositeExplicitAutograd, ops) {
    ops.impl("cpu_isa", TORCH_BOX(&cpu_isa));
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
