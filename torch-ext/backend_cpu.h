// How the ops run on the CPU.
#pragma once
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "../gemm/cpu/gemm_cpu.h"
#include "operands.h"

#define GEMM_DISPATCH_KEY CPU

namespace backend {

constexpr const char* name = "cpu";

inline bool reaches(const Tensor& x) {
    return x.is_cpu();
}

inline void check_isa() {
    if (!gemm_cpu::isa_name())  // thrown as STD_TORCH_CHECK does, without a file and line in front
        throw std::runtime_error(std::string("GEMM_CPU_ISA is ") + std::getenv("GEMM_CPU_ISA") + ", needs one of " +
                                 gemm_cpu::isa_names() + ", which this CPU has, or to be unset");
}

// The code path that the next call takes, see gemm/cpu/gemm_cpu.h.
inline std::string cpu_isa() {
    check_isa();
    return gemm_cpu::isa_name();
}

inline void run(const Operands& x) {
    check_isa();
    const gemm_cpu::Problem problem = {x.m,
                                       x.n,
                                       x.k,
                                       static_cast<const uint8_t*>(x.a.data_ptr()),
                                       stride(x.a, 0),
                                       stride(x.a, 1),
                                       static_cast<const uint8_t*>(x.b.data_ptr()),
                                       stride(x.b, 0),
                                       stride(x.b, 1),
                                       static_cast<const float*>(x.a_scale.data_ptr()),
                                       static_cast<const float*>(x.b_scale.data_ptr()),
                                       static_cast<uint16_t*>(x.out.data_ptr()),
                                       x.out.stride(0)};
    STD_TORCH_CHECK(gemm_cpu::gemm(problem), "out of memory");
}

inline void quantize(const Tensor& x, int64_t block_rows, Tensor& codes, Tensor& scale) {
    check_isa();
    STD_TORCH_CHECK(
        gemm_cpu::quantize({x.size(0), x.size(1), block_rows, static_cast<const float*>(x.data_ptr()),
                            static_cast<uint8_t*>(codes.data_ptr()), static_cast<float*>(scale.data_ptr())}),
        "out of memory");
}

}  // namespace backend
