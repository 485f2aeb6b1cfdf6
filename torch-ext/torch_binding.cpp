// The ops of this kernel, on torch's stable ABI: one binary serves torch 2.10 and later.
//
// Messages for people come from the Python package, which checks the same rules first and raises ValueError or
// TypeError. The checks here keep a direct caller of the op, and a compiled graph, from reading or writing outside
// their tensors; torch turns them into RuntimeError.
#include "torch_binding.h"

#include <torch/csrc/stable/library.h>

#include "registration.h"
#ifdef CPU_KERNEL
#include "backend_cpu.h"
#else
#include "backend_rocm.h"
#endif

namespace {

void check_matrix(const Tensor& x, const char* name, ScalarType dtype, const char* dtype_name, int32_t device) {
    STD_TORCH_CHECK(x.dim() == 2, name, " has ", x.dim(), " axes, needs 2");
    STD_TORCH_CHECK(x.scalar_type() == dtype, name, " has the wrong dtype, needs ", dtype_name);
    STD_TORCH_CHECK(backend::reaches(x) && x.get_device_index() == device, name, " is on another device");
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

void check_disjoint(const Extent& out, const Extent& x, const char* name) {
    STD_TORCH_CHECK(out.end <= x.begin || x.end <= out.begin, "out shares memory with ", name);
}

}  // namespace

void gemm(const Tensor a, const Tensor b, const Tensor a_scale, const Tensor b_scale, Tensor out) {
    const int32_t device = a.get_device_index();
    check_matrix(a, "a", ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz", device);
    check_matrix(b, "b", ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz", device);
    check_matrix(a_scale, "a_scale", ScalarType::Float, "float32", device);
    check_matrix(b_scale, "b_scale", ScalarType::Float, "float32", device);
    check_matrix(out, "out", ScalarType::BFloat16, "bfloat16", device);
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    STD_TORCH_CHECK(k % k_block == 0, "K is ", k, ", needs a multiple of 128");
    check_shape(b, "b", k, n);
    check_shape(a_scale, "a_scale", k / k_block, m);
    check_shape(b_scale, "b_scale", k / k_block, blocks(n, k_block));
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
    backend::run({m, n, k, a, b, a_scale, b_scale, out});
}

#ifdef CPU_KERNEL
void quantize(const Tensor x, int64_t block_rows, Tensor codes, Tensor scale) {
    const int32_t device = x.get_device_index();
    check_matrix(x, "x", ScalarType::Float, "float32", device);
    check_matrix(codes, "codes", ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz", device);
    check_matrix(scale, "scale", ScalarType::Float, "float32", device);
    const int64_t rows = x.size(0), k = x.size(1);
    STD_TORCH_CHECK(block_rows > 0, "block_rows is ", block_rows, ", needs to be positive");
    STD_TORCH_CHECK(k % k_block == 0, "K is ", k, ", needs a multiple of 128");
    check_shape(codes, "codes", rows, k);
    check_shape(scale, "scale", k / k_block, blocks(rows, block_rows));
    STD_TORCH_CHECK(x.is_contiguous() && codes.is_contiguous() && scale.is_contiguous(),
                    "x, codes or scale is not contiguous");
    backend::quantize(x, block_rows, codes, scale);
}
#endif

std::string backend_name() {
    return backend::name;
}

STABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
    ops.def("gemm(Tensor a, Tensor b, Tensor a_scale, Tensor b_scale, Tensor(a!) out) -> ()");
    ops.def("backend() -> str");
#ifdef CPU_KERNEL
    ops.def("quantize(Tensor x, int block_rows, Tensor(a!) codes, Tensor(b!) scale) -> ()");
    ops.def("cpu_isa() -> str");
#endif
}

STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, GEMM_DISPATCH_KEY, ops) {
    ops.impl("gemm", TORCH_BOX(&gemm));
#ifdef CPU_KERNEL
    ops.impl("quantize", TORCH_BOX(&quantize));
#endif
}

STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CompositeExplicitAutograd, ops) {
    ops.impl("backend", TORCH_BOX(&backend_name));
#ifdef CPU_KERNEL
    ops.impl("cpu_isa", TORCH_BOX(&backend::cpu_isa));
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
