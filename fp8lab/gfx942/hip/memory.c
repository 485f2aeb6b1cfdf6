// Memory. What hipMalloc gives is ordinary memory, aligned to 4 KiB, between two pages that belong to no buffer; the
// host and kernels see it at the same address. Kernels may touch what was allocated or registered, and nothing else.
#include <sys/mman.h>

#include "hip.h"

enum { PAGE = 4096 };
typedef struct {
    u8 *start, *mapped;  // mapped: null for memory that the program had and registered
    u64 size;
    u32 type, flags;  // hipMemoryType: 1 host, 2 device, 3 managed
} Allocation;
static Allocation* allocations;
static u64 count, room;
pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

static Allocation* holding(const void* p) {
    for (u64 i = 0; i < count; i++)
        if ((u8*)p >= allocations[i].start && (u8*)p < allocations[i].start + allocations[i].size)
            return &allocations[i];
    return 0;
}
static void keep(Allocation a) {
    pthread_mutex_lock(&memory_lock);
    if (count == room) {
        room = room ? 2 * room : 64;
        allocations = realloc(allocations, room * sizeof *allocations);
    }
    allocations[count++] = a;
    pthread_mutex_unlock(&memory_lock);
}
// Forget the allocation that starts at p, of memory from hipMalloc or of registered memory.
static hipError_t release(void* p, int registered) {
    hipError_t e = hipErrorInvalidValue;
    pthread_mutex_lock(&memory_lock);
    for (u64 i = 0; i < count; i++)
        if (allocations[i].start == p && !allocations[i].mapped == registered) {
            if (!registered) munmap(allocations[i].mapped, allocations[i].size + 2 * PAGE);
            allocations[i] = allocations[--count];
            e = hipSuccess;
            break;
        }
    pthread_mutex_unlock(&memory_lock);
    return fail(e);
}
u32 memory_ranges(Range** ranges, u32 more) {
    *ranges = calloc(count + more, sizeof **ranges);
    for (u64 i = 0; i < count; i++)
        (*ranges)[i] =
            (Range){(u64)allocations[i].start, (u64)allocations[i].start + allocations[i].size, 0, (u32)i, 1};
    return (u32)count;
}

static hipError_t allocate(void** p, size_t size, u32 type, u32 flags) {
    if (!p) return fail(hipErrorInvalidValue);
    *p = 0;
    hipError_t e = refuse_while_capturing();
    if (e || !size) return e;
    u8* mapped = size > DEVICE_MEMORY ? MAP_FAILED
                                      : mmap(0, size + 2 * PAGE, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return fail(hipErrorOutOfMemory);
    memset(mapped + PAGE, 0xa5, size < 1 << 26 ? size : 1 << 26);  // fresh device memory holds anything but zeros
    keep((Allocation){mapped + PAGE, mapped, size, type, flags});
    *p = mapped + PAGE;
    return hipSuccess;
}
API hipError_t hipMalloc(void** p, size_t size) { return allocate(p, size, 2, 0); }
API hipError_t hipExtMallocWithFlags(void** p, size_t size, u32 flags) { return allocate(p, size, 2, flags); }
API hipError_t hipMallocManaged(void** p, size_t size, u32 flags) { return allocate(p, size, 3, flags); }
API hipError_t hipHostMalloc(void** p, size_t size, u32 flags) { return allocate(p, size, 1, flags); }
API hipError_t hipHostAlloc(void** p, size_t size, u32 flags) { return allocate(p, size, 1, flags); }
API hipError_t hipMallocHost(void** p, size_t size) { return allocate(p, size, 1, 0); }
API hipError_t hipMallocAsync(void** p, size_t size, hipStream_t s) { return (void)s, allocate(p, size, 2, 0); }
API hipError_t hipMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
    if (!pitch) return fail(hipErrorInvalidValue);
    *pitch = (width + 255) & ~(size_t)255;
    return allocate(p, *pitch * height, 2, 0);
}
API hipError_t hipFree(void* p) {
    hipError_t e = refuse_while_capturing();
    return e ? e : p ? release(p, 0) : hipSuccess;
}
API hipError_t hipHostFree(void* p) { return hipFree(p); }
API hipError_t hipFreeHost(void* p) { return hipFree(p); }
API hipError_t hipFreeAsync(void* p, hipStream_t s) { return (void)s, hipFree(p); }
API hipError_t hipHostRegister(void* p, size_t size, u32 flags) {
    if (!p || !size) return fail(hipErrorInvalidValue);
    keep((Allocation){p, 0, size, 1, flags});
    return hipSuccess;
}
API hipError_t hipHostUnregister(void* p) { return release(p, 1); }
API hipError_t hipHostGetDevicePointer(void** device, void* host, u32 flags) {
    (void)flags;
    *device = host;
    return fail(holding(host) ? hipSuccess : hipErrorInvalidValue);
}
API hipError_t hipMemGetInfo(size_t* available, size_t* total) {
    u64 used = 0;
    for (u64 i = 0; i < count; i++) used += allocations[i].size;
    *total = DEVICE_MEMORY, *available = *total - used;
    return hipSuccess;
}
API hipError_t hipMemPrefetchAsync(const void* p, size_t size, int device, hipStream_t s) {
    return (void)p, (void)size, (void)device, (void)s, hipSuccess;  // there is one memory
}
API hipError_t hipMemAdvise(const void* p, size_t size, int advice, int device) {
    return (void)p, (void)size, (void)advice, (void)device, hipSuccess;
}
typedef struct {
    i32 type, device;
    void *device_pointer, *host_pointer;
    i32 is_managed;
    u32 flags;
} PointerAttributes;  // hipPointerAttribute_t
API hipError_t hipPointerGetAttributes(PointerAttributes* about, const void* p) {
    if (!about || !p) return fail(hipErrorInvalidValue);
    Allocation* a = holding(p);
    if (!a) return fail(hipErrorInvalidValue);
    *about = (PointerAttributes){(i32)a->type, 0, (void*)p, a->type == 2 ? 0 : (void*)p, a->type == 3, a->flags};
    return hipSuccess;
}

// --- copies and fills ---
// Whether a pointer that is said to be the device's does not lie in one allocation or one code object, all of it.
static int outside(const void* p, size_t size) {
    pthread_mutex_lock(&memory_lock);
    Allocation* a = holding(p);
    int out = !a || (u8*)p + size > a->start + a->size;
    pthread_mutex_unlock(&memory_lock);
    return out && !in_an_image(p, size);
}
static hipError_t copy(Work w, int kind, hipStream_t s) {
    if (!w.copy.width || !w.copy.height) return hipSuccess;
    if (!w.copy.to || !w.copy.from || kind < 0 || kind > FROM_THE_POINTERS || w.copy.width > w.copy.to_pitch ||
        w.copy.width > w.copy.from_pitch)
        return fail(hipErrorInvalidValue);
    size_t to = (w.copy.height - 1) * w.copy.to_pitch + w.copy.width,
           from = (w.copy.height - 1) * w.copy.from_pitch + w.copy.width;
    if (((kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE) && outside(w.copy.to, to)) ||
        ((kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE) && outside(w.copy.from, from)))
        return fail(hipErrorInvalidValue);
    w.kind = COPY;
    return submit(s, w);
}
API hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, int kind, hipStream_t s) {
    return copy((Work){.copy = {to, from, size, size, size, 1}}, kind, s);
}
API hipError_t hipMemcpy(void* to, const void* from, size_t size, int kind) {
    return hipMemcpyAsync(to, from, size, kind, 0);
}
API hipError_t hipMemcpyWithStream(void* to, const void* from, size_t size, int kind, hipStream_t s) {
    return hipMemcpyAsync(to, from, size, kind, s);
}
#define MEMCPY_TO_AND_FROM(name, kind)                                                                 \
    API hipError_t name(void* to, const void* from, size_t n) { return hipMemcpy(to, from, n, kind); } \
    API hipError_t name##Async(void* to, const void* from, size_t n, hipStream_t s) {                  \
        return hipMemcpyAsync(to, from, n, kind, s);                                                   \
    }
MEMCPY_TO_AND_FROM(hipMemcpyHtoD, HOST_TO_DEVICE)
MEMCPY_TO_AND_FROM(hipMemcpyDtoH, DEVICE_TO_HOST)
MEMCPY_TO_AND_FROM(hipMemcpyDtoD, DEVICE_TO_DEVICE)
API hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, int kind, hipStream_t s) {
    return copy((Work){.copy = {to, from, to_pitch, from_pitch, width, height}}, kind, s);
}
API hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                           int kind) {
    return hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, 0);
}

static hipError_t fill(void* p, u32 value, size_t each, size_t width, size_t pitch, size_t height, hipStream_t s) {
    if (!width || !height) return hipSuccess;
    if (width * each > pitch || outside(p, (height - 1) * pitch + width * each)) return fail(hipErrorInvalidValue);
    return submit(s, (Work){FILL, .fill = {p, value, pitch, each, width, height}});
}
#define MEMSET(name, type, each)                                                                        \
    API hipError_t name(void* p, type x, size_t n) { return fill(p, (u32)x, each, n, n * each, 1, 0); } \
    API hipError_t name##Async(void* p, type x, size_t n, hipStream_t s) {                              \
        return fill(p, (u32)x, each, n, n * each, 1, s);                                                \
    }
MEMSET(hipMemset, int, 1)
MEMSET(hipMemsetD8, u8, 1)
MEMSET(hipMemsetD16, u16, 2)
MEMSET(hipMemsetD32, int, 4)
API hipError_t hipMemset2D(void* p, size_t pitch, int x, size_t width, size_t height) {
    return fill(p, (u32)x, 1, width, pitch, height, 0);
}
API hipError_t hipMemset2DAsync(void* p, size_t pitch, int x, size_t width, size_t height, hipStream_t s) {
    return fill(p, (u32)x, 1, width, pitch, height, s);
}
