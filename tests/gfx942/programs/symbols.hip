// Device variables, code objects in memory, what a kernel needs of the device, and calls that are not there.
// Declared here is what the emulator's header has not.
#include <vector>

#include "check.h"

struct Attributes {  // hipFuncAttributes
    int binary, cache;
    size_t constant, local;
    int dynamic_lds, lanes, registers, carveout, ptx;
    size_t lds;
};
extern "C" {
hipError_t hipFuncGetAttributes(Attributes*, const void*);
hipError_t hipMallocArray(void**, const void*, size_t, size_t, unsigned);
hipError_t hipGraphAddKernelNode(void*, void*, const void*, size_t, const void*);
}

__device__ int table[64] = {5, 6, 7};
__device__ int* second = table + 1;  // a pointer that the loader has to relocate
__constant__ float factor = 0.5f;

__global__ __launch_bounds__(64) void look(float* out) {
    out[LANE] = table[LANE] * factor + (LANE == 0 ? *second : 0);
}
__global__ __launch_bounds__(256) void heavy(float* out) {
    __shared__ float lds[5120];  // 20 KiB: three workgroups a compute unit
    lds[LANE] = out[LANE];
    __builtin_amdgcn_s_barrier();
    out[LANE] = lds[255 - LANE];
}

int main(int, char** argv) {
    float *out, got[64];
    NEED(hipMalloc((void**)&out, 1 << 16));
    look<<<1, 64>>>(out);
    NEED(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
    printf("as initialised: %g %g %g %g\n", got[0], got[1], got[2], got[3]);

    int numbers[64], back[2];
    for (int i = 0; i < 64; i++) numbers[i] = 10 * i;
    float two = 2;
    NEED(hipMemcpyToSymbol(&table, numbers, sizeof numbers, 0, hipMemcpyHostToDevice));
    NEED(hipMemcpyToSymbol(&factor, &two, 4, 0, hipMemcpyHostToDevice));
    look<<<1, 64>>>(out);
    NEED(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
    printf("as copied: %g %g %g %g\n", got[0], got[1], got[2], got[63]);
    NEED(hipMemcpyFromSymbol(back, &table, 8, 4, hipMemcpyDeviceToHost));
    printf("copied back from byte 4: %d %d\n", back[0], back[1]);
    void* address;
    size_t size;
    NEED(hipGetSymbolAddress(&address, &table));
    NEED(hipGetSymbolSize(&size, &table));
    NEED(hipMemset(address, 0, size));
    look<<<1, 64>>>(out);
    NEED(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
    printf("%zu bytes cleared: %g %g\n", size, got[0], got[63]);
    tell("past its end", hipMemcpyToSymbol(&table, numbers, sizeof numbers, 4, hipMemcpyHostToDevice));
    tell("no symbol", hipMemcpyToSymbol(numbers, numbers, 4, 0, hipMemcpyHostToDevice));

    Attributes about;
    NEED(hipFuncGetAttributes(&about, (const void*)heavy));
    printf("heavy: %d lanes, %zu bytes of LDS and %d more, %zu of scratch\n", about.lanes, about.lds, about.dynamic_lds,
           about.local);
    int fit, lanes, groups;
    NEED(hipOccupancyMaxActiveBlocksPerMultiprocessor(&fit, (const void*)heavy, 256, 0));
    printf("fit on a compute unit: %d", fit);
    NEED(hipOccupancyMaxActiveBlocksPerMultiprocessor(&fit, (const void*)heavy, 256, 20480));
    printf(", with 20 KiB more %d\n", fit);
    NEED(hipOccupancyMaxPotentialBlockSize(&groups, &lanes, (const void*)heavy, 0, 0));
    printf("%d workgroups of %d lanes fill the device\n", groups, lanes);
    void* arguments[] = {&out};
    tell("304 * 3 workgroups together",
         hipLaunchCooperativeKernel((const void*)heavy, dim3(912), dim3(256), arguments, 0, 0));
    printf("one more: %d\n", hipLaunchCooperativeKernel((const void*)heavy, dim3(913), dim3(256), arguments, 0, 0));

    hipModule_t module;
    hipFunction_t function;
    for (int i = 1; argv[i]; i++) {  // a code object, a bundle, a compressed one, a damaged one, one for another GPU
        std::vector<char> bytes(1 << 20);
        FILE* file = fopen(argv[i], "rb");
        if (!file || !fread(bytes.data(), 1, bytes.size(), file)) return 2;
        fclose(file);
        hipError_t e = hipModuleLoadData(&module, bytes.data());
        tell("loaded from memory", e);
        if (e) continue;
        NEED(hipModuleGetFunction(&function, module, "count"));
        NEED(hipModuleGetGlobal(&address, &size, module, "counter"));
        unsigned start = 40, end = 0;
        NEED(hipMemcpyHtoD(address, &start, size));
        NEED(hipModuleLaunchKernel(function, 3, 1, 1, 64, 1, 1, 0, 0, 0, 0));
        NEED(hipMemcpyDtoH(&end, address, size));
        printf("counted to %u\n", end);
        NEED(hipModuleUnload(module));
    }
    int value = 0;
    tell("an attribute", hipDeviceGetAttribute(&value, 63, 0));
    printf("compute units %d\n", value);
    tell("an unknown attribute", hipDeviceGetAttribute(&value, 9000, 0));
    tell("another device", hipSetDevice(1));
    tell("an array", hipMallocArray(&address, 0, 1, 1, 0));
    tell("a graph by hand", hipGraphAddKernelNode(0, 0, 0, 0, 0));
    return 0;
}
