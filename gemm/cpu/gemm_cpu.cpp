// Which code path, how C is split into tasks, and who computes them.
#include "gemm_cpu.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "isa.h"

namespace gemm_cpu {
namespace {

// Best first, the stand-in last: it is there to be asked for.
const Isa* const isas[] = {
#if defined(__x86_64__)
    &isa_avx512,
    &isa_avx512_bf16,
    &isa_avx2,
#endif
    &isa_portable,
#if defined(__x86_64__)
    &isa_avx512_bf16_standin,
#endif
};

#if defined(__x86_64__)
// Seconds for a GEMM of 28 x 256 x 1024, which fits into the L1 and L2 caches: the best of several runs.
double seconds(const Isa& isa) {
    constexpr int64_t m = 28, n = 256, k = 1024;
    const std::vector<uint8_t> a(m * k, 0x41), b(k * n, 0x42);
    const std::vector<float> scale(k / k_block * m, 1.0f);
    std::vector<uint16_t> out(m * n);
    std::vector<float> workspace(isa.workspace_bytes(m, n) / 4 + 16);
    const Problem problem = {m, n, k, a.data(), k, 1, b.data(), 1, k, scale.data(), scale.data(), out.data(), n};
    double best = 1;
    for (int run = 0; run < 8; ++run) {
        const auto start = std::chrono::steady_clock::now();
        isa.run(problem, {0, m, 0, n}, workspace.data());
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}
#endif

// vdpbf16ps does the work of two FMAs, in more or less time than two, as the CPU has it: on a Xeon with AMX the whole
// GEMM took 1.8 times as long with it. Both give the same bits, so the first call measures (about a millisecond).
const Isa* best_isa() {
#if defined(__x86_64__)
    if (isa_avx512_bf16.is_supported() && seconds(isa_avx512_bf16) < seconds(isa_avx512)) return &isa_avx512_bf16;
#endif
    for (const Isa* isa : isas)
        if (isa->is_supported()) return isa;
    return nullptr;  // not reached: isa_portable is always supported
}

const Isa* choose_isa() {
    const char* const wanted = std::getenv("GEMM_CPU_ISA");
    if (!wanted || !*wanted) {
        static const Isa* const best = best_isa();
        return best;
    }
    for (const Isa* isa : isas)
        if (isa->is_supported() && std::strcmp(wanted, isa->name) == 0) return isa;
    return nullptr;
}

// A task's rows of A, decoded, have to fit into an L2 cache of 1 MiB with room to spare (512 bytes a row); its sums
// are passed over once for every 128 of k.
constexpr int64_t max_rows = 1024, max_cols = 768;

// Decoding a row of A costs as much time as this many columns of the product, and the same for B.
constexpr int64_t decode_cost = 12;

struct Split {
    int64_t tasks_m, tasks_n;
};

// The grid of tasks that finishes first on so many threads, if every multiplication takes the same time.
Split best_split(const Problem& p, const Isa& isa, int64_t threads) {
    const int64_t tiles_m = (p.m + isa.tile_m - 1) / isa.tile_m, tiles_n = (p.n + isa.tile_n - 1) / isa.tile_n;
    const int64_t min_m = (p.m + max_rows - 1) / max_rows, min_n = (p.n + max_cols - 1) / max_cols;
    Split best = {min_m, min_n};
    double best_cost = -1;
    for (int64_t tasks_m = min_m; tasks_m <= std::min(tiles_m, min_m + threads); ++tasks_m)
        for (int64_t tasks_n = min_n; tasks_n <= std::min(tiles_n, min_n + threads); ++tasks_n) {
            const int64_t rows = (p.m + tasks_m - 1) / tasks_m;
            const int64_t cols = (tiles_n + tasks_n - 1) / tasks_n * isa.tile_n;
            const int64_t rounds = (tasks_m * tasks_n + threads - 1) / threads;
            const double cost = static_cast<double>(rounds) * (rows * cols + decode_cost * (rows + cols));
            if (best_cost < 0 || cost < best_cost) best = {tasks_m, tasks_n}, best_cost = cost;
        }
    return best;
}

}  // namespace

const char* isa_name() {
    const Isa* const isa = choose_isa();
    return isa ? isa->name : nullptr;
}

const char* isa_names() {
    static const std::string names = [] {
        std::string text;
        for (const Isa* isa : isas)
            if (isa->is_supported()) text += (text.empty() ? "" : ", ") + std::string(isa->name);
        return text;
    }();
    return names.c_str();
}

bool gemm(const Problem& p) {
    const Isa* const isa = choose_isa();
    if (!isa) return false;
    if (p.m == 0 || p.n == 0) return true;
    if (p.k == 0) {
        for (int64_t m = 0; m < p.m; ++m) std::memset(p.out + m * p.out_stride_m, 0, 2 * p.n);
        return true;
    }
    // A thread's start costs some microseconds; below this much work one thread is faster.
    const bool is_small = p.m * p.n * p.k < 1 << 20;
    const int64_t threads = is_small ? 1 : torch::stable::get_num_threads();

    const Split split = best_split(p, *isa, threads);
    const int64_t tiles_n = (p.n + isa->tile_n - 1) / isa->tile_n;
    const int64_t rows = (p.m + split.tasks_m - 1) / split.tasks_m;
    const int64_t cols = (tiles_n + split.tasks_n - 1) / split.tasks_n * isa->tile_n;
    const int64_t workers = std::min(threads, split.tasks_m * split.tasks_n);
    const int64_t workspace_bytes = (isa->workspace_bytes(rows, cols) + 4095) / 4096 * 4096;
    void* const workspace = std::aligned_alloc(4096, workers * workspace_bytes);
    if (!workspace) return false;

    // Each worker takes the next task that nobody has, so a thread that lost its core does not hold up the others.
    std::atomic<int64_t> next_task{0};
    torch::stable::parallel_for(0, workers, 1, [&](int64_t worker, int64_t) {
        for (int64_t t; (t = next_task++) < split.tasks_m * split.tasks_n;) {
            const int64_t im = t / split.tasks_n, in = t % split.tasks_n;
            const Task task = {im * p.m / split.tasks_m, (im + 1) * p.m / split.tasks_m,
                               in * tiles_n / split.tasks_n * isa->tile_n,
                               std::min(p.n, (in + 1) * tiles_n / split.tasks_n * isa->tile_n)};
            isa->run(p, task, static_cast<char*>(workspace) + worker * workspace_bytes);
        }
    });
    std::free(workspace);
    return true;
}

bool quantize(const Quantization& q) {
    const Isa* const isa = choose_isa();
    if (!isa) return false;
    const int64_t blocks = (q.rows + q.block_rows - 1) / q.block_rows;
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, q.block_rows * q.k));
    torch::stable::parallel_for(0, blocks, grain, [&](int64_t first, int64_t last) { isa->quantize(q, first, last); });
    return true;
}

}  // namespace gemm_cpu
