// Formats smaller than float32, to it and from it: float16, bfloat16, FP8. One lane each, no state.
#pragma once
#include "arithmetic.h"

// --- float16 and bfloat16 ---
static inline float f32_from_f16(u32 h) {
    u32 sign = (h & 0x8000) << 16, magnitude = h & 0x7fff;
    // normal: rebias by 112; the multiplication also turns denormals into normals
    float value = as_f32(magnitude << 13) * 0x1p112f;
    u32 out = magnitude >= 0x7c00 ? 0x7f800000 | (magnitude & 0x3ff) << 13 : bits_f32(value);
    return as_f32(sign | out);
}
// Round to nearest, ties to even.
static inline u32 f16_from_f32(float x) {
    u32 u = bits_f32(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);  // NaN, quiet
    if (magnitude >= 0x477ff000) return sign | 0x7c00;                             // rounds to 65536 or more
    if (magnitude < 0x38800000) {                                                  // below 2^-14: a denormal
        float rounded = as_f32(magnitude) + 0.5f;  // ulp of 0.5 is 2^-24, f16's smallest
        return sign | (bits_f32(rounded) - 0x3f000000);
    }
    u32 odd = magnitude >> 13 & 1;
    return sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13);
}
static inline float dot2_f16(u32 a, u32 b, float c) {
    c += f32_from_f16(a & 0xffff) * f32_from_f16(b & 0xffff);  // exact products
    return c + f32_from_f16(a >> 16) * f32_from_f16(b >> 16);
}
static inline u32 f16_toward_zero(float x) {
    u32 u = bits_f32(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
    if (magnitude == 0x7f800000) return sign | 0x7c00;
    if (magnitude >= 0x47800000) return sign | 0x7bff;
    if (magnitude < 0x33800000) return sign;
    if (magnitude < 0x38800000) {
        u32 shift = 126 - (magnitude >> 23);
        return sign | ((magnitude & 0x7fffff) | 0x800000) >> shift;
    }
    return sign | (magnitude - 0x38000000) >> 13;
}
// a * b + c rounded once: the sum is exact in double unless it overflows half anyway.
static inline u32 f16_from_f64(double x) {
    // round to odd at float's precision first, so that the second rounding sees every bit
    float near = (float)x;
    u32 u = bits_f32(near);
    if ((double)near != x && !(u & 1) && near - near == 0) {
        int away = fabs((double)near) < fabs(x);
        u = away ? u + 1 : u - 1;
    }
    return f16_from_f32(as_f32(u));
}
static inline u32 bf16_from_f32(float x) {
    u32 u = bits_f32(x);
    if ((u & 0x7fffffff) > 0x7f800000) return u >> 16 | 0x40;
    return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
static inline u32 add_f16x2(u32 a, u32 b) {
    return f16_from_f32(f32_from_f16(a & 0xffff) + f32_from_f16(b & 0xffff)) |
           f16_from_f32(f32_from_f16(a >> 16) + f32_from_f16(b >> 16)) << 16;
}
static inline u32 add_bf16x2(u32 a, u32 b) {
    return bf16_from_f32(as_f32(a << 16) + as_f32(b << 16)) |
           bf16_from_f32(as_f32(a & 0xffff0000) + as_f32(b & 0xffff0000)) << 16;
}

// --- FP8, fnuz: value = m * 2^(e - bias - mantissa bits), 0x80 is NaN, there is no -0 and no infinity ---
static inline float f32_from_fp8(u32 x) {
    u32 e = x >> 3 & 15, m = x & 7;
    float value = as_f32((e ? e - 8 + 127 : 1 - 8 + 127) << 23) * (e ? 1 + m * 0x1p-3f : m * 0x1p-3f);
    return x == 0x80 ? as_f32(0x7fc00000) : x & 0x80 ? -value : value;
}
static inline float f32_from_bf8(u32 x) {
    u32 e = x >> 2 & 31, m = x & 3;
    float value = as_f32((e ? e - 16 + 127 : 1 - 16 + 127) << 23) * (e ? 1 + m * 0x1p-2f : m * 0x1p-2f);
    return x == 0x80 ? as_f32(0x7fc00000) : x & 0x80 ? -value : value;
}
// Round to nearest even into a format with `bits` of mantissa and exponent bias `bias`; NaN where the result is too
// large, or the largest value if MODE.FP16_OVFL (bit 23) is set.
static inline u32 fnuz_from_f32(float x, u32 mode, u32 bits, i32 bias) {
    u32 u = bits_f32(x), sign = u >> 31 << 7, magnitude = u & 0x7fffffff;
    if (magnitude >= 0x7f800000) return magnitude == 0x7f800000 && mode >> 23 & 1 ? sign | 0x7f : 0x80;
    u32 code;
    i32 exponent = (i32)(magnitude >> 23) - 127 + bias;
    if (exponent >= 1) {
        u32 shift = 23 - bits, odd = magnitude >> shift & 1;
        code = (magnitude - ((u32)(127 - bias) << 23) + (1u << (shift - 1)) - 1 + odd) >> shift;
    } else {  // denormal: count in units of 2^(1 - bias - bits)
        code = (u32)nearbyintf(as_f32(magnitude) * as_f32((u32)(127 + bias - 1 + (i32)bits) << 23));
    }
    if (code > 0x7f) return mode >> 23 & 1 ? sign | 0x7f : 0x80;
    return code ? sign | code : 0;
}
// Stochastic rounding: the first bits of `random` are added to the bits that do not fit, then those are cut. A result
// that is a denormal loses its lowest bits before. NOTE: the CDNA3 ISA guide's pseudocode lets the mantissa wrap round
// and rounds to nearest after the addition, so that a value which fits would change; we follow AMD's software
// conversion (cast_to_f8 in HIP's FP8 header), with the guide's bits of `random`.
static inline u32 fnuz_stochastic(float x, u32 random, u32 mode, u32 bits, i32 bias) {
    u32 u = bits_f32(x), sign = u >> 31 << 7, magnitude = u & 0x7fffffff, drop = 23 - bits;
    if (magnitude >= 0x7f800000) return magnitude == 0x7f800000 && mode >> 23 & 1 ? sign | 0x7f : 0x80;
    i32 exponent = (i32)(magnitude >> 23) - 127 + bias;
    u32 significand = (magnitude & 0x7fffff) | (magnitude >> 23 ? 0x800000 : 0), code;
    if (exponent >= 1) code = (((u32)(exponent - 1) << 23) + significand + (random >> (32 - drop))) >> drop;
    else code = ((1 - exponent > 24 ? 0 : significand >> (1 - exponent)) + (random >> (32 - drop))) >> drop;
    if (code > 0x7f) return mode >> 23 & 1 ? sign | 0x7f : 0x80;
    return code && magnitude ? sign | code : 0;
}
static inline u32 fp8_from_f32_stochastic(float x, u32 random, u32 mode) {
    return fnuz_stochastic(x, random, mode, 3, 8);
}
static inline u32 bf8_from_f32_stochastic(float x, u32 random, u32 mode) {
    return fnuz_stochastic(x, random, mode, 2, 16);
}
static inline u32 fp8x2_from_f32(float a, float b, u32 mode) {
    return fnuz_from_f32(a, mode, 3, 8) | fnuz_from_f32(b, mode, 3, 8) << 8;
}
static inline u32 bf8x2_from_f32(float a, float b, u32 mode) {
    return fnuz_from_f32(a, mode, 2, 16) | fnuz_from_f32(b, mode, 2, 16) << 8;
}
