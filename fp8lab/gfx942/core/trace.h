// The trace: what each memory instruction costs the banks and the caches, counted from its real addresses.
#pragma once

enum { BANKS = 32, SECTOR = 32, LINE = 128 };

// LDS has 32 banks of 4 bytes and serves a wave in groups of lanes, one group a clock: 32 lanes for up to 4 bytes each,
// 16 for 8, 8 for 12 and 16. A group takes as many clocks as its busiest bank has different dwords. Groups are lanes in
// a row, except reads of 16 bytes: {0-3, 20-23}, {4-7, 16-19}, {8-11, 28-31}, {12-15, 24-27} and the same plus 32.
// Source: ROCm, Composable Kernel, "Understanding AMD GPU LDS and Bank Conflicts", for 16 bytes. Of 8 and of 12 bytes
// AMD says nothing: lanes in a row, as many as fill the banks once, is our assumption.
static u32 lanes_at_once(u32 size) { return size <= 4 ? 32 : size <= 8 ? 16 : 8; }
// The lane at a place of the order in which lanes are served.
static ALWAYS_INLINE u32 lane_at(u32 place, u32 size, int read) {
    static const u8 quad[8] = {0, 5, 1, 4, 2, 7, 3, 6};  // of four lanes in a row
    return read && size == 16 ? (place & 32) | quad[place / 4 % 8] * 4 | place % 4 : place;
}

// The most different dwords that a group of lanes wants from one bank.
OUT_OF_LINE static u32 busiest_bank(const Access* at, u32 group, u32 size, int read) {
    u32 seen[BANKS][32], worst = 0, together = lanes_at_once(size);
    u8 count[BANKS] = {0};
    for (u32 place = group * together; place < (group + 1) * together; place++) {
        u32 l = lane_at(place, size, read), address = (u32)at->device[l];
        if (!(at->lanes >> l & 1)) continue;
        for (u32 dword = address / 4; dword <= (address + size - 1) / 4; dword++) {
            u32 bank = dword % BANKS, n = count[bank], i = 0;
            while (i < n && seen[bank][i] != dword) i++;
            if (i == n) seen[bank][count[bank]++] = dword;
        }
    }
    for (u32 b = 0; b < BANKS; b++) worst = count[b] > worst ? count[b] : worst;
    return worst;
}
static void trace_lds(Wave* w, const Ins* in, const Access* at, u32 size, Intent intent) {
    Traffic* t = &w->traffic[in - w->launch->program];
    u32 banks[LANES], dwords[LANES], cycles = 0, groups = 0, together = lanes_at_once(size);
    EACH_LANE {  // a bit for each bank that lane l wants
        u32 address = (u32)at->device[l], first = address / 4 % BANKS, n = (address % 4 + size + 3) / 4;
        n = at->lanes >> l & 1 ? n : 0;
        u32 row = (1u << n) - 1;
        banks[l] = row << first | row >> 1 >> (BANKS - 1 - first);  // past the last bank comes the first
        dwords[l] = n;
    }
    for (u32 group = 0; group < LANES / together; group++) {
        u32 wanted = 0, dwords_wanted = 0;
        for (u32 i = 0; i < together; i++) {
            u32 l = lane_at(group * together + i, size, intent == READ);
            wanted |= banks[l], dwords_wanted += dwords[l];
        }
        if (!wanted) continue;
        groups++;
        // as many banks as dwords: one clock; else see whether lanes want the same dwords or different ones of a bank
        cycles += (u32)__builtin_popcount(wanted) == dwords_wanted ? 1 : busiest_bank(at, group, size, intent == READ);
    }
    t->lds_accesses++;
    t->lds_cycles += cycles;
    t->lds_ideal += groups;
    t->bytes += (u64)size * (u32)__builtin_popcountll(at->lanes);
}

// Global memory: how many different 32-byte sectors and 128-byte lines the lanes touch together. ideal_sectors is what
// the same bytes would need side by side; no more than were touched, where lanes share bytes.
typedef struct {
    u64 slot[256];  // a hash table of number + 1, twice as large as it can get full
    u32 count;
} Set;
static void add(Set* set, u64 number) {
    u32 i = (u32)(number * 0x9e3779b97f4a7c15ull >> 56);
    while (set->slot[i] && set->slot[i] != number + 1) i = (i + 1) % 256;
    set->count += !set->slot[i];
    set->slot[i] = number + 1;
}
static void trace_global(Wave* w, const Ins* in, const Access* at, u32 size) {
    Traffic* t = &w->traffic[in - w->launch->program];
    u32 lanes = 0;
    Set sectors = {0}, lines = {0};
    u64 previous = ~0ull;
    EACH_ACTIVE (at->lanes) {
        if (!at->host[l]) continue;  // out of bounds
        lanes++;
        u64 first = at->device[l] / SECTOR, last = (at->device[l] + size - 1) / SECTOR;
        if (first != previous) add(&sectors, first), add(&lines, first / (LINE / SECTOR));
        if (last != first) add(&sectors, last), add(&lines, last / (LINE / SECTOR));
        previous = last;
    }
    u64 ideal = ((u64)lanes * size + SECTOR - 1) / SECTOR;
    t->global_accesses++;
    t->sectors += sectors.count;
    t->lines += lines.count;
    t->ideal_sectors += ideal < sectors.count ? ideal : sectors.count;
    t->bytes += (u64)lanes * size;
}
