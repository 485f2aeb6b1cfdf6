// float32 and float64. Signed zeros of min and max and what a NaN's bits are is left to the target in C: adding 0
// hides the first, the test does not compare the second.
#define FLOATS(T, s, f, INT)                                                                                          \
    CASE2(add_##T, T, T, T, a + b)                                                                                    \
    CASE2(subtract_##T, T, T, T, a - b)                                                                               \
    CASE2(multiply_##T, T, T, T, (a * b))                                                                             \
    CASE2(divide_##T, T, T, T, a / b)                                                                                 \
    CASE1(reciprocal_##T, T, T, 1 / a)                                                                                \
    CASE1(root_##T, T, T, __builtin_sqrt##s(a))                                                                       \
    CASE1(inverse_root_##T, T, T, 1 / __builtin_sqrt##s(a))                                                           \
    CASE3(fma_##T, T, T, T, T, __builtin_fma##s(a, b, c))                                                             \
    CASE3(fma_negated_##T, T, T, T, T, __builtin_fma##s(-a, __builtin_fabs##s(b), -c))                                \
    CASE2(fma_by_constant_##T, T, T, T, __builtin_fma##s(a, (T)1.2345, b))                                            \
    CASE2(fma_plus_constant_##T, T, T, T, __builtin_fma##s(a, b, (T)1.2345))                                          \
    CASE3(multiply_then_add_##T, T, T, T, T, (a * b + c))                                                             \
    CASE2(min_##T, T, T, T, __builtin_fmin##s(a, b) + 0)                                                              \
    CASE2(max_##T, T, T, T, __builtin_fmax##s(a, b) + 0)                                                              \
    CASE3(min3_##T, T, T, T, T, __builtin_fmin##s(__builtin_fmin##s(a, b), c) + 0)                                    \
    CASE3(max3_##T, T, T, T, T, __builtin_fmax##s(__builtin_fmax##s(a, b), c) + 0)                                    \
    CASE1(clamp_##T, T, T, __builtin_fmin##s(__builtin_fmax##s(a, (T)0.5), (T)4))                                     \
    CASE1(saturate_##T, T, T, __builtin_fmin##s(__builtin_fmax##s(a + 1, 0), 1))                                      \
    CASE2(lesser_##T, T, T, T, a < b ? a : b)                                                                         \
    CASE1(floor_##T, T, T, __builtin_floor##s(a))                                                                     \
    CASE1(ceil_##T, T, T, __builtin_ceil##s(a))                                                                       \
    CASE1(trunc_##T, T, T, __builtin_trunc##s(a))                                                                     \
    CASE1(rint_##T, T, T, __builtin_rint##s(a))                                                                       \
    CASE1(nearbyint_##T, T, T, __builtin_nearbyint##s(a))                                                             \
    CASE1(round_##T, T, T, __builtin_round##s(a))                                                                     \
    CASE1(fraction_##T, T, T, a - __builtin_floor##s(a))                                                              \
    CASE1(fraction_below_one_##T, T, T, ({                                                                            \
              T x = a - a == 0 ? a : 7;                                                                               \
              x != x ? x : __builtin_fmin##s(x - __builtin_floor##s(x), 1 - (T)(sizeof(T) == 4 ? 0x1p-24 : 0x1p-53)); \
          }))                                                                                                         \
    CASE2(copysign_##T, T, T, T, __builtin_copysign##s(a, b))                                                         \
    CASE1(double_sum_##T, T, T, (a + 1) * 2)                                                                          \
    CASE1(half_sum_##T, T, T, (a + 1) * (T)0.5)                                                                       \
    CASE2(ldexp_##T, T, T, i32, __builtin_ldexp##s(a, b % 3000))                                                      \
    CASE1(frexp_mantissa_##T, T, T, ({                                                                                \
              int e = 0;                                                                                              \
              T m = __builtin_frexp##s(a, &e);                                                                        \
              a - a == 0 ? m : a;                                                                                     \
          }))                                                                                                         \
    CASE1(frexp_exponent_##T, i32, T, ({                                                                              \
              int e = 0;                                                                                              \
              __builtin_frexp##s(a, &e);                                                                              \
              a - a == 0 ? e : 0;                                                                                     \
          }))                                                                                                         \
    CASE1(is_infinite_##T, u32, T, __builtin_isinf(a) ? 3 : 5)                                                        \
    CASE1(is_finite_##T, u32, T, __builtin_isfinite(a) ? 3 : 5)                                                       \
    CASE1(is_normal_##T, u32, T, __builtin_isnormal(a) ? 3 : 5)                                                       \
    CASE1(is_nan_##T, u32, T, a != a ? 3 : 5)                                                                         \
    CASE3(ordered_##T, u32, T, T, u32,                                                                                \
          (a < b ? c : 3) + (a == b ? c : 5) * 2 + (a <= b ? c : 7) * 3 + (a > b ? c : 11) * 5 +                      \
              (a >= b ? c : 13) * 7 + (__builtin_islessgreater(a, b) ? c : 17) * 9 +                                  \
              (!__builtin_isunordered(a, b) ? c : 19) * 11)                                                           \
    CASE3(unordered_##T, u32, T, T, u32,                                                                              \
          (!(a < b) ? c : 3) + (a != b ? c : 5) * 2 + (!(a <= b) ? c : 7) * 3 + (!(a > b) ? c : 11) * 5 +             \
              (!(a >= b) ? c : 13) * 7 + (!__builtin_islessgreater(a, b) ? c : 17) * 9 +                              \
              (__builtin_isunordered(a, b) ? c : 19) * 11)                                                            \
    CASE3(select_##T, T, T, T, u32, c & 1 ? -a : __builtin_fabs##s(b))
FLOATS(f32, f, F, i32)
FLOATS(f64, , , i64)
// Branches on comparisons: the compiler inverts them, which gives v_cmp_nlt and kin.
#define BRANCH(name, T, condition)                               \
    FUNCTION u32 branch_##name##_##T(T a, T b, u32 c) {          \
        if (condition)                                           \
            for (u32 i = 0; i < (c & 3) + 1; i++) c = c * 3 + i; \
        return c;                                                \
    }                                                            \
    CASE3(branches_##name##_##T, u32, T, T, u32, branch_##name##_##T(a, b, c))
// clang-format off
#define BRANCHES(T) \
    BRANCH(lt, T, a < b) BRANCH(le, T, a <= b) BRANCH(gt, T, a > b) BRANCH(ge, T, a >= b) BRANCH(eq, T, a == b) \
    BRANCH(nlt, T, !(a < b)) BRANCH(nle, T, !(a <= b)) BRANCH(ngt, T, !(a > b)) BRANCH(nge, T, !(a >= b)) \
    BRANCH(neq, T, a != b) BRANCH(lg, T, __builtin_islessgreater(a, b)) BRANCH(nlg, T, !__builtin_islessgreater(a, b)) \
    BRANCH(o, T, !__builtin_isunordered(a, b)) BRANCH(u, T, __builtin_isunordered(a, b))
// clang-format on
BRANCHES(f32)
BRANCHES(f64)
BRANCHES(f16)
CASE3(fma_pairs, f32x2, f32x2, f32x2, f32x2,
      (f32x2){__builtin_fmaf(a[0], b[0], c[0]), __builtin_fmaf(a[1], b[1], c[1])})
CASE2(add_float_pairs, f32x2, f32x2, f32x2, a + b)
CASE2(multiply_float_pairs, f32x2, f32x2, f32x2, (a * b))
CASE2(swap_float_pairs, f32x2, f32x2, f32x2, (f32x2){b[1], a[0]})
FUNCTION f32 dot(f32 a, f32 b, f32 c) {
    f32 sum = 0;
    for (int i = 0; i < 5; i++) sum = __builtin_fmaf(a + (f32)i, b - (f32)i, sum * c);
    return sum;
}
CASE3(accumulated_f32, f32, f32, f32, f32, dot(a, b, c))
FUNCTION f64 horner(f64 x) {
    f64 y = 0.1;
    for (int i = 1; i < 6; i++) y = __builtin_fma(y, x, 1.0 / i);
    return y;
}
CASE1(polynomial_f64, f64, f64, horner(a))
