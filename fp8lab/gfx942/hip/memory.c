// Memory. What hipMalloc gives is ordinary memory, aligned to 4 KiB, between two pages that belong to no buffer; the
// host and kernels see it at the same address. Kernels may touch what was allocated or registered, and nothing else.
#include <sys/mman.h>

#include "hip.h"

enum { PAGE = 4096, HOST_MEMORY = 1, ON_DEVICE = 2, MANAGED = 3 };  // hipMemoryType
typedef struct {
    u8 *start, *mapped;  // mapped: null for memory that the program had and registered
    u64 size;
    u32 type, flags;
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

static u64 used_of_device(void) {
    u64 used = 0;
    pthread_mutex_lock(&memory_lock);
    for (u64 i = 0; i < count; i++) used += allocations[i].type == HOST_MEMORY ? 0 : allocations[i].size;
    pthread_mutex_unlock(&memory_lock);
    return used;
}
static hipError_t allocate(void** p, size_t size, u32 type, u32 flags) {
    if (!p) return fail(hipErrorInvalidValue);
    *p = 0;
    hipError_t e = refuse_while_capturing();
    if (e || !size) return e;
    u64 left = type == HOST_MEMORY ? DEVICE_MEMORY : DEVICE_MEMORY - used_of_device();
    u8* mapped = size > left ? MAP_FAILED
                             : mmap(0, size + 2 * PAGE, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return fail(hipErrorOutOfMemory);
    memset(mapped + PAGE, 0xa5, size < 1 << 26 ? size : 1 << 26);  // fresh device memory holds anything but zeros
    keep((Allocation){mapped + PAGE, mapped, size, type, flags});
    *p = mapped + PAGE;
    return hipSuccess;
}
API hipError_t hipMalloc(void** p, size_t size) { return allocate(p, size, ON_DEVICE, 0); }
API hipError_t hipExtMallocWithFlags(void** p, size_t size, u32 flags) { return allocate(p, size, ON_DEVICE, flags); }
API hipError_t hipMallocManaged(void** p, size_t size, u32 flags) { return allocate(p, size, MANAGED, flags); }
API hipError_t hipHostMalloc(void** p, size_t size, u32 flags) { return allocate(p, size, HOST_MEMORY, flags); }
API hipError_t hipHostAlloc(void** p, size_t size, u32 flags) { return allocate(p, size, HOST_MEMORY, flags); }
API hipError_t hipMallocHost(void** p, size_t size) { return allocate(p, size, HOST_MEMORY, 0); }
API hipError_t hipMallocAsync(void** p, size_t size, hipStream_t s) { return (void)s, allocate(p, size, ON_DEVICE, 0); }
API hipError_t hipMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
    if (!pitch) return fail(hipErrorInvalidValue);
    if (height && width > DEVICE_MEMORY / height) return fail(hipErrorOutOfMemory);
    *pitch = (width + 255) & ~(size_t)255;
    return allocate(p, *pitch * height, ON_DEVICE, 0);
}
API hipError_t hipFree(void* p) {
    hipError_t e = refuse_while_capturing();
    return e ? e : p ? release(p, 0) : hipSuccess;
}
API hipError_t hipHostFree(void* p) { return hipFree(p); }
API hipError_t hipFreeHost(void* p) { return hipFree(p); }
API hipError_t hipFreeAsync(void* p, hipStream_t s) { return (void)s, hipFree(p); }
API hipError_t hipHostRegister(void* p, size_t size, u32 flags) {
    if (!p || !size || (u64)p + size < size) return fail(hipErrorInvalidValue);
    keep((Allocation){p, 0, size, HOST_MEMORY, flags});
    return hipSuccess;
}
API hipError_t hipHostUnregister(void* p) { return release(p, 1); }
API hipError_t hipHostGetDevicePointer(void** device, void* host, u32 flags) {
    (void)flags;
    if (!device) return fail(hipErrorInvalidValue);
    *device = host;
    return fail(holding(host) ? hipSuccess : hipErrorInvalidValue);
}
API hipError_t hipMemGetInfo(size_t* available, size_t* total) {
    if (available) *available = DEVICE_MEMORY - used_of_device();
    if (total) *total = DEVICE_MEMORY;
    return hipSuccess;
}
API hipError_t hipMemGetAddressRange(void** start, size_t* size, void* p) {
    Allocation* a = holding(p);
    if (!a) return fail(hipErrorNotFound);
    if (start) *start = a->start;
    if (size) *size = a->size;
    return hipSuccess;
}
API hipError_t hipMemPtrGetInfo(void* p, size_t* size) {
    return size ? hipMemGetAddressRange(0, size, p) : fail(hipErrorInvalidValue);
}
API hipError_t hipHostGetFlags(u32* flags, void* host) {
    Allocation* a = holding(host);
    if (!flags || !a || a->type != HOST_MEMORY) return fail(hipErrorInvalidValue);
    *flags = a->flags;
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
    *about = (PointerAttributes){(i32)a->type,       0,       (void*)p, a->type == ON_DEVICE ? 0 : (void*)p,
                                 a->type == MANAGED, a->flags};
    return hipSuccess;
}

// --- copies and fills ---
// Whether bytes begin in an allocation and do not end in it.
static int past_the_end(const void* p, size_t size) {
    pthread_mutex_lock(&memory_lock);
    Allocation* a = holding(p);
    int past = a && size > (size_t)(a->start + a->size - (u8*)p);
    pthread_mutex_unlock(&memory_lock);
    return past;
}
// Whether a pointer that is said to be the device's does not lie in one allocation or one code object, all of it.
static int outside(const void* p, size_t size) {
    pthread_mutex_lock(&memory_lock);
    int known = holding(p) != 0;
    pthread_mutex_unlock(&memory_lock);
    return known ? past_the_end(p, size) : !in_an_image(p, size);
}
// Bytes from the first to the last of rows; the largest number if there are more than numbers.
static size_t span(size_t rows, size_t pitch, size_t width) {
    size_t bytes;
    int over = __builtin_mul_overflow(rows - 1, pitch, &bytes) | __builtin_add_overflow(bytes, width, &bytes);
    return over ? ~(size_t)0 : bytes;
}
static hipError_t copy(Work w, int kind, hipStream_t s) {
    if (!w.copy.width || !w.copy.height) return hipSuccess;
    if (!w.copy.to || !w.copy.from || kind < 0 || kind > FROM_THE_POINTERS || w.copy.width > w.copy.to_pitch ||
        w.copy.width > w.copy.from_pitch)
        return fail(hipErrorInvalidValue);
    size_t to = span(w.copy.height, w.copy.to_pitch, w.copy.width),
           from = span(w.copy.height, w.copy.from_pitch, w.copy.width);
    int guess = kind == FROM_THE_POINTERS;
    if (to > DEVICE_MEMORY || from > DEVICE_MEMORY ||
        (guess && (past_the_end(w.copy.to, to) || past_the_end(w.copy.from, from))))
        return fail(hipErrorInvalidValue);
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
    if (width > pitch / each || outside(p, span(height, pitch, width * each))) return fail(hipErrorInvalidValue);
    return submit(s, (Work){FILL, .fill = {p, value, pitch, each, width, height}});
}
#define MEMSET(name, type, each)                                                                          \
    API hipError_t name(void* p, type x, size_t n) { return fill(p, (u32)x, each, n, ~(size_t)0, 1, 0); } \
    API hipError_t name##Async(void* p, type x, size_t n, hipStream_t s) {                                \
        return fill(p, (u32)x, each, n, ~(size_t)0, 1, s);                                                \
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
