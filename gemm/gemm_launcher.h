// The C interface of the gfx942 kernel.
//
//   C[m, n] = sum over kb: a_scale[kb, m] * b_scale[kb, n / 128] * sum over k in block kb of 128: a[m, k] * b[k, n]
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ihipStream_t* hipStream_t;

typedef enum gemm_status {
    GEMM_OK = 0,
    GEMM_NULL_POINTER,  // of a non-empty matrix
    GEMM_NEGATIVE_SIZE,
    GEMM_K_NOT_MULTIPLE_OF_128,
    GEMM_STRIDES,           // neither stride of an operand is 1, or rows overlap
    GEMM_STEP_TOO_LARGE,    // n, k, or a stride that is not 1: 2^24 elements or more
    GEMM_SCALES_TOO_LARGE,  // 2^29 elements or more in a_scale or b_scale
    GEMM_GRID_TOO_LARGE,    // 2^22 workgroups or more
    GEMM_WRONG_DEVICE,      // the current device runs no gfx942 code
    GEMM_LAUNCH_FAILED,
} gemm_status;

typedef struct gemm_problem {
    int64_t m, n, k;                   // k a multiple of 128
    const void* a;                     // (m, k) e4m3fnuz, one of its strides 1
    int64_t a_row_stride, a_k_stride;  // elements, which are bytes
    const void* b;                     // (k, n) e4m3fnuz, one of its strides 1
    int64_t b_k_stride, b_column_stride;
    const float* a_scale;    // (k / 128, m) contiguous
    const float* b_scale;    // (k / 128, ceil(n / 128)) contiguous
    void* out;               // (m, n) bfloat16
    int64_t out_row_stride;  // elements
    void* workspace;         // gemm_workspace_bytes(problem) bytes on the device, aligned to 16, any content
    size_t workspace_bytes;  // ... or fewer, even 0: then K is not split as finely
} gemm_problem;

// Starts the kernel on a stream of the current device and returns; one launch. Keeps nothing, may be captured in a
// graph, and may be called from several threads and for several devices at once. What the problem points to must live
// until the stream has got there; concurrent calls need workspaces of their own.
gemm_status gemm_run(const gemm_problem* problem, hipStream_t stream);

// Bytes of workspace with which gemm_run is fastest; 0 for most problems.
size_t gemm_workspace_bytes(const gemm_problem* problem);

// One sentence for people.
const char* gemm_status_string(gemm_status status);

// Which configuration gemm_run takes, for example "gemm_128x128_mn in 3 parts"; at most `size` bytes.
gemm_status gemm_describe(const gemm_problem* problem, char* text, size_t size);

// The entry point that other FP8 kernels for this op offer: a is (k, m) and b is (k, n) in memory, both contiguous, out
// is contiguous. metrics is not used. Returns a gemm_status.
// It has no argument for a workspace, so K is never split: 1024 × 576 × 7168 gives 144 of the 304 CUs work and
// 1024 × 512 × 7168 gives 128 of them, which gemm_run with a workspace fills.
int run(void* a, void* b, void* a_scale, void* b_scale, void* out, int m, int n, int k, void* metrics,
        hipStream_t stream);

#ifdef __cplusplus
}
#endif
