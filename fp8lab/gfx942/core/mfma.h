// Matrix instructions, bit for bit. Source: arXiv 2511.10909 (bit-exact models of matrix units), its CDNA3 section.
//
// One element of D, for a group of products a_k * b_k (16 products for FP8, 8 for f16 and bf16, 4 for xf32; a longer K
// is several groups in turn, each one's result the next one's C):
//   1. Products are exact. Each is aligned to the largest exponent among them and cut to 24 fractional bits, then they
//      are added exactly. FP8 does this for even and odd k apart, and adds the two sums aligned to the larger exponent.
//   2. That sum and C are aligned to the larger of the two exponents, the sum with 32 fractional bits, C with 24, both
//      rounded down (floor). FP8 drops a C that lies more than 25 below.
//   3. Their sum is rounded down to 31 fractional bits after its leading one, then to nearest even to float32.
// f32 and f64 are chains of fused multiply-adds in order of k, i8 is exact in 32 bits. EXEC plays no part.
#pragma once
#include "operands.h"

enum { TYPE_F64, TYPE_F32, TYPE_I32, TYPE_XF32, TYPE_F16, TYPE_BF16, TYPE_I8, TYPE_FP8, TYPE_BF8 };
typedef struct {
    int m, k, blocks, d, a, b;  // D is m x m, the depth is k; types of D, A, B
} Shape;
static const int type_bytes[] = {8, 4, 4, 4, 2, 2, 1, 1, 1};

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

// --- one element, in integers: any inputs ---
typedef struct {
    i32 significand, exponent;  // value = significand * 2^(exponent - fraction bits of the type)
    float special;              // the value itself if it is infinite or NaN, else 0
} Number;
static const int fraction_bits[] = {0, 0, 0, 10, 10, 7, 0, 3, 2};

static Number number(int type, u32 bits) {
    static const int exponent_bits[] = {0, 0, 0, 8, 5, 8, 0, 4, 5}, bias[] = {0, 0, 0, 127, 15, 127, 0, 8, 16};
    if (type == TYPE_XF32) bits >>= 13;  // xf32 is float32 cut to 10 bits of mantissa
    int f = fraction_bits[type], e = (int)(bits >> f) & ((1 << exponent_bits[type]) - 1),
        m = (int)bits & ((1 << f) - 1);
    int negative = bits >> (f + exponent_bits[type]) & 1;
    Number n = {0, 0, 0};
    if (type >= TYPE_FP8) {
        if (bits == 0x80) n.special = NAN;
    } else if (e == (1 << exponent_bits[type]) - 1) {
        n.special = m ? NAN : negative ? -INFINITY : INFINITY;
    }
    n.significand = e ? m | 1 << f : m;
    n.exponent = (e ? e : 1) - bias[type];
    if (negative) n.significand = -n.significand;
    return n;
}

static i64 shift_down(i64 x, i32 by) { return x >> (by > 63 ? 63 : by); }  // towards minus infinity

// Step 1 for every step-th product from k on. Returns the sum with 24 fractional bits below 2^*exponent.
static i64 aligned_sum(const Number* a, const Number* b, int first, int count, int step, int fraction, i32* exponent) {
    i32 most = -999;
    for (int k = first; k < count; k += step) {
        i32 e = a[k].exponent + b[k].exponent;
        if (a[k].significand && b[k].significand && e > most) most = e;
    }
    i64 sum = 0;
    for (int k = first; k < count; k += step) {
        i64 product = (i64)a[k].significand * b[k].significand;
        i32 down = most - a[k].exponent - b[k].exponent;
        if (!product) continue;
        u64 magnitude = (u64)(product < 0 ? -product : product) << (24 - fraction);
        magnitude = down > 63 ? 0 : magnitude >> down;
        sum += product < 0 ? -(i64)magnitude : (i64)magnitude;
    }
    *exponent = most;
    return sum;
}

static u32 fused_dot(const Number* a, const Number* b, int count, int fraction, int fp8, u32 c_bits) {
    double special = 0;
    int is_special = (c_bits & 0x7f800000) == 0x7f800000;
    for (int k = 0; k < count; k++) {
        if (a[k].special != 0 || b[k].special != 0) {
            float x = a[k].special != 0 ? a[k].special : (float)a[k].significand,
                  y = b[k].special != 0 ? b[k].special : (float)b[k].significand;
            special += x * y, is_special = 1;
            continue;
        }
        i64 product = (i64)a[k].significand * b[k].significand;  // one that float32 cannot hold counts as infinite
        i64 magnitude = product < 0 ? -product : product;
        if (!fp8 && magnitude && a[k].exponent + b[k].exponent + (magnitude >> (fraction + 1) ? 1 : 0) >= 128)
            special += product < 0 ? -INFINITY : INFINITY, is_special = 1;
    }
    if (is_special) {
        float out = (float)(special + as_f32(c_bits));
        return out != out ? 0x7fffffff : bits_f32(out);
    }
    i32 e_dot, e_c = (i32)(c_bits >> 23 & 255);
    i64 dot, c = c_bits & 0x7fffff;
    if (fp8) {
        i32 e_odd;
        dot = aligned_sum(a, b, 0, count, 2, fraction, &e_dot);
        i64 odd = aligned_sum(a, b, 1, count, 2, fraction, &e_odd);
        i32 most = e_dot > e_odd ? e_dot : e_odd;
        dot = shift_down(dot, most - e_dot) + shift_down(odd, most - e_odd);
        e_dot = most;
    } else {
        dot = aligned_sum(a, b, 0, count, 1, fraction, &e_dot);
    }
    if (e_c) c |= 0x800000, e_c -= 127;
    else e_c = -126;
    if (c_bits >> 31) c = -c;
    i32 e = e_dot > e_c ? e_dot : e_c;
    c = fp8 && e - e_c > 25 ? 0 : shift_down(c * 2, e - e_c);
    i64 sum = shift_down(dot * 256, e - e_dot) + c * 256;  // 32 fractional bits below 2^e
    if (!sum) return 0;
    i32 lead = 63 - __builtin_clzll((u64)(sum < 0 ? -sum : sum)), lowest = e - 32;
    i32 drop = lowest + lead >= -126 ? lead - 31 : -157 - lowest;
    if (drop > 0) sum = drop > 62 ? (sum < 0 ? -1 : 0) * (i64)1 << 62 : shift_down(sum, drop) * ((i64)1 << drop);
    return bits_f32((float)ldexp((double)sum, lowest));
}

// --- FP8, all elements: the same result from double arithmetic ---
//
// If all products of an element lie within 18 binary orders (16 for bf8, whose products have fewer bits), nothing is
// cut in step 1 and the sum is exact, so double precision has it too. What remains of steps 2 and 3 are the cut of C
// and the last rounding down, both bit masks. Where a product is smaller, or a value special, fused_dot() computes the
// element.
typedef struct {
    double value[16 * 32];  // [k][i]
    i8 top[16 * 32];        // exponent; a zero has -64, so that its products never lead
    i8 low[16 * 32];        // the same, but 64 for a zero
} Fp8Operand;

static ALWAYS_INLINE void fp8_decode(const u32 (*v)[LANES], int m, int type, Fp8Operand* to, int group) {
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

static void fp8_exact_row(const Wave* w, const Ins* in, const Shape* s, int group, int i, u32* row) {
    for (int j = 0; j < s->m; j++) {
        Number a[16], b[16];
        for (int k = 0; k < 16; k++) {
            int lane = s->m * (2 * group + k / 8);
            a[k] = number(s->a, w->v[in->src[0] - VGPR + k % 8 / 4][lane + i] >> 8 * (k % 4) & 255);
            b[k] = number(s->b, w->v[in->src[1] - VGPR + k % 8 / 4][lane + j] >> 8 * (k % 4) & 255);
        }
        row[j] = fused_dot(a, b, 16, fraction_bits[s->a] + fraction_bits[s->b], 1, row[j]);
    }
}

static ALWAYS_INLINE void fp8_matrix(Wave* w, const Ins* in, const Shape* s, int m, u32 (*d)[LANES]) {
    Fp8Operand a __attribute__((aligned(64))), b __attribute__((aligned(64)));
    int rows = 128 / m, lane_groups = LANES / m, fast = (int)w->launch->fast_mfma;
    int within = s->a == TYPE_FP8 && s->b == TYPE_FP8 ? 18
                 : s->a == s->b                       ? 20
                                                      : 19;  // 24 - bits of a product's fraction
    for (int group = 0; group < s->k / 16; group++) {
        fp8_decode((const u32(*)[LANES]) & w->v[in->src[0] - VGPR], m, s->a, &a, group);
        fp8_decode((const u32(*)[LANES]) & w->v[in->src[1] - VGPR], m, s->b, &b, group);
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
                    fp8_exact_row(w, in, s, group, i, c);
                }
            }
        }
    }
}

// --- the other types, element by element ---
static u64 element_bits(const u32 (*v)[LANES], int type, int element, int lane) {
    int bytes = type_bytes[type];
    if (bytes == 8) return (u64)v[2 * element][lane] | (u64)v[2 * element + 1][lane] << 32;
    if (bytes == 4) return v[element][lane];
    int each = 4 / bytes;
    return v[element / each][lane] >> 8 * bytes * (element % each) & (bytes == 2 ? 0xffff : 0xff);
}
static void other_matrix(Wave* w, const Ins* in, const Shape* s, u32 (*d)[LANES]) {
    static const int group_of_type[] = {1, 1, 1, 4, 8, 8, 1, 16, 16};
    const u32(*va)[LANES] = (const u32(*)[LANES]) & w->v[in->src[0] - VGPR],
          (*vb)[LANES] = (const u32(*)[LANES]) & w->v[in->src[1] - VGPR];
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

static void matrix(Wave* w, const Ins* in, const Shape* s) {
    w->group->progressed = 1;
    if (w->launch->stream) return;  // stream mode wants addresses, not values
    u32 d[32][LANES] __attribute__((aligned(64)));
    u32 words = (u32)(s->m * s->m * s->blocks * type_bytes[s->d] / 256);
    if (in->src[2] >= VGPR) memcpy(d, w->v[in->src[2] - VGPR], words * sizeof d[0]);
    else {
        u64 value = in->src[2] == CONSTANT ? in->value[2] : scalar_u64(w, in, 2);
        for (u32 r = 0; r < words; r++)
            EACH_LANE
                d[r][l] = (u32)(s->d == TYPE_F64 && r & 1 ? value >> 32 : value);
    }
    if (s->a >= TYPE_FP8 && s->m == 32) fp8_matrix(w, in, s, 32, d);
    else if (s->a >= TYPE_FP8) fp8_matrix(w, in, s, 16, d);
    else other_matrix(w, in, s, d);
    memcpy(w->v[in->d - VGPR], d, words * sizeof d[0]);
}
