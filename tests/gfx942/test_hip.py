"""libamdhip64 for the emulator: a host and device program that clang compiled runs unmodified."""

# ruff: noqa: E501  (a kernel's line is kept whole)

import os
import shutil
import subprocess

import pytest
from gfx942_kernels import BUILT, compile_hip, needs_clang
from gfx942_sources import CORPUS

from fp8lab.gfx942 import hip

CLANGXX = shutil.which("clang++-22")
pytestmark = [needs_clang, pytest.mark.skipif(not CLANGXX, reason="needs clang++-22")]

# what <hip/hip_runtime.h> would declare; the launch is clang's own <<<>>>
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
typedef int hipError_t;
typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipModule_t* hipModule_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
struct dim3 { unsigned x, y, z; __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {} };
extern "C" {
hipError_t hipMalloc(void**, size_t); hipError_t hipFree(void*); hipError_t hipMemcpy(void*, const void*, size_t, int);
hipError_t hipMemset(void*, int, size_t); hipError_t hipMemcpyAsync(void*, const void*, size_t, int, hipStream_t);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t); hipError_t hipDeviceSynchronize();
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t, hipStream_t); hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*);
hipError_t hipStreamCreate(hipStream_t*); hipError_t hipStreamSynchronize(hipStream_t); hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipEventCreate(hipEvent_t*); hipError_t hipEventRecord(hipEvent_t, hipStream_t); hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipGetDeviceCount(int*); hipError_t hipGetDevicePropertiesR0600(void*, int); hipError_t hipGetLastError();
const char* hipGetErrorName(hipError_t); const char* hipGetErrorString(hipError_t);
hipError_t hipModuleLoad(hipModule_t*, const char*); hipError_t hipModuleGetFunction(hipFunction_t*, hipModule_t, const char*);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, void**, void**);
}
#define TID ((int)__builtin_amdgcn_workitem_id_x())
#define WG ((int)__builtin_amdgcn_workgroup_id_x())
__global__ __attribute__((amdgpu_flat_work_group_size(1, 256))) void saxpy(float a, const float* x, float* y, int n) {
    int i = WG * 256 + TID;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void wild(int* p) { p[1 << 28] = TID; }
int main(int argc, char** argv) {
    int n = 1000, devices = 0;
    static float x[1000], y[1000];
    for (int i = 0; i < n; i++) x[i] = i, y[i] = 1;
    static char properties[1472];
    hipGetDeviceCount(&devices);
    hipGetDevicePropertiesR0600(properties, 0);
    printf("devices %d, %s, %s\n", devices, properties, properties + 1160);
    float *dx, *dy, ms;
    hipStream_t stream; hipEvent_t start, stop;
    if (hipMalloc((void**)&dx, sizeof x) || hipMalloc((void**)&dy, sizeof y)) return 1;
    hipStreamCreate(&stream); hipEventCreate(&start); hipEventCreate(&stop);
    hipMemcpyAsync(dx, x, sizeof x, 1, stream);
    hipMemcpy(dy, y, sizeof y, 1);
    hipEventRecord(start, stream);
    saxpy<<<4, 256, 0, stream>>>(2.0f, dx, dy, n);
    hipEventRecord(stop, stream);
    if (hipGetLastError() || hipStreamSynchronize(stream) || hipEventElapsedTime(&ms, start, stop)) return 2;
    hipMemcpy(y, dy, sizeof y, 2);
    for (int i = 0; i < n; i++) if (y[i] != 2 * i + 1) return 3;
    printf("saxpy right\n");
    saxpy<<<4, 512, 0, stream>>>(2.0f, dx, dy, n);
    printf("too large: %s\n", hipGetErrorName(hipGetLastError()));
    printf("copy past the end: %s\n", hipGetErrorString(hipMemcpy(dx, x, sizeof x + 4096, 1)));
    hipGetLastError();
    hipModule_t module; hipFunction_t function;
    if (hipModuleLoad(&module, argv[1]) || hipModuleGetFunction(&function, module, "vadd")) return 4;
    void* parameters[] = {&dx, &dx, &dy, &n};
    if (hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, 0, parameters, 0)) return 5;
    hipMemcpy(y, dy, sizeof y, 2);
    for (int i = 0; i < n; i++) if (y[i] != 2 * i) return 6;
    printf("module right\n");
    wild<<<1, 64, 0, 0>>>((int*)dx);
    hipError_t at_sync = hipDeviceSynchronize();
    printf("fault: %s, then %s\n", hipGetErrorName(at_sync), hipGetErrorName(hipDeviceSynchronize()));
    hipFree(dx); hipFree(dy); hipStreamDestroy(stream);
    printf("freed twice: %s\n", hipGetErrorName(hipFree(dx)));
    return 0;
}
"""


def test_a_host_and_device_program_runs_unmodified():
    library = hip.build()
    source, program = BUILT / "program.hip", BUILT / "program"
    source.write_text(PROGRAM)
    subprocess.run([CLANGXX, "-x", "hip", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib", "-O2", "-c", source, "-o", BUILT / "program.o"], check=True, capture_output=True)
    subprocess.run([CLANGXX, BUILT / "program.o", "-o", program, f"-L{library.parent}", "-lamdhip64", f"-Wl,-rpath,{library.parent}"], check=True, capture_output=True)
    compile_hip(CORPUS["vadd"], name="vadd")
    done = subprocess.run([program, BUILT / "vadd.co"], capture_output=True, text=True, timeout=120, env=os.environ | {"FP8LAB_HIP_CHECKS": "none"})
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert done.stdout.splitlines() == [
        "devices 1, AMD Instinct MI300X (fp8lab emulator), gfx942:sramecc+:xnack-",
        "saxpy right",
        "too large: hipErrorInvalidConfiguration",
        "copy past the end: invalid argument",
        "module right",
        "fault: hipErrorLaunchFailure, then hipSuccess",
        "freed twice: hipErrorInvalidValue",
    ]
    assert "global-out-of-bounds" in done.stderr and "wild" in done.stderr and "global_store_dword" in done.stderr
