// What the parts of libamdhip64 share. Names, values and layouts are those of the HIP 7 API (interface facts only).
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include "state.h"

#define API __attribute__((visibility("default")))

typedef int hipError_t;
enum {
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
};
#define DEVICE_MEMORY (192ull << 30)                                                         // bytes of HBM
enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, FROM_THE_POINTERS };  // hipMemcpyKind

typedef struct {
    u32 x, y, z;
} dim3;
typedef struct Stream* hipStream_t;
typedef struct Event* hipEvent_t;

// --- code objects: the tables that prepare.py writes ---
typedef struct {
    u64 magic, image, image_size, relocations, variables;
    u32 kernels, relocation_count, variable_count, unused;
} Header;
typedef struct {
    u32 offset, size, kind, unused;
} Argument;
typedef struct {
    u64 name, address, size;
} Variable;
typedef struct {
    u64 name, records, code_index, arguments, texts;
    u32 record_count, splats, entry, code_words, argument_count, visible_arguments, lds, scratch, kernarg,
        workgroup_size, vgpr, rsrc1, rsrc2, properties, preload_words, preload_offset;
} KernelEntry;
typedef struct Function {
    struct Module* module;
    const KernelEntry* kernel;
    Ins* program;  // with the core's handlers, once it was launched
    struct Function* next;
} Function;
typedef struct Module {
    u8* data;
    Header* header;
    u8* image;  // the code object's memory: what kernels see, at the same address
    Function* functions;
} Module;
static inline const void* table(const Module* m, u64 offset) { return m->data + offset; }

// --- one piece of work: what a stream runs at once, or a capture keeps for later ---
typedef enum { KERNEL, COPY, FILL, HOST } WorkKind;  // in the order of hipGraphNodeType
typedef struct {
    WorkKind kind;
    union {
        struct {
            const Function* function;
            dim3 grid, block;
            u32 lds;
            u8* arguments;  // the kernarg segment with the visible arguments; owned
        } kernel;
        struct {
            u8* to;
            const u8* from;
            size_t to_pitch, from_pitch, width, height;
        } copy;
        struct {
            u8* to;
            u32 value;
            size_t pitch, each, width, height;
        } fill;
        struct {
            void (*function)(void*);
            void* data;
        } host;
    };
} Work;
hipError_t submit(hipStream_t stream, Work work);
hipError_t run_work(const Work* work);
hipError_t run_kernel(const Work* work);

// --- handles ---
typedef enum { STREAM, EVENT, MODULE, FUNCTION, GRAPH } HandleKind;
void* handle_made(HandleKind kind, void* handle);       // returns it
int handle_lives(HandleKind kind, const void* handle);  // whether it was made and not ended
int handle_ended(HandleKind kind, const void* handle);  // whether it lived until now
static inline int no_stream(hipStream_t s) { return (u64)s > 2 && !handle_lives(STREAM, s); }  // 0-2 are always there

hipError_t fail(hipError_t error);         // note it as the thread's last error
hipError_t refuse_while_capturing(void);   // for calls that a stream capture forbids
hipError_t device_runs_gfx942(int asked);  // or why not; asked: whether code for it was looked for before
void note_failure(hipError_t error);       // of a kernel: the next synchronisation returns it too
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));  // one sentence on stderr
Function* registered_function(const void* host, hipError_t* error);
u32 memory_ranges(Range** ranges, u32 more);  // of the allocations, unsorted, with room for `more`
int run_python(const char* module, const char* in, const char* out);  // its main(in, out); the exit code
int in_an_image(const void* p, size_t size);                          // whether these bytes are a loaded code object's
u32 workgroups_per_cu(const KernelEntry* kernel, u64 lanes, u64 dynamic_lds);
extern pthread_mutex_t memory_lock;
