// Code objects: read by prepare.py, once each, in a Python of its own; and what clang's host code registers of them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hip.h"

extern char** environ;
enum { MAGIC = 0x48495046 };  // of clang's fat binary wrapper, "HIPF"

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static Module* modules[1024];
static u32 module_count;

int run_python(const char* module, const char* in, const char* out) {
    static char code[] = "import importlib, sys; sys.path.insert(0, '" PACKAGE
                         "'); name, *files = sys.argv[1:];"
                         "sys.exit(importlib.import_module('fp8lab.gfx942.hip.' + name).main(*files))";
    char* arguments[] = {(char*)PYTHON, (char*)"-c", code, (char*)module, (char*)in, (char*)out, 0};
    pid_t child;
    int status;
    if (posix_spawn(&child, PYTHON, 0, 0, arguments, environ)) return 1;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static Module* read_tables(const char* path) {
    struct stat about;
    int file = open(path, O_RDONLY);
    if (file < 0) return 0;
    Module* module = 0;
    if (fstat(file, &about) == 0 && about.st_size >= (off_t)sizeof(Header)) {
        u8* data = aligned_alloc(4096, ((u64)about.st_size + 8191) & ~4095ull);
        if (data && read(file, data, (size_t)about.st_size) == about.st_size) {
            module = calloc(1, sizeof *module);
            module->data = data, module->header = (Header*)data, module->image = data + module->header->image;
        }
    }
    close(file);
    return module;
}

static Module* load_module(const void* image, u64 size, hipError_t* error) {
    char in[] = "/tmp/fp8lab-hip-XXXXXX", out[sizeof in + 8];
    int file = mkstemp(in);
    if (file < 0) return *error = hipErrorOutOfMemory, (Module*)0;
    snprintf(out, sizeof out, "%s.out", in);
    int written = write(file, image, size) == (ssize_t)size;
    close(file);
    // 1 for a file that is no code object (prepare.py has said why), 3 for one without gfx942 code
    int code = written ? run_python("prepare", in, out) : 1;
    Module* module = code == 0 ? read_tables(out) : 0;
    unlink(in), unlink(out);
    *error = module ? hipSuccess : code == 3 ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
    if (!module) return 0;
    const u64(*relocations)[2] = table(module, module->header->relocations);  // where, what it points to
    for (u32 i = 0; i < module->header->relocation_count; i++) {
        u64 address = (u64)module->image + relocations[i][1];
        memcpy(module->image + relocations[i][0], &address, 8);
    }
    if (module_count < sizeof modules / sizeof *modules) modules[module_count++] = module;
    return handle_made(MODULE, module);
}
int in_an_image(const void* p, size_t size) {
    for (u32 i = 0; i < module_count; i++)
        if ((u8*)p >= modules[i]->image && size <= modules[i]->header->image_size &&
            (u64)((u8*)p - modules[i]->image) <= modules[i]->header->image_size - size)
            return 1;
    return 0;
}

static Function* find_function(Module* module, const char* name) {
    for (Function* f = module->functions; f; f = f->next)
        if (!strcmp(table(module, f->kernel->name), name)) return f;
    const KernelEntry* kernels = (const KernelEntry*)(module->header + 1);
    for (u32 i = 0; i < module->header->kernels; i++)
        if (!strcmp(table(module, kernels[i].name), name)) {
            Function* f = calloc(1, sizeof *f);
            f->module = module, f->kernel = &kernels[i], f->next = module->functions;
            return module->functions = handle_made(FUNCTION, f);
        }
    return 0;
}
static hipError_t find_variable(Module* module, const char* name, void** address, size_t* size) {
    const Variable* variables = table(module, module->header->variables);
    for (u32 i = 0; i < module->header->variable_count; i++)
        if (!strcmp(table(module, variables[i].name), name)) {
            if (address) *address = module->image + variables[i].address;
            if (size) *size = variables[i].size;
            return hipSuccess;
        }
    return hipErrorNotFound;
}

// --- the size of a code object or bundle of which only the address is known; 0 if it is neither ---
static u64 bundle_size(const u8* p) {  // as far as the last entry reaches
    u64 entries, at = 32, end = 0;
    memcpy(&entries, p + 24, 8);
    for (u64 i = 0; i < entries && i < 64; i++) {
        u64 entry[3];  // offset, size, length of the target's name
        memcpy(entry, p + at, 24);
        at += 24 + entry[2];
        if (entry[0] + entry[1] > end) end = entry[0] + entry[1];
    }
    return end;
}
static u64 compressed_size(const u8* p) {  // its header has it: 32 bits in version 2, 64 bits from 3 on
    u16 version;
    u32 size32;
    u64 size64;
    memcpy(&version, p + 4, 2), memcpy(&size32, p + 8, 4), memcpy(&size64, p + 8, 8);
    if (version < 2) say("a compressed bundle of version 1 does not say how long it is; use clang 18 or newer");
    return version < 2 ? 0 : version == 2 ? size32 : size64;
}
static u64 elf_size(const u8* p) {  // the section table ends the file
    u64 at;
    u16 each, sections;
    memcpy(&at, p + 40, 8), memcpy(&each, p + 58, 2), memcpy(&sections, p + 60, 2);
    return at + (u64)each * sections;
}
static u64 size_of(const void* image) {
    if (!memcmp(image, "\177ELF", 4)) return elf_size(image);
    if (!memcmp(image, "CCOB", 4)) return compressed_size(image);
    return memcmp(image, "__CLANG_OFFLOAD_BUNDLE__", 24) ? 0 : bundle_size(image);
}

// --- what clang's host code registers before main: kernels and variables, by the address of their host shadow ---
typedef struct {
    const void* binary;
    Module* module;
    hipError_t error;
    int refused;  // on a device that is none of gfx942
} Fat;
typedef struct Registered {
    const void* host;
    const char* name;
    Fat* fat;
    struct Registered* next;
} Registered;
static Registered* registered;

static void keep(void** handle, const void* host, const char* name) {
    Registered* r = malloc(sizeof *r);
    *r = (Registered){host, name, (Fat*)handle, registered};
    registered = r;
}
API void** __hipRegisterFatBinary(const void* data) {
    const struct {
        u32 magic, version;
        const void* binary;
    }* wrapper = data;
    Fat* fat = calloc(1, sizeof *fat);
    if (wrapper->magic == MAGIC && wrapper->version == 1) fat->binary = wrapper->binary;
    return (void**)fat;
}
API void __hipUnregisterFatBinary(void** handle) { (void)handle; }
API void __hipRegisterFunction(void** handle, const void* host, char* device_function, const char* name, u32 limit,
                               void* tid, void* bid, void* bdim, void* gdim, int* size) {
    (void)device_function, (void)limit, (void)tid, (void)bid, (void)bdim, (void)gdim, (void)size;
    keep(handle, host, name);
}
API void __hipRegisterVar(void** handle, void* host, char* device, const char* name, int external, size_t size,
                          int constant, int global) {
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    keep(handle, host, name);
}
API void __hipRegisterManagedVar(void** handle, void** pointer, void* initial, const char* name, size_t size,
                                 u32 align) {
    (void)handle, (void)pointer, (void)initial, (void)size, (void)align;
    say("%s is a __managed__ variable, which the emulator's HIP does not have; use hipMallocManaged", name);
}
API void __hipRegisterTexture(void** handle, void* host, char* device, const char* name, int dim, int norm, int ext) {
    (void)handle, (void)host, (void)device, (void)dim, (void)norm, (void)ext;
    say("%s is a texture, which a MI300X does not have", name);
}
API void __hipRegisterSurface(void** handle, void* host, char* device, const char* name, int dim, int ext) {
    (void)handle, (void)host, (void)device, (void)dim, (void)ext;
    say("%s is a surface, which a MI300X does not have", name);
}
// What is registered under this address, with its code object loaded; null and an error if there is none.
static const Registered* find_registered(const void* host, hipError_t none, hipError_t* error) {
    *error = none;
    for (Registered* r = registered; r; r = r->next) {
        if (r->host != host) continue;
        pthread_mutex_lock(&load_lock);
        Fat* fat = r->fat;
        if ((*error = device_runs_gfx942(fat->refused))) {
            fat->refused = 1;
            pthread_mutex_unlock(&load_lock);
            return 0;
        }
        if (!fat->module && !fat->error) {
            u64 size = fat->binary ? size_of(fat->binary) : 0;
            if (size) fat->module = load_module(fat->binary, size, &fat->error);
            else say("the program's device code is no bundle that clang makes"), fat->error = hipErrorInvalidImage;
        }
        pthread_mutex_unlock(&load_lock);
        *error = fat->error;
        return fat->module ? r : 0;
    }
    return 0;
}
Function* registered_function(const void* host, hipError_t* error) {
    const Registered* r = find_registered(host, hipErrorInvalidDeviceFunction, error);
    pthread_mutex_lock(&load_lock);
    Function* f = r ? find_function(r->fat->module, r->name) : 0;
    pthread_mutex_unlock(&load_lock);
    if (r && !f) *error = hipErrorInvalidDeviceFunction;
    return f;
}

// --- variables ---
static hipError_t symbol(const void* host, void** address, size_t* size) {
    hipError_t e;
    const Registered* r = find_registered(host, hipErrorInvalidSymbol, &e);
    return r && find_variable(r->fat->module, r->name, address, size) ? hipErrorInvalidSymbol : e;
}
API hipError_t hipGetSymbolAddress(void** address, const void* host) { return fail(symbol(host, address, 0)); }
API hipError_t hipGetSymbolSize(size_t* size, const void* host) { return fail(symbol(host, 0, size)); }
hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, int kind, hipStream_t s);
API hipError_t hipMemcpyToSymbolAsync(const void* host, const void* from, size_t n, size_t offset, int kind,
                                      hipStream_t s) {
    void* address;
    size_t size;
    hipError_t e = symbol(host, &address, &size);
    if (!e && (offset > size || n > size - offset)) e = hipErrorInvalidValue;
    return e ? fail(e) : hipMemcpyAsync((u8*)address + offset, from, n, kind, s);
}
API hipError_t hipMemcpyToSymbol(const void* host, const void* from, size_t n, size_t offset, int kind) {
    return hipMemcpyToSymbolAsync(host, from, n, offset, kind, 0);
}
API hipError_t hipMemcpyFromSymbolAsync(void* to, const void* host, size_t n, size_t offset, int kind, hipStream_t s) {
    void* address;
    size_t size;
    hipError_t e = symbol(host, &address, &size);
    if (!e && (offset > size || n > size - offset)) e = hipErrorInvalidValue;
    return e ? fail(e) : hipMemcpyAsync(to, (u8*)address + offset, n, kind, s);
}
API hipError_t hipMemcpyFromSymbol(void* to, const void* host, size_t n, size_t offset, int kind) {
    return hipMemcpyFromSymbolAsync(to, host, n, offset, kind, 0);
}

// --- modules ---
static hipError_t load(Module** module, const void* image, u64 size) {
    hipError_t e = hipErrorInvalidImage;
    *module = 0;
    pthread_mutex_lock(&load_lock);
    if (size) *module = load_module(image, size, &e);
    pthread_mutex_unlock(&load_lock);
    return fail(e);
}
API hipError_t hipModuleLoadData(Module** module, const void* image) {
    return module && image ? load(module, image, size_of(image)) : fail(hipErrorInvalidValue);
}
API hipError_t hipModuleLoadDataEx(Module** module, const void* image, u32 n, void* options, void** values) {
    (void)n, (void)options, (void)values;
    return hipModuleLoadData(module, image);
}
API hipError_t hipModuleLoadFatBinary(Module** module, const void* image) { return hipModuleLoadData(module, image); }
API hipError_t hipModuleLoad(Module** module, const char* path) {
    struct stat about;
    FILE* file = module && path ? fopen(path, "rb") : 0;
    if (!file) return fail(module && path ? hipErrorFileNotFound : hipErrorInvalidValue);
    long size = fstat(fileno(file), &about) || !S_ISREG(about.st_mode) ? 0 : (long)about.st_size;
    if (!size) say("%s is %s, so no code object", path, S_ISDIR(about.st_mode) ? "a folder" : "an empty file");
    u8* data = malloc((size_t)size + 1);
    size_t got = fread(data, 1, (size_t)size, file);
    fclose(file);
    hipError_t e = load(module, data, got == (size_t)size ? got : 0);
    free(data);
    return e;
}
API hipError_t hipModuleUnload(Module* module) {
    if (!module) return fail(hipErrorInvalidHandle);
    if (!handle_ended(MODULE, module)) return fail(hipErrorNotFound);
    pthread_mutex_lock(&load_lock);
    for (u32 i = 0; i < module_count; i++)
        if (modules[i] == module) modules[i] = modules[--module_count];
    pthread_mutex_unlock(&load_lock);
    while (module->functions) {
        Function* next = module->functions->next;
        handle_ended(FUNCTION, module->functions);
        free(module->functions);
        module->functions = next;
    }
    free(module->data), free(module);
    return hipSuccess;
}
API hipError_t hipModuleGetFunction(Function** function, Module* module, const char* name) {
    if (!function || !name) return fail(hipErrorInvalidValue);
    int lives = handle_lives(MODULE, module);
    *function = lives ? find_function(module, name) : 0;
    return fail(*function ? hipSuccess : lives ? hipErrorNotFound : hipErrorInvalidHandle);
}
API hipError_t hipModuleGetGlobal(void** address, size_t* size, Module* module, const char* name) {
    return fail(handle_lives(MODULE, module) && name ? find_variable(module, name, address, size)
                                                     : hipErrorInvalidValue);
}
