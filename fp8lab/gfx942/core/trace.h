// The trace: what each memory instruction costs the banks and the caches, counted from its real addresses.
#pragma once

enum { BANKS = 32, SECTOR = 32, LINE = 128 };

// LDS has 32 banks of 4 bytes and serves a wave in groups of lanes, one group a clock: 32 lanes for up to 4 bytes each,
// 16 for 8, 8 for 12 and 16. A group takes as many clocks as its busiest bank has different dwords. Groups are lanes in
// a row, except reads of 16 bytes: {0-3, 20-23}, {4-7, 16-19}, {8-11, 28-31}, {12-15, 24-27} and the same plus 32.
// Source: ROCm, Composable Kernel, "Understanding AMD GPU LDS and Bank Conflicts", for 16 bytes. Of 8 and of 12 bytes
// AMD says nothing: lanes in a row, as many as fill the banks once, is our assumption.
static u32 group_of(u32 l, u32 size, int read) {
    if (size <= 4) return l / 32;
    if (size <= 8) return l / 16;
    if (!read || size < 16) return l / 8;
    static const u8 group[8] = {0, 1, 2, 3, 1, 0, 3, 2};  // of four lanes in a row
    return l / 32 * 4 + group[l / 4 % 8];
}

static void trace_lds(Wave* w, const Ins* in, const Access* at, u32 size, Intent intent) {
    Traffic* t = &w->traffic[in - w->launch->program];
    u32 seen[8][BANKS][32];
    u8 count[8][BANKS] = {{0}};
    u32 groups = 0;
    EACH_ACTIVE (at->lanes) {
        u32 g = group_of((u32)l, size, intent == READ), address = (u32)at->device[l];
        groups |= 1u << g;
        for (u32 dword = address / 4; dword <= (address + size - 1) / 4; dword++) {
            u32 bank = dword % BANKS, n = count[g][bank], i = 0;
            while (i < n && seen[g][bank][i] != dword) i++;
            if (i == n && n < 32) seen[g][bank][count[g][bank]++] = dword;
        }
    }
    u32 cycles = 0;
    for (u32 g = 0; g < 8; g++) {
        u32 worst = 0;
        for (u32 b = 0; b < BANKS; b++) worst = count[g][b] > worst ? count[g][b] : worst;
        cycles += worst;
    }
    t->lds_accesses++;
    t->lds_cycles += cycles;
    t->lds_ideal += (u32)__builtin_popcount(groups);
    t->bytes += (u64)size * (u32)__builtin_popcountll(at->lanes);
}

// Global memory: how many different 32-byte sectors and 128-byte lines the lanes touch together. ideal_sectors is what
// the same bytes would need side by side.
static u32 distinct(u64* x, u32 n) {
    u32 kept = 0;
    for (u32 i = 0; i < n; i++) {  // insertion sort: neighbours are nearly always in order already
        u64 v = x[i];
        u32 j = kept;
        while (j > 0 && x[j - 1] > v) j--;
        if (j > 0 && x[j - 1] == v) continue;
        for (u32 k = kept; k > j; k--) x[k] = x[k - 1];
        x[j] = v;
        kept++;
    }
    return kept;
}
static void trace_global(Wave* w, const Ins* in, const Access* at, u32 size) {
    Traffic* t = &w->traffic[in - w->launch->program];
    u64 sectors[2 * LANES], lines[2 * LANES];
    u32 n = 0, lanes = (u32)__builtin_popcountll(at->lanes);
    EACH_ACTIVE (at->lanes) {
        u64 first = at->device[l], last = first + size - 1;
        sectors[n] = first / SECTOR, lines[n++] = first / LINE;
        if (last / SECTOR != first / SECTOR) sectors[n] = last / SECTOR, lines[n++] = last / LINE;
    }
    t->global_accesses++;
    t->sectors += distinct(sectors, n);
    t->lines += distinct(lines, n);
    t->ideal_sectors += ((u64)lanes * size + SECTOR - 1) / SECTOR;
    t->bytes += (u64)lanes * size;
}
