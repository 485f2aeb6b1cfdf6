// Memory, streams, events, <<<>>>, a module from a file, errors and a fault.
#include "check.h"

__global__ __launch_bounds__(256) void saxpy(float a, const float* x, float* y, int n) {
    int i = GROUP * 256 + LANE;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ __launch_bounds__(64) void wild(int* p) {
    p[1 << 28] = LANE;
}

int main(int, char** argv) {
    int n = 1000, devices = 0;
    static float x[1000], y[1000];
    for (int i = 0; i < n; i++) x[i] = i, y[i] = 1;
    hipDeviceProp_t properties;
    NEED(hipGetDeviceCount(&devices));
    NEED(hipGetDeviceProperties(&properties, 0));
    printf("devices %d, %s, %s\n", devices, properties.name, properties.gcnArchName);
    float *dx, *dy, ms;
    hipStream_t stream;
    hipEvent_t start, stop;
    NEED(hipMalloc((void**)&dx, sizeof x));
    NEED(hipMalloc((void**)&dy, sizeof y));
    NEED(hipStreamCreate(&stream));
    NEED(hipEventCreate(&start));
    NEED(hipEventCreate(&stop));
    NEED(hipMemcpyAsync(dx, x, sizeof x, hipMemcpyHostToDevice, stream));
    NEED(hipMemcpy(dy, y, sizeof y, hipMemcpyHostToDevice));
    NEED(hipEventRecord(start, stream));
    saxpy<<<4, 256, 0, stream>>>(2.0f, dx, dy, n);
    NEED(hipEventRecord(stop, stream));
    NEED(hipGetLastError());
    NEED(hipStreamSynchronize(stream));
    NEED(hipEventElapsedTime(&ms, start, stop));
    NEED(hipMemcpy(y, dy, sizeof y, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (y[i] != 2 * i + 1) return 3;
    puts("saxpy right");
    saxpy<<<4, 512, 0, stream>>>(2.0f, dx, dy, n);
    tell("too many lanes", hipGetLastError());
    saxpy<<<0, 256, 0, stream>>>(2.0f, dx, dy, n);
    tell("no workgroups", hipGetLastError());
    saxpy<<<4, 256, 70000, stream>>>(2.0f, dx, dy, n);
    tell("too much LDS", hipGetLastError());
    tell("copy past the end", hipMemcpy(dx, x, sizeof x + 4096, hipMemcpyHostToDevice));
    tell("the last error", hipGetLastError());
    tell("asked again", hipGetLastError());

    hipModule_t module;
    hipFunction_t function;
    NEED(hipModuleLoad(&module, argv[1]));
    NEED(hipModuleGetFunction(&function, module, "vadd"));
    void* arguments[] = {&dx, &dx, &dy, &n};
    NEED(hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, 0, arguments, 0));
    NEED(hipMemcpy(y, dy, sizeof y, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (y[i] != 2 * i) return 6;
    puts("module right");
    tell("no such kernel", hipModuleGetFunction(&function, module, "vsub"));
    tell("no such file", hipModuleLoad(&module, "/nowhere.co"));

    wild<<<1, 64, 0, 0>>>((int*)dx);
    tell("a fault, at the next synchronisation", hipDeviceSynchronize());
    tell("and after it", hipDeviceSynchronize());
    NEED(hipFree(dx));
    NEED(hipFree(dy));
    NEED(hipStreamDestroy(stream));
    tell("freed twice", hipFree(dx));
    return 0;
}
