// How the op runs on an AMD GPU: on torch's current stream of the operands' device, with a workspace from torch's
// allocator, and with every status as an exception that says what to do.
//
// FP8LAB_EMULATED: libamdhip64 is fp8lab's emulator. Operands then lie in the CPU's memory, and there is no stream.
#pragma once
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/ops.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "../gemm/gemm_launcher.h"
#include "operands.h"

#ifdef FP8LAB_EMULATED
#include <fp8lab_emulated.h>
#define GEMM_DISPATCH_KEY CPU
#else
#define GEMM_DISPATCH_KEY CUDA  // torch calls ROCm's devices cuda
// torch declares it for CUDA builds only; ROCm's libtorch_hip has it under the same name.
extern "C" AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device_index, void** stream);
#endif

namespace backend {

#ifdef FP8LAB_EMULATED
constexpr const char* name = "emulated";
#else
constexpr const char* name = "rocm";
#endif

inline bool reaches(const Tensor& x) {
#ifdef FP8LAB_EMULATED
    return x.is_cpu();
#else
    return x.is_cuda();
#endif
}

inline gemm_problem problem_of(const Operands& x) {
    gemm_problem p = {};
    p.m = x.m, p.n = x.n, p.k = x.k;
    p.a = x.a.data_ptr(), p.a_row_stride = stride(x.a, 0), p.a_k_stride = stride(x.a, 1);
    p.b = x.b.data_ptr(), p.b_k_stride = stride(x.b, 0), p.b_column_stride = stride(x.b, 1);
    p.a_scale = static_cast<const float*>(x.a_scale.data_ptr());
    p.b_scale = static_cast<const float*>(x.b_scale.data_ptr());
    p.out = x.out.data_ptr(), p.out_row_stride = x.out.stride(0);
    return p;
}

// "gfx950", the architecture of the current device, without its feature flags.
inline std::string arch() {
    int device = 0;
    hipDeviceProp_t properties;
    if (hipGetDevice(&device) != hipSuccess || hipGetDeviceProperties(&properties, device) != hipSuccess)
        return "unknown";
    const std::string full = properties.gcnArchName;
    return full.substr(0, full.find(':'));
}

// What went wrong and the way out, in one sentence.
inline std::string message(gemm_status status, int64_t device) {
    const hipError_t error = hipGetLastError();  // taken away, so that the next call starts afresh
    const std::string where = "device " + std::to_string(device);
    if (error == hipErrorNoDevice)
        return "HIP finds no GPU (hipErrorNoDevice): see that `rocminfo` lists one and that HIP_VISIBLE_DEVICES does "
               "not hide it, or load this kernel with backend=\"cpu\"";
    if (status == GEMM_WRONG_DEVICE && arch() != "gfx942")
        return where + " is " + arch() +
               ", this build has code for gfx942 (MI300X) only, whose FP8 is e4m3fnuz: move "
               "the tensors to a MI300X, or load this kernel with backend=\"cpu\"";
    if (status == GEMM_WRONG_DEVICE || status == GEMM_LAUNCH_FAILED)
        return "the launch on " + where + " failed: " + hipGetErrorName(error) + ", " + hipGetErrorString(error) +
               "; the tensors are as they were, the next call may work, AMD_LOG_LEVEL=3 shows what HIP did";
    return gemm_status_string(status);
}

inline void run(const Operands& x) {
    gemm_problem problem = problem_of(x);
    const int64_t device = x.a.is_cpu() ? 0 : x.a.get_device_index();
    void* stream = nullptr;
#ifndef FP8LAB_EMULATED
    const torch::stable::accelerator::DeviceGuard guard(device);
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(device, &stream));
#endif
    // Freed when this returns: torch gives it to work that is queued on the same stream only, behind the kernel.
    std::optional<Tensor> workspace;
    problem.workspace_bytes = gemm_workspace_bytes(&problem);
    if (problem.workspace_bytes) {
        const int64_t bytes = problem.workspace_bytes;
        workspace = torch::stable::new_empty(x.a, {bytes}, ScalarType::Byte);
        problem.workspace = workspace->data_ptr();
    }
#ifdef FP8LAB_EMULATED
    const char* const space = static_cast<const char*>(problem.workspace);
    const fp8lab::Visible visible({Extent(x.a, 1).words(),
                                   Extent(x.b, 1).words(),
                                   Extent(x.a_scale, 4).bytes(),
                                   Extent(x.b_scale, 4).bytes(),
                                   Extent(x.out, 2).bytes(),
                                   {space, space + problem.workspace_bytes}});
#endif
    const gemm_status status = gemm_run(&problem, static_cast<hipStream_t>(stream));
    std::string wrong = status == GEMM_OK ? "" : message(status, device);
#ifdef FP8LAB_EMULATED
    if (const std::string said = fp8lab_hip_said(); !said.empty()) wrong = said;
#endif
    if (!wrong.empty()) throw std::runtime_error(wrong);  // STD_TORCH_CHECK's, without a file and line in front
}

}  // namespace backend
