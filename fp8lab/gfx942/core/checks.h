// Checks of registers, round each instruction: waits, registers that were never written, wait states. Nothing here
// changes a result; report() notes what was wrong and where.
//
// Most registers that an instruction touches have nothing about them: they are written, no load into them is under way,
// no matrix instruction was near. So each register has a byte, `watch`, that says what there might be; if the bytes of
// all of an instruction's registers are 0, it is done. A bit may be out of date, and goes when a closer look finds so.
#pragma once

#include "wait_states.h"

enum { LOADING = 1, UNWRITTEN = 2, NEAR_MATRIX = 4 };

// The bytes of registers one over the other, eight at a time.
static ALWAYS_INLINE u64 watch_of(const Wave* w, Registers r) {
    const u8* watch = w->watch + r.first;
    u64 seen = 0;
    for (i32 left = r.count; left > 0; left -= 8, watch += 8) {
        u64 bytes;
        memcpy(&bytes, watch, 8);
        seen |= left >= 8 ? bytes : bytes & ((1ull << 8 * left) - 1);
    }
    return seen;
}
static ALWAYS_INLINE int sees(u64 seen, u64 bit) { return (seen & bit * 0x0101010101010101ull) != 0; }
static ALWAYS_INLINE u32 end_of(Registers r) { return (u32)r.first + r.count; }

// --- waits ---
//
// Counters, as s_waitcnt sees them: vector memory returns in order; LDS returns in order; scalar loads do not, so with
// one outstanding only lgkmcnt(0) proves anything. Source: CDNA3 ISA guide, "Data Dependency Resolution".
static void check_wait(Wave* w, const Ins* in, Registers r, int reads) {
    u32 vm_in_order = !reads && in->unit == UNIT_VMEM_LOAD, lgkm_in_order = !reads && in->unit == UNIT_LDS;
    for (u32 i = r.first; i < end_of(r); i++) {
        if (!(w->watch[i] & LOADING)) continue;
        if (w->vm_pending[i] > w->vm_done && !vm_in_order) {
            report(w, in, FOUND_MISSING_WAIT, 0, i, 0, 0);
            w->vm_pending[i] = 0;
        }
        if (w->lgkm_pending[i] > w->lgkm_done && !lgkm_in_order) {
            report(w, in, FOUND_MISSING_WAIT, 0, i, 0, 1);
            w->lgkm_pending[i] = 0;
        }
        if (w->vm_pending[i] <= w->vm_done && w->lgkm_pending[i] <= w->lgkm_done) w->watch[i] &= ~LOADING;
    }
}

OUT_OF_LINE static void wait_for_counters(Wave* w, const Ins* in) {
    u32 x = (u32)in->value[0], vm = (x & 15) | (x >> 10 & 0x30), lgkm = x >> 8 & 15;
    if (w->flat_out && vm != 0) vm = 63;
    if (w->vm_issued > vm && w->vm_issued - vm > w->vm_done && vm != 63) w->vm_done = w->vm_issued - vm;
    if (lgkm == 0) w->lgkm_done = w->lgkm_issued, w->smem_out = 0;
    else if (lgkm != 15 && !w->smem_out && !w->flat_out && w->lgkm_issued > lgkm &&
             w->lgkm_issued - lgkm > w->lgkm_done)
        w->lgkm_done = w->lgkm_issued - lgkm;
    if (w->vm_done == w->vm_issued && w->lgkm_done == w->lgkm_issued) w->flat_out = 0;
}
OUT_OF_LINE static void count_access(Wave* w, const Ins* in) {
    int lgkm = in->unit == UNIT_LDS || in->unit == UNIT_SMEM || in->unit == UNIT_FLAT,
        vm = in->unit != UNIT_LDS && in->unit != UNIT_SMEM;
    if (vm) w->vm_issued++;
    if (lgkm) w->lgkm_issued++;
    if (in->unit == UNIT_SMEM) w->smem_out = 1;
    if (in->unit == UNIT_FLAT) w->flat_out = 1;
    // The counters have 6 and 4 bits: what would pass 63 or 15 waits for the oldest one. Compilers rely on it.
    if (!w->flat_out && w->vm_issued > w->vm_done + 63) w->vm_done = w->vm_issued - 63;
    if (!w->flat_out && !w->smem_out && w->lgkm_issued > w->lgkm_done + 15) w->lgkm_done = w->lgkm_issued - 15;
    for (u32 k = in->uses; k < (u32)in->uses + in->defs; k++)
        for (u32 i = in->registers[k].first; i < end_of(in->registers[k]); i++) {
            if (vm) w->vm_pending[i] = w->vm_issued;
            if (lgkm) w->lgkm_pending[i] = w->lgkm_issued;
            w->watch[i] |= LOADING;
        }
}
static ALWAYS_INLINE void count_waits(Wave* w, const Ins* in) {
    if (in->unit == UNIT_WAIT) wait_for_counters(w, in);
    else if (in->unit >= UNIT_LDS && in->unit <= UNIT_SMEM) count_access(w, in);
}

// --- registers that were never written ---
static void check_written(Wave* w, const Ins* in, Registers r, u64 exec) {
    u64 expected = r.first < VGPR ? ~0ull : exec;
    for (u32 i = r.first; i < end_of(r); i++) {
        u64 missing = w->watch[i] & UNWRITTEN ? expected & ~w->written[i] : 0;
        if (!missing) continue;
        report(w, in, FOUND_UNINITIALISED_REGISTER, (u32)__builtin_ctzll(missing), i, 0, 0);
        w->written[i] |= missing;
        if (w->written[i] == ~0ull) w->watch[i] &= ~UNWRITTEN;
    }
}
OUT_OF_LINE static void note_written(Wave* w, const Ins* in, u64 exec) {
    u64 lanes = in->unit == UNIT_MATRIX ? ~0ull : exec;
    for (u32 k = in->uses; k < (u32)in->uses + in->defs; k++)
        for (u32 i = in->registers[k].first; i < end_of(in->registers[k]); i++)
            w->written[i] |= i < VGPR ? ~0ull : lanes;
    if (in->flags & COPIES && in->uses == 1 && in->defs == 1) {  // a copy of nothing is nothing, and no fault yet
        Registers from = in->registers[0], to = in->registers[1];
        for (u32 i = 0; i < to.count; i++) {
            u64 copied = to.first < VGPR ? ~0ull : exec, have = w->written[from.first + i];
            if (from.first < VGPR && have != ~0ull) have = 0;
            w->written[to.first + i] = (w->written[to.first + i] & ~copied) | (have & copied);
        }
    }
    for (u32 k = in->uses; k < (u32)in->uses + in->defs; k++)
        for (u32 i = in->registers[k].first; i < end_of(in->registers[k]); i++)
            w->watch[i] = (u8)((w->watch[i] & ~UNWRITTEN) | (w->written[i] == ~0ull ? 0 : UNWRITTEN));
}

// --- wait states that software must insert around matrix instructions ---
//
// The clock counts instructions, s_nop n counts n + 1. Source: CDNA3 ISA guide, "Required Software-Inserted Wait
// States"; a pass is 4 clocks, and so is a wait state. No rule asks for more than 19.
enum { LONGEST_WAIT = 19 };

static u32 after_matrix_write(const Ins* m, const Ins* in, int is_c, int same) {
    int matrix = in->unit == UNIT_MATRIX, xdl = (in->flags & IS_XDL) != 0, m_xdl = (m->flags & IS_XDL) != 0;
    if (matrix && is_c) {
        if (same)
            return m->flags & IS_DGEMM && m->passes == 4 && in->flags & IS_DGEMM && in->passes == 4 ? 4
                   : m->passes == 2                                                                 ? 2
                                                                                                    : 0;
        if (m->flags & IS_DGEMM) return xdl ? 0 : m->passes == 4 ? 4 : 9;
        if (xdl && !m_xdl) return 0;
        return m->passes + (m_xdl ? 1 : 0);
    }
    if (m->flags & IS_DGEMM) {
        int memory = in->unit >= UNIT_LDS && in->unit <= UNIT_FLAT;
        return m->passes == 4 ? (memory ? 9 : 6) : (memory ? 18 : 11);
    }
    return m->passes + (m_xdl ? 3 : 2);
}
static u32 after_matrix_read(const Ins* m) {  // as C
    if (!(m->flags & IS_XDL)) return 0;
    return m->passes == 2 ? 1 : m->passes == 4 ? 3 : m->passes == 8 ? 7 : 15;
}
static int is_recent(const Wave* w, u32 when) { return when && w->clock - when < LONGEST_WAIT; }
// The matrix instruction that was issued at a recent time, and the registers it wrote.
static const Ins* matrix_at(const Wave* w, u32 when) { return w->recent_matrix[when % 32]; }
static u32 needed_after_write(const Wave* w, const Ins* in, u32 when, Registers r, int is_c) {
    const Ins* m = matrix_at(w, when);
    Registers d = m->registers[m->uses];
    return after_matrix_write(m, in, is_c, is_c && d.first == r.first && d.count == r.count);
}

// A whole operand of registers that one matrix instruction wrote, long enough ago: accumulators, mostly.
static int is_at_rest(const Wave* w, const Ins* in, Registers r, int is_c) {
    if (!sees(watch_of(w, r), NEAR_MATRIX) && w->clock - w->last_valu >= 2) return 1;
    u32 when = w->matrix_write[r.first], differ = 0, youngest_write = 0;
    for (u32 i = r.first; i < end_of(r); i++) {
        differ |= w->matrix_write[i] ^ when;
        youngest_write = w->valu_write[i] > youngest_write ? w->valu_write[i] : youngest_write;
    }
    if (differ || (youngest_write && w->clock - youngest_write < 2)) return 0;
    return !is_recent(w, when) || w->clock - when >= needed_after_write(w, in, when, r, is_c);
}
OUT_OF_LINE static void check_hazards(Wave* w, const Ins* in) {
    int matrix = in->unit == UNIT_MATRIX;
    for (u32 k = 0; k < (u32)in->uses + in->defs; k++) {
        Registers r = in->registers[k];
        int writes = k >= in->uses, is_c = matrix && k == 2 && !writes;
        if (r.first < VGPR || (matrix && (writes || is_at_rest(w, in, r, is_c)))) continue;
        for (u32 i = r.first; i < end_of(r); i++) {
            u32 wrote = w->matrix_write[i], read = w->matrix_read[i], valu = w->valu_write[i];
            int recently_wrote = is_recent(w, wrote), recently_read = is_recent(w, read);
            if (recently_wrote) hazard(w, in, i, wrote, needed_after_write(w, in, wrote, r, is_c));
            if (writes && recently_read) hazard(w, in, i, read, after_matrix_read(matrix_at(w, read)));
            if (matrix && valu) hazard(w, in, i, valu, 2);
            if (in->unit == UNIT_VALU && !writes && !(in->flags & IS_TRANS) && w->trans_write[i])
                hazard(w, in, i, w->trans_write[i], 1);
            if (in->dpp && k == 0 && !writes && valu) hazard(w, in, i, valu, 2);
            if (!recently_wrote && !recently_read) w->watch[i] &= ~NEAR_MATRIX;
        }
    }
}
// Two rules are not about matrix results and look back two wait states at most: of what a vector instruction wrote, and
// what a transcendental one did.
static ALWAYS_INLINE int may_be_hazard(const Wave* w, const Ins* in, u64 seen) {
    if (in->unit == UNIT_VALU)
        return sees(seen, NEAR_MATRIX) || w->last_trans == w->clock || (in->dpp && w->clock - w->last_valu < 2);
    if (in->unit == UNIT_MATRIX) return sees(seen, NEAR_MATRIX) || w->clock - w->last_valu < 2;
    return in->unit >= UNIT_LDS && in->unit <= UNIT_FLAT && sees(seen, NEAR_MATRIX);
}

OUT_OF_LINE static void note_matrix(Wave* w, const Ins* in) {
    u32 now = w->clock;
    w->recent_matrix[now % 32] = in;
    Registers c = in->registers[2], d = in->registers[in->uses];
    for (u32 i = c.first; c.first >= VGPR && i < end_of(c); i++) w->matrix_read[i] = now, w->watch[i] |= NEAR_MATRIX;
    for (u32 i = d.first; i < end_of(d); i++) {
        w->matrix_write[i] = now, w->watch[i] |= NEAR_MATRIX;
        w->valu_write[i] = w->trans_write[i] = 0;
    }
}
static ALWAYS_INLINE void note_hazards(Wave* w, const Ins* in) {
    w->clock++;  // the instruction's own issue
    if (in->unit == UNIT_NOP) w->clock += (u32)in->value[0] & 15;
    if (in->flags & SETS_WAIT) note_set(w, in);
    if (in->unit == UNIT_MATRIX) note_matrix(w, in);
    if (in->unit != UNIT_VALU) return;
    w->last_valu = w->clock;
    if (in->flags & IS_TRANS) w->last_trans = w->clock;
    for (u32 k = in->uses; k < (u32)in->uses + in->defs; k++)
        for (u32 i = in->registers[k].first; i < end_of(in->registers[k]); i++) {
            w->valu_write[i] = w->clock, w->matrix_write[i] = 0;
            w->trans_write[i] = in->flags & IS_TRANS ? w->clock : 0;
        }
}

// --- round each instruction ---
OUT_OF_LINE static void look_closer(Wave* w, const Ins* in, u64 exec) {
    if (in->unit == UNIT_MATRIX) exec = ~0ull;
    if (in->flags & FIRST_LANE) exec &= 0 - exec;
    for (u32 k = 0; k < (u32)in->uses + in->defs; k++) {
        int reads = k < in->uses;
        check_wait(w, in, in->registers[k], reads);
        if (reads && !(in->flags & (COPIES | LENIENT))) check_written(w, in, in->registers[k], exec);
    }
}
// Returns what check_after() has to know.
static ALWAYS_INLINE u64 check_before(Wave* w, const Ins* in, u64 exec) {
    u64 seen = 0;
    for (u32 k = 0; k < (u32)in->uses + in->defs; k++) seen |= watch_of(w, in->registers[k]);
    if (sees(seen, LOADING | UNWRITTEN)) look_closer(w, in, exec);
    if (may_be_hazard(w, in, seen)) check_hazards(w, in);
    if (may_need_wait(w, in)) check_scalar_hazards(w, in);
    count_waits(w, in);
    return seen;
}
static ALWAYS_INLINE void check_after(Wave* w, const Ins* in, u64 exec, u64 seen) {
    note_hazards(w, in);
    if (sees(seen, UNWRITTEN)) note_written(w, in, exec);
}
