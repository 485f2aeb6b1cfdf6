// The device: one MI300X. Figures: AMD Instinct MI300X data sheet, and what HIP reports of it.
#include <stddef.h>

#include "hip.h"

// hipDeviceProp_t since HIP 6 (hipGetDevicePropertiesR0600), field by field.
typedef struct {
    char name[256], uuid[16], luid[8];
    u32 luid_mask;
    size_t memory, lds_per_group;
    i32 registers_per_group, wave;
    size_t pitch;
    i32 lanes_per_group, group[3], grid[3], clock_khz;
    size_t constant_memory;
    i32 major, minor;
    size_t texture_alignment, texture_pitch;
    i32 overlap, compute_units, timeout, integrated, maps_host_memory, compute_mode, textures_and_surfaces[40];
    size_t surface_alignment;
    i32 concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines, unified_addresses,
        memory_clock_khz, memory_bus_bits, l2, persisting_l2, lanes_per_cu, stream_priorities, caches_global,
        caches_local;
    size_t lds_per_cu;
    i32 registers_per_cu, managed_memory, is_multi_gpu, board, native_host_atomics, single_to_double, pageable,
        concurrent_managed, preemption, registered_host_pointers, cooperative, cooperative_devices;
    size_t lds_per_group_at_most;
    i32 host_page_tables, direct_managed, groups_per_cu, window;
    size_t reserved_lds;
    i32 registers_host_memory, sparse, read_only_host, timeline, pools, rdma, rdma_flush, rdma_order, pool_handles,
        deferred, ipc_events, clusters, function_pointers, reserved[63 + 32];
    char gcn_arch[256];
    size_t lds_of_cu;
    i32 clock_instruction_khz;
    u32 features;
    void* flushes[2];
    i32 unmatched[4], large_bar, revision;
} Properties;
_Static_assert(sizeof(Properties) == 1472 && offsetof(Properties, compute_units) == 388 &&
                   offsetof(Properties, concurrent_kernels) == 576 && offsetof(Properties, gcn_arch) == 1160,
               "the layout of hipDeviceProp_tR0600");

static const Properties mi300x = {.name = "AMD Instinct MI300X (fp8lab emulator)",
                                  .memory = DEVICE_MEMORY,
                                  .lds_per_group = MAX_LDS,
                                  .registers_per_group = 65536,
                                  .wave = LANES,
                                  .pitch = 2147483647,
                                  .lanes_per_group = 1024,
                                  .group = {1024, 1024, 1024},
                                  .grid = {2147483647, 65536, 65536},
                                  .clock_khz = 2100000,
                                  .constant_memory = 2147483647,
                                  .major = 9,
                                  .minor = 4,
                                  .compute_units = 304,
                                  .maps_host_memory = 1,
                                  .concurrent_kernels = 1,
                                  .ecc = 1,
                                  .unified_addresses = 1,
                                  .memory_clock_khz = 1300000,
                                  .memory_bus_bits = 8192,
                                  .l2 = 4194304,
                                  .lanes_per_cu = 2048,
                                  .lds_per_cu = MAX_LDS,
                                  .registers_per_cu = 131072,
                                  .managed_memory = 1,
                                  .registered_host_pointers = 1,
                                  .cooperative = 1,
                                  .lds_per_group_at_most = MAX_LDS,
                                  .groups_per_cu = 32,
                                  .registers_host_memory = 1,
                                  .gcn_arch = "gfx942:sramecc+:xnack-",
                                  .lds_of_cu = MAX_LDS,
                                  .clock_instruction_khz = 100000,
                                  .features = 0x1ffff,
                                  .large_bar = 1};

// $FP8LAB_HIP_DEVICE, for trying how a program takes a machine without a MI300X: "none", or another GPU, "gfx950".
static const char* other_device(void) {
    const char* wish = getenv("FP8LAB_HIP_DEVICE");
    return wish && strcmp(wish, "gfx942") ? wish : 0;
}
static int no_device(void) { return other_device() && !strcmp(other_device(), "none"); }
// What ROCm's runtime says of a bundle without code for the device: one thing when it looks, another when it is asked
// again (clr, hip_fatbin.cpp and hip_platform.cpp).
hipError_t device_runs_gfx942(int asked) {
    if (no_device()) return hipErrorNoDevice;
    return !other_device() ? hipSuccess : asked ? hipErrorInvalidKernelFile : hipErrorInvalidImage;
}

API hipError_t hipGetDevicePropertiesR0600(Properties* properties, int device) {
    if (!properties) return fail(hipErrorInvalidValue);
    if (device || no_device()) return fail(hipErrorInvalidDevice);
    *properties = mi300x;
    if (other_device()) {
        snprintf(properties->name, sizeof properties->name, "%s (not emulated)", other_device());
        snprintf(properties->gcn_arch, sizeof properties->gcn_arch, "%s", other_device());
    }
    return hipSuccess;
}

// hipDeviceAttribute_t: what is a property too.
static const struct {
    i32 attribute;
    u32 offset;
} attributes[] = {
#define ATTRIBUTE(number, field) {number, offsetof(Properties, field)}
    ATTRIBUTE(0, ecc),
    ATTRIBUTE(3, maps_host_memory),
    ATTRIBUTE(4, registered_host_pointers),
    ATTRIBUTE(5, clock_khz),
    ATTRIBUTE(6, compute_mode),
    ATTRIBUTE(8, concurrent_kernels),
    ATTRIBUTE(9, concurrent_managed),
    ATTRIBUTE(10, cooperative),
    ATTRIBUTE(11, cooperative_devices),
    ATTRIBUTE(16, integrated),
    ATTRIBUTE(17, is_multi_gpu),
    ATTRIBUTE(18, timeout),
    ATTRIBUTE(19, l2),
    ATTRIBUTE(23, major),
    ATTRIBUTE(24, managed_memory),
    ATTRIBUTE(25, groups_per_cu),
    ATTRIBUTE(26, group[0]),
    ATTRIBUTE(27, group[1]),
    ATTRIBUTE(28, group[2]),
    ATTRIBUTE(29, grid[0]),
    ATTRIBUTE(30, grid[1]),
    ATTRIBUTE(31, grid[2]),
    ATTRIBUTE(55, group[0]),
    ATTRIBUTE(56, lanes_per_group),
    ATTRIBUTE(57, lanes_per_cu),
    ATTRIBUTE(58, pitch),
    ATTRIBUTE(59, memory_bus_bits),
    ATTRIBUTE(60, memory_clock_khz),
    ATTRIBUTE(61, minor),
    ATTRIBUTE(63, compute_units),
    ATTRIBUTE(65, pageable),
    ATTRIBUTE(66, host_page_tables),
    ATTRIBUTE(67, pci_bus),
    ATTRIBUTE(68, pci_device),
    ATTRIBUTE(69, pci_domain),
    ATTRIBUTE(71, registers_per_group),
    ATTRIBUTE(72, registers_per_cu),
    ATTRIBUTE(74, lds_per_group),
    ATTRIBUTE(75, lds_per_group_at_most),
    ATTRIBUTE(76, lds_per_cu),
    ATTRIBUTE(78, stream_priorities),
    ATTRIBUTE(83, constant_memory),
    ATTRIBUTE(85, unified_addresses),
    ATTRIBUTE(87, wave),
    ATTRIBUTE(88, pools),
    ATTRIBUTE(90, registers_host_memory),
    ATTRIBUTE(10000, clock_instruction_khz),
    ATTRIBUTE(10002, lds_of_cu),
    ATTRIBUTE(10011, large_bar),
    ATTRIBUTE(10012, revision),
    ATTRIBUTE(10015, compute_units),
    ATTRIBUTE(10017, clock_instruction_khz),
#undef ATTRIBUTE
};
API hipError_t hipDeviceGetAttribute(int* value, int attribute, int device) {
    if (!value) return fail(hipErrorInvalidValue);
    if (device) return fail(hipErrorInvalidDevice);
    for (u32 i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute) {
            memcpy(value, (const u8*)&mi300x + attributes[i].offset, sizeof *value);
            return hipSuccess;
        }
    say("hipDeviceGetAttribute: the emulator does not know attribute %d", attribute);
    return fail(hipErrorInvalidValue);
}

API hipError_t hipInit(u32 flags) { return fail(flags ? hipErrorInvalidValue : hipSuccess); }
API hipError_t hipGetDeviceCount(int* n) {
    if (!n) return fail(hipErrorInvalidValue);
    *n = no_device() ? 0 : 1;
    return fail(no_device() ? hipErrorNoDevice : hipSuccess);
}
API hipError_t hipGetDevice(int* device) {
    if (!device) return fail(hipErrorInvalidValue);
    *device = 0;
    return fail(no_device() ? hipErrorNoDevice : hipSuccess);
}
API hipError_t hipSetDevice(int device) { return fail(device ? hipErrorInvalidDevice : hipSuccess); }
API hipError_t hipSetDeviceFlags(u32 flags) { return (void)flags, hipSuccess; }
API hipError_t hipGetDeviceFlags(u32* flags) {
    if (!flags) return fail(hipErrorInvalidValue);
    *flags = 0;
    return hipSuccess;
}
API hipError_t hipDeviceGet(int* device, int number) {
    if (!device) return fail(hipErrorInvalidValue);
    *device = 0;
    return fail(number ? hipErrorInvalidDevice : hipSuccess);
}
API hipError_t hipDeviceGetName(char* name, int room, int device) {
    if (device || !name || room < 1) return fail(device ? hipErrorInvalidDevice : hipErrorInvalidValue);
    snprintf(name, (size_t)room, "%s", mi300x.name);
    return hipSuccess;
}
API hipError_t hipDeviceTotalMem(size_t* size, int device) {
    if (!size) return fail(hipErrorInvalidValue);
    *size = device ? 0 : mi300x.memory;
    return fail(device ? hipErrorInvalidDevice : hipSuccess);
}
API hipError_t hipDeviceComputeCapability(int* major, int* minor, int device) {
    if (!major || !minor) return fail(hipErrorInvalidValue);
    *major = mi300x.major, *minor = mi300x.minor;
    return fail(device ? hipErrorInvalidDevice : hipSuccess);
}
API hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = 0;
    return hipSuccess;
}
API hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
    if (!can) return fail(hipErrorInvalidValue);
    *can = 0;
    return fail(device || peer ? hipErrorInvalidDevice : hipSuccess);
}
API hipError_t hipRuntimeGetVersion(int* version) {
    if (!version) return fail(hipErrorInvalidValue);
    *version = 70125424;
    return hipSuccess;
}
API hipError_t hipDriverGetVersion(int* version) { return hipRuntimeGetVersion(version); }
API hipError_t hipDeviceGetPCIBusId(char* id, int room, int device) {
    if (device || !id || room < 13) return fail(device ? hipErrorInvalidDevice : hipErrorInvalidValue);
    snprintf(id, (size_t)room, "%04x:%02x:%02x.0", mi300x.pci_domain, mi300x.pci_bus, mi300x.pci_device);
    return hipSuccess;
}
API hipError_t hipDeviceGetByPCIBusId(int* device, const char* id) {
    char mine[16];
    if (!device || !id) return fail(hipErrorInvalidValue);
    hipDeviceGetPCIBusId(mine, sizeof mine, 0);
    *device = 0;
    return fail(strcmp(id, mine) ? hipErrorInvalidDevice : hipSuccess);
}
API hipError_t hipChooseDevice(int* device, const Properties* wished) {
    return wished ? hipGetDevice(device) : fail(hipErrorInvalidValue);
}
API hipError_t hipDeviceSetCacheConfig(int config) { return (void)config, hipSuccess; }  // AMD devices have one
API hipError_t hipDeviceGetCacheConfig(int* config) {
    if (!config) return fail(hipErrorInvalidValue);
    *config = 0;
    return hipSuccess;
}
API hipError_t hipProfilerStart(void) { return hipSuccess; }
API hipError_t hipProfilerStop(void) { return hipSuccess; }
