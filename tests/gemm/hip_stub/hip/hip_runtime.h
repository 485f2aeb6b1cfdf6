// The few declarations of HIP that the launcher uses. Launches are recorded by recorder.cpp, not run.
#pragma once
#include <stddef.h>

typedef enum {
    hipSuccess = 0,
    hipErrorInvalidDeviceFunction = 98,
    hipErrorInvalidImage = 200,
    hipErrorNoBinaryForGpu = 209,
    hipErrorInvalidKernelFile = 218
} hipError_t;
typedef struct ihipStream_t* hipStream_t;
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern "C" {
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args, size_t lds_bytes,
                           hipStream_t stream);
hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*);
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t, hipStream_t);
}
