// The machine: waves, workgroups and the threads that run them. What is exported is
// at the end.
//
// A workgroup runs on one host thread. Its waves take turns: each runs until it ends, waits at a barrier, sleeps, or
// has used up its slice. A workgroup that makes no progress for a slice, because it spins on a flag that another
// workgroup will set, is parked and another one runs; if every workgroup spins and memory does not change any more,
// that is a hang, and so is a wave that runs past the limit of steps.
#include <fenv.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "access.h"
#include "checks.h"
#include "control.h"
#include "handlers.inc"

enum {
    SLICE = 20000,  // instructions a wave runs before the next one of its workgroup gets a turn
    CHUNK = 500     // and before it looks whether the launch is over
};
static int is_over(const Launch* launch) {
    return __atomic_load_n(&launch->failed, __ATOMIC_RELAXED) || __atomic_load_n(&launch->stop, __ATOMIC_RELAXED);
}

void report(Wave* w, const Ins* in, u32 kind, u32 lane, u64 address, u32 size, u32 other) {
    Launch* launch = w->launch;
    u32 at = in ? (u32)(in - launch->program) : NONE32;
    int fatal = kind == FOUND_TRAP || kind == FOUND_BAD_JUMP || kind == FOUND_UNSUPPORTED ||
                (!(launch->checks & CHECK_BOUNDS) && (kind == FOUND_GLOBAL_BOUNDS || kind == FOUND_SCRATCH_BOUNDS));
    if (fatal) w->state = FAULTED;
    if (!fatal) {
        static const u32 needs[] = {CHECK_BOUNDS,
                                    CHECK_BOUNDS,
                                    CHECK_BOUNDS,
                                    CHECK_ALIGNMENT,
                                    CHECK_LDS,
                                    CHECK_LDS,
                                    CHECK_WAITS,
                                    CHECK_UNINITIALISED,
                                    CHECK_UNINITIALISED,
                                    CHECK_HAZARDS,
                                    CHECK_BARRIERS,
                                    0,
                                    CHECK_WAITS,
                                    0,
                                    0,
                                    0};
        if (needs[kind] && !(launch->checks & needs[kind])) return;
    }
    pthread_mutex_lock(launch->lock);
    // one entry for each kind of trouble at each instruction: the first case, and how often it came. Of a hang, one for
    // each wave
    for (u32 i = 0; i < launch->finding_count && kind != FOUND_HANG; i++) {
        Finding* f = &launch->findings[i];
        if (f->kind == kind && f->instruction == at) {
            f->count++;
            pthread_mutex_unlock(launch->lock);
            return;
        }
    }
    if (launch->finding_count < (fatal || kind == FOUND_HANG ? launch->finding_room : launch->finding_limit)) {
        Workgroup* g = w->group;
        launch->findings[launch->finding_count++] =
            (Finding){kind, at, {g->id[0], g->id[1], g->id[2]}, w->id, lane, other, size, 1, address};
    } else {
        launch->findings_dropped++;
    }
    pthread_mutex_unlock(launch->lock);
}

// --- starting a wave: what the command processor puts into registers. Source: LLVM, "Initial Kernel Execution State"
// ---
static void start_wave(Wave* w, Workgroup* g, u32 id, u32 (*registers)[LANES]) {
    Launch* launch = g->launch;
    memset(w, 0, sizeof *w);
    w->v = registers, w->id = id, w->group = g, w->launch = launch;
    w->scratch = g->scratch + (u64)id * LANES * launch->scratch_bytes;
    w->pc = &launch->program[launch->entry];
    u32 threads = launch->block[0] * launch->block[1] * launch->block[2], first = id * LANES;
    u32 active = threads - first < LANES ? threads - first : LANES;
    memset(registers, 0xee, (size_t)512 * sizeof *registers);  // never-written registers hold a visible pattern
    for (u32 i = 0; i < 128; i++) w->s[i] = 0xdeadbeef;
    set_pair(w, EXEC, active == LANES ? ~0ull : (1ull << active) - 1);
    for (u32 l = 0; l < LANES; l++) {
        u32 t = first + l, x = t % launch->block[0], y = t / launch->block[0] % launch->block[1],
            z = t / (launch->block[0] * launch->block[1]);
        registers[0][l] = x | y << 10 | z << 20;  // packed work-item number
    }
    w->mode = (launch->rsrc1 >> 12 & 0xff) | (launch->rsrc1 >> 21 & 1) << 8 | (launch->rsrc1 >> 23 & 1) << 9 |
              (launch->rsrc1 >> 26 & 1) << 23;
    mode_changed(w);
    u32 s = 0, p = launch->properties;
    if (p & 1) s += 4;  // private segment descriptor: not on gfx942
    if (p & 2) set_pair(w, s, launch->dispatch_packet), s += 2;
    if (p & 4) s += 2;  // queue
    if (p & 8) set_pair(w, s, launch->kernarg), s += 2;
    if (p & 16) set_pair(w, s, 0), s += 2;  // dispatch number
    if (p & 32) s += 2;                     // flat scratch: the hardware has it (architected)
    if (p & 64) w->s[s++] = launch->scratch_bytes;
    for (u32 i = 0; i < launch->preload_words; i++) {
        const Range* r = range_of(w, launch->kernarg, 4);
        memcpy(&w->s[s++], (u8*)(launch->kernarg + (u64)r->delta) + 4 * (launch->preload_offset + i), 4);
    }
    u32 user = launch->rsrc2 >> 1 & 31;
    s = user;
    for (u32 i = 0; i < 3; i++)
        if (launch->rsrc2 >> (7 + i) & 1) w->s[s++] = g->id[i];
    if (launch->rsrc2 >> 10 & 1) w->s[s++] = g->waves;
    set_pair(w, FLAT_SCRATCH, 0);
    if (launch->checks & CHECK_UNINITIALISED) {
        for (u32 i = 0; i < s; i++) w->written[i] = ~0ull;
        for (u32 i = 102; i < 106; i++) w->written[i] = ~0ull;
        for (u32 i = 108; i < 124; i++) w->written[i] = ~0ull;
        w->written[EXEC] = w->written[EXEC + 1] = w->written[VGPR] = ~0ull;
        for (u32 i = 0; i < REGISTERS; i++) w->watch[i] = w->written[i] == ~0ull ? 0 : UNWRITTEN;
    }
}

// A workgroup's memory: the same size for all of a launch, so that one that has ended leaves it to the next.
static Workgroup* make_workgroup(Launch* launch) {
    Workgroup* g = calloc(1, sizeof *g);
    u32 threads = launch->block[0] * launch->block[1] * launch->block[2];
    g->launch = launch, g->waves = (threads + LANES - 1) / LANES;
    g->registers = aligned_alloc(64, (size_t)g->waves * 512 * sizeof(u32[LANES]));
    g->wave = aligned_alloc(64, (g->waves * sizeof(Wave) + 63) & ~(size_t)63);
    g->lds = malloc(launch->lds_bytes + 64);
    if (launch->checks & (CHECK_LDS | CHECK_WAITS | CHECK_UNINITIALISED)) make_history(g);
    return g;
}
static void free_workgroup(Workgroup* g) {
    free(g->registers), free(g->wave), free(g->lds), free(g->scratch);
    free_history(&g->history), free(g);
}
static void start_workgroup(Workgroup* g, u32 linear) {
    Launch* launch = g->launch;
    g->linear = linear, g->epoch = 1, g->idle = g->idle_since = 0;
    g->id[0] = linear % launch->grid[0], g->id[1] = linear / launch->grid[0] % launch->grid[1],
    g->id[2] = linear / (launch->grid[0] * launch->grid[1]);
    memset(g->lds, 0xcd, launch->lds_bytes + 64);
    free(g->scratch);
    g->scratch = calloc(1, (size_t)g->waves * LANES * launch->scratch_bytes + 1);  // much of it is never touched
    if (g->history.write) start_history(g);
    for (u32 i = 0; i < g->waves; i++) start_wave(&g->wave[i], g, i, g->registers + 512 * i);
}

// --- running ---
static void run_plain(Wave* w, u64 budget) {
    const Ins* program = w->launch->program;
    u64* counts = w->counts;
    while (budget-- && w->state == RUNNING) {
        const Ins* in = w->pc++;
        counts[in - program]++;
        in->run(w, in);
        w->executed++;
    }
}
// After s_set_gpr_idx_on, M0 is added to the VGPR numbers of a vector instruction: a dynamic index into registers.
static void run_indexed(Wave* w, const Ins* in) {
    Ins moved = *in;
    u32 index = w->s[M0] & 255;
    for (u32 k = 0; k < 3; k++)
        if (w->indexed >> k & 1 && in->src[k] >= VGPR && in->src[k] != NONE) moved.src[k] += index;
    if (w->indexed >> 3 & 1 && in->d >= VGPR && in->d != NONE) moved.d += index;
    for (u32 k = 0; k < 4; k++) {
        u32 r = k < 3 ? moved.src[k] : moved.d;
        if (r >= REGISTERS && r != NONE) {
            report(w, in, FOUND_UNSUPPORTED, 0, r, 0, 3);
            return;
        }
    }
    moved.run(w, &moved);
}
// What MODE or an index asks for beside: rounding in another direction than to nearest even, moved register numbers.
OUT_OF_LINE static void run_unusual(Wave* w, const Ins* in) {
    static const int direction[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    u32 mode = w->mode >> in->round & 3;
    if (mode) fesetround(direction[mode]);
    if (w->indexed) run_indexed(w, in);
    else in->run(w, in);
    if (mode) fesetround(FE_TONEAREST);
}
// The same, for waves that check or are unusual.
static void run_careful(Wave* w, u64 budget) {
    const Ins* program = w->launch->program;
    u64* counts = w->counts;
    int checks = w->launch->checks != 0, unusual = w->mode & 15 || w->indexed;  // what changes these two, yields
    while (budget-- && w->state == RUNNING) {
        const Ins* in = w->pc++;
        u64 exec = pair(w, EXEC), seen = 0;
        counts[in - program]++;
        if (checks) seen = check_before(w, in, exec);
        if (unusual && in->unit == UNIT_VALU) run_unusual(w, in);
        else in->run(w, in);
        if (checks) check_after(w, in, exec, seen);
        w->executed++;
    }
}

// Note each instruction with its LDS cycles, sectors and lines: the difference it makes to its entry of the trace.
static int grow(Stream* stream) {  // returns whether there is room for a step more
    u64 room = stream->room ? 2 * stream->room : 65536;
    if (room > stream->limit) room = stream->limit;
    Step* steps = room > stream->room ? realloc(stream->steps, room * sizeof(Step)) : 0;
    if (steps) stream->steps = steps, stream->room = room;
    return steps != 0;
}
static void run_streamed(Wave* w, u64 budget) {
    const Ins* program = w->launch->program;
    Stream* stream = w->launch->stream;
    while (budget-- && w->state == RUNNING) {
        if (stream->count == stream->room && !grow(stream)) {
            w->launch->hung = STREAM_LIMIT;
            return;
        }
        const Ins* in = w->pc++;
        u32 at = (u32)(in - program);
        Traffic before = w->traffic[at];
        w->counts[at]++;
        if (w->indexed && in->unit == UNIT_VALU) run_indexed(w, in);
        else in->run(w, in);
        w->executed++;
        const Traffic* after = &w->traffic[at];
        stream->steps[stream->count++] = (Step){w->group->linear,
                                                at,
                                                (u16)w->id,
                                                (u16)(after->lds_cycles - before.lds_cycles),
                                                (u16)(after->sectors - before.sectors),
                                                (u16)(after->lines - before.lines)};
    }
}

static int release_barrier(Workgroup* g) {  // returns whether a barrier opened
    u32 waiting = 0, ended = 0;
    for (u32 i = 0; i < g->waves; i++) waiting += g->wave[i].state == AT_BARRIER, ended += g->wave[i].state == ENDED;
    if (!waiting || waiting + ended < g->waves) return 0;
    const Ins* first = 0;
    for (u32 i = 0; i < g->waves; i++) {
        Wave* w = &g->wave[i];
        w->done_at_barrier = w->lgkm_done, w->vm_done_at_barrier = w->vm_done;
        if (w->state != AT_BARRIER) {
            if (w->state == ENDED && first) report(&g->wave[0], first, FOUND_BARRIER, 0, 0, 0, i);
            continue;
        }
        if (!first) {
            first = w->pc - 1;
            if (i) report(w, first, FOUND_BARRIER, 0, 0, 0, 0);  // an earlier wave has ended without it
        } else if (w->pc - 1 != first) report(w, w->pc - 1, FOUND_BARRIER, 0, first->address, 1, 0);
        w->state = RUNNING;
    }
    if (g->history.write) settle_history(g);
    g->epoch++;
    return 1;
}

static void name_waves(Workgroup* g, Hang why) {  // where each of them waits, or what it will run next
    for (u32 i = 0; i < g->waves; i++) {
        Wave* w = &g->wave[i];
        int waits = w->state == AT_BARRIER;
        if (w->state != ENDED && w->state != FAULTED) report(w, w->pc - waits, FOUND_HANG, 0, (u64)waits, why, 0);
    }
}

// Give every wave that can run a slice. Returns ENDED when all have ended, FAULTED, or RUNNING.
static WaveState run_slice(Workgroup* g, u64* counts, Traffic* traffic) {
    Launch* launch = g->launch;
    u64 before = 0, after = 0;
    g->progressed = 0;
    u32 ended = 0;
    for (u32 i = 0; i < g->waves; i++) {
        Wave* w = &g->wave[i];
        before += w->executed;
        if (w->state == YIELDED) w->state = RUNNING;
        if (w->state == RUNNING) {
            w->counts = counts, w->traffic = launch->trace ? traffic : 0;
            g->accessed = 0;
            for (u32 left = SLICE; left && w->state == RUNNING && !is_over(launch); left -= CHUNK) {
                if (launch->stream) run_streamed(w, CHUNK);
                else if (launch->checks || w->mode & 15 || w->indexed) run_careful(w, CHUNK);
                else run_plain(w, CHUNK);
                if (launch->hung) break;
            }
            if (launch->step_limit && w->executed >= launch->step_limit && w->state != ENDED) launch->hung = STEP_LIMIT;
            if (w->state == FAULTED || launch->hung) return FAULTED;
            // a whole slice without memory, sleep or barrier waits for nobody
            if (w->state == ENDED || (w->state == RUNNING && !g->accessed)) g->progressed = 1;
        }
        ended += w->state == ENDED;
        after += w->executed;
    }
    if (ended == g->waves) return ENDED;
    release_barrier(g);
    g->idle = g->progressed ? 0 : after - before;
    return RUNNING;
}

// The next workgroup for a thread: a new one while the device has room, else a parked one.
// *spare is the memory of one that has ended, or null.
static Workgroup* next_workgroup(Launch* launch, Workgroup** spare) {
    Workgroup* g = 0;
    pthread_mutex_lock(launch->lock);
    int can_start = launch->started < launch->workgroups && launch->resident < launch->max_resident && !is_over(launch);
    u32 linear = 0;
    if (can_start) {
        linear = launch->order ? launch->order[launch->started] : launch->started;
        launch->started++, launch->resident++;
    } else if (launch->parked_first && !is_over(launch)) {
        g = launch->parked_first;
        launch->parked_first = g->next;
        if (!launch->parked_first) launch->parked_last = 0;
    }
    pthread_mutex_unlock(launch->lock);
    if (!can_start) return g;
    g = *spare ? *spare : make_workgroup(launch);
    *spare = 0;
    start_workgroup(g, linear);
    return g;
}
static void park(Launch* launch, Workgroup* g) {
    g->next = 0;
    if (launch->parked_last) launch->parked_last->next = g;
    else launch->parked_first = g;
    launch->parked_last = g;
}

// After a slice without progress: a hang, if all workgroups on the device have had one since the last progress, and
// together they have run for long enough: waves that read for long before they store, as in a product of matrices
// without MFMA, have to get through.
static int has_hung(Launch* launch, Workgroup* g, u64 seen) {
    u64 progress = __atomic_load_n(&launch->progress, __ATOMIC_RELAXED) + 1;
    if (progress != seen + 1) return 0;  // others still do things
    if (launch->idle_since != progress) launch->idle_since = progress, launch->idle = launch->idle_groups = 0;
    if (g->idle_since != progress) g->idle_since = progress, launch->idle_groups++;
    launch->idle += g->idle;
    u64 waves = (u64)launch->resident * g->waves;
    return launch->idle > launch->hang_after + waves * (launch->hang_after / 40) &&
           launch->idle_groups >= launch->resident;
}

struct Running {
    pthread_t thread[256];
    u32 threads, alive;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

static void* run_thread(void* argument) {
    Launch* launch = argument;
    u64* counts = calloc(launch->instructions, sizeof(u64));
    Traffic* traffic = calloc(launch->instructions, sizeof(Traffic));
    Workgroup* spare = 0;
    for (;;) {
        Workgroup* g = next_workgroup(launch, &spare);
        if (!g) {
            pthread_mutex_lock(launch->lock);
            int over = is_over(launch) || launch->finished == launch->workgroups;
            pthread_mutex_unlock(launch->lock);
            if (over) break;
            struct timespec nap = {0, 50000};  // another thread runs what is left
            nanosleep(&nap, 0);
            continue;
        }
        WaveState state;
        u64 seen;
        for (;;) {
            seen = __atomic_load_n(&launch->progress, __ATOMIC_RELAXED);
            state = run_slice(g, counts, traffic);
            if (state != RUNNING || is_over(launch)) break;
            if (!g->progressed) break;
            __atomic_add_fetch(&launch->progress, 1, __ATOMIC_RELAXED);
        }
        pthread_mutex_lock(launch->lock);
        if (state == RUNNING && !is_over(launch) && has_hung(launch, g, seen))
            launch->hung = NO_PROGRESS, state = FAULTED;
        if (state == FAULTED) __atomic_store_n(&launch->failed, 1, __ATOMIC_RELAXED);
        if (state == ENDED) {
            launch->finished++, launch->resident--;
            __atomic_add_fetch(&launch->progress, 1, __ATOMIC_RELAXED);
        } else park(launch, g);
        pthread_mutex_unlock(launch->lock);
        if (state == ENDED && !spare) spare = g;
        else if (state == ENDED) free_workgroup(g);
    }
    pthread_mutex_lock(launch->lock);
    for (u32 i = 0; i < launch->instructions; i++) {
        launch->counts[i] += counts[i];
        u64 *sum = (u64*)&launch->traffic[i], *mine = (u64*)&traffic[i];
        for (u32 k = 0; k < sizeof(Traffic) / 8; k++) sum[k] += mine[k];
    }
    launch->running->alive--;
    pthread_cond_signal(&launch->running->ended);
    pthread_mutex_unlock(launch->lock);
    free(counts), free(traffic);
    if (spare) free_workgroup(spare);
    return 0;
}

// --- what Python calls ---
#define EXPORT __attribute__((visibility("default")))

EXPORT u32 core_sizes(u32 which) {  // so that device.py can see that both sides mean the same layout
    return which == 0   ? sizeof(Ins)
           : which == 1 ? sizeof(Launch)
           : which == 2 ? sizeof(Finding)
           : which == 3 ? sizeof(Traffic)
           : which == 4 ? (u32)offsetof(Ins, run)
                        : ROWS;
}
// Fill what Python cannot: the handler of each record and the constants spread over the lanes.
EXPORT void core_prepare(Ins* program, u32 n, u32 (*splats)[2][LANES]) {
    u32 next = 0;
    for (u32 i = 0; i < n; i++) {
        Ins* in = &program[i];
        in->run = in->op == 0xffff ? undefined : in->clamp && clamping[in->op] ? clamping[in->op] : handler[in->op];
        for (u32 k = 0; k < 4; k++) {
            if (in->src[k] != CONSTANT) continue;
            u32(*to)[LANES] = splats[next++];
            for (u32 l = 0; l < LANES; l++) to[0][l] = (u32)in->value[k], to[1][l] = (u32)(in->value[k] >> 32);
            in->splat[k] = to[0];
        }
    }
}
EXPORT void core_free(void* p) { free(p); }
// A launch in three steps, so that Python sees signals while it waits: start, wait until it is over (as often as it
// takes; to end it early, set stop), end.
EXPORT void core_start(Launch* launch) {
    u32 n = launch->threads < 1 ? 1 : launch->threads > 256 ? 256 : launch->threads;
    if (n > launch->workgroups) n = launch->workgroups;
    struct Running* r = launch->running = calloc(1, sizeof *r);
    pthread_mutex_init(&r->lock, 0), pthread_cond_init(&r->ended, 0);
    launch->lock = &r->lock;
    pthread_mutex_lock(&r->lock);
    while (r->threads < n && !pthread_create(&r->thread[r->threads], 0, run_thread, launch)) r->threads++;
    r->alive = r->threads ? r->threads : 1;
    pthread_mutex_unlock(&r->lock);
    if (!r->threads) run_thread(launch);
}
EXPORT u32 core_wait(Launch* launch, u32 milliseconds) {  // returns whether it is over
    struct Running* r = launch->running;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += milliseconds / 1000, until.tv_nsec += milliseconds % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&r->lock);
    while (r->alive && !pthread_cond_timedwait(&r->ended, &r->lock, &until)) continue;
    u32 over = !r->alive;
    pthread_mutex_unlock(&r->lock);
    return over;
}
EXPORT void core_end(Launch* launch) {
    struct Running* r = launch->running;
    if (!r) return;
    for (u32 i = 0; i < r->threads; i++) pthread_join(r->thread[i], 0);
    while (launch->parked_first) {
        Workgroup* g = launch->parked_first;
        launch->parked_first = g->next;
        if (launch->hung) name_waves(g, launch->hung);
        free_workgroup(g);
    }
    pthread_mutex_destroy(&r->lock), pthread_cond_destroy(&r->ended);
    free(r);
    launch->running = 0;
}
EXPORT void core_launch(Launch* launch) {
    core_start(launch);
    core_end(launch);
}
