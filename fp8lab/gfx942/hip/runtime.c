// libamdhip64 over the emulator: the part of the HIP API that host programs and clang's generated code call.
//
// Everything happens at once and in order: a launch returns when the kernel has run, so a stream is a name and an event
// a time. Memory that hipMalloc gives is ordinary memory, aligned to 4 KiB, with a page before and after that no buffer
// holds; kernels may touch what was allocated and nothing else. A kernel that faults prints what it did, and the launch
// and the next synchronisation return hipErrorLaunchFailure.
//
// Source of names, values and layouts: HIP 7.1 API documentation and headers (interface facts only).
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "state.h"

#define API __attribute__((visibility("default")))
extern char** environ;
void core_prepare(Ins* program, u32 n, u32 (*splats)[2][LANES]);
void core_launch(Launch* launch);

typedef int hipError_t;
enum {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorInvalidConfiguration = 9,
    hipErrorInvalidSymbol = 13,
    hipErrorInvalidDevicePointer = 17,
    hipErrorInvalidDeviceFunction = 98,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidImage = 200,
    hipErrorFileNotFound = 301,
    hipErrorInvalidHandle = 400,
    hipErrorNotFound = 500,
    hipErrorNotReady = 600,
    hipErrorLaunchFailure = 719,
    hipErrorNotSupported = 801
};
typedef struct {
    u32 x, y, z;
} dim3;
typedef struct Stream {
    int unused;
}* hipStream_t;
typedef struct Event {
    double at_ms;
    int recorded;
}* hipEvent_t;

static _Thread_local hipError_t last_error;
static hipError_t pending_failure;  // of a kernel, until somebody synchronises
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hipError_t fail(hipError_t e) {
    if (e) last_error = e;
    return e;
}

// --- code objects: prepare.py's tables ---
typedef struct {
    u64 magic, image, image_size, code_base;
    u32 kernels, unused;
} Header;
typedef struct {
    u32 offset, size, kind, unused;
} Argument;
typedef struct __attribute__((packed)) {
    u64 name, records, code_index, arguments, texts;
    u32 record_count, splats, entry, code_words, argument_count, lds, scratch, kernarg, workgroup_size, rsrc1, rsrc2,
        properties, preload_words, preload_offset;
} KernelEntry;
typedef struct Module {
    u8* data;
} Module;
typedef struct Function {
    Module* module;
    KernelEntry* kernel;
    Ins* program;
} Function;

static const void* table(const Module* m, u64 offset) { return m->data + offset; }

static int run_python(const char* in, const char* out) {
    static char code[] = "import sys; sys.path.insert(0, '" PACKAGE
                         "'); sys.argv = ['prepare'] + sys.argv[1:]; "
                         "import runpy; runpy.run_module('fp8lab.gfx942.hip.prepare', run_name='__main__')";
    char* arguments[] = {(char*)PYTHON, (char*)"-c", code, (char*)in, (char*)out, 0};
    pid_t child;
    int status;
    if (posix_spawn(&child, PYTHON, 0, 0, arguments, environ)) return 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static Module* load_module(const void* image, u64 size) {
    char in[] = "/tmp/fp8lab-hip-XXXXXX", out[sizeof in + 8];
    int file = mkstemp(in);
    if (file < 0) return 0;
    snprintf(out, sizeof out, "%s.out", in);
    int written = write(file, image, size) == (ssize_t)size;
    close(file);
    Module* module = 0;
    struct stat about;
    if (written && run_python(in, out) && stat(out, &about) == 0) {
        u8* data = aligned_alloc(4096, ((u64)about.st_size + 8191) & ~4095ull);
        file = open(out, O_RDONLY);
        if (data && file >= 0 && read(file, data, (u64)about.st_size) == about.st_size &&
            ((Header*)data)->magic == 0x3234395846474850ull) {
            module = calloc(1, sizeof *module);
            module->data = data;
        }
        if (file >= 0) close(file);
    }
    unlink(in), unlink(out);
    return module;
}
static Function* find_function(Module* module, const char* name) {
    Header* header = (Header*)module->data;
    KernelEntry* kernels = (KernelEntry*)(header + 1);
    for (u32 i = 0; i < header->kernels; i++)
        if (!strcmp(table(module, kernels[i].name), name)) {
            Function* f = calloc(1, sizeof *f);
            f->module = module, f->kernel = &kernels[i];
            return f;
        }
    return 0;
}

// --- memory ---
typedef struct {
    u8 *start, *base;
    u64 size;
} Allocation;
static Allocation* allocations;
static u64 allocation_count, allocation_room;

static Allocation* holding(const void* p) {
    for (u64 i = 0; i < allocation_count; i++)
        if ((u8*)p >= allocations[i].start && (u8*)p < allocations[i].start + allocations[i].size)
            return &allocations[i];
    return 0;
}
API hipError_t hipMalloc(void** p, size_t size) {
    if (!p) return fail(hipErrorInvalidValue);
    *p = 0;
    if (!size) return hipSuccess;
    u64 room = (size + 4095) & ~4095ull;
    u8* base = room < size || room > 1ull << 40 ? 0 : aligned_alloc(4096, room + 8192);
    if (!base) return fail(hipErrorOutOfMemory);
    memset(base + 4096, 0xa5, room);  // fresh device memory holds anything but zeros
    pthread_mutex_lock(&lock);
    if (allocation_count == allocation_room) {
        allocation_room = allocation_room ? 2 * allocation_room : 64;
        allocations = realloc(allocations, allocation_room * sizeof *allocations);
    }
    allocations[allocation_count++] = (Allocation){base + 4096, base, size};
    pthread_mutex_unlock(&lock);
    *p = base + 4096;
    return hipSuccess;
}
API hipError_t hipFree(void* p) {
    if (!p) return hipSuccess;
    pthread_mutex_lock(&lock);
    hipError_t e = hipErrorInvalidValue;
    for (u64 i = 0; i < allocation_count; i++)
        if (allocations[i].start == p) {
            free(allocations[i].base);
            allocations[i] = allocations[--allocation_count];
            e = hipSuccess;
            break;
        }
    pthread_mutex_unlock(&lock);
    return fail(e);
}
API hipError_t hipMallocManaged(void** p, size_t size, u32 flags) {
    (void)flags;
    return hipMalloc(p, size);
}
API hipError_t hipHostMalloc(void** p, size_t size, u32 flags) {
    (void)flags;
    return hipMalloc(p, size);
}
API hipError_t hipHostFree(void* p) { return hipFree(p); }
API hipError_t hipMallocAsync(void** p, size_t size, hipStream_t s) {
    (void)s;
    return hipMalloc(p, size);
}
API hipError_t hipFreeAsync(void* p, hipStream_t s) {
    (void)s;
    return hipFree(p);
}
API hipError_t hipMemGetInfo(size_t* available, size_t* total) {
    u64 used = 0;
    for (u64 i = 0; i < allocation_count; i++) used += allocations[i].size;
    *total = 192ull << 30, *available = *total - used;
    return hipSuccess;
}
// A pointer that a copy reads or writes on the device side must lie in an allocation, all of it.
static int outside(const void* p, size_t size) {
    Allocation* a = holding(p);
    return !a || (u8*)p + size > a->start + a->size;
}
API hipError_t hipMemcpy(void* to, const void* from, size_t size, int kind) {
    if (!size) return hipSuccess;
    if (!to || !from || kind < 0 || kind > 4) return fail(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    int bad = ((kind == 1 || kind == 3) && outside(to, size)) || ((kind == 2 || kind == 3) && outside(from, size));
    pthread_mutex_unlock(&lock);
    if (bad) return fail(hipErrorInvalidValue);
    memmove(to, from, size);
    return hipSuccess;
}
API hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, int kind, hipStream_t s) {
    (void)s;
    return hipMemcpy(to, from, size, kind);
}
API hipError_t hipMemcpyWithStream(void* to, const void* from, size_t size, int kind, hipStream_t s) {
    (void)s;
    return hipMemcpy(to, from, size, kind);
}
API hipError_t hipMemcpyHtoD(void* to, const void* from, size_t size) { return hipMemcpy(to, from, size, 1); }
API hipError_t hipMemcpyDtoH(void* to, const void* from, size_t size) { return hipMemcpy(to, from, size, 2); }
API hipError_t hipMemcpyDtoD(void* to, const void* from, size_t size) { return hipMemcpy(to, from, size, 3); }
API hipError_t hipMemcpyHtoDAsync(void* to, const void* from, size_t size, hipStream_t s) {
    (void)s;
    return hipMemcpy(to, from, size, 1);
}
API hipError_t hipMemcpyDtoHAsync(void* to, const void* from, size_t size, hipStream_t s) {
    (void)s;
    return hipMemcpy(to, from, size, 2);
}
API hipError_t hipMemcpyDtoDAsync(void* to, const void* from, size_t size, hipStream_t s) {
    (void)s;
    return hipMemcpy(to, from, size, 3);
}
API hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                           int kind) {
    for (size_t row = 0; row < height; row++) {
        hipError_t e = hipMemcpy((u8*)to + row * to_pitch, (const u8*)from + row * from_pitch, width, kind);
        if (e) return e;
    }
    return hipSuccess;
}
API hipError_t hipMemcpy2DAsync(void* to, size_t tp, const void* from, size_t fp, size_t width, size_t height, int kind,
                                hipStream_t s) {
    (void)s;
    return hipMemcpy2D(to, tp, from, fp, width, height, kind);
}
static hipError_t fill(void* p, u32 value, size_t each, size_t count) {
    if (!count) return hipSuccess;
    pthread_mutex_lock(&lock);
    int bad = outside(p, each * count);
    pthread_mutex_unlock(&lock);
    if (bad) return fail(hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++) memcpy((u8*)p + i * each, &value, each);
    return hipSuccess;
}
API hipError_t hipMemset(void* p, int value, size_t size) { return fill(p, (u32)value, 1, size); }
API hipError_t hipMemsetAsync(void* p, int value, size_t size, hipStream_t s) {
    (void)s;
    return fill(p, (u32)value, 1, size);
}
API hipError_t hipMemsetD8(void* p, u8 value, size_t count) { return fill(p, value, 1, count); }
API hipError_t hipMemsetD16(void* p, u16 value, size_t count) { return fill(p, value, 2, count); }
API hipError_t hipMemsetD32(void* p, int value, size_t count) { return fill(p, (u32)value, 4, count); }
API hipError_t hipMemsetD32Async(void* p, int value, size_t count, hipStream_t s) {
    (void)s;
    return fill(p, (u32)value, 4, count);
}

// --- launching ---
static u32 wanted_checks(void) {
    const char* text = getenv("FP8LAB_HIP_CHECKS");
    return text && strcmp(text, "none") ? 127 : 0;
}
static const char* const kind_names[] = {"global-out-of-bounds",
                                         "lds-out-of-bounds",
                                         "scratch-out-of-bounds",
                                         "misaligned",
                                         "lds-race",
                                         "lds-same-value",
                                         "missing-wait",
                                         "uninitialised-register",
                                         "uninitialised-lds",
                                         "missing-wait-states",
                                         "barrier-divergence",
                                         "trap",
                                         "lds-write-not-waited",
                                         "hang",
                                         "bad-jump",
                                         "unsupported"};

static void print_findings(const Function* f, const Launch* launch) {
    const u64* texts = table(f->module, f->kernel->texts);
    for (u32 i = 0; i < launch->finding_count; i++) {
        const Finding* x = &launch->findings[i];
        int known = x->instruction < launch->instructions;
        fprintf(stderr,
                "fp8lab gfx942: %s at 0x%llx, %u bytes; kernel %s, workgroup (%u, %u, %u), wave %u, lane %u, at 0x%x: "
                "%s, %u times\n",
                kind_names[x->kind], (unsigned long long)x->address, x->size,
                (const char*)table(f->module, f->kernel->name), x->workgroup[0], x->workgroup[1], x->workgroup[2],
                x->wave, x->lane, known ? launch->program[x->instruction].address : 0,
                known ? (const char*)table(f->module, texts[x->instruction]) : "?", x->count);
    }
}
static int by_address(const void* a, const void* b) {
    u64 x = ((const Range*)a)->lo, y = ((const Range*)b)->lo;
    return x < y ? -1 : x > y;
}
static u32 hidden_value(u32 kind, const Launch* launch, u32 dynamic_lds) {
    if (kind <= 3) return launch->grid[kind - 1];
    if (kind <= 6) return launch->block[kind - 4];
    if (kind == 7) return launch->grid[2] * launch->block[2] > 1 ? 3 : launch->grid[1] * launch->block[1] > 1 ? 2 : 1;
    return kind == 8 ? dynamic_lds : 0;
}

static u32 resident(u64 threads, u32 lds) {  // workgroups that the 304 compute units hold at once
    u64 by_waves = 32 / ((threads + LANES - 1) / LANES), by_lds = lds ? MAX_LDS / lds : 32;
    return (u32)(304 * (by_waves < by_lds ? by_waves : by_lds));
}

static hipError_t launch_kernel(Function* f, dim3 grid, dim3 block, void** parameters, const void* packed,
                                size_t packed_size, u32 dynamic_lds) {
    KernelEntry* k = f->kernel;
    Header* header = (Header*)f->module->data;
    u64 threads = (u64)block.x * block.y * block.z, groups = (u64)grid.x * grid.y * grid.z;
    if (!threads || !groups || threads > k->workgroup_size || groups >> 32) return fail(hipErrorInvalidConfiguration);
    if ((u64)k->lds + dynamic_lds > MAX_LDS) return fail(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    if (!f->program) {
        f->program = (Ins*)(f->module->data + k->records);
        core_prepare(f->program, k->record_count, aligned_alloc(64, ((u64)k->splats + 1) * sizeof(u32[2][LANES])));
    }
    Launch launch = {.program = f->program,
                     .instructions = k->record_count,
                     .entry = k->entry,
                     .lds_bytes = k->lds + dynamic_lds,
                     .scratch_bytes = k->scratch,
                     .block = {block.x, block.y, block.z},
                     .grid = {grid.x, grid.y, grid.z},
                     .rsrc1 = k->rsrc1,
                     .rsrc2 = k->rsrc2,
                     .properties = k->properties,
                     .preload_words = k->preload_words,
                     .preload_offset = k->preload_offset,
                     .code_base = header->code_base,
                     .checks = wanted_checks(),
                     .max_resident = resident(threads, k->lds + dynamic_lds),
                     .hang_after = 200000000,
                     .finding_limit = 64,
                     .workgroups = (u32)groups,
                     .code_index = table(f->module, k->code_index),
                     .code_words = k->code_words};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    launch.threads = cpus > 0 ? (u32)cpus : 1;
    u8* segment = calloc(1, (k->kernarg + 4096u) & ~63u);
    const Argument* arguments = table(f->module, k->arguments);
    u32 visible = 0;
    if (packed) memcpy(segment, packed, packed_size < k->kernarg ? packed_size : k->kernarg);
    for (u32 i = 0; i < k->argument_count; i++) {
        const Argument* a = &arguments[i];
        u64 hidden = a->kind ? hidden_value(a->kind, &launch, dynamic_lds) : 0;
        if (a->kind) memcpy(segment + a->offset, &hidden, a->size < 8 ? a->size : 8);
        else if (parameters) memcpy(segment + a->offset, parameters[visible++], a->size);
    }
    u32 packet[16] = {3u << 16,         block.x | block.y << 16, block.z,    grid.x * block.x,
                      grid.y * block.y, grid.z * block.z,        k->scratch, launch.lds_bytes};
    Range* ranges = calloc(allocation_count + 3, sizeof *ranges);
    for (u64 i = 0; i < allocation_count; i++)
        ranges[i] = (Range){(u64)allocations[i].start, (u64)allocations[i].start + allocations[i].size, 0, (u32)i, 1};
    u64 n = allocation_count, image = (u64)(f->module->data + header->image);
    ranges[n++] =
        (Range){header->code_base, header->code_base + header->image_size, (i64)(image - header->code_base), 0, 1};
    ranges[n++] = (Range){(u64)segment, (u64)segment + ((k->kernarg + 127u) & ~63u), 0, 0, 0};
    ranges[n++] = (Range){(u64)packet, (u64)packet + sizeof packet, 0, 0, 0};
    qsort(ranges, n, sizeof *ranges, by_address);
    launch.ranges = ranges, launch.range_count = (u32)n, launch.kernarg = (u64)segment,
    launch.dispatch_packet = (u64)packet;
    launch.counts = calloc(k->record_count, sizeof(u64)), launch.traffic = calloc(k->record_count, sizeof(Traffic));
    launch.findings = calloc(launch.finding_limit, sizeof(Finding));
    core_launch(&launch);
    print_findings(f, &launch);
    hipError_t e = launch.failed ? hipErrorLaunchFailure : hipSuccess;
    if (e) pending_failure = e;
    free(segment), free(ranges), free(launch.counts), free(launch.traffic), free(launch.findings);
    pthread_mutex_unlock(&lock);
    return fail(e);
}

// --- what clang's host code registers and calls ---
typedef struct {
    u32 magic, version;
    const void* binary;
    void* unused;
} FatBinary;
typedef struct {
    const void* binary;
    Module* module;
} Fat;
typedef struct Registered {
    const void* host;
    const char* name;
    Fat* fat;
    Function* function;
    struct Registered* next;
} Registered;
static Registered* registered;

static u64 bundle_size(const u8* p) {  // of a clang offload bundle: as far as its last entry reaches
    u64 count, at = 32, end = 0;
    memcpy(&count, p + 24, 8);
    for (u64 i = 0; i < count && i < 64; i++) {
        u64 entry[3];
        memcpy(entry, p + at, 24);
        at += 24 + entry[2];
        if (entry[0] + entry[1] > end) end = entry[0] + entry[1];
    }
    return end;
}
API void** __hipRegisterFatBinary(const void* data) {
    Fat* fat = calloc(1, sizeof *fat);
    fat->binary = ((const FatBinary*)data)->binary;
    return (void**)fat;
}
API void __hipUnregisterFatBinary(void** handle) { (void)handle; }
API void __hipRegisterFunction(void** handle, const void* host, char* device_function, const char* name, u32 limit,
                               void* tid, void* bid, void* bdim, void* gdim, int* size) {
    (void)device_function, (void)limit, (void)tid, (void)bid, (void)bdim, (void)gdim, (void)size;
    Registered* r = calloc(1, sizeof *r);
    r->host = host, r->name = name, r->fat = (Fat*)handle, r->next = registered;
    registered = r;
}
API void __hipRegisterVar(void** h, void* host, char* device, char* name, int external, size_t size, int constant,
                          int global) {
    (void)h, (void)host, (void)device, (void)name, (void)external, (void)size, (void)constant, (void)global;
}
static _Thread_local struct {
    dim3 grid, block;
    size_t lds;
    hipStream_t stream;
} configuration[8];
static _Thread_local int configurations;
API hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
    if (configurations == 8) return fail(hipErrorInvalidConfiguration);
    configuration[configurations].grid = grid, configuration[configurations].block = block;
    configuration[configurations].lds = lds, configuration[configurations++].stream = stream;
    return hipSuccess;
}
API hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds, hipStream_t* stream) {
    if (!configurations) return fail(hipErrorInvalidConfiguration);
    configurations--;
    *grid = configuration[configurations].grid, *block = configuration[configurations].block;
    *lds = configuration[configurations].lds, *stream = configuration[configurations].stream;
    return hipSuccess;
}
static Function* registered_function(const void* host) {
    for (Registered* r = registered; r; r = r->next)
        if (r->host == host) {
            if (!r->fat->module) r->fat->module = load_module(r->fat->binary, bundle_size(r->fat->binary));
            if (r->fat->module && !r->function) r->function = find_function(r->fat->module, r->name);
            return r->function;
        }
    return 0;
}
API hipError_t hipLaunchKernel(const void* host, dim3 grid, dim3 block, void** parameters, size_t lds,
                               hipStream_t stream) {
    (void)stream;
    Function* f = registered_function(host);
    return f ? launch_kernel(f, grid, block, parameters, 0, 0, (u32)lds) : fail(hipErrorInvalidDeviceFunction);
}
API hipError_t hipModuleLoadData(Module** module, const void* image) {
    const u8* p = image;
    u64 size;
    if (!memcmp(p, "__CLANG_OFFLOAD_BUNDLE__", 24)) size = bundle_size(p);
    else if (!memcmp(p, "\177ELF", 4)) {  // the section table ends the file
        u64 at;
        u16 each, count;
        memcpy(&at, p + 40, 8), memcpy(&each, p + 58, 2), memcpy(&count, p + 60, 2);
        size = at + (u64)each * count;
    } else return fail(hipErrorInvalidImage);
    *module = load_module(image, size);
    return fail(*module ? hipSuccess : hipErrorInvalidImage);
}
API hipError_t hipModuleLoad(Module** module, const char* path) {
    FILE* file = fopen(path, "rb");
    if (!file) return fail(hipErrorFileNotFound);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    u8* data = malloc((size_t)size + 1);
    size_t got = fread(data, 1, (size_t)size, file);
    fclose(file);
    *module = got == (size_t)size ? load_module(data, got) : 0;
    free(data);
    return fail(*module ? hipSuccess : hipErrorInvalidImage);
}
API hipError_t hipModuleUnload(Module* module) {
    if (!module) return fail(hipErrorInvalidHandle);
    free(module->data), free(module);
    return hipSuccess;
}
API hipError_t hipModuleGetFunction(Function** function, Module* module, const char* name) {
    *function = module ? find_function(module, name) : 0;
    return fail(*function ? hipSuccess : hipErrorNotFound);
}
API hipError_t hipModuleLaunchKernel(Function* f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 lds,
                                     hipStream_t s, void** parameters, void** extra) {
    (void)s;
    const void* packed = 0;
    size_t size = 0;
    for (u32 i = 0; extra && extra[i] != (void*)3 && i < 8; i += 2) {
        if (extra[i] == (void*)1) packed = extra[i + 1];
        if (extra[i] == (void*)2) size = *(size_t*)extra[i + 1];
    }
    return f ? launch_kernel(f, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, parameters, packed, size, lds)
             : fail(hipErrorInvalidHandle);
}
API hipError_t hipFuncSetAttribute(const void* f, int attribute, int value) {
    (void)f, (void)attribute, (void)value;
    return hipSuccess;
}

// --- streams and events: in order by nature ---
static hipError_t settled(void) {
    hipError_t e = pending_failure;
    pending_failure = hipSuccess;
    return fail(e);
}
API hipError_t hipStreamCreate(hipStream_t* s) {
    *s = calloc(1, sizeof **s);
    return hipSuccess;
}
API hipError_t hipStreamCreateWithFlags(hipStream_t* s, u32 flags) {
    (void)flags;
    return hipStreamCreate(s);
}
API hipError_t hipStreamCreateWithPriority(hipStream_t* s, u32 flags, int priority) {
    (void)flags, (void)priority;
    return hipStreamCreate(s);
}
API hipError_t hipStreamDestroy(hipStream_t s) {
    free(s);
    return hipSuccess;
}
API hipError_t hipStreamSynchronize(hipStream_t s) {
    (void)s;
    return settled();
}
API hipError_t hipStreamQuery(hipStream_t s) {
    (void)s;
    return settled();
}
API hipError_t hipStreamWaitEvent(hipStream_t s, hipEvent_t e, u32 flags) {
    (void)s, (void)flags;
    return fail(e ? hipSuccess : hipErrorInvalidHandle);
}
API hipError_t hipDeviceSynchronize(void) { return settled(); }
API hipError_t hipDeviceReset(void) {
    pending_failure = hipSuccess;
    return hipSuccess;
}
API hipError_t hipEventCreate(hipEvent_t* e) {
    *e = calloc(1, sizeof **e);
    return hipSuccess;
}
API hipError_t hipEventCreateWithFlags(hipEvent_t* e, u32 flags) {
    (void)flags;
    return hipEventCreate(e);
}
API hipError_t hipEventDestroy(hipEvent_t e) {
    free(e);
    return hipSuccess;
}
API hipError_t hipEventRecord(hipEvent_t e, hipStream_t s) {
    (void)s;
    if (!e) return fail(hipErrorInvalidHandle);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    e->at_ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6, e->recorded = 1;
    return hipSuccess;
}
API hipError_t hipEventSynchronize(hipEvent_t e) { return e ? settled() : fail(hipErrorInvalidHandle); }
API hipError_t hipEventQuery(hipEvent_t e) { return fail(e && e->recorded ? hipSuccess : hipErrorNotReady); }
API hipError_t hipEventElapsedTime(float* ms, hipEvent_t from,
                                   hipEvent_t to) {  // of the emulation: says nothing about a GPU
    if (!from || !to || !from->recorded || !to->recorded) return fail(hipErrorInvalidHandle);
    *ms = (float)(to->at_ms - from->at_ms);
    return hipSuccess;
}

// --- the device ---
API hipError_t hipInit(u32 flags) {
    (void)flags;
    return hipSuccess;
}
API hipError_t hipGetDeviceCount(int* n) {
    *n = 1;
    return hipSuccess;
}
API hipError_t hipGetDevice(int* device) {
    *device = 0;
    return hipSuccess;
}
API hipError_t hipSetDevice(int device) { return fail(device == 0 ? hipSuccess : hipErrorInvalidDevice); }
API hipError_t hipRuntimeGetVersion(int* version) {
    *version = 70125424;
    return hipSuccess;
}
API hipError_t hipDriverGetVersion(int* version) {
    *version = 70125424;
    return hipSuccess;
}
// A MI300X. Offsets are those of hipDeviceProp_t since HIP 6 (the R0600 layout, 1472 bytes).
API hipError_t hipGetDevicePropertiesR0600(void* properties, int device) {
    if (device) return fail(hipErrorInvalidDevice);
    static const struct {
        u16 offset;
        i32 value;
    } numbers[] = {{304, 65536},      {308, 64},    {320, 1024},  {324, 1024},    {328, 1024}, {332, 1024},
                   {336, 2147483647}, {340, 65536}, {344, 65536}, {348, 2100000}, {360, 9},    {364, 4},
                   {388, 304},        {576, 1},     {604, 1},     {608, 2600000}, {612, 8192}, {616, 4194304},
                   {624, 2048},       {648, 65536}, {652, 1},     {688, 1},       {712, 32}};
    u8* p = memset(properties, 0, 1472);
    strcpy((char*)p, "AMD Instinct MI300X (fp8lab emulator)");
    strcpy((char*)p + 1160, "gfx942:sramecc+:xnack-");
    u64 memory = 192ull << 30, lds = MAX_LDS;
    memcpy(p + 288, &memory, 8), memcpy(p + 296, &lds, 8), memcpy(p + 640, &lds, 8), memcpy(p + 1416, &lds, 8);
    for (u32 i = 0; i < sizeof numbers / sizeof *numbers; i++) memcpy(p + numbers[i].offset, &numbers[i].value, 4);
    return hipSuccess;
}
API hipError_t hipDeviceGetAttribute(int* value, int attribute, int device) {
    static const i32 known[][2] = {
        {87, 64}, {63, 304}, {56, 1024}, {74, MAX_LDS}, {26, 1024},    {27, 1024}, {28, 1024},    {29, 2147483647},
        {23, 9},  {61, 4},   {57, 2048}, {5, 2100000},  {60, 2600000}, {59, 8192}, {19, 4194304}, {10002, MAX_LDS}};
    if (device) return fail(hipErrorInvalidDevice);
    for (u32 i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i][0] == attribute) return *value = known[i][1], hipSuccess;
    return fail(hipErrorInvalidValue);
}

// --- errors ---
API hipError_t hipGetLastError(void) {
    hipError_t e = last_error;
    last_error = hipSuccess;
    return e;
}
API hipError_t hipPeekAtLastError(void) { return last_error; }
static const struct {
    hipError_t error;
    const char *name, *text;
} errors[] = {{hipSuccess, "hipSuccess", "no error"},
              {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
              {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
              {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
              {hipErrorInvalidSymbol, "hipErrorInvalidSymbol", "invalid device symbol"},
              {hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
              {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
              {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
              {hipErrorInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
              {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
              {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
              {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
              {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
              {hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
              {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"}};
API const char* hipGetErrorName(hipError_t e) {
    for (u32 i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == e) return errors[i].name;
    return "hipErrorUnknown";
}
API const char* hipGetErrorString(hipError_t e) {
    for (u32 i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == e) return errors[i].text;
    return "unknown error";
}
