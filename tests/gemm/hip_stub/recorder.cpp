// A HIP runtime that keeps the last launch of each thread and answers what it is told to.
#include <atomic>
#include <map>

#include "hip/hip_runtime.h"

struct Recorded {
    const char* kernel;
    unsigned grid, block;
    hipStream_t stream;
    int sizes[9];  // m, n, k, the strides, parts
    const void *partial, *arrived;
    unsigned long call;
};

static thread_local Recorded last;
static std::map<const void*, const char*>& names() {
    static std::map<const void*, const char*> of_kernels;  // filled before main
    return of_kernels;
}

extern "C" {
int answer;
std::atomic<unsigned> launches;  // of all threads so far

const Recorded* last_launch() {
    return &last;
}
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args, size_t, hipStream_t stream) {
    last.kernel = names().at(kernel), last.grid = grid.x, last.block = block.x, last.stream = stream, launches++;
    for (int i = 0; i < 9; i++) last.sizes[i] = *static_cast<int*>(args[5 + i]);
    last.partial = *static_cast<void**>(args[14]), last.arrived = *static_cast<void**>(args[15]);
    last.call = *static_cast<unsigned long*>(args[16]);
    return static_cast<hipError_t>(answer);
}
extern const char __hip_fatbin[1] = {0};
void** __hipRegisterFatBinary(const void*) {
    return nullptr;
}
void __hipRegisterFunction(void**, const void* kernel, char*, const char* name, unsigned, void*, void*, void*, void*,
                           int*) {
    names()[kernel] = name;
}
void __hipUnregisterFatBinary(void**) {}
hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*) {
    return hipSuccess;
}
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t, hipStream_t) {
    return hipSuccess;
}
}
