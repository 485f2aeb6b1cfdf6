// Matrix instructions: D = A * B + C for the wave. dot.h has the arithmetic of an element and its source; here is where
// elements lie, what the modifiers move, and which elements of B a sparse A meets. EXEC plays no part.
#pragma once
#include "fp8.h"

// Where element (i, j) of block b of D and C lies. Source: CDNA3 ISA guide, "Matrix Arithmetic Instructions".
static inline void place_d(const Shape* s, int b, int i, int j, int* reg, int* lane) {
    if (s->d == TYPE_F64) {  // rows are dealt to lane groups one by one
        if (s->blocks == 1) *reg = 2 * (i / 4), *lane = j + 16 * (i % 4);
        else *reg = 0, *lane = j + 4 * b + 16 * i;
        return;
    }
    int groups = LANES / s->m, strip = i / 4 + s->m / 4 * b;  // strips of four rows, dealt to lane groups in turn
    *reg = 4 * (strip / groups) + i % 4;
    *lane = j + s->m * (strip % groups);
}
// Where element (i, k) of block b of A (or (k, i) of B) lies: a lane, and the number of the element within the lane.
static inline void place_a(const Shape* s, int b, int i, int k, int* element, int* lane) {
    int per_lane = s->m * s->k * s->blocks / LANES, groups = s->k / per_lane;
    *element = k % per_lane;
    if (s->d == TYPE_F64 && s->blocks > 1) *lane = i + s->m * b + s->m * s->blocks * k;
    else *lane = i + s->m * (k / per_lane + groups * b);
}

// --- the other types, element by element ---
static u64 element_bits(Rows v, int type, int element, int lane) {
    int bytes = type_bytes[type];
    if (bytes == 8) return (u64)v[2 * element][lane] | (u64)v[2 * element + 1][lane] << 32;
    if (bytes == 4) return v[element][lane];
    int each = 4 / bytes;
    return v[element / each][lane] >> 8 * bytes * (element % each) & (bytes == 2 ? 0xffff : 0xff);
}
static const int group_of_type[] = {1, 1, 1, 4, 8, 8, 1, 16, 16};  // of k: how many products are added at once

static void dense(const Shape* s, Rows va, Rows vb, u32 (*d)[LANES]) {
    int group = group_of_type[s->a] < s->k ? group_of_type[s->a] : s->k,
        fraction = fraction_bits[s->a] + fraction_bits[s->b];
    u64 a_bits[32][32], b_bits[32][32];
    Number a[32][32], b[32][32];
    for (int block = 0; block < s->blocks; block++) {
        for (int i = 0; i < s->m; i++)
            for (int k = 0; k < s->k; k++) {
                int element, lane;
                place_a(s, block, i, k, &element, &lane);
                a_bits[i][k] = element_bits(va, s->a, element, lane),
                b_bits[i][k] = element_bits(vb, s->b, element, lane);
                if (fraction) a[i][k] = number(s->a, (u32)a_bits[i][k]), b[i][k] = number(s->b, (u32)b_bits[i][k]);
            }
        for (int i = 0; i < s->m; i++)
            for (int j = 0; j < s->m; j++) {
                int reg, lane;
                place_d(s, block, i, j, &reg, &lane);
                u32* c = &d[reg][lane];
                if (s->d == TYPE_F64) {
                    double x = as_f64((u64)c[0] | (u64)c[LANES] << 32);
                    for (int k = 0; k < s->k; k++) x = fma(as_f64(a_bits[i][k]), as_f64(b_bits[j][k]), x);
                    c[0] = (u32)bits_f64(x), c[LANES] = (u32)(bits_f64(x) >> 32);
                } else if (s->d == TYPE_I32) {
                    for (int k = 0; k < s->k; k++) *c += (u32)((i32)(i8)a_bits[i][k] * (i8)b_bits[j][k]);
                } else if (s->a == TYPE_F32) {
                    float x = as_f32(*c);
                    for (int k = 0; k < s->k; k++) x = fmaf(as_f32((u32)a_bits[i][k]), as_f32((u32)b_bits[j][k]), x);
                    *c = bits_f32(x);
                } else {
                    for (int k = 0; k < s->k; k += group)
                        *c = fused_dot(&a[i][k], &b[j][k], group, fraction, s->a >= TYPE_FP8, *c);
                }
            }
    }
}

// Sparse: of every four elements of A along k, two are stored, each with the two bits of its place among the four, in
// the index register of the same lane. So row i of A picks half of B's rows, and from there on it is a dense product
// of depth k / 2. That the picked products are grouped as a dense instruction's is our assumption: no source says.
static void sparse(const Shape* s, Rows va, Rows vb, const u32* index, u32 set, u32 (*d)[LANES]) {
    int kept = s->k / 2, in_lane = s->m * kept / LANES, fraction = fraction_bits[s->a] + fraction_bits[s->b];
    int group = group_of_type[s->a];
    Shape half = *s;
    half.k = kept;
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->m; j++) {
            int reg, lane;
            place_d(s, 0, i, j, &reg, &lane);
            u32* c = &d[reg][lane];
            Number a[32], b[32];
            for (int n = 0; n < kept; n++) {
                int a_element, a_lane, b_element, b_lane;
                place_a(&half, 0, i, n, &a_element, &a_lane);
                u32 of_four = index[a_lane] >> (2 * (u32)in_lane * set + 2 * (u32)a_element) & 3;
                place_a(s, 0, j, 4 * (n / 2) + (int)of_four, &b_element, &b_lane);
                u32 x = (u32)element_bits(va, s->a, a_element, a_lane),
                    y = (u32)element_bits(vb, s->b, b_element, b_lane);
                if (s->d == TYPE_I32) *c += (u32)((i32)(i8)x * (i8)y);
                else a[n] = number(s->a, x), b[n] = number(s->b, y);
            }
            if (s->d == TYPE_I32) continue;
            for (int n = 0; n < kept; n += group) *c = fused_dot(&a[n], &b[n], group, fraction, s->a >= TYPE_FP8, *c);
        }
}

// --- modifiers: which lanes A and B are read from. Source: AMD's matrix instruction calculator, its README ---
//
// cbsz, abid: of every 2^cbsz blocks of A, block abid stands in for all.
// blgp: a pattern for the lanes of B. For float64 its bits negate A, B and C instead.
static u32 a_lane(const Shape* s, u32 cbsz, u32 abid, u32 l) {
    u32 in_block = LANES / (u32)s->blocks, block = l / in_block, mask = (1u << cbsz) - 1;
    return ((block & ~mask) | (abid & mask)) * in_block + l % in_block;
}
static u32 b_lane(u32 blgp, u32 l) {
    if (blgp == 0) return l;
    if (blgp == 1) return l & 31;         // lanes 0-31 for both halves
    if (blgp == 2) return l | 32;         // lanes 32-63 for both halves
    if (blgp == 3) return (l + 16) & 63;  // all moved down by 16
    return 16 * (blgp - 4) + l % 16;      // one group of 16 for all
}
OUT_OF_LINE static void rearrange(const Ins* in, const Shape* s, Rows va, Rows vb, u32 (*a)[LANES], u32 (*b)[LANES]) {
    u32 words = (u32)(s->m * s->k * s->blocks * type_bytes[s->a] / 256);
    for (u32 r = 0; r < words; r++)
        for (u32 l = 0; l < LANES; l++) {
            int negates = s->d == TYPE_F64;
            a[r][l] = negates ? va[r][l] ^ (in->blgp & r) << 31 : va[r][a_lane(s, in->cbsz, in->abid, l)];
            b[r][l] = negates ? vb[r][l] ^ (in->blgp >> 1 & r) << 31 : vb[r][b_lane(in->blgp, l)];
        }
}

static void matrix(Wave* w, const Ins* in, const Shape* s) {
    w->group->progressed = 1;
    if (w->launch->stream) return;  // stream mode wants addresses, not values
    u32 d[32][LANES] __attribute__((aligned(64))), moved_a[2][LANES], moved_b[2][LANES];
    u32 words = (u32)(s->m * s->m * s->blocks * type_bytes[s->d] / 256);
    u32 c = s->sparse ? in->d : in->src[2];  // a sparse instruction adds to D, and has its index in C's place
    Rows va = (Rows)&w->v[in->src[0] - VGPR], vb = (Rows)&w->v[in->src[1] - VGPR];
    if (c >= VGPR) memcpy(d, w->v[c - VGPR], words * sizeof d[0]);
    else {
        u64 value = c == CONSTANT ? in->value[2] : scalar_u64(w, in, 2);
        for (u32 r = 0; r < words; r++)
            EACH_LANE
                d[r][l] = (u32)(s->d == TYPE_F64 && r & 1 ? value >> 32 : value);
    }
    if (s->sparse) sparse(s, va, vb, w->v[in->src[2] - VGPR], in->cbsz ? 0 : in->abid, d);
    else {
        if (in->cbsz | in->blgp) {
            rearrange(in, s, va, vb, moved_a, moved_b);
            va = (Rows)moved_a, vb = (Rows)moved_b;
            if (s->d == TYPE_F64 && in->blgp & 4)
                for (u32 r = 1; r < words; r += 2)
                    EACH_LANE
                        d[r][l] ^= 0x80000000;
        }
        int fast = (int)w->launch->fast_mfma;
        if (s->a >= TYPE_FP8 && s->m == 32) fp8_matrix(s, 32, va, vb, d, fast);
        else if (s->a >= TYPE_FP8) fp8_matrix(s, 16, va, vb, d, fast);
        else dense(s, va, vb, d);
    }
    memcpy(w->v[in->d - VGPR], d, words * sizeof d[0]);
}
