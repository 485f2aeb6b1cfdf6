// gemm_run, called and captured: the same bytes, launch after launch, of whatever the buffers hold then.
//
// Arguments: m, n, k. Both operands are contiguous along m and n. Prints the parts K is split into, and what agreed.
#include <vector>

#include "check.h"
#include "gemm_launcher.h"

static void* device(size_t bytes) {
    void* p;
    NEED(hipMalloc(&p, bytes));
    return p;
}

int main(int, char** argv) {
    int64_t m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]), blocks = k / 128, columns = (n + 127) / 128;
    gemm_problem p = {};
    p.m = m, p.n = n, p.k = k;
    p.a_row_stride = 1, p.a_k_stride = m, p.b_k_stride = n, p.b_column_stride = 1, p.out_row_stride = n;
    p.a = device(m * k), p.b = device(n * k), p.out = device(m * n * 2);
    p.a_scale = (float*)device(blocks * m * 4), p.b_scale = (float*)device(blocks * columns * 4);
    p.workspace_bytes = gemm_workspace_bytes(&p), p.workspace = device(p.workspace_bytes);
    char text[200];
    if (gemm_describe(&p, text, sizeof text)) return 2;
    puts(strstr(text, "K in"));

    srand(1);
    auto fill = [&] {
        std::vector<uint8_t> codes(m * k + n * k);
        for (uint8_t& code : codes) code = rand() % 2 * 128 + 40 + rand() % 32;
        std::vector<float> scales(blocks * (m + columns));
        for (float& scale : scales) scale = (rand() % 2000 - 1000) / 256.f;
        NEED(hipMemcpy((void*)p.a, codes.data(), m * k, hipMemcpyHostToDevice));
        NEED(hipMemcpy((void*)p.b, codes.data() + m * k, n * k, hipMemcpyHostToDevice));
        NEED(hipMemcpy((void*)p.a_scale, scales.data(), blocks * m * 4, hipMemcpyHostToDevice));
        NEED(hipMemcpy((void*)p.b_scale, scales.data() + blocks * m, blocks * columns * 4, hipMemcpyHostToDevice));
    };
    auto take = [&] {  // the result, and none of it left for the next time
        std::vector<uint16_t> out(m * n);
        NEED(hipMemcpy(out.data(), p.out, m * n * 2, hipMemcpyDeviceToHost));
        NEED(hipMemset(p.out, 0xff, m * n * 2));
        return out;
    };
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t instance;
    NEED(hipStreamCreate(&stream));
    NEED(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    gemm_status captured = gemm_run(&p, stream);
    NEED(hipStreamEndCapture(stream, &graph));
    NEED(hipGraphInstantiate(&instance, graph, 0, 0, 0));
    printf("captured: %s\n", gemm_status_string(captured));
    for (int round = 0; round < 2; round++) {
        fill();
        if (gemm_run(&p, stream) || hipStreamSynchronize(stream)) return 3;
        auto called = take();
        NEED(hipGraphLaunch(instance, stream));
        auto launched = take();
        NEED(hipGraphLaunch(instance, stream));
        auto again = take();
        bool is_written = false;
        for (uint16_t bits : called) is_written |= bits != 0xffff;
        printf("round %d: written %d, launched as called %d, and again %d\n", round, is_written, launched == called,
               again == called);
    }
    return 0;
}
