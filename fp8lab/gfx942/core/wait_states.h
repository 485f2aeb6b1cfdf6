// Wait states that software must insert after a vector instruction that writes scalar registers or EXEC, after a write
// of M0 or MODE, and before reads of lanes. Source: CDNA3 ISA guide, "Manually Inserted Wait States"; LLVM,
// GCNHazardRecognizer, whose numbers for gfx942 these are.
#pragma once

enum { SCALAR_WAIT = 5, MODE_NUMBER = 0xffff };  // no rule asks for more; what a report calls MODE

static void hazard(Wave* w, const Ins* in, u32 register_, u32 since, u32 needed) {
    u32 states = w->clock - since;
    if (since && states < needed) report(w, in, FOUND_HAZARD, 0, register_, needed - states, 0);
}

static ALWAYS_INLINE int may_need_wait(const Wave* w, const Ins* in) {
    return w->clock - w->last_set < SCALAR_WAIT || in->flags & READS_LANE;
}
OUT_OF_LINE static void check_scalar_hazards(Wave* w, const Ins* in) {
    int memory = in->unit >= UNIT_VMEM_LOAD && in->unit <= UNIT_FLAT, valu = in->unit == UNIT_VALU;
    if (in->flags & READS_M0) hazard(w, in, M0, w->m0_set, 1);
    if (in->flags & USES_MODE) hazard(w, in, MODE_NUMBER, w->mode_set, 2);
    if (!memory && !valu) return;
    if (in->dpp) hazard(w, in, EXEC, w->exec_set, 5);
    if (in->flags & READS_LANE) hazard(w, in, EXEC, w->exec_set, 4);
    for (u32 k = 0; k < in->uses; k++) {
        Registers r = in->registers[k];
        for (u32 i = r.first; i < (u32)r.first + r.count; i++) {
            if (i >= VGPR) {
                if (valu && i == w->shifted) hazard(w, in, i, w->shift_set, 1);
                if (in->flags & READS_LANE && k == 0) hazard(w, in, i, w->valu_write[i], 1);
                continue;
            }
            int longer = (in->flags & SELECTS_LANE && k == 1) || (in->flags & DIVIDES && i / 2 == VCC / 2);
            hazard(w, in, i, w->valu_write[i], memory ? 5 : longer ? 4 : 2);
        }
    }
}
OUT_OF_LINE static void note_set(Wave* w, const Ins* in) {  // an instruction with SETS_WAIT, at its clock
    w->last_set = w->clock;
    if (in->flags & WRITES_EXEC) w->exec_set = w->clock;
    if (in->flags & USES_MODE) w->mode_set = w->clock;
    if (in->flags & SHIFTS_RESULT) w->shift_set = w->clock, w->shifted = in->d;
    if (in->unit == UNIT_SALU && in->d == M0) w->m0_set = w->clock;
}
