// HIP for a .hip file that is compiled with this project's tools: the host side, and the words of the language.
//
// Device code uses clang's builtins, so there are no device functions here and no device library is needed.
#pragma once
#include <hip/hip_runtime_api.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(lanes) __attribute__((amdgpu_flat_work_group_size(1, lanes)))

// What clang makes of kernel<<<grid, block, lds_bytes, stream>>>(…).
extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds_bytes = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds_bytes, hipStream_t* stream);
}
