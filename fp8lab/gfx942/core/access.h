// Memory: from an instruction's address operands to host pointers, one a lane, checked. move.h moves the bytes then.
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
    int full;           // all 64 lanes are active and have a host address
    int partial;        // some lanes move only their first dwords, those inside a buffer:
    u8 words[LANES];    // how many
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
    w->group->accessed = 1;
    at->full = at->partial = 0;
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
        at->full = at->lanes == ~0ull;
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
    w->group->accessed = 1;
    at->lanes = pair(w, EXEC);
    at->shared = 0;
    at->full = at->partial = 0;
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
    w->group->accessed = 1;
    at->lanes = at->shared = pair(w, EXEC);
    at->full = at->lanes == ~0ull, at->partial = 0;
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
        at->full = 0;
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
OUT_OF_LINE static void find_buffer(Wave* w, const Ins* in, Access* at, u32 size, Intent intent) {
    static const u32 zero[LANES];
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
    u64 active = pair(w, EXEC);
    u32 index_register = in->src[0] - VGPR, offset_register = index_register + (in->flags & IDXEN ? 1 : 0);
    const u32* indices = in->flags & IDXEN ? w->v[index_register] : zero;
    const u32* offsets = in->flags & OFFEN ? w->v[offset_register] : zero;
    u8 fits[LANES], fits_in_part[LANES];
    EACH_LANE {
        u32 offset = (u32)in->offset[0] + offsets[l], index = indices[l] + adds_lane * l;
        u64 start = structured ? offset : (u64)offset + soffset,
            end = structured ? index < records ? stride : 0 : records;
        at->device[l] = base + soffset + offset + (u64)index * stride;
        fits[l] = start + size <= end;
        fits_in_part[l] = start + 4 <= end;
    }
    if (is_swizzled)
        for (u32 l = 0; l < LANES; l++)
            at->device[l] =
                base + soffset + swizzled(d, stride, indices[l] + adds_lane * l, (u32)in->offset[0] + offsets[l]);
    u64 whole = active & pack_mask(fits),
        part = size > 4 && !structured ? active & ~whole & pack_mask(fits_in_part) : 0;
    at->lanes = whole;
    translate(w, in, at, size, intent);
    EACH_ACTIVE (active & ~whole) at->host[l] = 0;
    EACH_ACTIVE (part) {
        at->words[l] = (u8)((base + records - at->device[l]) / 4);
        at->host[l] = host_address(w, in, (u32)l, at->device[l], 4u * at->words[l], intent);
    }
    if (part)
        EACH_ACTIVE (active & ~part) at->words[l] = (u8)(size / 4);
    at->lanes = active;
    at->shared |= part;
    at->partial = part != 0;
}
