// The functions that meanings in isa/ use: bit counting, integers, IEEE details, division; small formats are in
// formats.h.
#pragma once
#include <math.h>

#include "state.h"

static inline float as_f32(u32 x) {
    float y;
    memcpy(&y, &x, 4);
    return y;
}
static inline u32 bits_f32(float x) {
    u32 y;
    memcpy(&y, &x, 4);
    return y;
}
static inline double as_f64(u64 x) {
    double y;
    memcpy(&y, &x, 8);
    return y;
}
static inline u64 bits_f64(double x) {
    u64 y;
    memcpy(&y, &x, 8);
    return y;
}

// --- bits: "find first" gives -1 where there is none ---
static inline u32 reverse_u32(u32 x) {
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}
static inline u32 count_ones(u32 x) { return (u32)__builtin_popcount(x); }
static inline u32 count_ones_u64(u64 x) { return (u32)__builtin_popcountll(x); }
static inline u32 lowest_one(u32 x) { return x ? (u32)__builtin_ctz(x) : ~0u; }
static inline u32 lowest_one_u64(u64 x) { return x ? (u32)__builtin_ctzll(x) : ~0u; }
static inline u32 leading_zeros(u32 x) { return x ? (u32)__builtin_clz(x) : ~0u; }
static inline u32 leading_zeros_u64(u64 x) { return x ? (u32)__builtin_clzll(x) : ~0u; }
static inline u32 leading_signs(i32 x) { return leading_zeros((u32)(x ^ x >> 31)); }  // first bit unlike the sign
static inline u32 leading_signs_i64(i64 x) { return leading_zeros_u64((u64)(x ^ x >> 63)); }
static inline u64 field_u64(u64 x, u32 low, u32 width) {
    return width >= 64 ? x >> low : x >> low & ((1ull << width) - 1);
}
static inline i64 field_i64(i64 x, u32 low, u32 width) {
    if (width == 0) return 0;
    if (low + width >= 64) return x >> low;
    return (i64)((u64)x << (64 - low - width)) >> (64 - width);
}
static inline i32 field_i32(i32 x, u32 low, u32 width) {
    if (width == 0) return 0;
    if (low + width >= 32) return x >> low;
    return (i32)((u32)x << (32 - low - width)) >> (32 - width);
}
static inline i32 low24(i32 x) { return (i32)((u32)x << 8) >> 8; }
static inline u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }
static inline u32 sad_u8(u32 a, u32 b) {
    u32 sum = 0;
    for (int i = 0; i < 32; i += 8) sum += distance(a >> i & 255, b >> i & 255);
    return sum;
}
static inline i32 saturate_i32(i64 x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (i32)x; }
static inline i16 saturate_i16(i32 x) { return x > INT16_MAX ? INT16_MAX : x < INT16_MIN ? INT16_MIN : (i16)x; }
static inline u32 saturate_u32(u64 x) { return x >> 32 ? ~0u : (u32)x; }
static inline u32 saturate_u8(i32 x) { return x < 0 ? 0 : x > 255 ? 255 : (u32)x; }
static inline u32 masked_sad_u8(u32 a, u32 b) {
    u32 sum = 0;
    for (int i = 0; i < 32; i += 8)
        if (b >> i & 255) sum += distance(a >> i & 255, b >> i & 255);
    return sum;
}
static inline u32 average_u8(u32 a, u32 b, u32 c) {
    u32 out = 0;
    for (int i = 0; i < 32; i += 8) out |= ((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1 << i;
    return out;
}
#define DOT(name, T, width)                                                                                \
    static inline T name(u32 a, u32 b) {                                                                   \
        T sum = 0, one = 1;                                                                                \
        for (int i = 0; i < 32; i += width) {                                                              \
            T x = a >> i & ((1u << width) - 1), y = b >> i & ((1u << width) - 1);                          \
            if (-one < 0) x -= (x >> (width - 1)) << width, y -= (y >> (width - 1)) << width; /* a sign */ \
            sum += x * y;                                                                                  \
        }                                                                                                  \
        return sum;                                                                                        \
    }
DOT(dot2_i16, i64, 16)
DOT(dot2_u16, u64, 16)
DOT(dot4_i8, i64, 8)
DOT(dot4_u8, u64, 8)
DOT(dot8_i4, i64, 4)
DOT(dot8_u4, u64, 4)
#undef DOT
static inline u64 quads(u64 x, u32 count) {
    u64 out = 0;
    for (u32 i = 0; i < count; i++) out |= (u64)((x >> 4 * i & 15) != 0) << i;
    return out;
}
static inline u64 whole_quads(u64 x) { return ((x | x >> 1 | x >> 2 | x >> 3) & 0x1111111111111111ull) * 15; }
static inline u64 double_bits(u32 a) {
    u64 d = 0;
    for (int i = 0; i < 64; i++) d |= (u64)(a >> i / 2 & 1) << i;
    return d;
}
static inline i32 median_i32(i32 a, i32 b, i32 c) {
    i32 low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}
static inline u32 median_u32(u32 a, u32 b, u32 c) {
    u32 low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}
static inline u32 lanes_below_lo(u32 lane) { return lane < 32 ? (1u << lane) - 1 : ~0u; }
static inline u32 lanes_below_hi(u32 lane) { return lane < 32 ? 0 : (1u << (lane - 32)) - 1; }

// v_perm_b32: each byte of c picks a byte of {a, b} (0-7, b the low half), a sign (8-11), 0 (12) or 255 (13 and up).
// All in 32 bits and without branches, which vectors of lanes like best.
static inline u32 permute_bytes(u32 a, u32 b, u32 c) {
    u32 out = 0;
    for (int i = 0; i < 32; i += 8) {
        u32 k = c >> i & 255, word = k & 4 ? a : b, picked = word >> 8 * (k & 3) & 255;
        u32 half = k & 2 ? a : b, sign = 0 - (half << (k & 1 ? 0 : 16) >> 31) & 255;
        out |= (k < 8 ? picked : k < 12 ? sign : k == 12 ? 0 : 255) << i;
    }
    return out;
}

// --- IEEE details ---
static inline float round_even_f32(float x) {
    float magnitude = fabsf(x), big = 0x1p23f;
    float rounded = magnitude < big ? (magnitude + big) - big : magnitude;
    return copysignf(rounded, x);
}
static inline double round_even_f64(double x) {
    double magnitude = fabs(x), big = 0x1p52;
    double rounded = magnitude < big ? (magnitude + big) - big : magnitude;
    return copysign(rounded, x);
}
// -0 is below +0; a NaN loses to a number, except that a signalling NaN (IEEE mode) comes out, quiet.
static inline int is_signalling_f32(u32 u) { return (u & 0x7fffffff) > 0x7f800000 && !(u & 0x400000); }
static inline float min_f32(float a, float b) {
    if (is_signalling_f32(bits_f32(a))) return as_f32(bits_f32(a) | 0x400000);
    if (is_signalling_f32(bits_f32(b))) return as_f32(bits_f32(b) | 0x400000);
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && bits_f32(a) >> 31) ? a : b;
}
static inline float max_f32(float a, float b) {
    if (is_signalling_f32(bits_f32(a))) return as_f32(bits_f32(a) | 0x400000);
    if (is_signalling_f32(bits_f32(b))) return as_f32(bits_f32(b) | 0x400000);
    if (a != a) return b;
    if (b != b) return a;
    return a > b || (a == b && !(bits_f32(a) >> 31)) ? a : b;
}
static inline int is_signalling_f64(u64 u) { return (u & ~(1ull << 63)) > 0x7ff0000000000000 && !(u >> 51 & 1); }
static inline double min_f64(double a, double b) {
    if (is_signalling_f64(bits_f64(a))) return as_f64(bits_f64(a) | 1ull << 51);
    if (is_signalling_f64(bits_f64(b))) return as_f64(bits_f64(b) | 1ull << 51);
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && bits_f64(a) >> 63) ? a : b;
}
static inline double max_f64(double a, double b) {
    if (is_signalling_f64(bits_f64(a))) return as_f64(bits_f64(a) | 1ull << 51);
    if (is_signalling_f64(bits_f64(b))) return as_f64(bits_f64(b) | 1ull << 51);
    if (a != a) return b;
    if (b != b) return a;
    return a > b || (a == b && !(bits_f64(a) >> 63)) ? a : b;
}
static inline float med3_f32(float a, float b, float c) {
    if (a != a || b != b || c != c) return min_f32(min_f32(a, b), c);
    return max_f32(min_f32(a, b), min_f32(max_f32(a, b), c));
}
// fma in half: exact in double but for the last rounding
#define fma_f16(a, b, c) ((double)(a) * (double)(b) + (double)(c))

static inline float fract_f32(float x) {
    float f = x - floorf(x);
    return f >= 1 ? as_f32(0x3f7fffff) : f;  // a tiny negative x would round up to 1
}
static inline double fract_f64(double x) {
    double f = x - floor(x);
    return f >= 1 ? as_f64(0x3fefffffffffffffull) : f;
}
static inline float fract_f16(float x) {
    float f = x - floorf(x);
    return f >= 0x1.ffep-1f ? 0x1.ffcp-1f : f;  // below 1 in half, too
}
static inline i32 frexp_exponent(double x) {
    int e = 0;
    if (x - x != 0) return 0;
    frexp(x, &e);
    return e;
}
static inline float frexp_mantissa_f32(float x) {
    int e;
    return x - x != 0 ? x : frexpf(x, &e);
}
static inline double frexp_mantissa_f64(double x) {
    int e;
    return x - x != 0 ? x : frexp(x, &e);
}
static inline u32 u32_from_f64(double x) { return !(x > 0) ? 0 : x >= 4294967295.0 ? ~0u : (u32)x; }
static inline i32 i32_from_f64(double x) {
    return x != x ? 0 : x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? INT32_MIN : (i32)x;
}
static inline u32 put_byte(u32 x, u32 n, u32 byte) { return (x & ~(255u << 8 * n)) | byte << 8 * n; }
static inline u32 u8_from_f32(float x) { return x > 0 ? x < 255 ? (u32)nearbyintf(x) : 255 : 0; }
static inline i32 snorm16(float x) { return x != x ? 0 : (i32)nearbyintf((x > 1 ? 1 : x < -1 ? -1 : x) * 32767); }
static inline u32 unorm16(float x) { return x > 0 ? (u32)nearbyintf((x > 1 ? 1 : x) * 65535) : 0; }
// Bit of the class in v_cmp_class's mask.
static inline u32 class_of(int negative, u32 exponent, u32 largest, u64 mantissa, int quiet) {
    if (exponent == largest && mantissa) return quiet ? 1 : 0;
    if (exponent == largest) return negative ? 2 : 9;
    if (exponent) return negative ? 3 : 8;
    if (mantissa) return negative ? 4 : 7;
    return negative ? 5 : 6;
}
static inline u32 class_f16(u32 u) { return class_of(u >> 15 & 1, u >> 10 & 31, 31, u & 0x3ff, u >> 9 & 1); }
static inline u32 class_f32(float x) {
    u32 u = bits_f32(x);
    return class_of(u >> 31, u >> 23 & 255, 255, u & 0x7fffff, u >> 22 & 1);
}
static inline u32 class_f64(double x) {
    u64 u = bits_f64(x);
    return class_of((int)(u >> 63), u >> 52 & 2047, 2047, u & 0xfffffffffffffull, u >> 51 & 1);
}

// --- division: a is what to scale (b or c), b the denominator, c the numerator ---
// Source: CDNA3 ISA guide, V_DIV_SCALE, V_DIV_FIXUP. The quotient must not lose bits to a denormal on the way.
// NOTE: with the guide's pseudocode to the letter, quotients near the ends of the range would be wrong. So: a
// denominator that alone is scaled, because its reciprocal is denormal, is scaled down; V_DIV_FMAS undoes SCALE, up
// where it made the quotient small (what is left is above 1), else down, and rounds once; V_DIV_FIXUP sees a quotient
// that overflows.
#define DIVISION(T, U, bits_of, fma_, ldexp_, MANTISSA, EXPONENTS, FAR, SCALE, TINY, UNDER)   \
    static inline u32 exponent_##T(T x) { return (u32)(bits_of(x) >> MANTISSA) & EXPONENTS; } \
    static inline int denormal_##T(double x, T y) { return y != 0 && exponent_##T(y) == 0; }  \
    static inline T div_scale_##U(T a, T b, T c, u32* scaled) {                               \
        *scaled = 0;                                                                          \
        if (b == 0 || c == 0) return (T)NAN;                                                  \
        i32 apart = (i32)exponent_##T(c) - (i32)exponent_##T(b);                              \
        T reciprocal = (T)1 / b, quotient = c / b;                                            \
        if (apart >= FAR) {                                                                   \
            *scaled = 1;                                                                      \
            return a == b ? ldexp_(a, SCALE) : a;                                             \
        }                                                                                     \
        if (denormal_##T(0, b)) return ldexp_(a, SCALE);                                      \
        if (denormal_##T(0, reciprocal) && denormal_##T(0, quotient)) {                       \
            *scaled = 1;                                                                      \
            return a == b ? ldexp_(a, -SCALE) : a;                                            \
        }                                                                                     \
        if (denormal_##T(0, reciprocal)) return ldexp_(a, -SCALE);                            \
        if (denormal_##T(0, quotient)) {                                                      \
            *scaled = 1;                                                                      \
            return a == c ? ldexp_(a, SCALE) : a;                                             \
        }                                                                                     \
        return exponent_##T(c) <= TINY ? ldexp_(a, SCALE) : a;                                \
    }                                                                                         \
    static inline T div_fmas_##U(T a, T b, T c, u32 vcc) {                                    \
        T sum = fma_(a, b, c), least = ldexp_(1, 1 - EXPONENTS / 2 - MANTISSA);               \
        if (!vcc) return sum;                                                                 \
        if (exponent_##T(c) >= EXPONENTS / 2) return ldexp_(sum, SCALE);                      \
        T scaled = ldexp_(sum, -SCALE), dropped = sum - ldexp_(scaled, SCALE);                \
        T rest = fma_(a, b, c - sum); /* what the sum's rounding lost: decides a tie */       \
        int beyond = rest != 0 && (rest < 0) == (dropped < 0);                                \
        int tie = fabs(dropped) == ldexp_(least, SCALE - 1);                                  \
        return tie && beyond ? scaled + (T)copysign(least, dropped) : scaled;                 \
    }                                                                                         \
    static inline T div_fixup_##U(T a, T b, T c) {                                            \
        int negative = (signbit(b) != 0) != (signbit(c) != 0);                                \
        T sign = negative ? (T) - 1 : (T)1;                                                   \
        if (c != c) return c + c;                                                             \
        if (b != b) return b + b;                                                             \
        if ((b == 0 && c == 0) || (isinf(b) && isinf(c))) return -(T)NAN;                     \
        if (b == 0 || isinf(c)) return sign * (T)INFINITY;                                    \
        if (isinf(b) || c == 0) return sign * (T)0;                                           \
        i32 apart = (i32)exponent_##T(c) - (i32)exponent_##T(b);                              \
        if (apart < -(UNDER)) return sign * (T)0;                                             \
        if (apart > EXPONENTS / 2 + 1) return sign * (T)INFINITY;                             \
        return negative ? -(T)fabs(a) : (T)fabs(a);                                           \
    }
DIVISION(float, f32, bits_f32, fmaf, ldexpf, 23, 255, 96, 64, 23, 150)
DIVISION(double, f64, bits_f64, fma, ldexp, 52, 2047, 768, 128, 53, 1075)
#undef DIVISION
