// The words that HIP adds to C++, and the types and instructions of these kernels, by the compiler's builtins alone:
// they compile without ROCm. Where ROCm is installed, <hip/hip_runtime.h> has the first five.
#pragma once

#define __global__ __attribute__((global))                 // a kernel: the host starts it
#define __device__ __attribute__((device, always_inline))  // a function of a kernel
#define __shared__ __attribute__((shared))                 // in LDS, one for the workgroup
#define __launch_bounds__(lanes) __attribute__((amdgpu_flat_work_group_size(lanes, lanes)))

struct Dim {
    int x, y;
};
#define threadIdx (Dim{int(__builtin_amdgcn_workitem_id_x()), 0})
#define blockIdx (Dim{int(__builtin_amdgcn_workgroup_id_x()), int(__builtin_amdgcn_workgroup_id_y())})

// Every wave of the workgroup arrives here, with its LDS traffic done, before any goes on.
__device__ inline void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

typedef unsigned char u8;
typedef long i64;
typedef __bf16 bf16;
typedef unsigned u32x4 __attribute__((ext_vector_type(4)));
typedef i64 i64x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef bf16 bf16x4 __attribute__((ext_vector_type(4)));

// The number that an e4m3fnuz byte stands for: one instruction.
__device__ inline float to_float(u8 code) {
    return __builtin_amdgcn_cvt_f32_fp8(code, 0);
}

// 16 rows of A times 16 rows of B over 32 k, added to c; a wave's 64 lanes hold the operands together.
__device__ inline f32x4 mfma(i64 a, i64 b, f32x4 c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0);
}
