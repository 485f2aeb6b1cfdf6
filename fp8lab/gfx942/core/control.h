// What control rows call: branches, jumps, hardware registers, messages, traps.
#pragma once
#include "operands.h"

static inline void branch(Wave* w, const Ins* in) { w->pc = &w->launch->program[in->target]; }
static inline u64 address_after(const Wave* w, const Ins* in) { return w->launch->code_base + in->address + in->size; }

static void jump(Wave* w, u64 address) {
    u64 at = address - w->launch->code_base;
    u32 index = at / 4 < w->launch->code_words && !(at & 3) ? w->launch->code_index[at / 4] : NONE32;
    if (index == NONE32) report(w, w->pc - 1, FOUND_BAD_JUMP, 0, address, 0, 0);
    else w->pc = &w->launch->program[index];
}

static void undefined(Wave* w, const Ins* in) { report(w, in, FOUND_UNSUPPORTED, 0, in->address, 0, 1); }
static void trap(Wave* w, const Ins* in) { report(w, in, FOUND_TRAP, 0, in->value[0], 0, 0); }
static void send_message(Wave* w, const Ins* in) {
    if ((in->value[0] & 15) != 1 && (in->value[0] & 15) != 3) return;  // 1 interrupt: nobody listens; 3 deallocates
    (void)w;
}

// --- hardware registers: MODE is real, the others say who and where the wave is ---
static void mode_changed(Wave* w) { w->force = (w->mode & 0xf0) == 0xf0 ? 0 : 0xff; }

static u32 hardware_register(const Wave* w, u32 which) {
    switch (which) {
        case 1: return w->mode;
        case 4: return w->id & 15;                          // HW_ID: wave slot; one compute unit, one SIMD
        case 5: return 0;                                   // GPR_ALLOC
        case 6: return (w->launch->lds_bytes / 512) << 12;  // LDS_ALLOC
        case 15: return 0x00020001;                         // SH_MEM_BASES: private and shared apertures
        case 20: return w->group->linear % 8;               // XCC_ID: workgroups go round the eight XCDs
    }
    return 0;
}
static u32 get_hardware_register(Wave* w, u32 immediate) {
    u32 low = immediate >> 6 & 31, width = (immediate >> 11 & 31) + 1;
    return (u32)field_u64(hardware_register(w, immediate & 63), low, width);
}
static void set_hardware_register(Wave* w, u32 immediate, u32 x) {
    u32 which = immediate & 63, low = immediate >> 6 & 31, width = (immediate >> 11 & 31) + 1;
    u32 mask = (width == 32 ? ~0u : (1u << width) - 1) << low;
    if (which != 1) {
        report(w, w->pc - 1, FOUND_UNSUPPORTED, 0, which, 0, 2);
        return;
    }
    w->mode = (w->mode & ~mask) | (x << low & mask);
    mode_changed(w);
    w->state = YIELDED;  // the loop that runs the wave depends on MODE: choose again
}

// --- dynamic register indices: M0 holds the index (bits 0-7) and what it applies to (bits 12-15) ---
static void set_index(Wave* w, u32 index, u32 applies) {
    w->s[M0] = (w->s[M0] & 0xffff0f00) | (index & 255) | (applies & 15) << 12;
    w->indexed = applies & 15;
    w->state = YIELDED;  // choose the loop again: only the careful one adds indices
}
