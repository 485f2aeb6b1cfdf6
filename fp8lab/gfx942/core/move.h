// Data between registers and memory, or between lanes, once access.h knows where.
#pragma once
#include "access.h"

// --- vector memory and LDS: n dwords a lane ---
static inline u32 load_u32(const u8* p) {
    u32 x;
    memcpy(&x, p, 4);
    return x;
}

// Storing what is there already is no progress, else a lock that is tried again and again would never count as hung.
static inline void note_stored(Wave* w, const Access* at, u64 changed) {
    if (changed & at->shared) w->group->progressed = 1;
}

#define MOVE_WORDS(N)                                                                     \
    OUT_OF_LINE static void load_words_##N(Wave* w, u32 d, const Access* at) {            \
        u32* D = w->v[d - VGPR];                                                          \
        for (u32 l = 0; at->full && l < LANES; l++)                                       \
            for (u32 i = 0; i < N; i++) D[i * LANES + l] = load_u32(at->host[l] + 4 * i); \
        if (at->full) return;                                                             \
        EACH_ACTIVE (at->lanes) {                                                         \
            const u8* p = at->host[l];                                                    \
            if (p)                                                                        \
                for (u32 i = 0; i < N; i++) D[i * LANES + l] = load_u32(p + 4 * i);       \
            else                                                                          \
                for (u32 i = 0; i < N; i++) D[i * LANES + l] = 0;                         \
        }                                                                                 \
    }                                                                                     \
    OUT_OF_LINE static void store_words_##N(Wave* w, u32 d, const Access* at) {           \
        const u32* D = w->v[d - VGPR];                                                    \
        u64 changed = 0;                                                                  \
        EACH_ACTIVE (at->lanes) {                                                         \
            u32 differs = 0;                                                              \
            u8* p = at->host[l];                                                          \
            for (u32 i = 0; p && i < N; i++) {                                            \
                u32 x = D[i * LANES + l];                                                 \
                differs |= load_u32(p + 4 * i) ^ x;                                       \
                memcpy(p + 4 * i, &x, 4);                                                 \
            }                                                                             \
            changed |= (u64)(differs != 0) << l;                                          \
        }                                                                                 \
        note_stored(w, at, changed);                                                      \
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
    w->group->accessed = 1;
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
