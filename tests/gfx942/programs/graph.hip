// Streams that are captured, and graphs that are launched.
#include "check.h"

__global__ __launch_bounds__(64) void add(int* x, int by) {
    x[LANE] += by;
}
__global__ __launch_bounds__(64) void wild(int* p) {
    p[1 << 28] = LANE;
}
static void count(void* n) {
    ++*(int*)n;
}

int main() {
    void* unused;
    int *x, host[64], result[64], calls = 0;
    hipStreamCaptureStatus capturing;
    hipStream_t stream, side;
    hipEvent_t fork, join;
    hipGraph_t graph;
    hipGraphExec_t instance;
    NEED(hipMalloc((void**)&x, sizeof host));
    NEED(hipStreamCreate(&stream));
    NEED(hipStreamCreate(&side));
    NEED(hipEventCreate(&fork));
    NEED(hipEventCreate(&join));

    for (int i = 0; i < 64; i++) host[i] = i;
    NEED(hipMemset(x, 0, sizeof host));
    NEED(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    NEED(hipMemcpyAsync(x, host, sizeof host, hipMemcpyHostToDevice, stream));
    add<<<1, 64, 0, stream>>>(x, 100);
    NEED(hipEventRecord(fork, stream));
    NEED(hipStreamWaitEvent(side, fork, 0));
    add<<<1, 64, 0, side>>>(x, 1000);
    NEED(hipLaunchHostFunc(side, count, &calls));
    NEED(hipEventRecord(join, side));
    NEED(hipStreamWaitEvent(stream, join, 0));
    NEED(hipMemcpyAsync(result, x, sizeof host, hipMemcpyDeviceToHost, stream));
    NEED(hipStreamIsCapturing(stream, &capturing));
    memset(result, 0, sizeof result);
    NEED(hipStreamEndCapture(stream, &graph));
    size_t nodes;
    NEED(hipGraphGetNodes(graph, 0, &nodes));
    printf("capturing %d, %zu nodes, nothing has run: %d %d\n", capturing, nodes, result[1], calls);
    NEED(hipGraphInstantiate(&instance, graph, 0, 0, 0));
    NEED(hipGraphDestroy(graph));
    NEED(hipGraphLaunch(instance, stream));
    NEED(hipStreamSynchronize(stream));
    printf("launched: %d %d, called %d\n", result[0], result[63], calls);
    host[0] = 7;  // the copy reads the host when the graph runs
    NEED(hipGraphLaunch(instance, side));
    printf("again: %d %d, called %d\n", result[0], result[63], calls);

    hipGraph_t outer;
    hipGraphExec_t twice;
    NEED(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    NEED(hipGraphLaunch(instance, stream));
    add<<<1, 64, 0, stream>>>(x, 1);
    NEED(hipStreamEndCapture(stream, &outer));
    NEED(hipGraphGetNodes(outer, 0, &nodes));
    NEED(hipGraphInstantiate(&twice, outer, 0, 0, 0));
    NEED(hipGraphLaunch(twice, stream));
    NEED(hipMemcpy(result, x, sizeof host, hipMemcpyDeviceToHost));
    printf("a graph in a graph, %zu nodes: %d\n", nodes, result[0]);

    NEED(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    tell("begun twice", hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    tell("allocating", hipMalloc(&unused, 64));
    tell("waiting", hipStreamSynchronize(stream));
    add<<<1, 64, 0, stream>>>(x, 1);
    tell("and its work then", hipGetLastError());
    tell("end", hipStreamEndCapture(stream, &graph));
    NEED(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    tell("the legacy stream", hipMemcpy(result, x, 4, hipMemcpyDeviceToHost));
    tell("end", hipStreamEndCapture(stream, &graph));
    NEED(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    NEED(hipEventRecord(fork, stream));
    tell("asking a captured event", hipEventQuery(fork));
    NEED(hipStreamWaitEvent(side, fork, 0));
    add<<<1, 64, 0, side>>>(x, 1);
    tell("ended by the other", hipStreamEndCapture(side, &graph));
    tell("not joined", hipStreamEndCapture(stream, &graph));
    tell("ended twice", hipStreamEndCapture(stream, &graph));
    tell("the null stream", hipStreamBeginCapture(0, hipStreamCaptureModeGlobal));

    NEED(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    wild<<<1, 64, 0, stream>>>(x);
    NEED(hipStreamEndCapture(stream, &graph));
    NEED(hipGraphInstantiate(&instance, graph, 0, 0, 0));
    tell("a fault in a graph", hipGraphLaunch(instance, stream));
    tell("at the next synchronisation", hipStreamSynchronize(stream));
    return 0;
}
