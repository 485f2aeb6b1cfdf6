// The host side of HIP 7: what this project's libamdhip64 offers (the C files two folders up), and nothing else.
//
// Written for building without ROCm. A program built with it links to ROCm's library as well: names, values and layouts
// are those of HIP 7.1's API documentation and headers (interface facts only).
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef enum hipError_t {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorInvalidConfiguration = 9,
    hipErrorInvalidSymbol = 13,
    hipErrorInvalidDevicePointer = 17,
    hipErrorInvalidDeviceFunction = 98,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidImage = 200,
    hipErrorNoBinaryForGpu = 209,
    hipErrorInvalidKernelFile = 218,
    hipErrorFileNotFound = 301,
    hipErrorInvalidHandle = 400,
    hipErrorNotFound = 500,
    hipErrorNotReady = 600,
    hipErrorHostMemoryAlreadyRegistered = 712,
    hipErrorHostMemoryNotRegistered = 713,
    hipErrorContextIsDestroyed = 709,
    hipErrorLaunchFailure = 719,
    hipErrorCooperativeLaunchTooLarge = 720,
    hipErrorNotSupported = 801,
    hipErrorStreamCaptureUnsupported = 900,
    hipErrorStreamCaptureInvalidated = 901,
    hipErrorStreamCaptureMerge = 902,
    hipErrorStreamCaptureUnmatched = 903,
    hipErrorStreamCaptureUnjoined = 904,
    hipErrorStreamCaptureImplicit = 906,
    hipErrorCapturedEvent = 907
} hipError_t;

typedef enum hipMemcpyKind {
    hipMemcpyHostToHost = 0,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2,
    hipMemcpyDeviceToDevice = 3,
    hipMemcpyDefault = 4
} hipMemcpyKind;

typedef enum hipStreamCaptureMode {
    hipStreamCaptureModeGlobal = 0,
    hipStreamCaptureModeThreadLocal = 1,
    hipStreamCaptureModeRelaxed = 2
} hipStreamCaptureMode;

typedef enum hipStreamCaptureStatus {
    hipStreamCaptureStatusNone = 0,
    hipStreamCaptureStatusActive = 1,
    hipStreamCaptureStatusInvalidated = 2
} hipStreamCaptureStatus;

typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipModule_t* hipModule_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
typedef struct ihipGraph* hipGraph_t;
typedef struct hipGraphExec* hipGraphExec_t;
typedef struct hipGraphNode* hipGraphNode_t;
typedef void* hipDeviceptr_t;
typedef int hipDevice_t;

typedef struct dim3 {
    uint32_t x, y, z;
#ifdef __cplusplus
    constexpr dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
#endif
} dim3;

// The layout since HIP 6 ("R0600"), 1472 bytes; fields that say nothing here are left out.
typedef struct hipDeviceProp_tR0600 {
    char name[256];
    char reserved0[32];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;  // kHz
    size_t totalConstMem;
    int major, minor;
    char reserved1[20];
    int multiProcessorCount;
    char reserved2[768];
    char gcnArchName[256];
    char reserved3[56];
} hipDeviceProp_tR0600;
#define hipDeviceProp_t hipDeviceProp_tR0600
#define HIP_SYMBOL(variable) (&(variable))
#define hipGetDeviceProperties hipGetDevicePropertiesR0600

#ifdef __cplusplus
extern "C" {
#endif

hipError_t hipInit(unsigned flags);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipGetDevice(int* device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device);
hipError_t hipDeviceGetAttribute(int* value, int attribute, int device);
hipError_t hipDeviceGet(hipDevice_t* device, int number);
hipError_t hipDeviceGetName(char* name, int room, hipDevice_t device);
hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device);
hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device);
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer);
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest);
hipError_t hipSetDeviceFlags(unsigned flags);
hipError_t hipGetDeviceFlags(unsigned* flags);
hipError_t hipDeviceSynchronize(void);
hipError_t hipDeviceReset(void);
hipError_t hipRuntimeGetVersion(int* version);
hipError_t hipDriverGetVersion(int* version);

hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char* hipGetErrorName(hipError_t error);
const char* hipGetErrorString(hipError_t error);

hipError_t hipMalloc(void** pointer, size_t bytes);
hipError_t hipFree(void* pointer);
hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t stream);
hipError_t hipFreeAsync(void* pointer, hipStream_t stream);
hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned flags);
hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned flags);
hipError_t hipHostFree(void* pointer);
hipError_t hipHostRegister(void* pointer, size_t bytes, unsigned flags);
hipError_t hipHostUnregister(void* pointer);
hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags);
hipError_t hipHostAlloc(void** pointer, size_t bytes, unsigned flags);
hipError_t hipMallocHost(void** pointer, size_t bytes);
hipError_t hipFreeHost(void* pointer);
hipError_t hipExtMallocWithFlags(void** pointer, size_t bytes, unsigned flags);
hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);
hipError_t hipMemGetInfo(size_t* available, size_t* total);
hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                       hipMemcpyKind kind);
hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, size_t bytes);
hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes);
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes);
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, size_t bytes, hipStream_t stream);
hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes, hipStream_t stream);
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream);
hipError_t hipMemset(void* pointer, int value, size_t bytes);
hipError_t hipMemsetAsync(void* pointer, int value, size_t bytes, hipStream_t stream);
hipError_t hipMemsetD8(hipDeviceptr_t pointer, unsigned char value, size_t count);
hipError_t hipMemsetD16(hipDeviceptr_t pointer, unsigned short value, size_t count);
hipError_t hipMemsetD32(hipDeviceptr_t pointer, int value, size_t count);
hipError_t hipMemsetD8Async(hipDeviceptr_t pointer, unsigned char value, size_t count, hipStream_t stream);
hipError_t hipMemsetD16Async(hipDeviceptr_t pointer, unsigned short value, size_t count, hipStream_t stream);
hipError_t hipMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height);
hipError_t hipMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, hipStream_t stream);
hipError_t hipMemsetD32Async(hipDeviceptr_t pointer, int value, size_t count, hipStream_t stream);

hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags);
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
hipError_t hipStreamAddCallback(hipStream_t stream, void (*call)(hipStream_t, hipError_t, void*), void* data,
                                unsigned flags);
hipError_t hipLaunchHostFunc(hipStream_t stream, void (*function)(void*), void* data);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventElapsedTime(float* ms, hipEvent_t from, hipEvent_t to);

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status);
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode);
hipError_t hipGraphInstantiate(hipGraphExec_t* instance, hipGraph_t graph, hipGraphNode_t* node, char* log,
                               size_t log_bytes);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* instance, hipGraph_t graph, unsigned long long flags);
hipError_t hipGraphUpload(hipGraphExec_t instance, hipStream_t stream);
hipError_t hipGraphLaunch(hipGraphExec_t instance, hipStream_t stream);
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count);
hipError_t hipGraphExecDestroy(hipGraphExec_t instance);
hipError_t hipGraphDestroy(hipGraph_t graph);

hipError_t hipModuleLoad(hipModule_t* module, const char* path);
hipError_t hipModuleLoadData(hipModule_t* module, const void* image);
hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name);
hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* bytes, hipModule_t module, const char* name);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,
                                 hipStream_t stream, void** arguments, void** extra);
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t lds_bytes,
                           hipStream_t stream);
hipError_t hipLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, unsigned lds_bytes,
                                      hipStream_t stream);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* workgroups, const void* kernel, int lanes,
                                                        size_t lds_bytes);
hipError_t hipOccupancyMaxPotentialBlockSize(int* workgroups, int* lanes, const void* kernel, size_t lds_bytes,
                                             int limit);
hipError_t hipGetSymbolAddress(void** address, const void* symbol);
hipError_t hipGetSymbolSize(size_t* bytes, const void* symbol);
hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, hipMemcpyKind kind);
hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, hipMemcpyKind kind);
hipError_t hipFuncSetAttribute(const void* kernel, int attribute, int value);

#ifdef __cplusplus
}
#endif
