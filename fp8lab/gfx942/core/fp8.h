// FP8 matrix instructions, all elements at once: the same result as dot.h from double arithmetic, vector by vector.
//
// If all products of an element lie within 18 binary orders (16 for bf8, whose products have fewer bits), nothing is
// cut in step 1 and the sum is exact, so double precision has it too. What remains of steps 2 and 3 are the cut of C
// and the last rounding down, both bit masks. Where a product is smaller, or a value special, fused_dot() computes the
// element.
#pragma once
#include "dot.h"

typedef struct {
    double value[16 * 32];  // [k][i]
    i8 top[16 * 32];        // exponent; a zero has -64, so that its products never lead
    i8 low[16 * 32];        // the same, but 64 for a zero
} Fp8Operand;

static ALWAYS_INLINE void fp8_decode(Rows v, int m, int type, Fp8Operand* to, int group) {
    // lane l holds row l % m, k = 8 * (l / m) + byte; a group is 16 of k
    u32 f = type == TYPE_FP8 ? 3 : 2, bias = type == TYPE_FP8 ? 8 : 16;
    u32 lanes = 2 * (u32)m, first = (u32)group * lanes;
    for (u32 byte = 0; byte < 8; byte++) {
        const u32* from = &v[byte / 4][first];
        u32 shift = 8 * (byte % 4);
        float value[LANES];
        i8 top[LANES], low[LANES];
        INDEPENDENT for (u32 l = 0; l < lanes; l++) {
            u32 x = from[l] >> shift & 255;
            i32 e = (i32)(x >> f & ((1u << (7 - f)) - 1)), s = (i32)(x & ((1u << f) - 1));
            s = e ? s | 1 << f : s;
            e = (e ? e : 1) - (i32)bias;
            float y = (float)(x & 0x80 ? -s : s) * as_f32((u32)(e - (i32)f + 127) << 23);
            value[l] = x == 0x80 ? NAN : y;
            top[l] = (i8)(s ? e : -64);
            low[l] = (i8)(s ? e : 64);
        }
        for (u32 half = 0; half < 2; half++) {
            u32 row = (8 * half + byte) * (u32)m;
            for (u32 i = 0; i < (u32)m; i++) to->value[row + i] = value[half * (u32)m + i];
            memcpy(&to->top[row], &top[half * (u32)m], (u32)m);
            memcpy(&to->low[row], &low[half * (u32)m], (u32)m);
        }
    }
}

// Vectors of the compiler (GCC and clang): 64 bytes, in as many registers as the CPU needs for them.
typedef double V8 __attribute__((vector_size(64), aligned(8), may_alias));
typedef i64 I8 __attribute__((vector_size(64), aligned(8), may_alias));
typedef i32 I16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef u32 U16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float F8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef i8 B16 __attribute__((vector_size(16), aligned(1), may_alias));

// sum[r][j] = Σ_k a[k][i + r] * b[k][j] for `rows` rows from i on
static ALWAYS_INLINE void fp8_sums(const Fp8Operand* a, const Fp8Operand* b, int m, int rows, int i, double* sum) {
    V8 acc[16];
    int columns = m / 8;
    for (int n = 0; n < 16; n++) acc[n] = (V8){0};
    for (int k = 0; k < 16; k++) {
        const V8* row = (const V8*)&b->value[k * m];
        const double* column = &a->value[k * m + i];
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++) acc[r * columns + c] += column[r] * row[c];
    }
    for (int n = 0; n < 16; n++) ((V8*)sum)[n] = acc[n];
}

// How far apart the exponents of each row's elements are.
static ALWAYS_INLINE void fp8_ranges(const Fp8Operand* a, int m, i8* range) {
    i8 hi[32], lo[32];
    for (int i = 0; i < m; i++) hi[i] = -64, lo[i] = 64;
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < m; i++) {
            i8 top = a->top[k * m + i], low = a->low[k * m + i];
            hi[i] = top > hi[i] ? top : hi[i], lo[i] = low < lo[i] ? low : lo[i];
        }
    for (int i = 0; i < m; i++) range[i] = lo[i] == 64 ? 0 : (i8)(hi[i] - lo[i]);
}

// Largest and smallest exponent among the products of row i, for every column.
static ALWAYS_INLINE void fp8_exponents(const i8* a, const i8* b, int m, int i, int largest, i8* out) {
    i8 best[32];
    for (int j = 0; j < m; j++) best[j] = largest ? -128 : 127;
    for (int k = 0; k < 16; k++) {
        i8 x = a[k * m + i];
        for (int j = 0; j < m; j++) {
            i8 e = (i8)(x + b[k * m + j]);
            best[j] = largest ? (e > best[j] ? e : best[j]) : (e < best[j] ? e : best[j]);
        }
    }
    for (int j = 0; j < m; j++)
        out[j] = largest && best[j] < -40 ? -128 : best[j];  // no product but zeros: C stays whole
}

// Steps 2 and 3 for a row. Returns nonzero if an element needs fused_dot() instead.
static ALWAYS_INLINE u64 fp8_finish(const double* sum, const i8* exponent, u32* c, int m) {
    I8 bad = {0};
    for (int j = 0; j < m; j += 16) {
        U16 x = *(const U16*)&c[j], negative = (U16)((I16)x >> 31);
        I16 cut = __builtin_convertvector(*(const B16*)&exponent[j], I16) + 126 - (I16)(x >> 23 & 255);
        cut &= ~(cut >> 31);  // how many bits of C's mantissa lie below 2^(top - 24)
        U16 below = ((U16){0} + 1 << (U16)(cut & 31)) - 1, gone = (U16)(cut > 23);
        U16 whole = (x + (negative & below)) & ~below;        // floor: away from zero if negative
        U16 unit = negative & ((x & 0xff800000) + 0x800000);  // just below the unit, floor gives -unit or 0
        whole = (whole & ~gone) | (unit & (U16)(cut == 24));
        for (int half = 0; half < 2; half++) {
            F8 single;
            memcpy(&single, (const u8*)&whole + 32 * half, 32);
            V8 s = *(const V8*)&sum[j + 8 * half], cd = __builtin_convertvector(single, V8), t = s + cd;
            bad |= (I8)((t - cd) != s);  // inexact, or NaN or infinity somewhere
            I8 u = (I8)t;
            u = (u + (u >> 63 & 0x1fffff)) & ~0x1fffffll;  // floor to 31 fractional bits
            *(F8*)&c[j + 8 * half] = __builtin_convertvector((V8)u, F8);
        }
    }
    return bad[0] | bad[1] | bad[2] | bad[3] | bad[4] | bad[5] | bad[6] | bad[7];
}

static void fp8_exact_row(const Shape* s, Rows va, Rows vb, int group, int i, u32* row) {
    for (int j = 0; j < s->m; j++) {
        Number a[16], b[16];
        for (int k = 0; k < 16; k++) {
            int lane = s->m * (2 * group + k / 8);
            a[k] = number(s->a, va[k % 8 / 4][lane + i] >> 8 * (k % 4) & 255);
            b[k] = number(s->b, vb[k % 8 / 4][lane + j] >> 8 * (k % 4) & 255);
        }
        row[j] = fused_dot(a, b, 16, fraction_bits[s->a] + fraction_bits[s->b], 1, row[j]);
    }
}

static ALWAYS_INLINE void fp8_matrix(const Shape* s, int m, Rows va, Rows vb, u32 (*d)[LANES], int fast) {
    Fp8Operand a __attribute__((aligned(64))), b __attribute__((aligned(64)));
    int rows = 128 / m, lane_groups = LANES / m;
    int within = s->a == TYPE_FP8 && s->b == TYPE_FP8 ? 18
                 : s->a == s->b                       ? 20
                                                      : 19;  // 24 - bits of a product's fraction
    for (int group = 0; group < s->k / 16; group++) {
        fp8_decode(va, m, s->a, &a, group);
        fp8_decode(vb, m, s->b, &b, group);
        i8 range_a[32], range_b[32];
        fp8_ranges(&a, m, range_a);
        fp8_ranges(&b, m, range_b);
        int widest_b = 0;
        for (int j = 0; j < m; j++) widest_b = range_b[j] > widest_b ? range_b[j] : widest_b;
        for (int first = 0; first < m; first += rows) {
            double sum[128] __attribute__((aligned(64)));
            fp8_sums(&a, &b, m, rows, first, sum);
            for (int r = 0; r < rows; r++) {
                int i = first + r, strip = i / 4;
                u32* c = &d[4 * (strip / lane_groups) + i % 4][m * (strip % lane_groups)];
                const double* row = &sum[r * m];
                if (fast) {
                    INDEPENDENT for (int j = 0; j < m; j++) c[j] = bits_f32((float)(row[j] + (double)as_f32(c[j])));
                    continue;
                }
                i8 top[32], low[32];
                u32 before[32];
                u64 slow = 0;
                memcpy(before, c, 4 * (size_t)m);
                fp8_exponents(a.top, b.top, m, i, 1, top);
                if (range_a[i] + widest_b > within) {
                    fp8_exponents(a.low, b.low, m, i, 0, low);
                    for (int j = 0; j < m; j++) slow |= top[j] > -128 && top[j] - low[j] > within;
                }
                slow |= fp8_finish(row, top, c, m);
                if (slow) {
                    memcpy(c, before, 4 * (size_t)m);
                    fp8_exact_row(s, va, vb, group, i, c);
                }
            }
        }
    }
}
