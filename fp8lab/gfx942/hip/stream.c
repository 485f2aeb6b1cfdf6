// Streams, events, captures and graphs. Work runs when it is submitted and before the call returns, so a stream is in
// order by nature and an event is a time. While a stream is captured its work is kept instead, in the order of the
// calls, which respects every dependence between the streams that took part; launching the graph runs that list.
#include <time.h>

#include "hip.h"

typedef struct Graph {
    Work* work;
    u64 count, room, id;
    hipStream_t origin;
    int mode, invalid;
} Graph;
struct Stream {
    Graph* capture;
    u64 last, joined;  // in a capture: its latest work, and how much of it another stream has waited for
    u32 flags;
    i32 priority;
    struct Stream* next;
};
struct Event {
    double at_ms;
    int recorded;
    Graph* capture;      // recorded in a stream that is captured,
    hipStream_t stream;  // this one,
    u64 position;        // after so much work of the graph
};
enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED };  // hipStreamCaptureMode

static struct Stream* streams;
static u32 captures;  // that are not relaxed
static u64 graph_ids;
static pthread_mutex_t stream_lock = PTHREAD_MUTEX_INITIALIZER;
static hipError_t pending_failure;  // of a kernel, until somebody synchronises

// The stream behind a handle; null for the legacy stream (0 or 1) and the one that each thread has (2).
static struct Stream* real(hipStream_t s) { return (u64)s <= 2 ? 0 : s; }
static Graph* capture_of(hipStream_t s) { return real(s) ? s->capture : 0; }

void note_failure(hipError_t e) {
    if (e) pending_failure = e;
}
static hipError_t settled(void) {
    hipError_t e = pending_failure;
    pending_failure = hipSuccess;
    return fail(e);
}
hipError_t refuse_while_capturing(void) { return captures ? fail(hipErrorStreamCaptureUnsupported) : hipSuccess; }

// --- work ---
static Work owned(Work w) {  // with a kernarg segment of its own
    if (w.kind != KERNEL) return w;
    u32 size = w.kernel.function->kernel->kernarg;
    u8* mine = malloc(size + 1);
    w.kernel.arguments = memcpy(mine, w.kernel.arguments, size);
    return w;
}
static void release(Work* w) {
    if (w->kind == KERNEL) free(w->kernel.arguments);
}
hipError_t run_work(const Work* w) {
    switch (w->kind) {
        case KERNEL: return run_kernel(w);
        case COPY:
            for (size_t row = 0; row < w->copy.height; row++)
                memmove(w->copy.to + row * w->copy.to_pitch, w->copy.from + row * w->copy.from_pitch, w->copy.width);
            return hipSuccess;
        case FILL:
            for (size_t row = 0; row < w->fill.height; row++)
                for (size_t i = 0; i < w->fill.width; i++)
                    memcpy(w->fill.to + row * w->fill.pitch + i * w->fill.each, &w->fill.value, w->fill.each);
            return hipSuccess;
        case HOST: w->host.function(w->host.data); return hipSuccess;
    }
    return hipErrorInvalidValue;
}
static void add(Graph* g, Work w) {
    if (g->count == g->room) {
        g->room = g->room ? 2 * g->room : 16;
        g->work = realloc(g->work, g->room * sizeof *g->work);
    }
    g->work[g->count++] = w;
}
hipError_t submit(hipStream_t s, Work w) {
    Graph* capture = no_stream(s) ? 0 : capture_of(s);
    hipError_t e = hipSuccess;
    if (no_stream(s)) e = hipErrorContextIsDestroyed;
    else if (capture && capture->invalid) e = hipErrorStreamCaptureInvalidated;
    else if (capture) {
        add(capture, owned(w));
        s->last = capture->count;
    } else if (!real(s) && captures) {  // the legacy stream would wait for the captured ones
        for (struct Stream* other = streams; other; other = other->next)
            if (other->capture) other->capture->invalid = 1;
        e = hipErrorStreamCaptureImplicit;
    } else e = run_work(&w);
    release(&w);
    return fail(e);
}
API hipError_t hipLaunchHostFunc(hipStream_t s, void (*function)(void*), void* data) {
    return function ? submit(s, (Work){HOST, .host = {function, data}}) : fail(hipErrorInvalidValue);
}
API hipError_t hipStreamAddCallback(hipStream_t s, void (*call)(hipStream_t, hipError_t, void*), void* data,
                                    u32 flags) {
    if (!call || flags) return fail(hipErrorInvalidValue);
    if (no_stream(s)) return fail(hipErrorContextIsDestroyed);
    if (capture_of(s)) return fail(hipErrorStreamCaptureUnsupported);
    call(s, pending_failure, data);
    return hipSuccess;
}

// --- streams ---
API hipError_t hipStreamCreateWithPriority(hipStream_t* s, u32 flags, int priority) {
    if (!s) return fail(hipErrorInvalidValue);
    *s = handle_made(STREAM, calloc(1, sizeof **s));
    (*s)->flags = flags, (*s)->priority = priority;
    pthread_mutex_lock(&stream_lock);
    (*s)->next = streams, streams = *s;
    pthread_mutex_unlock(&stream_lock);
    return hipSuccess;
}
API hipError_t hipStreamCreateWithFlags(hipStream_t* s, u32 flags) { return hipStreamCreateWithPriority(s, flags, 0); }
API hipError_t hipStreamCreate(hipStream_t* s) { return hipStreamCreateWithPriority(s, 0, 0); }
API hipError_t hipStreamDestroy(hipStream_t s) {
    if (!real(s)) return fail(hipErrorInvalidHandle);
    if (no_stream(s)) return fail(hipErrorContextIsDestroyed);
    if (s->capture) return fail(hipErrorStreamCaptureUnsupported);
    if (!handle_ended(STREAM, s)) return fail(hipErrorContextIsDestroyed);
    pthread_mutex_lock(&stream_lock);
    struct Stream** link = &streams;
    while (*link != s) link = &(*link)->next;
    *link = s->next;
    pthread_mutex_unlock(&stream_lock);
    free(s);
    return hipSuccess;
}
static hipError_t finish(hipStream_t s) {  // a captured stream has not run anything: waiting for it ends its capture
    if (no_stream(s)) return fail(hipErrorContextIsDestroyed);
    Graph* capture = capture_of(s);
    if (!capture) return settled();
    capture->invalid = 1;
    return fail(hipErrorStreamCaptureUnsupported);
}
API hipError_t hipStreamSynchronize(hipStream_t s) { return finish(s); }
API hipError_t hipStreamQuery(hipStream_t s) { return finish(s); }
API hipError_t hipStreamGetFlags(hipStream_t s, u32* flags) {
    if (!flags || no_stream(s)) return fail(flags ? hipErrorContextIsDestroyed : hipErrorInvalidValue);
    *flags = real(s) ? s->flags : 0;
    return hipSuccess;
}
API hipError_t hipStreamGetPriority(hipStream_t s, int* priority) {
    if (!priority || no_stream(s)) return fail(priority ? hipErrorContextIsDestroyed : hipErrorInvalidValue);
    *priority = real(s) ? s->priority : 0;
    return hipSuccess;
}
API hipError_t hipStreamGetDevice(hipStream_t s, int* device) {
    if (!device || no_stream(s)) return fail(device ? hipErrorContextIsDestroyed : hipErrorInvalidValue);
    *device = 0;
    return hipSuccess;
}
API hipError_t hipDeviceSynchronize(void) {
    hipError_t e = refuse_while_capturing();
    return e ? e : settled();
}
API hipError_t hipDeviceReset(void) {
    pending_failure = hipSuccess;
    return hipSuccess;
}

// --- events ---
static int no_event(hipEvent_t e) { return !handle_lives(EVENT, e); }
API hipError_t hipEventCreateWithFlags(hipEvent_t* e, u32 flags) {
    if (!e) return fail(hipErrorInvalidValue);
    *e = handle_made(EVENT, calloc(1, sizeof **e));
    return (void)flags, hipSuccess;
}
API hipError_t hipEventCreate(hipEvent_t* e) { return hipEventCreateWithFlags(e, 0); }
API hipError_t hipEventDestroy(hipEvent_t e) {
    if (!e || !handle_ended(EVENT, e)) return fail(e ? hipErrorContextIsDestroyed : hipErrorInvalidHandle);
    free(e);
    return hipSuccess;
}
API hipError_t hipEventRecord(hipEvent_t e, hipStream_t s) {
    if (no_event(e)) return fail(hipErrorInvalidHandle);
    if (no_stream(s)) return fail(hipErrorContextIsDestroyed);
    Graph* capture = capture_of(s);
    e->capture = capture, e->stream = s, e->position = capture ? s->last : 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    e->at_ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6, e->recorded = 1;
    return hipSuccess;
}
API hipError_t hipEventRecordWithFlags(hipEvent_t e, hipStream_t s, u32 flags) {
    return (void)flags, hipEventRecord(e, s);
}
// In a capture, waiting for an event of it takes the waiting stream into the capture.
API hipError_t hipStreamWaitEvent(hipStream_t s, hipEvent_t e, u32 flags) {
    (void)flags;
    if (no_event(e)) return fail(hipErrorInvalidHandle);
    if (no_stream(s)) return fail(hipErrorContextIsDestroyed);
    if (!e->capture) return hipSuccess;  // it has happened
    if (!real(s)) return fail(hipErrorStreamCaptureImplicit);
    if (s->capture && s->capture != e->capture) return fail(hipErrorStreamCaptureMerge);
    if (!s->capture) s->capture = e->capture, s->last = s->joined = 0;
    if (e->stream != s && e->stream->joined < e->position) e->stream->joined = e->position;
    return hipSuccess;
}
API hipError_t hipEventSynchronize(hipEvent_t e) {
    if (no_event(e)) return fail(hipErrorInvalidHandle);
    return e->capture ? fail(hipErrorCapturedEvent) : settled();
}
API hipError_t hipEventQuery(hipEvent_t e) {  // one that was never recorded has nothing to wait for
    return fail(no_event(e) ? hipErrorInvalidHandle : e->capture ? hipErrorCapturedEvent : hipSuccess);
}
API hipError_t hipEventElapsedTime(float* ms, hipEvent_t from, hipEvent_t to) {  // of the emulation, not of a GPU
    if (!ms) return fail(hipErrorInvalidValue);
    if (no_event(from) || no_event(to) || !from->recorded || !to->recorded) return fail(hipErrorInvalidHandle);
    if (from->capture || to->capture) return fail(hipErrorCapturedEvent);
    *ms = (float)(to->at_ms - from->at_ms);
    return hipSuccess;
}

// --- capture ---
API hipError_t hipStreamBeginCapture(hipStream_t s, int mode) {
    if (mode < MODE_GLOBAL || mode > MODE_RELAXED) return fail(hipErrorInvalidValue);
    if (no_stream(s)) return fail(hipErrorContextIsDestroyed);
    if (!real(s) || s->capture) return fail(hipErrorStreamCaptureUnsupported);
    s->capture = calloc(1, sizeof(Graph));
    s->capture->origin = s, s->capture->mode = mode, s->capture->id = ++graph_ids;
    s->last = s->joined = 0;
    captures += mode != MODE_RELAXED;
    return hipSuccess;
}
static void discard(Graph* g) {
    for (u64 i = 0; i < g->count; i++) release(&g->work[i]);
    free(g->work), free(g);
}
API hipError_t hipGraphDestroy(Graph* g) {
    if (!handle_ended(GRAPH, g)) return fail(hipErrorInvalidValue);
    discard(g);
    return hipSuccess;
}
API hipError_t hipStreamEndCapture(hipStream_t s, Graph** graph) {
    if (!graph) return fail(hipErrorInvalidValue);
    *graph = 0;
    if (no_stream(s)) return fail(hipErrorContextIsDestroyed);
    Graph* g = capture_of(s);
    if (!g) return fail(hipErrorInvalidValue);
    if (g->origin != s) return fail(hipErrorStreamCaptureUnmatched);
    hipError_t e = g->invalid ? hipErrorStreamCaptureInvalidated : hipSuccess;
    pthread_mutex_lock(&stream_lock);
    for (struct Stream* other = streams; other; other = other->next)
        if (other->capture == g) {
            if (other != s && other->joined < other->last && !e) e = hipErrorStreamCaptureUnjoined;
            other->capture = 0;
        }
    pthread_mutex_unlock(&stream_lock);
    captures -= g->mode != MODE_RELAXED;
    if (e) discard(g);
    else *graph = handle_made(GRAPH, g);
    return fail(e);
}
static int status(hipStream_t s) {  // hipStreamCaptureStatus
    Graph* g = capture_of(s);
    return g ? g->invalid ? 2 : 1 : 0;
}
API hipError_t hipStreamIsCapturing(hipStream_t s, int* out) {
    if (!out || no_stream(s)) return fail(out ? hipErrorContextIsDestroyed : hipErrorInvalidValue);
    *out = status(s);
    return hipSuccess;
}
API hipError_t hipStreamGetCaptureInfo(hipStream_t s, int* out, unsigned long long* id) {
    if (!out || no_stream(s)) return fail(out ? hipErrorContextIsDestroyed : hipErrorInvalidValue);
    *out = status(s);
    if (id) *id = capture_of(s) ? s->capture->id : 0;
    return hipSuccess;
}
API hipError_t hipStreamGetCaptureInfo_v2(hipStream_t s, int* out, unsigned long long* id, Graph** graph,
                                          void* dependencies, size_t* count) {
    if (graph) *graph = no_stream(s) ? 0 : capture_of(s);
    if (dependencies) *(void**)dependencies = 0;
    if (count) *count = 0;
    return hipStreamGetCaptureInfo(s, out, id);
}
API hipError_t hipThreadExchangeStreamCaptureMode(int* mode) {
    static _Thread_local int current;
    if (!mode || *mode < MODE_GLOBAL || *mode > MODE_RELAXED) return fail(hipErrorInvalidValue);
    int old = current;
    current = *mode, *mode = old;
    return hipSuccess;
}

// --- graphs: an instance is a copy of the list ---
static int no_graph(const Graph* g) { return !handle_lives(GRAPH, g); }
API hipError_t hipGraphInstantiateWithFlags(Graph** instance, const Graph* g, unsigned long long flags) {
    (void)flags;
    if (!instance || no_graph(g)) return fail(hipErrorInvalidValue);
    *instance = handle_made(GRAPH, calloc(1, sizeof **instance));
    for (u64 i = 0; i < g->count; i++) add(*instance, owned(g->work[i]));
    return hipSuccess;
}
API hipError_t hipGraphInstantiate(Graph** instance, const Graph* g, void* node, char* log, size_t log_size) {
    if (node) *(void**)node = 0;
    if (log && log_size) *log = 0;
    return hipGraphInstantiateWithFlags(instance, g, 0);
}
API hipError_t hipGraphExecDestroy(Graph* instance) { return hipGraphDestroy(instance); }
API hipError_t hipGraphUpload(Graph* instance, hipStream_t s) {
    return (void)s, fail(no_graph(instance) ? hipErrorInvalidValue : hipSuccess);
}
API hipError_t hipGraphLaunch(Graph* instance, hipStream_t s) {
    if (no_graph(instance)) return fail(hipErrorInvalidValue);
    for (u64 i = 0; i < instance->count; i++) {
        hipError_t e = submit(s, owned(instance->work[i]));
        if (e) return e;
    }
    return hipSuccess;
}
API hipError_t hipGraphGetNodes(Graph* g, void** nodes, size_t* count) {
    if (no_graph(g) || !count) return fail(hipErrorInvalidValue);
    for (u64 i = 0; nodes && i < *count; i++) nodes[i] = i < g->count ? &g->work[i] : 0;
    if (!nodes || *count > g->count) *count = g->count;
    return hipSuccess;
}
API hipError_t hipGraphNodeGetType(const Work* node, int* type) {
    if (!node || !type) return fail(hipErrorInvalidValue);
    *type = (int)node->kind;
    return hipSuccess;
}
API hipError_t hipStreamGetId(hipStream_t s, unsigned long long* id) {
    if (!id || no_stream(s)) return fail(id ? hipErrorContextIsDestroyed : hipErrorInvalidValue);
    *id = (u64)s;
    return hipSuccess;
}
