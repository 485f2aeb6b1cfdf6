// Checks of LDS: races in a barrier interval, bytes read before they were written, data that has not arrived.
//
// Two waves that touch the same byte between two barriers, one of them writing, race: nothing orders them. Writing the
// same value twice is harmless and reported apart. Atomics among themselves do not race.
//
// Nearly all accesses are of whole dwords and quiet, and there are hundreds a wave instruction. So each dword's last
// write and last read are two numbers, compared for all dwords of a lane at once; what they cannot say is in a Shadow.
#pragma once
#include <stdlib.h>

enum { OTHER_WROTE = 1 << 10 };  // in a finding's `other`, beside a wave and an Intent: that wave has not only read
enum { NEVER = 0, DETAILED = 0xffffffff, LAST_EPOCH = 0xfffffe };

// A stamp: a barrier interval and a wave (or SEVERAL). Later intervals have larger stamps, DETAILED the largest.
static ALWAYS_INLINE u32 stamp(u32 epoch, u32 who) { return epoch << 8 | who; }

static void make_history(Workgroup* g) {
    u32 dwords = g->launch->lds_bytes / 4 + 1;
    g->history.write = malloc(dwords * sizeof(u32)), g->history.read = malloc(dwords * sizeof(u32));
    g->history.write_seq = malloc(dwords * sizeof(u32)), g->history.detail = malloc(dwords * sizeof(Shadow));
}
static void start_history(Workgroup* g) {
    History* h = &g->history;
    u32 dwords = g->launch->lds_bytes / 4 + 1;
    memset(h->write, NEVER, dwords * sizeof(u32)), memset(h->read, NEVER, dwords * sizeof(u32));
    free(h->dma_seq), free(h->dma_wave);
    h->dma_seq = 0, h->dma_wave = 0, h->settled = 0;
}
static void free_history(History* h) {
    free(h->write), free(h->read), free(h->write_seq), free(h->detail), free(h->dma_seq), free(h->dma_wave);
}
// At a barrier: if every wave has waited for its LDS writes, nobody need ask again about these.
static void settle_history(Workgroup* g) {
    if (g->launch->checks & CHECK_WAITS)
        for (u32 i = 0; i < g->waves; i++)
            if (g->wave[i].lds_written > g->wave[i].lgkm_done) return;
    g->history.settled = g->epoch;
}

static int stores_the_same(Wave* w, const Ins* in, const Access* at, u32 l, u32 size, u32 which) {
    if (which == 3) return 0;
    const u32* data = w->v[in->src[which == 2 ? 2 : 1] - VGPR];
    for (u32 i = 0; i < (size + 3) / 4; i++) {
        u32 x = data[i * LANES + l];
        if (in->flags & STORES_HIGH) x >>= 16;
        if (memcmp(at->host[l] + 4 * i, &x, size < 4 ? size : 4)) return 0;
    }
    return 1;
}

// --- one dword, byte by byte ---
static Shadow open_shadow(const History* h, u32 dword) {
    Shadow s = h->detail[dword];
    u32 write = h->write[dword], read = h->read[dword];
    if (write != DETAILED) {
        memset(s.writer, (int)(write & 255), 4);
        s.write_epoch = write >> 8, s.write_seq = h->write_seq[dword], s.atomic = 0;
        s.written = write == NEVER ? 0 : 15;
    }
    if (read != DETAILED) memset(s.reader, (int)(read & 255), 4), s.read_epoch = read >> 8;
    return s;
}
static int all_alike(const u8* x) { return x[0] != NOBODY && x[0] == x[1] && x[0] == x[2] && x[0] == x[3]; }
static void close_shadow(History* h, u32 dword, const Shadow* s) {
    int simple =
        all_alike(s->writer) && !s->atomic && s->written == 15 && s->write_epoch && s->write_epoch <= LAST_EPOCH;
    h->write[dword] = simple ? stamp(s->write_epoch, s->writer[0]) : DETAILED;
    h->read[dword] =
        all_alike(s->reader) && s->read_epoch <= LAST_EPOCH ? stamp(s->read_epoch, s->reader[0]) : DETAILED;
    h->write_seq[dword] = s->write_seq;
    h->detail[dword] = *s;
}

// One dword of lane l's access, its bytes `from` … `to` - 1.
OUT_OF_LINE static void check_dword(Wave* w, const Ins* in, const Access* at, u32 l, u32 size, Intent intent, u32 which,
                                    u32 dword, u32 from, u32 to) {
    Workgroup* g = w->group;
    History* h = &g->history;
    Shadow opened = open_shadow(h, dword), *s = &opened;
    u32 checks = w->launch->checks, me = w->id, epoch = g->epoch, bytes = (1u << to) - (1u << from);
    if (intent != WRITE && checks & CHECK_UNINITIALISED && bytes & ~(u32)s->written)
        report(w, in, FOUND_UNINITIALISED_LDS, l, 4 * dword, size, 0);
    s->written |= (u8)bytes;
    int wrote = s->write_epoch == epoch, read = s->read_epoch == epoch;
    if (h->dma_seq && checks & CHECK_WAITS && h->dma_seq[dword]) {
        // the wave that loads must have waited; for another wave to know, before the barrier
        const Wave* loads = &g->wave[h->dma_wave[dword]];
        int late =
            loads == w ? h->dma_seq[dword] > w->vm_done : !wrote && h->dma_seq[dword] > loads->vm_done_at_barrier;
        if (late) report(w, in, FOUND_MISSING_WAIT, l, 4 * dword, size, 2);
    }
    for (u32 b = from; b < to && checks & CHECK_LDS; b++) {
        u32 other = NOBODY, other_wrote = 0;
        if (wrote && s->writer[b] != NOBODY && s->writer[b] != me && !(intent == ATOMIC && s->atomic))
            other = s->writer[b], other_wrote = OTHER_WROTE;
        if (other == NOBODY && intent != READ && read && s->reader[b] != NOBODY && s->reader[b] != me &&
            !(intent == ATOMIC && s->atomic))
            other = s->reader[b];
        if (other != NOBODY) {
            int same = intent == WRITE && stores_the_same(w, in, at, l, size, which);
            report(w, in, same ? FOUND_LDS_SAME_VALUE : FOUND_LDS_RACE, l, 4 * dword + b, size,
                   other | (u32)intent << 8 | other_wrote);
            break;
        }
        // written before the barrier, but the writer had not waited for its write when it reached the barrier
        if (intent != WRITE && !wrote && s->write_epoch && s->writer[b] != NOBODY && s->writer[b] != me &&
            checks & CHECK_WAITS && s->write_seq > g->wave[s->writer[b]].done_at_barrier) {
            report(w, in, FOUND_LDS_NOT_WAITED, l, 4 * dword + b, size, s->writer[b]);
            break;
        }
    }
    if (intent != READ) {
        if (!wrote) memset(s->writer, NOBODY, 4);
        for (u32 b = from; b < to; b++) s->writer[b] = (u8)me;
        s->write_epoch = epoch, s->write_seq = w->lgkm_issued, s->atomic = intent == ATOMIC;
    }
    if (intent != WRITE) {
        if (!read) memset(s->reader, NOBODY, 4);
        for (u32 b = from; b < to; b++) s->reader[b] = s->reader[b] == NOBODY || s->reader[b] == me ? (u8)me : SEVERAL;
        s->read_epoch = epoch;
    }
    close_shadow(h, dword, s);
}

// --- the usual case: n whole dwords that nothing is wrong with ---
//
// A read is quiet if no other wave has written in this interval, and what was written before is settled; a write, if no
// other wave has read or written in this interval. Returns 0, with nothing changed, where that does not hold.
static ALWAYS_INLINE int quiet_read(const u32* write, u32* read, u32 n, u32 now, u32 mine, u32 settled) {
    u32 loud = 0;
    for (u32 i = 0; i < n; i++)
        loud |= ((write[i] - stamp(1, 0) >= settled) & (write[i] != mine)) | (read[i] == DETAILED);
    if (loud) return 0;
    for (u32 i = 0; i < n; i++) read[i] = read[i] < now || read[i] == mine ? mine : now | SEVERAL;
    return 1;
}
static ALWAYS_INLINE int quiet_write(u32* write, const u32* read, u32* sequence, u32 n, u32 now, u32 mine, u32 seq) {
    u32 loud = 0;
    for (u32 i = 0; i < n; i++)
        loud |= ((write[i] >= now) & (write[i] != mine)) | ((read[i] >= now) & (read[i] != mine));
    if (loud) return 0;
    for (u32 i = 0; i < n; i++) write[i] = mine, sequence[i] = seq;
    return 1;
}
// Returns the lanes whose n dwords need a closer look.
static ALWAYS_INLINE u64 loud_lanes(Wave* w, const Access* at, u32 n, Intent intent) {
    const History h = w->group->history;
    u32 now = stamp(w->group->epoch, 0), mine = now | w->id, settled = h.settled << 8, seq = w->lgkm_issued;
    u64 loud = 0;
    EACH_ACTIVE (at->lanes) {
        u32 address = (u32)at->device[l], d = address / 4;
        int quiet = 0;
        if (at->host[l] && address % 4 == 0)
            quiet = intent == READ ? quiet_read(h.write + d, h.read + d, n, now, mine, settled)
                                   : quiet_write(h.write + d, h.read + d, h.write_seq + d, n, now, mine, seq);
        loud |= (u64)!quiet << l;
    }
    return loud;
}

OUT_OF_LINE static void check_lds(Wave* w, const Ins* in, const Access* at, u32 size, Intent intent, u32 which) {
    const Workgroup* g = w->group;
    if (!g->history.write) return;
    if (intent != READ) w->lds_written = w->lgkm_issued;
    u64 loud = at->lanes;
    if (intent != ATOMIC && w->launch->checks & CHECK_LDS && !g->history.dma_seq && g->epoch <= LAST_EPOCH) {
        switch (size) {
            case 4: loud = intent == READ ? loud_lanes(w, at, 1, READ) : loud_lanes(w, at, 1, WRITE); break;
            case 8: loud = intent == READ ? loud_lanes(w, at, 2, READ) : loud_lanes(w, at, 2, WRITE); break;
            case 12: loud = intent == READ ? loud_lanes(w, at, 3, READ) : loud_lanes(w, at, 3, WRITE); break;
            case 16: loud = intent == READ ? loud_lanes(w, at, 4, READ) : loud_lanes(w, at, 4, WRITE); break;
        }
    }
    EACH_ACTIVE (loud) {
        if (!at->host[l]) continue;
        u32 address = (u32)at->device[l], end = address + size;
        for (u32 dword = address / 4; 4 * dword < end; dword++) {
            u32 from = address > 4 * dword ? address & 3 : 0, to = end < 4 * dword + 4 ? end & 3 : 4;
            check_dword(w, in, at, (u32)l, size, intent, which, dword, from, to);
        }
    }
}

// --- a load from global memory to LDS: vmcnt counts it, so its dwords remember which one ---
static void check_lds_dma(Wave* w, const Ins* in, u32 lane, u32 address, u32 x) {
    Workgroup* g = w->group;
    History* h = &g->history;
    u32 checks = w->launch->checks, dword = address / 4;
    if (!h->write) return;
    if (checks & CHECK_WAITS) {
        if (!h->dma_seq) {
            h->dma_seq = calloc(w->launch->lds_bytes / 4 + 1, sizeof(u32));
            h->dma_wave = calloc(w->launch->lds_bytes / 4 + 1, 1);
        }
        h->dma_seq[dword] = w->vm_issued, h->dma_wave[dword] = (u8)w->id;
    }
    Shadow s = open_shadow(h, dword);
    s.written = 15;
    if (checks & CHECK_LDS) {
        u32 other = NOBODY, other_wrote = 0;
        if (s.write_epoch == g->epoch && s.writer[0] != NOBODY && s.writer[0] != w->id)
            other = s.writer[0], other_wrote = OTHER_WROTE;
        else if (s.read_epoch == g->epoch && s.reader[0] != NOBODY && s.reader[0] != w->id) other = s.reader[0];
        if (other != NOBODY) {
            u32 old;
            memcpy(&old, g->lds + 4 * dword, 4);
            report(w, in, old == x ? FOUND_LDS_SAME_VALUE : FOUND_LDS_RACE, lane, address, 4,
                   other | WRITE << 8 | other_wrote);
        }
    }
    memset(s.writer, (int)w->id, 4);
    s.write_epoch = g->epoch, s.write_seq = 0, s.atomic = 0;
    close_shadow(h, dword, &s);
}
