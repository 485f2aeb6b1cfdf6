// Memory: from an instruction's address operands to host pointers, one a lane, checked; then the bytes move.
//
// find_*() fills an Access. A lane that must not move bytes (out of bounds, past a buffer's num_records) has a null
// pointer: it loads zero and stores nothing, as the GPU does for buffers and LDS.
#pragma once
#include "operands.h"

typedef enum { READ, WRITE, ATOMIC } Intent;

typedef struct {
    u64 lanes;          // the active ones
    u64 shared;         // those whose bytes other waves can see
    u8* host[LANES];    // where lane l's bytes are, or null
    u64 device[LANES];  // the kernel's own address, for reports and the trace
    u8 words[LANES];    // only if partial: how many dwords of lane l are inside the buffer
    int partial;
} Access;

#include "lds_checks.h"
#include "trace.h"

// --- device memory ---
// Addresses may lie anywhere, also just below 2^64: nothing is added to them before they are compared.
static inline int holds(const Range* r, u64 address, u32 size) {
    u64 room = r->hi - r->lo;
    return size <= room && address - r->lo <= room - size;
}
OUT_OF_LINE static const Range* range_of(Wave* w, u64 address, u32 size) {
    const Launch* launch = w->launch;
    const Range* r = w->recent;
    if (r && holds(r, address, size)) return r;
    u32 lo = 0, hi = launch->range_count;
    while (lo < hi) {  // the last range that starts at or below address
        u32 mid = (lo + hi) / 2;
        if (launch->ranges[mid].lo <= address) lo = mid + 1;
        else hi = mid;
    }
    if (lo == 0) return 0;
    r = &launch->ranges[lo - 1];
    if (!holds(r, address, size)) return 0;
    w->recent = r;
    return r;
}
OUT_OF_LINE static u8* host_address(Wave* w, const Ins* in, u32 lane, u64 address, u32 size, Intent intent) {
    const Range* r = range_of(w, address, size);
    if (r && (intent == READ || r->writable)) return (u8*)(address + (u64)r->delta);
    report(w, in, FOUND_GLOBAL_BOUNDS, lane, address, size, intent);
    return 0;
}

// Turn at->device into at->host: all lanes at once where one buffer holds them all, else lane by lane.
OUT_OF_LINE static void translate(Wave* w, const Ins* in, Access* at, u32 size, Intent intent) {
    if (!at->lanes) return;
    u32 first = (u32)__builtin_ctzll(at->lanes);
    u64 lo = at->device[first], hi = lo;
    if (at->lanes == ~0ull) {
        for (u32 l = 0; l < LANES; l++)
            lo = at->device[l] < lo ? at->device[l] : lo, hi = at->device[l] > hi ? at->device[l] : hi;
    } else {
        EACH_ACTIVE (at->lanes)
            lo = at->device[l] < lo ? at->device[l] : lo, hi = at->device[l] > hi ? at->device[l] : hi;
    }
    const Range* r = range_of(w, lo, size);
    if (r && holds(r, hi, size) && (intent == READ || r->writable)) {
        u64 delta = (u64)r->delta;
        EACH_LANE
            at->host[l] = (u8*)(at->device[l] + delta);
    } else {
        EACH_ACTIVE (at->lanes) at->host[l] = host_address(w, in, (u32)l, at->device[l], size, intent);
    }
    at->shared |= at->lanes;
    if (intent == ATOMIC)
        EACH_ACTIVE (at->lanes)
            if (at->device[l] & (size - 1)) {
                report(w, in, FOUND_MISALIGNED, (u32)l, at->device[l], size, 0);
                at->host[l] = 0;
            }
    if (w->traffic) trace_global(w, in, at, size);
}

OUT_OF_LINE static void global_addresses(Wave* w, const Ins* in, Access* at) {
    at->lanes = pair(w, EXEC);
    at->shared = 0;
    at->partial = 0;
    i64 offset = in->offset[0];
    const u32* lo = w->v[in->src[0] - VGPR];
    if (in->src[1] != NONE) {
        u64 base = pair(w, in->src[1]) + (u64)offset;
        EACH_LANE
            at->device[l] = base + lo[l];
    } else {
        EACH_LANE
            at->device[l] = ((u64)lo[l] | (u64)lo[LANES + l] << 32) + (u64)offset;
    }
}
OUT_OF_LINE static void find_global(Wave* w, const Ins* in, Access* at, u32 size, Intent intent) {
    global_addresses(w, in, at);
    translate(w, in, at, size, intent);
}

// --- scratch: a private array a lane ---
OUT_OF_LINE static u8* scratch_address(Wave* w, const Ins* in, u32 lane, u64 offset, u32 size, Intent intent) {
    u32 room = w->launch->scratch_bytes;
    if (offset + size <= room) return w->scratch + (u64)lane * room + offset;
    report(w, in, FOUND_SCRATCH_BOUNDS, lane, offset, size, intent);
    return 0;
}
OUT_OF_LINE static void find_scratch(Wave* w, const Ins* in, Access* at, u32 size, Intent intent) {
    at->lanes = pair(w, EXEC);
    at->shared = 0;
    at->partial = 0;
    u32 base = (u32)in->offset[0] + (in->src[1] != NONE ? w->s[in->src[1]] : 0);
    EACH_ACTIVE (at->lanes) {
        at->device[l] = (u32)(base + (in->src[0] != NONE ? w->v[in->src[0] - VGPR][l] : 0));
        at->host[l] = scratch_address(w, in, (u32)l, at->device[l], size, intent);
    }
}

// --- LDS ---
OUT_OF_LINE static u8* lds_address(Wave* w, const Ins* in, u32 lane, u64 address, u32 size, Intent intent) {
    if (address + size <= w->launch->lds_bytes) return w->group->lds + address;
    report(w, in, FOUND_LDS_BOUNDS, lane, address, size, intent);
    return 0;
}
OUT_OF_LINE static void find_lds(Wave* w, const Ins* in, Access* at, u32 size, Intent intent, u32 offset, u32 which) {
    at->lanes = at->shared = pair(w, EXEC);
    at->partial = 0;
    const u32* address = w->v[in->src[0] - VGPR];
    u32 worst = 0, low_bits = 0;
    for (u32 l = 0; l < LANES; l++) {
        u32 x = address[l] + offset;
        at->device[l] = x;
        at->host[l] = w->group->lds + x;
        u32 seen = at->lanes >> l & 1 ? x : 0;
        worst = seen > worst ? seen : worst;
        low_bits |= seen;
    }
    u32 needs = intent == ATOMIC ? size : size < 4 ? size : 4;
    if ((u64)worst + size > w->launch->lds_bytes || low_bits & (needs - 1)) {
        EACH_ACTIVE (at->lanes) {
            at->host[l] = lds_address(w, in, (u32)l, at->device[l], size, intent);
            if (at->host[l] && at->device[l] & (needs - 1)) {
                report(w, in, FOUND_MISALIGNED, (u32)l, at->device[l], size, 1);
                if (intent == ATOMIC) at->host[l] = 0;
            }
        }
    }
    if (w->launch->checks) check_lds(w, in, at, size, intent, which);
    if (w->traffic) trace_lds(w, in, at, size, intent);
}

// flat: the two apertures are LDS and scratch, the rest is device memory
OUT_OF_LINE static void find_flat(Wave* w, const Ins* in, Access* at, u32 size, Intent intent) {
    global_addresses(w, in, at);
    u64 special = 0;
    EACH_ACTIVE (at->lanes) {
        u64 aperture = at->device[l] >> 32;
        if (aperture == 0x10000 || aperture == 0x20000) special |= 1ull << l;
    }
    if (!special) {
        translate(w, in, at, size, intent);
        return;
    }
    u64 active = at->lanes;
    at->lanes = active & ~special;
    translate(w, in, at, size, intent);
    Access shared = {0};
    EACH_ACTIVE (special) {
        u64 low = at->device[l] & 0xffffffff;
        if (at->device[l] >> 32 == 0x20000) at->host[l] = scratch_address(w, in, (u32)l, low, size, intent);
        else {
            at->host[l] = lds_address(w, in, (u32)l, low, size, intent);
            shared.device[l] = low, shared.host[l] = at->host[l], shared.lanes |= 1ull << l;
        }
    }
    at->lanes = active;
    at->shared |= shared.lanes;
    if (shared.lanes && w->launch->checks) check_lds(w, in, &shared, size, intent, 3);
    if (shared.lanes && w->traffic) trace_lds(w, in, &shared, size, intent);
}

// --- buffers: a descriptor {base 48 bits, stride 14, num_records, flags} ---
// Raw buffers (no stride or no index) are checked dword by dword, structured ones record by record. In a swizzled one
// the dwords of index_stride records alternate; a dword is all that one lane can move there. Source: CDNA3 ISA guide,
// "Buffer Addressing"; the scalar offset counts in the range check of raw buffers.
static u64 swizzled(const u32* d, u32 stride, u32 index, u32 offset) {
    u32 together = 8u << (d[3] >> 21 & 3);
    return ((u64)(index / together) * stride + (offset & ~3u)) * together + 4 * (index % together) + (offset & 3);
}
static const u32 no_offset[LANES];
OUT_OF_LINE static void find_buffer(Wave* w, const Ins* in, Access* at, u32 size, Intent intent) {
    const u32* d = &w->s[in->src[1]];
    u64 base = (u64)d[0] | (u64)(d[1] & 0xffff) << 32;
    u32 stride = d[1] >> 16 & 0x3fff, records = d[2], soffset = scalar_u32(w, in, 2);
    u32 is_swizzled = d[1] >> 31, adds_lane = d[3] >> 23 & 1;
    if (adds_lane) stride |= (d[3] >> 15 & 15) << 14;  // the data format's bits extend the stride then
    if (is_swizzled && size > 4) {
        report(w, in, FOUND_UNSUPPORTED, 0, d[1], d[3], 0);
        at->lanes = 0;
        return;
    }
    at->shared = 0;
    int structured = stride != 0 && (in->flags & IDXEN || adds_lane);
    u64 active = pair(w, EXEC), inside = 0;
    u32 index_register = in->src[0] - VGPR, offset_register = index_register + (in->flags & IDXEN ? 1 : 0);
    at->partial = 0;
    if (!structured && !is_swizzled) {  // usually, and with all lanes inside: one comparison
        const u32* offset = in->flags & OFFEN ? w->v[offset_register] : no_offset;
        u32 furthest = 0;
        EACH_LANE {
            u32 x = (u32)in->offset[0] + offset[l], seen = active >> l & 1 ? x : 0;
            at->device[l] = base + soffset + x;
            furthest = seen > furthest ? seen : furthest;
        }
        if ((u64)furthest + soffset + size <= records) {
            at->lanes = active;
            translate(w, in, at, size, intent);
            return;
        }
    }
    EACH_LANE {
        u32 offset = (u32)in->offset[0] + (in->flags & OFFEN ? w->v[offset_register][l] : 0);
        u32 index = (in->flags & IDXEN ? w->v[index_register][l] : 0) + adds_lane * l;
        u64 start = structured ? offset : (u64)offset + soffset;
        u64 fits = structured                ? (index < records && start + size <= stride ? size / 4 + (size < 4) : 0)
                   : start + size <= records ? size / 4 + (size < 4)
                   : size >= 4 && start + 4 <= records ? (records - start) / 4
                                                       : 0;
        at->words[l] = (u8)fits;
        at->device[l] =
            base + soffset + (is_swizzled ? swizzled(d, stride, index, offset) : offset + (u64)index * stride);
        at->host[l] = 0;
    }
    u64 whole = 0;
    u32 all = size / 4 + (size < 4);
    EACH_ACTIVE (active) {
        if (at->words[l] == all) whole |= 1ull << l;
        else if (at->words[l]) inside |= 1ull << l;
    }
    at->lanes = whole;
    translate(w, in, at, size, intent);
    EACH_ACTIVE (active & ~whole) {
        at->host[l] = inside >> l & 1 ? host_address(w, in, (u32)l, at->device[l], 4u * at->words[l], intent) : 0;
    }
    at->lanes = active;
    at->shared |= inside;
    at->partial = inside != 0;
}

// --- moving bytes ---
//
// Storing what is there already is no progress, else a lock that is tried again and again would never count as hung.
static inline void note_stored(Wave* w, const Access* at, u64 changed) {
    if (changed & at->shared) w->group->progressed = 1;
}
static inline u32 load_u32(const u8* p) {
    u32 x;
    memcpy(&x, p, 4);
    return x;
}

#define MOVE_WORDS(N)                                                               \
    OUT_OF_LINE static void load_words_##N(Wave* w, u32 d, const Access* at) {      \
        u32* D = w->v[d - VGPR];                                                    \
        EACH_ACTIVE (at->lanes) {                                                   \
            const u8* p = at->host[l];                                              \
            if (p)                                                                  \
                for (u32 i = 0; i < N; i++) D[i * LANES + l] = load_u32(p + 4 * i); \
            else                                                                    \
                for (u32 i = 0; i < N; i++) D[i * LANES + l] = 0;                   \
        }                                                                           \
    }                                                                               \
    OUT_OF_LINE static void store_words_##N(Wave* w, u32 d, const Access* at) {     \
        const u32* D = w->v[d - VGPR];                                              \
        u64 changed = 0;                                                            \
        EACH_ACTIVE (at->lanes) {                                                   \
            u32 differs = 0;                                                        \
            u8* p = at->host[l];                                                    \
            for (u32 i = 0; p && i < N; i++) {                                      \
                u32 x = D[i * LANES + l];                                           \
                differs |= load_u32(p + 4 * i) ^ x;                                 \
                memcpy(p + 4 * i, &x, 4);                                           \
            }                                                                       \
            changed |= (u64)(differs != 0) << l;                                    \
        }                                                                           \
        note_stored(w, at, changed);                                                \
    }
MOVE_WORDS(1)
MOVE_WORDS(2)
MOVE_WORDS(3)
MOVE_WORDS(4)
#undef MOVE_WORDS

OUT_OF_LINE static void move_partial(Wave* w, u32 d, const Access* at, u32 n, int store) {
    u32* D = w->v[d - VGPR];
    u64 changed = 0;
    EACH_ACTIVE (at->lanes)
        for (u32 i = 0; i < n; i++) {
            u8* p = at->host[l] && i < at->words[l] ? at->host[l] + 4 * i : 0;
            if (store && p) changed |= (u64)(load_u32(p) != D[i * LANES + l]) << l, memcpy(p, &D[i * LANES + l], 4);
            if (!store) D[i * LANES + l] = p ? load_u32(p) : 0;
        }
    note_stored(w, at, changed);
}
static inline void load_words(Wave* w, u32 d, const Access* at, u32 n) {
    if (at->partial) move_partial(w, d, at, n, 0);
    else if (n == 1) load_words_1(w, d, at);
    else if (n == 2) load_words_2(w, d, at);
    else if (n == 3) load_words_3(w, d, at);
    else load_words_4(w, d, at);
}
static inline void store_words(Wave* w, u32 d, const Access* at, u32 n) {
    if (at->partial) move_partial(w, d, at, n, 1);
    else if (n == 1) store_words_1(w, d, at);
    else if (n == 2) store_words_2(w, d, at);
    else if (n == 3) store_words_3(w, d, at);
    else store_words_4(w, d, at);
}

// Global memory to LDS: lane l's dword goes to LDS at M0 + offset + 4 l.
OUT_OF_LINE static void store_to_lds(Wave* w, const Ins* in, Access* at, u32 l, u32 x) {
    u64 address = (u64)(w->s[M0] & 0xffff) + (u32)in->offset[0] + 4 * l;
    u8* p = lds_address(w, in, l, address, 4, WRITE);
    if (!p) return;
    if (w->launch->checks) check_lds_dma(w, in, l, (u32)address, x);
    if (load_u32(p) != x) w->group->progressed = 1;
    memcpy(p, &x, 4);
    (void)at;
}

// --- scalar memory ---
OUT_OF_LINE static void scalar_load(Wave* w, const Ins* in, u32 words, int buffer) {
    u32 register_offset = in->src[1] != NONE ? scalar_u32(w, in, 1) : 0;
    u64 offset = (u64)(i64)in->offset[0] + register_offset;
    const u32* d = &w->s[in->src[0]];
    u32 to = in->d;
    if (buffer) {
        u64 base = (u64)d[0] | (u64)(d[1] & 0xffff) << 32;
        u32 stride = d[1] >> 16 & 0x3fff;
        u64 size = stride ? (u64)d[2] * stride : d[2];
        offset &= ~3ull;
        u32 fetched[16] = {0};
        for (u32 i = 0; i < words; i++)
            if (offset + 4 * i + 4 <= size) {
                u8* p = host_address(w, in, 0, base + offset + 4 * i, 4, READ);
                if (p) fetched[i] = load_u32(p);
            }
        memcpy(&w->s[to], fetched, 4 * words);
        return;
    }
    u64 address = pair(w, in->src[0]) + offset;
    if (address & 3) report(w, in, FOUND_MISALIGNED, 0, address, 4 * words, 2);
    u8* p = host_address(w, in, 0, address & ~3ull, 4 * words, READ);
    if (p) memcpy(&w->s[to], p, 4 * words);
    else memset(&w->s[to], 0, 4 * words);
}
OUT_OF_LINE static void scalar_store(Wave* w, const Ins* in, u32 words, int buffer) {
    u64 address = pair(w, in->src[1]) + (u64)(i64)in->offset[0] + (in->src[2] != NONE ? scalar_u32(w, in, 2) : 0);
    u8* p = host_address(w, in, 0, address & ~3ull, 4 * words, WRITE);
    if (p && memcmp(p, &w->s[in->src[0]], 4 * words)) w->group->progressed = 1;
    if (p) memcpy(p, &w->s[in->src[0]], 4 * words);
    (void)buffer;
}

// --- exchange between lanes through the LDS crossbar ---
static void deliver(Wave* w, const Ins* in, const u32* x) {
    u32* D = w->v[in->d - VGPR];
    EACH_ACTIVE (pair(w, EXEC)) D[l] = x[l];
}
static void bpermute(Wave* w, const Ins* in) {  // each lane fetches from the lane it names; an inactive one gives 0
    const u32 *address = w->v[in->src[0] - VGPR], *data = w->v[in->src[1] - VGPR];
    u64 exec = pair(w, EXEC);
    u32 x[LANES];
    for (u32 l = 0; l < LANES; l++) {
        u32 from = (address[l] + (u32)in->offset[0]) >> 2 & 63;
        x[l] = exec >> from & 1 ? data[from] : 0;
    }
    deliver(w, in, x);
}
static void permute(Wave* w, const Ins* in) {  // each lane sends to the lane it names; the highest sender wins
    const u32 *address = w->v[in->src[0] - VGPR], *data = w->v[in->src[1] - VGPR];
    u32 x[LANES] = {0};
    EACH_ACTIVE (pair(w, EXEC)) x[(address[l] + (u32)in->offset[0]) >> 2 & 63] = data[l];
    deliver(w, in, x);
}
// The lane that lane l reads, by the offset: from 0xe000 an order of fast Fourier transforms, from 0xc000 a rotation,
// from 0x8000 a permutation within four lanes, else and, or, xor on the lane's number; all but the third among 32
// lanes.
static u32 swizzle_source(u32 offset, u32 l) {
    u32 mask = offset & 31, at = l & 31;
    if (offset >= 0xe000) return (l & 32) | reverse_u32(at) >> 27 >> count_ones(mask) | (at & mask);
    if (offset >= 0xc000) {
        u32 by = offset >> 5 & 31, moved = offset >> 10 & 1 ? at - by : at + by;
        return (l & 32) | (at & mask) | (moved & 31 & ~mask);
    }
    if (offset & 0x8000) return (l & ~3u) | (offset >> 2 * (l & 3) & 3);
    return (l & 32) | (((at & mask) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
}
static void swizzle(Wave* w, const Ins* in) {
    const u32* data = w->v[in->src[0] - VGPR];
    u64 exec = pair(w, EXEC);
    u32 x[LANES];
    for (u32 l = 0; l < LANES; l++) {
        u32 from = swizzle_source((u32)in->offset[0], l);
        x[l] = exec >> from & 1 ? data[from] : 0;
    }
    deliver(w, in, x);
}
