// Launches: arguments into the kernarg segment, then the core; and what a kernel needs of the device.
//
// A kernel that faults prints what it did; the launch and the next synchronisation return hipErrorLaunchFailure.
#include <unistd.h>

#include "hip.h"

void core_prepare(Ins* program, u32 n, u32 (*splats)[2][LANES]);
void core_launch(Launch* launch);

static pthread_mutex_t launch_lock = PTHREAD_MUTEX_INITIALIZER;  // one kernel at a time

static u32 wanted_checks(void) {
    static int said;
    const char* text = getenv("FP8LAB_HIP_CHECKS");
    if (text && strcmp(text, "none") && strcmp(text, "all") && !said++)
        say("FP8LAB_HIP_CHECKS is '%s', needs all or none; taken as all", text);
    return text && strcmp(text, "none") ? 127 : 0;
}
// explain.py puts findings into the words that Python's users read: it gets what they are about, and their bytes.
static void print_findings(const Function* f, const Launch* launch) {
    if (!launch->finding_count) return;
    char in[] = "/tmp/fp8lab-hip-XXXXXX", out[sizeof in + 8], line[1024];
    int file = mkstemp(in);
    FILE* to = file < 0 ? 0 : fdopen(file, "wb");
    const char* name = table(f->module, f->kernel->name);
    if (to) {
        const u64* texts = table(f->module, f->kernel->texts);
        fprintf(to, "%s\n%u %u %u\n", name, launch->instructions, launch->range_count, launch->finding_count);
        for (u32 i = 0; i < launch->range_count; i++)
            fprintf(to, "%llu %llu %u\n", (unsigned long long)launch->ranges[i].lo,
                    (unsigned long long)launch->ranges[i].hi, launch->ranges[i].writable);
        for (u32 i = 0; i < launch->finding_count; i++) {
            u32 at = launch->findings[i].instruction;
            int known = at < launch->instructions;
            fprintf(to, "%u %s\n", known ? launch->program[at].address : 0,
                    known ? (const char*)table(f->module, texts[at]) : "");
        }
        fwrite(launch->findings, sizeof(Finding), launch->finding_count, to);
        fclose(to);
        snprintf(out, sizeof out, "%s.out", in);
        FILE* words = run_python("explain", in, out) ? 0 : fopen(out, "r");
        while (words && fgets(line, sizeof line, words)) say("%.*s", (int)strcspn(line, "\n"), line);
        if (words && launch->findings_dropped) say("and %u findings more", launch->findings_dropped);
        if (words) fclose(words), unlink(out);
        unlink(in);
        if (words) return;
    }
    say("%u findings in kernel %s, which could not be put into words: no Python or no room", launch->finding_count,
        name);
}
static int by_address(const void* a, const void* b) {
    u64 x = ((const Range*)a)->lo, y = ((const Range*)b)->lo;
    return x < y ? -1 : x > y;
}
static u32 hidden_value(u32 kind, const Launch* launch, u32 dynamic_lds) {  // kind: its place in prepare.HIDDEN
    if (kind <= 3) return launch->grid[kind - 1];
    if (kind <= 6) return launch->block[kind - 4];
    if (kind == 7) return launch->grid[2] * launch->block[2] > 1 ? 3 : launch->grid[1] * launch->block[1] > 1 ? 2 : 1;
    return kind == 8 ? dynamic_lds : 0;
}

// Workgroups that one compute unit holds at once: of its 32 waves, of 512 VGPRs a lane and SIMD, of its 64 KiB of LDS.
u32 workgroups_per_cu(const KernelEntry* k, u64 lanes, u64 dynamic_lds) {
    u64 waves = (lanes + LANES - 1) / LANES, lds = k->lds + dynamic_lds, vgpr = k->vgpr < 8 ? 8 : (k->vgpr + 7) & ~7u;
    u64 of_simd = 512 / vgpr < 8 ? 512 / vgpr : 8, by_waves = 4 * of_simd / waves;
    u64 by_lds = lds ? MAX_LDS / lds : by_waves;
    return (u32)(by_waves < by_lds ? by_waves : by_lds);
}

static u32 kernarg_room(const KernelEntry* k) { return (k->kernarg + 4096u) & ~63u; }  // compilers read a line past it

hipError_t run_kernel(const Work* work) {
    const Function* f = work->kernel.function;
    const KernelEntry* k = f->kernel;
    dim3 grid = work->kernel.grid, block = work->kernel.block;
    u32 dynamic_lds = work->kernel.lds, fits = workgroups_per_cu(k, (u64)block.x * block.y * block.z, dynamic_lds);
    pthread_mutex_lock(&launch_lock);
    if (!f->program) {
        Ins* program = (Ins*)table(f->module, k->records);
        core_prepare(program, k->record_count, aligned_alloc(64, ((u64)k->splats + 1) * sizeof(u32[2][LANES])));
        ((Function*)f)->program = program;
    }
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
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
                     .code_base = (u64)f->module->image,
                     .checks = wanted_checks(),
                     .threads = cpus > 0 ? (u32)cpus : 1,
                     .max_resident = 304 * (fits ? fits : 1),
                     .hang_after = 20000000,
                     .step_limit = 200000000,
                     .finding_limit = 64,
                     .workgroups = grid.x * grid.y * grid.z,
                     .code_index = table(f->module, k->code_index),
                     .code_words = k->code_words};
    u8* segment = calloc(1, kernarg_room(k));
    memcpy(segment, work->kernel.arguments, k->kernarg);
    const Argument* arguments = table(f->module, k->arguments);
    for (u32 i = 0; i < k->argument_count; i++) {
        const Argument* a = &arguments[i];
        u64 hidden = a->kind ? hidden_value(a->kind, &launch, dynamic_lds) : 0;
        if (a->kind) memcpy(segment + a->offset, &hidden, a->size < 8 ? a->size : 8);
    }
    u32 packet[16] = {3u << 16,         block.x | block.y << 16, block.z,    grid.x * block.x,
                      grid.y * block.y, grid.z * block.z,        k->scratch, launch.lds_bytes};
    pthread_mutex_lock(&memory_lock);
    Range* ranges;
    u32 n = memory_ranges(&ranges, 3);
    pthread_mutex_unlock(&memory_lock);
    ranges[n++] = (Range){launch.code_base, launch.code_base + f->module->header->image_size, 0, 0, 1};
    ranges[n++] = (Range){(u64)segment, (u64)segment + ((k->kernarg + 127u) & ~63u), 0, 0, 0};
    ranges[n++] = (Range){(u64)packet, (u64)packet + sizeof packet, 0, 0, 0};
    qsort(ranges, n, sizeof *ranges, by_address);
    launch.ranges = ranges, launch.range_count = n, launch.kernarg = (u64)segment, launch.dispatch_packet = (u64)packet;
    launch.counts = calloc(k->record_count, sizeof(u64)), launch.traffic = calloc(k->record_count, sizeof(Traffic));
    launch.finding_room = launch.finding_limit + launch.max_resident * MAX_WAVES;
    launch.findings = calloc(launch.finding_room, sizeof(Finding));
    core_launch(&launch);
    print_findings(f, &launch);
    free(segment), free(ranges), free(launch.counts), free(launch.traffic), free(launch.findings);
    pthread_mutex_unlock(&launch_lock);
    hipError_t e = launch.failed ? hipErrorLaunchFailure : hipSuccess;
    note_failure(e);
    return e;
}

// Check a launch and hand it to its stream. parameters: a pointer to each visible argument; packed: all of them in
// place.
static hipError_t launch(const Function* f, dim3 grid, dim3 block, void** parameters, const void* packed,
                         size_t packed_size, u64 dynamic_lds, hipStream_t s) {
    const KernelEntry* k = f->kernel;
    u64 lanes = (u64)block.x * block.y * block.z, groups = (u64)grid.x * grid.y * grid.z;
    u64 in_x = (u64)grid.x * block.x, in_y = (u64)grid.y * block.y, in_z = (u64)grid.z * block.z;
    int large = block.x > 1024 || block.y > 1024 || block.z > 1024 || groups >> 32 || (in_x | in_y | in_z) >> 32;
    int empty = !lanes || !groups;
    if (empty || large || lanes > k->workgroup_size) return fail(hipErrorInvalidConfiguration);
    if (k->lds + dynamic_lds > MAX_LDS || (k->visible_arguments && !parameters && !packed))
        return fail(hipErrorInvalidValue);
    Work work = {KERNEL, .kernel = {f, grid, block, (u32)dynamic_lds, calloc(1, kernarg_room(k))}};
    const Argument* arguments = table(f->module, k->arguments);
    u32 visible = 0;
    if (packed) memcpy(work.kernel.arguments, packed, packed_size < k->kernarg ? packed_size : k->kernarg);
    for (u32 i = 0; i < k->argument_count && parameters; i++)
        if (!arguments[i].kind)
            memcpy(work.kernel.arguments + arguments[i].offset, parameters[visible++], arguments[i].size);
    return submit(s, work);
}
API hipError_t hipLaunchKernel(const void* host, dim3 grid, dim3 block, void** parameters, size_t lds, hipStream_t s) {
    hipError_t e;
    Function* f = registered_function(host, &e);
    return f ? launch(f, grid, block, parameters, 0, 0, lds, s) : fail(e);
}
API hipError_t hipModuleLaunchKernel(Function* f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 lds,
                                     hipStream_t s, void** parameters, void** extra) {
    const void* packed = 0;
    size_t size = 0;
    // extra is a list of keys and values: 1 a buffer, 2 its size, 3 the end
    for (u32 i = 0; extra && i < 8 && extra[i] != (void*)3; i += 2) {
        if (extra[i] == (void*)1) packed = extra[i + 1];
        if (extra[i] == (void*)2) size = *(size_t*)extra[i + 1];
    }
    if (!handle_lives(FUNCTION, f)) return fail(hipErrorInvalidHandle);
    return launch(f, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, parameters, packed, size, lds, s);
}
// A cooperative launch: all of its workgroups are on the device at once.
static hipError_t launch_together(Function* f, dim3 grid, dim3 block, void** parameters, u64 lds, hipStream_t s) {
    u64 lanes = (u64)block.x * block.y * block.z, groups = (u64)grid.x * grid.y * grid.z;
    if (lanes && groups > 304ull * workgroups_per_cu(f->kernel, lanes, lds))
        return fail(hipErrorCooperativeLaunchTooLarge);
    return launch(f, grid, block, parameters, 0, 0, lds, s);
}
API hipError_t hipLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** parameters, u32 lds,
                                          hipStream_t s) {
    hipError_t e;
    Function* f = registered_function(host, &e);
    return f ? launch_together(f, grid, block, parameters, lds, s) : fail(e);
}
API hipError_t hipModuleLaunchCooperativeKernel(Function* f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 lds,
                                                hipStream_t s, void** parameters) {
    if (!handle_lives(FUNCTION, f)) return fail(hipErrorInvalidHandle);
    return launch_together(f, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, parameters, lds, s);
}

// --- the <<<>>> of clang's host code ---
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

// --- what a kernel is and how many fit ---
typedef struct {
    i32 binary_version, cache_mode;
    size_t constant_bytes, local_bytes;
    i32 max_dynamic_lds, max_lanes, registers, carveout, ptx_version;
    size_t lds_bytes;
} FunctionAttributes;  // hipFuncAttributes
static FunctionAttributes attributes_of(const KernelEntry* k) {
    return (FunctionAttributes){94,           0, 0,  k->scratch, (i32)(MAX_LDS - k->lds), (i32)k->workgroup_size,
                                (i32)k->vgpr, 0, 94, k->lds};
}
API hipError_t hipFuncGetAttributes(FunctionAttributes* about, const void* host) {
    hipError_t e;
    Function* f = about ? registered_function(host, &e) : (e = hipErrorInvalidValue, (Function*)0);
    if (f) *about = attributes_of(f->kernel);
    return fail(f ? hipSuccess : e);
}
API hipError_t hipFuncGetAttribute(int* value, int attribute, const Function* f) {
    if (!value || !handle_lives(FUNCTION, f) || attribute < 0 || attribute > 9) return fail(hipErrorInvalidValue);
    FunctionAttributes about = attributes_of(f->kernel);
    const i32 values[] = {about.max_lanes,   (i32)about.lds_bytes, 0, (i32)about.local_bytes, about.registers,
                          about.ptx_version, about.binary_version, 0, about.max_dynamic_lds,  0};
    *value = values[attribute];
    return hipSuccess;
}
API hipError_t hipFuncSetAttribute(const void* f, int attribute, int value) {
    return (void)f, (void)attribute, (void)value, hipSuccess;  // hints: AMD devices have nothing to set
}
API hipError_t hipFuncSetCacheConfig(const void* f, int config) { return (void)f, (void)config, hipSuccess; }
API hipError_t hipFuncSetSharedMemConfig(const void* f, int config) { return (void)f, (void)config, hipSuccess; }
API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const Function* f, int lanes,
                                                                  size_t dynamic_lds) {
    if (!blocks || !handle_lives(FUNCTION, f) || lanes < 1 || lanes > 1024) return fail(hipErrorInvalidValue);
    *blocks = (u32)lanes > f->kernel->workgroup_size ? 0 : (int)workgroups_per_cu(f->kernel, (u64)lanes, dynamic_lds);
    return hipSuccess;
}
API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int lanes, size_t lds) {
    hipError_t e;
    Function* f = registered_function(host, &e);
    return f ? hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, lanes, lds) : fail(e);
}
API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host, int lanes,
                                                                     size_t lds, u32 flags) {
    (void)flags;
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host, lanes, lds);
}
// The largest workgroup with which a compute unit holds the most lanes, and how many of it fill the device.
API hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* groups, int* lanes, const Function* f, size_t dynamic_lds,
                                                       int limit) {
    if (!groups || !lanes || !handle_lives(FUNCTION, f)) return fail(hipErrorInvalidValue);
    u32 most = f->kernel->workgroup_size, best = 0;
    if (limit > 0 && (u32)limit < most) most = (u32)limit;
    *groups = *lanes = 0;
    for (u32 size = most; size; size = (size - 1) & ~63u) {
        u32 fit = workgroups_per_cu(f->kernel, size, dynamic_lds);
        if (fit * size > best) best = fit * size, *lanes = (int)size, *groups = (int)(304 * fit);
    }
    return hipSuccess;
}
API hipError_t hipOccupancyMaxPotentialBlockSize(int* groups, int* lanes, const void* host, size_t lds, int limit) {
    hipError_t e;
    Function* f = registered_function(host, &e);
    return f ? hipModuleOccupancyMaxPotentialBlockSize(groups, lanes, f, lds, limit) : fail(e);
}
