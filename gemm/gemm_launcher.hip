// Problem -> configuration -> launch.
#include <hip/hip_runtime.h>
#include <stdio.h>

#include <chrono>
#include <initializer_list>

#include "gemm_configs.h"
#include "gemm_launcher.h"

GEMM_CONFIGS(GEMM_KERNEL)

namespace {

enum Layout { K_CONTIGUOUS, ROW_CONTIGUOUS, ROW_CONTIGUOUS_ODD, ANY };

template <class T>
constexpr Layout layout_of = ANY;
template <>
constexpr Layout layout_of<gemm::KContiguous> = K_CONTIGUOUS;
template <>
constexpr Layout layout_of<gemm::RowContiguous<true>> = ROW_CONTIGUOUS;
template <>
constexpr Layout layout_of<gemm::RowContiguous<false>> = ROW_CONTIGUOUS_ODD;

struct Config {
    const char* name;
    const void* kernel;
    int tile_m, tile_n, lanes;
    Layout a, b;
};

#define GEMM_ROW(name, tile, a_layout, b_layout) \
    {#name,                                      \
     reinterpret_cast<const void*>(&name),       \
     gemm::tile::m,                              \
     gemm::tile::n,                              \
     gemm::tile::lanes,                          \
     layout_of<gemm::a_layout>,                  \
     layout_of<gemm::b_layout>},
const Config configs[] = {GEMM_CONFIGS(GEMM_ROW)};

using gemm::block_k;

// One operand as the kernel sees it: rows of K, whatever the caller calls its axes.
struct Rows {
    const void* data;
    int64_t rows, k, row_stride, k_stride;

    // One of the strides 1, the other one no shorter than what it steps over. A stride over one element means nothing,
    // and without any k nothing is read.
    bool normalise() {
        if (k == 0)
            data = nullptr, row_stride = 0, k_stride = 1;
        else if (rows <= 1)
            row_stride = k_stride == 1 ? k : 1;
        return (k_stride == 1 && row_stride >= k) || (row_stride == 1 && k_stride >= rows);
    }
    // The fastest layout that can read it, see load.h for what each asks.
    Layout layout() const {
        uint64_t begin = reinterpret_cast<uint64_t>(data),
                 end = begin + (rows - 1) * row_stride + (k - 1) * k_stride + 1;
        if (k_stride == 1) return begin % 4 == 0 && row_stride % 4 == 0 ? K_CONTIGUOUS : ANY;
        if (end % 4) return ANY;
        return begin % 4 == 0 && k_stride % 4 == 0 ? ROW_CONTIGUOUS : ROW_CONTIGUOUS_ODD;
    }
};

// Whether a configuration for `ours` may read an operand whose fastest layout is `theirs`.
bool reads(Layout ours, Layout theirs) {
    return ours == theirs || ours == ANY || (ours == ROW_CONTIGUOUS_ODD && theirs == ROW_CONTIGUOUS);
}

int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

struct Choice {
    const Config* config = nullptr;
    int64_t tiles = 0, parts = 1;

    int64_t partial_bytes() const { return parts > 1 ? tiles * parts * config->tile_m * config->tile_n * 4 : 0; }
    int64_t workspace_bytes() const { return parts > 1 ? partial_bytes() + tiles * 8 : 0; }
};

// What the kernel's 32-bit numbers reach. A buffer, and every offset into it, stays below 2^31 bytes: a whole matrix of
// scales, 128 k of an operand that is not K-contiguous, and as many rows of the others and of C as a tile has, at least
// 64. Numbers of workgroups stay below 2^22, for divide() of device.h; HIP allows 2^32 lanes, which are more.
constexpr int64_t most_bytes = int64_t(1) << 31, too_many_scales = most_bytes / 4, too_long_step = most_bytes / 128;
constexpr int64_t too_many_workgroups = 1 << 22;

bool reaches(const Config& c, const Rows& a, const Rows& b, int64_t out_stride) {
    return c.tile_m * a.row_stride <= most_bytes && c.tile_n * b.row_stride <= most_bytes &&
           c.tile_m * out_stride * 2 <= most_bytes;
}

// The rule. Of the configurations that can read the operands, split 1 to 4 ways: those that give at least 9 of 10 CUs
// work, if there are any; of these the one with the shortest estimate. The estimate is in clocks, of the CU with the
// most workgroups: for each block of K the longer of its MFMAs and of its bytes, then a partial tile written by each
// workgroup, and the last one's reading of all parts.
// NOTE: not measured on hardware. Whether a CU gets 16 bytes a clock from L2 decides between the large tiles.
// NOTE: 304 CUs are those of a MI300X. A MI300A, which runs the same code with 228, gets the same choice, and so the
// same bits: how K is split decides how sums are rounded, and nothing about the device takes part in it.
constexpr int cus = 304, enough_cus = 274, most_parts = 4;
constexpr int flops_per_clock = 4096, bytes_per_clock = 16, memory_bytes_per_clock = 8;  // of a CU; the last from HBM

// No configuration at all where each of them takes too many workgroups.
Choice choose(const Rows& a, const Rows& b, int64_t out_stride, size_t workspace_bytes) {
    Choice best;
    bool best_fills = false;
    int64_t best_clocks = 0, blocks = a.k / block_k;
    for (const Config& c : configs) {
        if (!reads(c.a, a.layout()) || !reads(c.b, b.layout()) || !reaches(c, a, b, out_stride)) continue;
        int64_t tiles = ceil_div(a.rows, c.tile_m) * ceil_div(b.rows, c.tile_n);
        for (int64_t parts = 1; parts == 1 || (parts <= most_parts && parts <= blocks); parts++) {
            Choice here{&c, tiles, parts};
            if (tiles * parts >= too_many_workgroups || here.workspace_bytes() > int64_t(workspace_bytes)) break;
            int64_t mfma = 2 * c.tile_m * c.tile_n * block_k / flops_per_clock;
            int64_t fetch = (c.tile_m + c.tile_n) * block_k / bytes_per_clock;
            int64_t per_block = mfma > fetch ? mfma : fetch;
            if (c.a == ANY) per_block *= 16;  // loads of one byte
            int64_t rounds = ceil_div(tiles * parts, cus), clocks = rounds * ceil_div(blocks, parts) * per_block;
            if (parts > 1) clocks += (rounds + parts) * c.tile_m * c.tile_n * 4 / memory_bytes_per_clock;
            bool fills = tiles * parts >= enough_cus;
            if (!best.config || fills > best_fills || (fills == best_fills && clocks < best_clocks)) {
                best = here;
                best_fills = fills;
                best_clocks = clocks;
            }
        }
    }
    return best;
}

// A problem that has passed all checks; without a configuration if there is nothing to compute.
struct Plan {
    Rows a, b;
    int64_t out_stride;
    Choice choice;
};

// Everything that can be wrong with a problem, in the order of gemm_status.
gemm_status make_plan(const gemm_problem& p, size_t workspace_bytes, Plan& plan) {
    plan = {};
    if (p.m < 0 || p.n < 0 || p.k < 0) return GEMM_NEGATIVE_SIZE;
    if (p.k % block_k) return GEMM_K_NOT_MULTIPLE_OF_128;
    if (p.m == 0 || p.n == 0) return GEMM_OK;
    if (!p.out || (p.k && (!p.a || !p.b || !p.a_scale || !p.b_scale))) return GEMM_NULL_POINTER;
    Rows& a = plan.a = {p.a, p.m, p.k, p.a_row_stride, p.a_k_stride};
    Rows& b = plan.b = {p.b, p.n, p.k, p.b_column_stride, p.b_k_stride};
    plan.out_stride = p.m > 1 ? p.out_row_stride : p.n;
    if (!a.normalise() || !b.normalise() || plan.out_stride < p.n) return GEMM_STRIDES;
    for (int64_t step : {p.k, plan.out_stride, a.row_stride, a.k_stride, b.row_stride, b.k_stride})
        if (step >= too_long_step) return GEMM_STEP_TOO_LARGE;
    for (int64_t columns : {p.m, ceil_div(p.n, block_k)})
        if (p.k && columns >= ceil_div(too_many_scales, p.k / block_k)) return GEMM_SCALES_TOO_LARGE;
    if (p.m > INT32_MAX) return GEMM_GRID_TOO_LARGE;  // no tile has more than 256 rows
    plan.choice = choose(a, b, plan.out_stride, workspace_bytes);
    return plan.choice.config ? GEMM_OK : GEMM_GRID_TOO_LARGE;
}

// What HIP answers if the program has no code for the device. Today's runtime (ROCm's clr, hip_fatbin.cpp and
// hip_platform.cpp) says hipErrorInvalidImage to the first launch and hipErrorInvalidKernelFile to later ones, others
// have said the other two.
bool says_wrong_device(hipError_t error) {
    for (hipError_t e :
         {hipErrorInvalidImage, hipErrorInvalidKernelFile, hipErrorNoBinaryForGpu, hipErrorInvalidDeviceFunction})
        if (error == e) return true;
    return false;
}

// 56 bits that no other call has, in the upper bits of a word; nothing is kept between calls.
uint64_t call_number(const void* here) {
    uint64_t x = std::chrono::steady_clock::now().time_since_epoch().count() ^ reinterpret_cast<uint64_t>(here) << 20;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;  // splitmix64's finaliser
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (x ^ x >> 31) & ~uint64_t(0xff);
}

}  // namespace

extern "C" gemm_status gemm_run(const gemm_problem* problem, hipStream_t stream) {
    const gemm_problem& p = *problem;
    Plan plan;
    if (gemm_status wrong = make_plan(p, p.workspace ? p.workspace_bytes : 0, plan); wrong != GEMM_OK) return wrong;
    const auto& [a, b, row_of_out, choice] = plan;
    if (!choice.config) return GEMM_OK;  // HIP refuses a grid of zero workgroups

    int m = p.m, n = p.n, k = p.k, a_row = a.row_stride, a_k = a.k_stride, b_row = b.row_stride, b_k = b.k_stride;
    int out_stride = row_of_out, parts = choice.parts;
    char* partial = static_cast<char*>(p.workspace);
    char* arrived = partial + choice.partial_bytes();
    uint64_t call = call_number(&choice);
    const void *a_data = a.data, *b_data = b.data, *a_scale = p.a_scale, *b_scale = p.b_scale;
    void* out = p.out;
    void* arguments[] = {&a_data, &b_data, &a_scale, &b_scale,    &out,   &m,       &n,       &k,   &a_row,
                         &a_k,    &b_row,  &b_k,     &out_stride, &parts, &partial, &arrived, &call};
    hipError_t error = hipLaunchKernel(choice.config->kernel, dim3(choice.tiles * choice.parts),
                                       dim3(choice.config->lanes), arguments, 0, stream);
    if (says_wrong_device(error)) return GEMM_WRONG_DEVICE;
    return error == hipSuccess ? GEMM_OK : GEMM_LAUNCH_FAILED;
}

extern "C" size_t gemm_workspace_bytes(const gemm_problem* problem) {
    Plan plan;
    return make_plan(*problem, SIZE_MAX / 2, plan) == GEMM_OK ? plan.choice.workspace_bytes() : 0;
}

extern "C" gemm_status gemm_describe(const gemm_problem* problem, char* text, size_t size) {
    Plan plan;
    gemm_status wrong = make_plan(*problem, problem->workspace ? problem->workspace_bytes : 0, plan);
    if (wrong != GEMM_OK) return wrong;
    const Choice& choice = plan.choice;
    if (choice.config)
        snprintf(text, size, "%s, %lld workgroups, K in %lld parts", choice.config->name,
                 static_cast<long long>(choice.tiles * choice.parts), static_cast<long long>(choice.parts));
    else
        snprintf(text, size, "nothing to do");
    return GEMM_OK;
}

extern "C" const char* gemm_status_string(gemm_status status) {
    switch (status) {
        case GEMM_OK:
            return "done";
        case GEMM_NULL_POINTER:
            return "a matrix or its scales are a null pointer";
        case GEMM_NEGATIVE_SIZE:
            return "m, n or k is negative";
        case GEMM_K_NOT_MULTIPLE_OF_128:
            return "k is not a multiple of 128, the block that shares a scale: pad a and b with zeros";
        case GEMM_STRIDES:
            return "rows overlap, or neither stride of a or of b is 1: make a contiguous copy";
        case GEMM_STEP_TOO_LARGE:
            return "n, k or a stride is 2^24 elements or more, beyond the kernel's 32-bit offsets: compute C in pieces";
        case GEMM_SCALES_TOO_LARGE:
            return "a_scale or b_scale has 2^29 elements or more, beyond the kernel's 32-bit offsets: compute C in "
                   "pieces";
        case GEMM_GRID_TOO_LARGE:
            return "C takes 2^22 workgroups or more, beyond what the kernel counts: compute C in pieces";
        case GEMM_WRONG_DEVICE:
            return "the current device runs no gfx942 code (MI300X): choose one that does";
        case GEMM_LAUNCH_FAILED:
            return "the HIP runtime refused the launch: hipGetLastError() says why";
    }
    return "not a status of this library";
}

extern "C" int run(void* a, void* b, void* a_scale, void* b_scale, void* out, int m, int n, int k, void* metrics,
                   hipStream_t stream) {
    (void)metrics;
    gemm_problem problem = {};
    problem.m = m, problem.n = n, problem.k = k;
    problem.a = a, problem.a_row_stride = 1, problem.a_k_stride = m;
    problem.b = b, problem.b_k_stride = n, problem.b_column_stride = 1;
    problem.a_scale = static_cast<const float*>(a_scale), problem.b_scale = static_cast<const float*>(b_scale);
    problem.out = out, problem.out_row_stride = n;
    return gemm_run(&problem, stream);
}
