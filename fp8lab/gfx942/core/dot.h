// One element of a matrix instruction, bit for bit, in integers.
// Source: arXiv 2511.10909 (bit-exact models of matrix units), its CDNA3 section.
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
    int sparse;                 // A holds only two of every four elements along k
} Shape;
typedef const u32 (*Rows)[LANES];  // an operand's registers
static const int type_bytes[] = {8, 4, 4, 4, 2, 2, 1, 1, 1};

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
