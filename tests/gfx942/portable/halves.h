// float16 and bfloat16. Written through float, so that no target keeps more precision than another: a float16 result
// of one operation is the same, as float32 has more than twice its bits. The GPU's compiler finds v_add_f16 in it.
#ifdef __AMDGCN__
#define FMA16(a, b, c) (f16) __builtin_fmaf16(a, b, c)
#define SQRT16(a) (f16) __builtin_sqrtf16(a)
#define MIN16(a, b) (f16) __builtin_fminf16(a, b)
#define MAX16(a, b) (f16) __builtin_fmaxf16(a, b)
#define LDEXP16(a, e) (f16) __builtin_ldexpf16(a, e)
#define FREXP16(a, e) (f16) __builtin_frexpf16(a, e)
#define BF16(x)                              \
    ({                                       \
        __bf16 narrow = (__bf16)(x);         \
        u16 bits;                            \
        __builtin_memcpy(&bits, &narrow, 2); \
        bits;                                \
    })
#else
#define FMA16(a, b, c) (f16)((f64)(a) * (f64)(b) + (f64)(c))  // exact but for the last rounding
#define SQRT16(a) (f16) __builtin_sqrtf((f32)(a))
#define MIN16(a, b) (f16) __builtin_fminf((f32)(a), (f32)(b))
#define MAX16(a, b) (f16) __builtin_fmaxf((f32)(a), (f32)(b))
#define LDEXP16(a, e) (f16) __builtin_ldexpf((f32)(a), e)
#define FREXP16(a, e) (f16) __builtin_frexpf((f32)(a), e)
FUNCTION u16 BF16(f32 x) {
    u32 u;
    __builtin_memcpy(&u, &x, 4);
    return x != x ? (u16)(u >> 16 | 64) : (u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
#endif
FUNCTION f32 from_bf16(u16 x) {
    u32 u = (u32)x << 16;
    f32 f;
    __builtin_memcpy(&f, &u, 4);
    return f;
}
CASE2(add_f16, f16, f16, f16, (f16)((f32)a + (f32)b))
CASE2(subtract_f16, f16, f16, f16, (f16)((f32)a - (f32)b))
CASE1(subtract_f16_from_constant, f16, f16, (f16)(3.25f - (f32)a))
CASE2(multiply_f16, f16, f16, f16, (f16)(a * b))
CASE2(divide_f16, f16, f16, f16, (f16)((f32)a / (f32)b))
CASE1(root_f16, f16, f16, (f16)__builtin_sqrtf((f32)a))
CASE3(fma_f16, f16, f16, f16, f16, FMA16(a, b, c))
CASE3(fma_mixed, f32, f16, f16, f32, __builtin_fmaf((f32)a, (f32)b, c))
CASE3(fma_mixed_halves, f32, f16x2, f16x2, f32, __builtin_fmaf((f32)a[1], -(f32)b[1], __builtin_fabsf(c)))
CASE3(fma_to_half, f16, f16, f32, f32, (f16)__builtin_fmaf((f32)a, b, c))
CASE3(fma_to_pair, f16x2, f16, f32, f32, (f16x2){(f16)__builtin_fmaf((f32)a, b, c), (f16)__builtin_fmaf((f32)a, c, b)})
CASE2(min_f16, f16, f16, f16, (f16)((f16)__builtin_fminf((f32)a, (f32)b) + (f16)0))
CASE2(max_f16, f16, f16, f16, (f16)((f16)__builtin_fmaxf((f32)a, (f32)b) + (f16)0))
CASE3(min3_f16, f16, f16, f16, f16, (f16)((f16)__builtin_fminf(__builtin_fminf((f32)a, (f32)b), (f32)c) + (f16)0))
CASE3(max3_f16, f16, f16, f16, f16, (f16)((f16)__builtin_fmaxf(__builtin_fmaxf((f32)a, (f32)b), (f32)c) + (f16)0))
CASE1(clamp_f16, f16, f16, MIN16(MAX16(a + (f16)0, (f16)0.5), (f16)4))
CASE1(native_root_f16, f16, f16, SQRT16(a))
CASE2(native_ldexp_f16, f16, f16, i16, LDEXP16(a, b % 64))
CASE1(frexp_mantissa_f16, f16, f16, ({
          int e = 0;
          f16 m = FREXP16(a, &e);
          a - a == 0 ? m : a;
      }))
CASE1(frexp_exponent_f16, i16, f16, ({
          int e = 0;
          FREXP16(a, &e);
          (i16)(a - a == 0 ? e : 0);
      }))
CASE1(fraction_f16, f16, f16, a - a == 0 ? MIN16((f16)((f32)a - __builtin_floorf((f32)a)), (f16)0x1.ffcp-1) : (f16)7)
CASE1(floor_f16, f16, f16, (f16)__builtin_floorf((f32)a))
CASE1(ceil_f16, f16, f16, (f16)__builtin_ceilf((f32)a))
CASE1(trunc_f16, f16, f16, (f16)__builtin_truncf((f32)a))
CASE1(rint_f16, f16, f16, (f16)__builtin_rintf((f32)a))
CASE1(negate_f16, f16, f16, -a)
CASE2(copysign_f16, f16, f16, f16, (f16)__builtin_copysignf((f32)a, (f32)b))
CASE2(ldexp_f16, f16, f16, i16, (f16)__builtin_ldexpf((f32)a, b % 64))
CASE3(ordered_f16, u32, f16, f16, u32,
      (a < b ? c : 3) + (a == b ? c : 5) * 2 + (a <= b ? c : 7) * 3 + (a > b ? c : 11) * 5 + (a >= b ? c : 13) * 7 +
          (a < b || a > b ? c : 17) * 9 + (a == a && b == b ? c : 19) * 11)
CASE3(unordered_f16, u32, f16, f16, u32,
      (!(a < b) ? c : 3) + (a != b ? c : 5) * 2 + (!(a <= b) ? c : 7) * 3 + (!(a > b) ? c : 11) * 5 +
          (!(a >= b) ? c : 13) * 7 + (!(a < b || a > b) ? c : 17) * 9 + (a != a || b != b ? c : 19) * 11)
CASE1(is_infinite_f16, u32, f16, __builtin_isinf(a) ? 3 : 5)
CASE1(is_finite_f16, u32, f16, __builtin_isfinite(a) ? 3 : 5)
CASE1(is_nan_f16, u32, f16, a != a ? 3 : 5)
CASE2(add_half_pairs, f16x2, f16x2, f16x2, (f16x2){(f16)((f32)a[0] + (f32)b[0]), (f16)((f32)a[1] + (f32)b[1])})
CASE2(multiply_half_pairs, f16x2, f16x2, f16x2, (f16x2){(f16)(a[0] * b[0]), (f16)(a[1] * b[1])})
CASE2(subtract_crossed_half_pairs, f16x2, f16x2, f16x2,
      (f16x2){(f16)((f32)a[0] - (f32)b[1]), (f16)((f32)a[1] - (f32)b[0])})
CASE3(fma_half_pairs, f16x2, f16x2, f16x2, f16x2, (f16x2){FMA16(a[0], b[0], c[0]), FMA16(a[1], b[1], c[1])})
CASE2(min_half_pairs, f16x2, f16x2, f16x2,
      (f16x2){(f16)__builtin_fminf((f32)a[0], (f32)b[0]), (f16)__builtin_fminf((f32)a[1], (f32)b[1])} + (f16x2){0, 0})
CASE2(max_half_pairs, f16x2, f16x2, f16x2,
      (f16x2){(f16)__builtin_fmaxf((f32)a[0], (f32)b[0]), (f16)__builtin_fmaxf((f32)a[1], (f32)b[1])} + (f16x2){0, 0})
CASE2(join_halves, f16x2, f16, f16, (f16x2){a, b})
CASE1(to_bf16, bf16, f32, BF16(a))
CASE2(add_bf16, bf16, bf16, bf16, BF16(from_bf16(a) + from_bf16(b)))
CASE2(multiply_bf16, bf16, bf16, bf16, BF16(from_bf16(a) * from_bf16(b)))
CASE3(fma_bf16, bf16, bf16, bf16, bf16, BF16(__builtin_fmaf(from_bf16(a), from_bf16(b), from_bf16(c))))
