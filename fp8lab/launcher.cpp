// The functions of gemm_launcher.h for Python's ctypes: what the launcher itself keeps to its extension, exported.
#include <fp8lab_emulated.h>
#include <stdio.h>

#include "gemm_launcher.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int launcher_describe(const gemm_problem* problem, char* text, size_t size) {
    return gemm_describe(problem, text, size);
}

EXPORT size_t launcher_workspace_bytes(const gemm_problem* problem) {
    return gemm_workspace_bytes(problem);
}

EXPORT const char* launcher_status_string(int status) {
    return gemm_status_string(static_cast<gemm_status>(status));
}

// gemm_run, with edges[0] … edges[1], edges[2] … edges[3] and so on as the memory that the kernel may touch. What the
// emulator has to say, its findings for example, is left in `said`.
EXPORT int launcher_run(const gemm_problem* problem, const char* const* edges, int count, char* said, size_t size) {
    std::vector<fp8lab::Visible::Bytes> bytes;
    for (int i = 0; i < count; i++) bytes.push_back({edges[2 * i], edges[2 * i + 1]});
    const fp8lab::Visible visible(bytes);
    const gemm_status status = gemm_run(problem, nullptr);
    snprintf(said, size, "%s", fp8lab_hip_said());
    return status;
}
