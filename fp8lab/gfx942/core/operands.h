// Operands: how a meaning gets its sources and where its result goes. The fast path is a pointer to 64 lanes; the slow
// one applies what the instruction or MODE asks for: neg, abs, SDWA and op_sel selections, DPP, denormal flushing.
#pragma once
#include "formats.h"

// --- scalar ---
static inline u32 scalar_u32(const Wave* w, const Ins* in, u32 k) {
    u32 s = in->src[k];
    if (s < 128) return w->s[s];
    if (s == SCC) return w->scc;
    if (s == VCCZ) return pair(w, VCC) == 0;
    if (s == EXECZ) return pair(w, EXEC) == 0;
    return (u32)in->value[k];
}
static inline u64 scalar_u64(const Wave* w, const Ins* in, u32 k) {
    u32 s = in->src[k];
    if (s < 127) return pair(w, s);
    return s == CONSTANT ? in->value[k] : scalar_u32(w, in, k);
}
static inline void put_scalar(Wave* w, const Ins* in, u32 x) { w->s[in->d] = x; }

// --- vector sources ---
static int dpp_source(u32 control, u32 l) {  // the lane that lane l reads, or -1
    u32 row = l & ~15u, at = l & 15, n = control & 15;
    if (control < 0x100) return (int)((l & ~3u) | (control >> 2 * (l & 3) & 3));
    switch (control >> 4) {
        case 0x10: return at + n < 16 ? (int)(l + n) : -1;  // row_shl
        case 0x11: return at >= n ? (int)(l - n) : -1;      // row_shr
        case 0x12: return (int)(row | ((at - n) & 15));     // row_ror
        case 0x15: return (int)(row | n);                   // row_newbcast
    }
    switch (control) {
        case 0x130: return l < 63 ? (int)l + 1 : -1;    // wave_shl
        case 0x134: return (int)((l + 1) & 63);         // wave_rol
        case 0x138: return (int)l - 1;                  // wave_shr
        case 0x13c: return (int)((l - 1) & 63);         // wave_ror
        case 0x140: return (int)(row | (15 - at));      // row_mirror
        case 0x141: return (int)(l ^ 7);                // row_half_mirror
        case 0x142: return l < 16 ? -1 : (int)row - 1;  // row_bcast:15
        case 0x143: return l < 32 ? -1 : 31;            // row_bcast:31
    }
    return -1;
}

static void dpp_fetch(Wave* w, const Ins* in, const u32* from, u32* to, u32 words) {
    u64 exec = pair(w, EXEC);
    w->write_mask = 0;
    for (u32 l = 0; l < LANES; l++) {
        int s = dpp_source(in->dpp_ctrl, l);
        int valid = s >= 0 && (exec >> s & 1);
        for (u32 i = 0; i < words; i++) to[i * LANES + l] = valid ? from[i * LANES + (u32)s] : 0;
        int enabled = (in->row_mask >> (l >> 4) & 1) && (in->bank_mask >> (l >> 2 & 3) & 1);
        if (enabled && (valid || in->bound_ctrl)) w->write_mask |= 1ull << l;
    }
}

static u32 select_part(u32 x, u32 select, int sext) {  // SDWA: 0-3 a byte, 4-5 a half, 6 all
    if (select == 6) return x;
    u32 width = select < 4 ? 8 : 16, shift = select < 4 ? 8 * select : 16 * (select - 4);
    x = x << (32 - width - shift);
    return sext ? (u32)((i32)x >> (32 - width)) : x >> (32 - width);
}

static u32 flush(u32 x) { return (x & 0x7f800000) ? x : x & 0x80000000; }
static int keeps_denormals(const Wave* w, u32 kind, u32 direction) {  // direction 0: inputs, 1: results
    return w->mode >> (kind == FLOAT32 ? 4 : 6) >> direction & 1;
}

OUT_OF_LINE static const u32* vector_source_slow(Wave* w, const Ins* in, u32 k) {
    u32 s = in->src[k], words = in->kind[k] >> 7 ? 2 : 1, kind = in->kind[k] & 127;
    u32* to = w->operand[k];
    const u32* from = to;
    if (s >= VGPR) from = w->v[s - VGPR];
    else if (s == CONSTANT) from = in->splat[k];
    else {
        u32 lo = scalar_u32(w, in, k), hi = s < 127 && words == 2 ? w->s[s + 1] : 0;
        EACH_LANE
            to[l] = lo;
        if (words == 2)
            EACH_LANE
                to[LANES + l] = hi;
    }
    if (!((in->fancy | w->force) >> k & 1)) return from;
    if (in->dpp && k == 0) dpp_fetch(w, in, from, to, words);
    else if (from != to) memcpy(to, from, words * sizeof(u32) * LANES);
    u32 select = in->sdwa >> k & 1 ? in->src_sel[k & 1] : 6;
    if (select != 6)
        for (u32 l = 0; l < LANES; l++) to[l] = select_part(to[l], select, in->sext >> k & 1);
    u32* top = words == 2 ? to + LANES : to;
    if (w->force && kind >= FLOAT16 && kind <= FLOAT64 && !keeps_denormals(w, kind, 0)) {
        if (kind == FLOAT32)
            EACH_LANE
                to[l] = flush(to[l]);
        if (kind == FLOAT16)
            EACH_LANE
                to[l] = to[l] & 0x7c00 ? to[l] : to[l] & 0x8000;
        if (kind == FLOAT64)
            for (u32 l = 0; l < LANES; l++)
                if (!(top[l] & 0x7ff00000)) top[l] &= 0x80000000, to[l] = 0;
    }
    u32 sign = kind == FLOAT16 || kind == SIGN16 ? 0x8000 : 0x80000000;
    if (in->abs >> k & 1)
        EACH_LANE
            top[l] &= ~sign;
    if (in->neg >> k & 1)
        EACH_LANE
            top[l] ^= sign;
    return to;
}
static inline const u32* vector_source(Wave* w, const Ins* in, u32 k) {
    u32 s = in->src[k];
    if (!((in->fancy | w->force) >> k & 1)) {
        if (s >= VGPR) return w->v[s - VGPR];
        if (s == CONSTANT) return in->splat[k];
    }
    return vector_source_slow(w, in, k);
}

// One half of a packed float32 source: a register of a pair, chosen by op_sel (first half) or op_sel_hi, with its sign.
OUT_OF_LINE static const u32* packed_source(Wave* w, const Ins* in, u32 k, u32 half, u32* room) {
    u32 s = in->src[k], which = (half ? in->op_sel_hi : in->op_sel) >> k & 1,
        flip = (half ? in->neg_hi : in->neg) >> k & 1;
    const u32* from = room;
    if (s >= VGPR) from = w->v[s - VGPR + which];
    else {
        u32 x = s == CONSTANT ? (u32)in->value[k] : w->s[s + which];
        EACH_LANE
            room[l] = x;
    }
    u32 flushes = w->force && (in->kind[k] & 127) == FLOAT32 && !keeps_denormals(w, FLOAT32, 0);
    if (!flip && !flushes) return from;
    u32 sign = flip ? 0x80000000 : 0;
    EACH_LANE
        room[l] = from[l] ^ sign;
    if (flushes)
        EACH_LANE
            room[l] = flush(room[l]);
    return room;
}
// A source of the mixed-precision fma: float32, or a float16 half turned into float32.
OUT_OF_LINE static const u32* mix_source(Wave* w, const Ins* in, u32 k) {
    u32* to = w->operand[k];
    u32 s = in->src[k], is_half = in->op_sel_hi >> k & 1, shift = in->op_sel >> k & 1 ? 16 : 0;
    for (u32 l = 0; l < LANES; l++) {
        u32 x = s >= VGPR ? w->v[s - VGPR][l] : scalar_u32(w, in, k);
        if (is_half) x = bits_f32(f32_from_f16(x >> shift & 0xffff));
        if (in->abs >> k & 1) x &= 0x7fffffff;
        to[l] = in->neg >> k & 1 ? x ^ 0x80000000 : x;
    }
    return to;
}

// --- results ---
static inline u32* destination(Wave* w, const Ins* in) {
    return pair(w, EXEC) == ~0ull && !(in->fancy_result | w->force) ? w->v[in->d - VGPR] : w->result[0];
}

static float scale_and_clamp(const Ins* in, float x) {
    static const float factor[4] = {1, 2, 4, 0.5f};
    x *= factor[in->omod];
    return !in->clamp ? x : !(x > 0) ? 0 : x > 1 ? 1 : x;  // NaN becomes 0 (DX10_CLAMP)
}

OUT_OF_LINE static void finish_slow(Wave* w, const Ins* in, u32 words) {
    u32 kind = in->result_kind;
    u64 mask = pair(w, EXEC);
    if (in->dpp) mask &= w->write_mask;
    if (kind != BITS && (in->omod || in->clamp)) {
        for (u32 l = 0; l < LANES; l++) {
            u32* r = &w->result[0][l];
            if (kind == FLOAT32)
                for (u32 i = 0; i < words; i++) r[i * LANES] = bits_f32(scale_and_clamp(in, as_f32(r[i * LANES])));
            else if (kind == FLOAT16 && in->result_words == 3)  // packed
                r[0] = f16_from_f32(scale_and_clamp(in, f32_from_f16(r[0] & 0xffff))) |
                       f16_from_f32(scale_and_clamp(in, f32_from_f16(r[0] >> 16))) << 16;
            else if (kind == FLOAT16) r[0] = f16_from_f32(scale_and_clamp(in, f32_from_f16(r[0] & 0xffff)));
            else {
                static const double factor[4] = {1, 2, 4, 0.5};
                double x = as_f64((u64)r[0] | (u64)r[LANES] << 32) * factor[in->omod];
                if (in->clamp) x = !(x > 0) ? 0 : x > 1 ? 1 : x;
                r[0] = (u32)bits_f64(x), r[LANES] = (u32)(bits_f64(x) >> 32);
            }
        }
    }
    if (w->force && kind != BITS && !keeps_denormals(w, kind, 1)) {
        for (u32 l = 0; l < LANES; l++) {
            u32* r = &w->result[0][l];
            if (kind == FLOAT32)
                for (u32 i = 0; i < words; i++) r[i * LANES] = flush(r[i * LANES]);
            else if (kind == FLOAT16)
                r[0] &= (r[0] & 0x7c00 ? 0xffff : 0x8000) | (r[0] & 0x7c000000 ? 0xffff0000 : 0x80000000);
            else if (!(r[LANES] & 0x7ff00000)) r[0] = 0, r[LANES] &= 0x80000000;
        }
    }
    u32(*d)[LANES] = &w->v[in->d - VGPR];
    u32 select = in->sdwa & 0x80 ? in->dst_sel : 6;
    u32 width = select < 4 ? 8 : 16, shift = select < 4 ? 8 * select : 16 * (select & 1);
    u32 field = select == 6 ? ~0u : ((1u << width) - 1) << shift;
    EACH_ACTIVE (mask) {
        u32 x = w->result[0][l], old = d[0][l];
        if (in->flags & DST_HIGH) x = (old & 0xffff) | x << 16;
        else if (in->keep_high) x = (old & 0xffff0000) | (x & 0xffff);
        if (select != 6) {
            u32 part = x << shift & field, rest = 0;
            if (in->dst_unused == 2) rest = old & ~field;
            if (in->dst_unused == 1 && part >> (shift + width - 1) & 1)
                rest = shift + width < 32 ? ~0u << (shift + width) : 0;
            x = part | rest;
        }
        d[0][l] = x;
        for (u32 i = 1; i < words; i++) d[i][l] = w->result[i][l];
    }
}
static inline void finish(Wave* w, const Ins* in, const u32* written, u32 words) {
    if (written == w->result[0]) finish_slow(w, in, words);
}

// A bit a lane: pack 64 bytes of 0 or 1, keep the active lanes. The multiplication gathers eight bytes' low bits.
static inline u64 pack_mask(const u8* bits) {
    u64 mask = 0;
    for (u32 i = 0; i < 8; i++) {
        u64 x;
        memcpy(&x, bits + 8 * i, 8);
        mask |= (x * 0x0102040810204080ull >> 56) << 8 * i;
    }
    return mask;
}
// Lanes that DPP leaves out give 0, as those that EXEC leaves out do.
OUT_OF_LINE static void put_mask(Wave* w, const Ins* in, u32 r, const u8* bits) {
    set_pair(w, r, pack_mask(bits) & pair(w, EXEC) & (in->dpp ? w->write_mask : ~0ull));
}
