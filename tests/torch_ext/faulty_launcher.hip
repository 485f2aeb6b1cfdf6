// A stand-in for gemm/gemm_launcher.hip that goes wrong in the way that m asks for.
#include <hip/hip_runtime.h>

#include "gemm_launcher.h"

enum { FINE = 1, WILD_STORE, UNINITIALISED_LDS, TOO_MANY_LANES, REFUSED };

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void fill(unsigned short* out, int n) {
    int i = __builtin_amdgcn_workitem_id_x();
    if (i < n) out[i] = 0x3f80;
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void wild(unsigned short* out, int n) {
    out[n] = 1;  // the first element behind the matrix
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void unwritten(unsigned short* out, int n) {
    __shared__ volatile unsigned short lds[64];
    out[0] = lds[n & 63];
}

extern "C" gemm_status gemm_run(const gemm_problem* problem, hipStream_t stream) {
    void* out = problem->out;
    int n = problem->m * problem->n, lanes = problem->m == TOO_MANY_LANES ? 128 : 64;
    void* arguments[] = {&out, &n};
    const void* kernel = problem->m == WILD_STORE          ? reinterpret_cast<const void*>(&wild)
                         : problem->m == UNINITIALISED_LDS ? reinterpret_cast<const void*>(&unwritten)
                                                           : reinterpret_cast<const void*>(&fill);
    if (problem->m == REFUSED) return GEMM_GRID_TOO_LARGE;
    hipError_t error = hipLaunchKernel(kernel, dim3(1), dim3(lanes), arguments, 0, stream);
    if (error == hipErrorInvalidImage || error == hipErrorInvalidKernelFile) return GEMM_WRONG_DEVICE;
    return error == hipSuccess ? GEMM_OK : GEMM_LAUNCH_FAILED;
}

extern "C" size_t gemm_workspace_bytes(const gemm_problem*) {
    return 0;
}

extern "C" const char* gemm_status_string(gemm_status status) {
    return status == GEMM_GRID_TOO_LARGE ? "the launcher's own sentence" : "another status";
}
