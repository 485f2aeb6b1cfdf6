// Checks: what a GPU would not tell. Nothing here changes a result; report() notes what was wrong and where.
#pragma once
#include <stdlib.h>

// --- LDS: races in a barrier interval, bytes read before they were written, data that has not arrived ---
//
// Two waves that touch the same byte between two barriers, one of them writing, race: nothing orders them. Writing the
// same value twice is harmless and reported apart. Atomics among themselves do not race.
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

// The usual case in a few compares: a whole dword, in this interval written by no other wave, and written before.
static ALWAYS_INLINE int quiet_access(Shadow* s, Intent intent, u32 checks, u32 epoch, u32 me, const Wave* waves,
                                      u32 sequence) {
    u32 mine = me * 0x01010101u, writer, reader, now = mine;
    memcpy(&writer, s->writer, 4);
    memcpy(&reader, s->reader, 4);
    if (writer != mine && s->write_epoch == epoch) return 0;
    if (reader != mine && s->read_epoch == epoch) {
        if (intent != READ || reader != (reader & 255) * 0x01010101u || (reader & 255) == NOBODY) return 0;
        now = SEVERAL * 0x01010101u;
    }
    if (intent == WRITE) {
        s->write_epoch = epoch, s->write_seq = sequence, s->atomic = 0, s->written = 15;
        memcpy(s->writer, &mine, 4);
        return 1;
    }
    if (checks & CHECK_UNINITIALISED && s->written != 15) return 0;
    if (checks & CHECK_WAITS && writer != mine && s->write_epoch) {
        if (writer != (writer & 255) * 0x01010101u || s->write_seq > waves[writer & 255].done_at_barrier) return 0;
    }
    s->read_epoch = epoch;
    memcpy(s->reader, &now, 4);
    return 1;
}

// One dword of lane l's access, its bytes `from` … `to` - 1.
OUT_OF_LINE static void check_dword(Wave* w, const Ins* in, const Access* at, u32 l, u32 size, Intent intent, u32 which,
                                    u32 dword, u32 from, u32 to) {
    Workgroup* g = w->group;
    Shadow* s = &g->shadow[dword];
    u32 checks = w->launch->checks, me = w->id, epoch = g->epoch, bytes = (1u << to) - (1u << from);
    if (checks & CHECK_UNINITIALISED) {
        if (intent != WRITE && bytes & ~(u32)s->written) report(w, in, FOUND_UNINITIALISED_LDS, l, 4 * dword, size, 0);
        s->written |= (u8)bytes;
    }
    if (g->dma_seq && checks & CHECK_WAITS && g->dma_seq[dword] > g->wave[g->dma_wave[dword]].vm_done)
        report(w, in, FOUND_MISSING_WAIT, l, 4 * dword, size, 2);
    if (!(checks & CHECK_LDS)) return;
    int wrote = s->write_epoch == epoch, read = s->read_epoch == epoch;
    for (u32 b = from; b < to; b++) {
        u32 other = NOBODY;
        if (wrote && s->writer[b] != NOBODY && s->writer[b] != me && !(intent == ATOMIC && s->atomic))
            other = s->writer[b];
        if (other == NOBODY && intent != READ && read && s->reader[b] != NOBODY && s->reader[b] != me &&
            !(intent == ATOMIC && s->atomic))
            other = s->reader[b];
        if (other != NOBODY) {
            int same = intent == WRITE && stores_the_same(w, in, at, l, size, which);
            report(w, in, same ? FOUND_LDS_SAME_VALUE : FOUND_LDS_RACE, l, 4 * dword + b, size,
                   other | (u32)intent << 8);
            break;
        }
        // written before the barrier, but the writer had not waited for its write when it reached the barrier
        if (intent != WRITE && !wrote && s->write_epoch && s->writer[b] != NOBODY && s->writer[b] != me &&
            checks & CHECK_WAITS && s->write_seq > g->wave[s->writer[b]].done_at_barrier &&
            s->write_seq > g->wave[s->writer[b]].lgkm_done) {
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
}

static void check_lds(Wave* w, const Ins* in, const Access* at, u32 size, Intent intent, u32 which) {
    const Workgroup* g = w->group;
    if (!g->shadow) return;
    u32 checks = w->launch->checks, me = w->id, epoch = g->epoch, sequence = w->lgkm_issued;
    int may_be_quiet = intent != ATOMIC && checks & CHECK_LDS && !g->dma_seq;
    EACH_ACTIVE (at->lanes) {
        if (!at->host[l]) continue;
        u32 address = (u32)at->device[l], end = address + size;
        for (u32 dword = address / 4; 4 * dword < end; dword++) {
            u32 from = address > 4 * dword ? address & 3 : 0, to = end < 4 * dword + 4 ? end & 3 : 4;
            if (may_be_quiet && to - from == 4 &&
                quiet_access(&g->shadow[dword], intent, checks, epoch, me, g->wave, sequence))
                continue;
            check_dword(w, in, at, (u32)l, size, intent, which, dword, from, to);
        }
    }
}

static void check_lds_dma(Wave* w, const Ins* in, u32 lane, u32 address, u32 x) {
    Workgroup* g = w->group;
    u32 checks = w->launch->checks, dword = address / 4;
    if (!g->shadow) return;
    g->shadow[dword].written = 15;
    if (checks & CHECK_WAITS) {
        if (!g->dma_seq) {
            g->dma_seq = calloc(w->launch->lds_bytes / 4 + 1, sizeof(u32));
            g->dma_wave = calloc(w->launch->lds_bytes / 4 + 1, 1);
        }
        g->dma_seq[dword] = w->vm_issued, g->dma_wave[dword] = (u8)w->id;
    }
    if (!(checks & CHECK_LDS)) return;
    Shadow* s = &g->shadow[dword];
    u32 other = NOBODY;
    if (s->write_epoch == g->epoch && s->writer[0] != NOBODY && s->writer[0] != w->id) other = s->writer[0];
    if (s->read_epoch == g->epoch && s->reader[0] != NOBODY && s->reader[0] != w->id) other = s->reader[0];
    if (other != NOBODY) {
        u32 old;
        memcpy(&old, g->lds + 4 * dword, 4);
        report(w, in, old == x ? FOUND_LDS_SAME_VALUE : FOUND_LDS_RACE, lane, address, 4, other | WRITE << 8);
    }
    memset(s->writer, (int)w->id, 4);
    s->write_epoch = g->epoch, s->write_seq = 0, s->atomic = 0;
}

// --- before each instruction: waits, never-written registers, wait states ---
//
// Counters, as s_waitcnt sees them: vector memory returns in order; LDS returns in order; scalar loads do not, so with
// one outstanding only lgkmcnt(0) proves anything. Source: CDNA3 ISA guide, "Data Dependency Resolution".
static void check_wait(Wave* w, const Ins* in, Registers r, int reads) {
    u32 vm_in_order = !reads && (in->unit == UNIT_VMEM_LOAD), lgkm_in_order = !reads && in->unit == UNIT_LDS;
    u32 late = 0;
    for (u32 i = r.first; i < (u32)r.first + r.count; i++)
        late |= (w->vm_pending[i] > w->vm_done) | (w->lgkm_pending[i] > w->lgkm_done);
    if (!late) return;
    for (u32 i = r.first; i < (u32)r.first + r.count && i < REGISTERS; i++) {
        if (w->vm_pending[i] > w->vm_done && !vm_in_order) {
            report(w, in, FOUND_MISSING_WAIT, 0, i, 0, 0);
            w->vm_pending[i] = 0;
        }
        if (w->lgkm_pending[i] > w->lgkm_done && !lgkm_in_order) {
            report(w, in, FOUND_MISSING_WAIT, 0, i, 0, 1);
            w->lgkm_pending[i] = 0;
        }
    }
}

static void count_waits(Wave* w, const Ins* in) {
    if (in->unit == UNIT_WAIT) {
        u32 x = (u32)in->value[0], vm = (x & 15) | (x >> 10 & 0x30), lgkm = x >> 8 & 15;
        if (w->flat_out && vm != 0) vm = 63;
        if (w->vm_issued > vm && w->vm_issued - vm > w->vm_done && vm != 63) w->vm_done = w->vm_issued - vm;
        if (lgkm == 0) w->lgkm_done = w->lgkm_issued, w->smem_out = 0;
        else if (lgkm != 15 && !w->smem_out && !w->flat_out && w->lgkm_issued > lgkm &&
                 w->lgkm_issued - lgkm > w->lgkm_done)
            w->lgkm_done = w->lgkm_issued - lgkm;
        if (w->vm_done == w->vm_issued && w->lgkm_done == w->lgkm_issued) w->flat_out = 0;
        return;
    }
    int vm =
        in->unit == UNIT_VMEM_LOAD || in->unit == UNIT_VMEM_STORE || in->unit == UNIT_VMEM_LDS || in->unit == UNIT_FLAT;
    int lgkm = in->unit == UNIT_LDS || in->unit == UNIT_SMEM || in->unit == UNIT_FLAT;
    if (vm) w->vm_issued++;
    if (lgkm) w->lgkm_issued++;
    if (in->unit == UNIT_SMEM) w->smem_out = 1;
    if (in->unit == UNIT_FLAT) w->flat_out = 1;
    // The counters have 6 and 4 bits: what would pass 63 or 15 waits for the oldest one. Compilers rely on it.
    if (!w->flat_out && w->vm_issued > w->vm_done + 63) w->vm_done = w->vm_issued - 63;
    if (!w->flat_out && !w->smem_out && w->lgkm_issued > w->lgkm_done + 15) w->lgkm_done = w->lgkm_issued - 15;
    if (!vm && !lgkm) return;
    for (u32 k = in->uses; k < (u32)in->uses + in->defs; k++)
        for (u32 i = in->registers[k].first; i < (u32)in->registers[k].first + in->registers[k].count; i++) {
            if (vm) w->vm_pending[i] = w->vm_issued;
            if (lgkm) w->lgkm_pending[i] = w->lgkm_issued;
        }
}

// Wait states that software must insert around matrix instructions; the clock counts instructions, s_nop n counts n
// + 1. Source: CDNA3 ISA guide, "Required Software-Inserted Wait States"; a pass is 4 clocks, and so is a wait state.
static void hazard(Wave* w, const Ins* in, u32 register_, u32 since, u32 needed) {
    u32 states = w->clock - since;
    if (states < needed) report(w, in, FOUND_HAZARD, 0, register_, needed - states, 0);
}
static u32 after_matrix_write(const MatrixUse* m, const Ins* in, int is_c, int same) {
    int matrix = in->unit == UNIT_MATRIX, xdl = (in->flags & IS_XDL) != 0;
    if (matrix && is_c) {
        if (same)
            return m->dgemm && m->passes == 4 && in->flags & IS_DGEMM && in->passes == 4 ? 4 : m->passes == 2 ? 2 : 0;
        if (m->dgemm) return xdl ? 0 : m->passes == 4 ? 4 : 9;
        if (xdl && !m->xdl) return 0;
        return m->passes + (m->xdl ? 1 : 0);
    }
    if (m->dgemm) {
        int memory = in->unit >= UNIT_LDS && in->unit <= UNIT_FLAT;
        return m->passes == 4 ? (memory ? 9 : 6) : (memory ? 18 : 11);
    }
    return m->passes + (m->xdl ? 3 : 2);
}
static void check_hazards(Wave* w, const Ins* in) {
    int matrix = in->unit == UNIT_MATRIX,
        vector = matrix || in->unit == UNIT_VALU || (in->unit >= UNIT_LDS && in->unit <= UNIT_FLAT);
    if (!vector) return;
    for (u32 k = 0; k < (u32)in->uses + in->defs; k++) {
        Registers r = in->registers[k];
        if (r.first < VGPR) continue;
        int writes = k >= in->uses, is_c = matrix && k == 2 && !writes;
        u32 latest = 0;
        for (u32 i = r.first; i < (u32)r.first + r.count; i++)
            latest = w->last_use[i] > latest ? w->last_use[i] : latest;
        if (!latest || w->clock - latest >= 19) continue;  // no rule asks for more than 19
        for (u32 i = r.first; i < (u32)r.first + r.count; i++) {
            const MatrixUse *m = &w->matrix_write[i], *c = &w->matrix_read[i];
            if (m->when && !(matrix && writes)) {
                u32 needed = after_matrix_write(m, in, is_c, is_c && m->first == r.first && m->count == r.count);
                hazard(w, in, i, m->when, needed);
            }
            if (writes && !matrix && c->when && c->xdl)
                hazard(w, in, i, c->when, c->passes == 2 ? 1 : c->passes == 4 ? 3 : c->passes == 8 ? 7 : 15);
            if (matrix && !writes && w->valu_write[i]) hazard(w, in, i, w->valu_write[i], 2);
            if (in->unit == UNIT_VALU && !writes && !(in->flags & IS_TRANS) && w->trans_write[i])
                hazard(w, in, i, w->trans_write[i], 1);
            if (in->dpp && !writes && k == 0 && w->valu_write[i]) hazard(w, in, i, w->valu_write[i], 2);
        }
    }
}
static void note_hazards(Wave* w, const Ins* in) {
    w->clock++;  // the instruction's own issue
    if (in->unit == UNIT_NOP) w->clock += (u32)in->value[0] & 15;
    if (in->unit != UNIT_MATRIX && in->unit != UNIT_VALU) return;
    for (u32 k = 0; k < (u32)in->uses + in->defs; k++) {
        Registers r = in->registers[k];
        if (r.first < VGPR) continue;
        for (u32 i = r.first; i < (u32)r.first + r.count; i++) {
            if (k >= in->uses || (in->unit == UNIT_MATRIX && k == 2)) w->last_use[i] = w->clock;
            MatrixUse use = {w->clock, in->passes, (in->flags & IS_XDL) != 0, (in->flags & IS_DGEMM) != 0,
                             r.first,  r.count};
            if (k < in->uses) {
                if (in->unit == UNIT_MATRIX && k == 2) w->matrix_read[i] = use;
                continue;
            }
            w->valu_write[i] = in->unit == UNIT_VALU ? w->clock : 0;
            w->trans_write[i] = in->flags & IS_TRANS ? w->clock : 0;
            if (in->unit == UNIT_MATRIX) w->matrix_write[i] = use;
            else w->matrix_write[i].when = 0;
        }
    }
}

static void check_before(Wave* w, const Ins* in) {
    u32 checks = w->launch->checks;
    u64 exec = in->unit == UNIT_MATRIX ? ~0ull : pair(w, EXEC);
    if (in->flags & FIRST_LANE) exec &= 0 - exec;
    for (u32 k = 0; k < (u32)in->uses + in->defs; k++) {
        Registers r = in->registers[k];
        int reads = k < in->uses;
        if (checks & CHECK_WAITS) check_wait(w, in, r, reads);
        if (!(checks & CHECK_UNINITIALISED) || !reads || in->flags & (COPIES | LENIENT)) continue;
        u64 expected = r.first < VGPR ? ~0ull : exec, all = ~0ull;
        for (u32 i = r.first; i < (u32)r.first + r.count; i++) all &= w->written[i];
        if (!(expected & ~all)) continue;
        for (u32 i = r.first; i < (u32)r.first + r.count; i++) {
            u64 missing = expected & ~w->written[i];
            if (!missing) continue;
            report(w, in, FOUND_UNINITIALISED_REGISTER, (u32)__builtin_ctzll(missing), i, 0, 0);
            w->written[i] |= missing;
        }
    }
    if (checks & CHECK_HAZARDS) check_hazards(w, in);
}
static void check_after(Wave* w, const Ins* in, u64 exec) {
    u32 checks = w->launch->checks;
    if (checks & CHECK_HAZARDS) note_hazards(w, in);
    if (!(checks & CHECK_UNINITIALISED)) return;
    for (u32 k = in->uses; k < (u32)in->uses + in->defs; k++)
        for (u32 i = in->registers[k].first; i < (u32)in->registers[k].first + in->registers[k].count; i++)
            w->written[i] |= i < VGPR || in->unit == UNIT_MATRIX ? ~0ull : exec;
    if (in->flags & COPIES && in->uses == 1 && in->defs == 1) {  // a copy of nothing is nothing, and no fault yet
        Registers from = in->registers[0], to = in->registers[1];
        for (u32 i = 0; i < to.count; i++) {
            u64 lanes = to.first < VGPR ? ~0ull : exec, have = w->written[from.first + i];
            if (from.first < VGPR && have != ~0ull) have = 0;
            w->written[to.first + i] = (w->written[to.first + i] & ~lanes) | (have & lanes);
        }
    }
}
