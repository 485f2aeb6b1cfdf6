// What vector instructions do to a lane, from the CDNA3 ISA guide's pseudocode: NAME gives the destination,
// NAME__mask the lane's bit of a mask. a, b, c are the sources; a mask as a source is c's lowest bit, and where the
// destination is read too, it held c. A result of 16 bits that keeps the register's high half is written with KEPT.
// clang-format off
typedef u32 lane;
#define KEPT(x) (0x5a5a0000 | (u16)(x))
#define M24(x) ((x) & 0xffffff)
#define S24(x) ((i32)((u32)(x) << 8) >> 8)
#define BYTE(x, i) ((i32)((x) >> 8 * (i) & 255))
#define HALF(x, i) ((i32)((x) >> 16 * (i) & 65535))
FUNCTION i64 clamp(i64 x, i64 low, i64 high) { return x < low ? low : x > high ? high : x; }
FUNCTION i64 median(i64 a, i64 b, i64 c) { return a > b ? clamp(c, b, a) : clamp(c, a, b); }
FUNCTION i64 least(i64 a, i64 b) { return a < b ? a : b; }
FUNCTION i64 most(i64 a, i64 b) { return a > b ? a : b; }
FUNCTION u32 apart(i64 a, i64 b) { return (u32)(a > b ? a - b : b - a); }
FUNCTION i32 first_bit(u32 x, u32 unlike) { for (int i = 0; i < 32; i++) if ((x >> (31 - i) & 1) != unlike)
      return i; return -1; }
CASE1(v_mov_b32, u32, u32, a)
CASE1(v_not_b32, u32, u32, ~a)
CASE1(v_bfrev_b32, u32, u32, ({ u32 d = 0; for (int i = 0; i < 32; i++) d |= (a >> i & 1) << (31 - i); d; }))
CASE1(v_ffbh_u32, i32, u32, first_bit(a, 0))
CASE1(v_ffbh_i32, i32, u32, first_bit(a, a >> 31))
CASE1(v_ffbl_b32, i32, u32, ({ i32 d = -1; for (int i = 31; i >= 0; i--) if (a >> i & 1) d = i; d; }))
CASE2(v_and_b32, u32, u32, u32, a & b)
CASE2(v_or_b32, u32, u32, u32, a | b)
CASE2(v_xor_b32, u32, u32, u32, a ^ b)
CASE2(v_xnor_b32, u32, u32, u32, ~(a ^ b))
CASE2(v_lshlrev_b32, u32, u32, u32, b << a % 32)
CASE2(v_lshrrev_b32, u32, u32, u32, b >> a % 32)
CASE2(v_ashrrev_i32, i32, u32, i32, b >> a % 32)
CASE2(v_lshlrev_b64, u64, u32, u64, b << a % 64)
CASE2(v_lshrrev_b64, u64, u32, u64, b >> a % 64)
CASE2(v_ashrrev_i64, i64, u32, i64, b >> a % 64)
CASE3(v_lshl_add_u64, u64, u64, u32, u64, (a << b % 8) + c)
CASE3(v_bfe_u32, u32, u32, u32, u32, ({ u32 d = 0; for (u32 i = 0; i < c % 32 && b % 32 + i < 32; i++) d |= (a >>
      (b % 32 + i) & 1) << i; d; }))
CASE3(v_bfe_i32, u32, i32, u32, u32, ({ u32 d = 0, w = c % 32; for (u32 i = 0; w && i < 32; i++) {
      u32 at = b % 32 + (i < w ? i : w - 1); d |= ((u32)a >> (at < 32 ? at : 31) & 1) << i; } d; }))
CASE3(v_bfi_b32, u32, u32, u32, u32, (a & b) | (~a & c))
CASE2(v_bfm_b32, u32, u32, u32, ((1u << a % 32) - 1) << b % 32)
CASE3(v_alignbit_b32, u32, u32, u32, u32, c % 32 ? b >> c % 32 | a << (32 - c % 32) : b)
CASE3(v_alignbyte_b32, u32, u32, u32, u32, c % 4 ? b >> 8 * (c % 4) | a << (32 - 8 * (c % 4)) : b)
FUNCTION u32 permuted(u32 a, u32 b, u32 k) {
    if (k >= 13) return 255;
    if (k == 12) return 0;
    if (k >= 8) return ((k >= 10 ? a : b) >> (k & 1 ? 31 : 15) & 1) * 255;
    return (u32)BYTE(k >= 4 ? a : b, k % 4);
}
CASE3(v_perm_b32, u32, u32, u32, u32, permuted(a, b, c & 255) | permuted(a, b, c >> 8 & 255) << 8 | permuted(a,
      b, c >> 16 & 255) << 16 | permuted(a, b, c >> 24) << 24)
FUNCTION u32 set_bits(u32 x) { u32 n = 0; for (; x; x &= x - 1) n++; return n; }
CASE2(v_bcnt_u32_b32, u32, u32, u32, set_bits(a) + b)
CASE3(v_mbcnt_lo_u32_b32, u32, u32, u32, lane, b + set_bits(c < 32 ? a & ((1u << c) - 1) : a))
CASE3(v_mbcnt_hi_u32_b32, u32, u32, u32, lane, b + (c > 32 ? set_bits(a & ((1u << (c - 32)) - 1)) : 0))
CASE3(v_cndmask_b32, u32, u32, u32, u32, c & 1 ? b : a)
CASE2(v_add_u32, u32, u32, u32, a + b)
CASE2(v_sub_u32, u32, u32, u32, a - b)
CASE2(v_subrev_u32, u32, u32, u32, b - a)
CASE2(v_add_i32, u32, u32, u32, a + b)
CASE2(v_sub_i32, u32, u32, u32, a - b)
#define CARRY(name, d, mask) CASE3(name, u32, u32, u32, u32, d) CASE3(name##__mask, u32, u32, u32, u32, (mask) \
    ? 1 : 0)
CARRY(v_add_co_u32, a + b, (u64)a + b > 0xffffffff)
CARRY(v_sub_co_u32, a - b, b > a)
CARRY(v_subrev_co_u32, b - a, a > b)
CARRY(v_addc_co_u32, a + b + c % 2, (u64)a + b + c % 2 > 0xffffffff)
CARRY(v_subb_co_u32, a - b - c % 2, (u64)b + c % 2 > a)
CARRY(v_subbrev_co_u32, b - a - c % 2, (u64)a + c % 2 > b)
CASE3(v_mad_u64_u32, u64, u32, u32, u64, (u64)a * b + c)
CASE3(v_mad_u64_u32__mask, u32, u32, u32, u64, (u64)a * b + c < c)
CASE3(v_mad_i64_i32, u64, i32, i32, u64, (u64)((i64)a * b) + c)
CASE3(v_mad_i64_i32__mask, u32, i32, i32, i64, (__int128)a * b + c < 0)
CASE2(v_mul_lo_u32, u32, u32, u32, (a * b))
CASE2(v_mul_hi_u32, u32, u32, u32, (u32)((u64)a * b >> 32))
CASE2(v_mul_hi_i32, i32, i32, i32, (i32)((i64)a * b >> 32))
CASE2(v_mul_i32_i24, u32, u32, u32, (u32)((i64)S24(a) * S24(b)))
CASE2(v_mul_hi_i32_i24, u32, u32, u32, (u32)((i64)S24(a) * S24(b) >> 32))
CASE2(v_mul_u32_u24, u32, u32, u32, M24(a) * M24(b))
CASE2(v_mul_hi_u32_u24, u32, u32, u32, (u32)((u64)M24(a) * M24(b) >> 32))
CASE3(v_mad_i32_i24, u32, u32, u32, u32, (u32)((i64)S24(a) * S24(b)) + c)
CASE3(v_mad_u32_u24, u32, u32, u32, u32, M24(a) * M24(b) + c)
CASE3(v_mad_u32_u16, u32, u16, u16, u32, (u32)a * b + c)
CASE3(v_mad_i32_i16, u32, i16, i16, u32, (u32)(a * b) + c)
#define LIMITS(T, t) CASE2(v_min_##T, T, T, T, (T)least(a, b)) CASE2(v_max_##T, T, T, T, (T)most(a, b)) \
    CASE3(v_min3_##T, T, T, T, T, (T)least(least(a, b), c)) CASE3(v_max3_##T, T, T, T, T, (T)most(most(a, b), c)) \
    CASE3(v_med3_##T, T, T, T, T, (T)median(a, b, c))
LIMITS(i32, i) LIMITS(u32, u) LIMITS(i16, i) LIMITS(u16, u)
#define SAD8(a, b) (apart(BYTE(a, 0), BYTE(b, 0)) + apart(BYTE(a, 1), BYTE(b, 1)) + apart(BYTE(a, 2), BYTE(b, 2)) \
    + apart(BYTE(a, 3), BYTE(b, 3)))
CASE3(v_sad_u8, u32, u32, u32, u32, SAD8(a, b) + c)
CASE3(v_sad_hi_u8, u32, u32, u32, u32, (SAD8(a, b) << 16) + c)
CASE3(v_sad_u16, u32, u32, u32, u32, apart(HALF(a, 0), HALF(b, 0)) + apart(HALF(a, 1), HALF(b, 1)) + c)
CASE3(v_sad_u32, u32, u32, u32, u32, apart(a, b) + c)
CASE3(v_msad_u8, u32, u32, u32, u32, ({ u32 d = c; for (int i = 0; i < 4; i++) if (BYTE(b, i)) d += apart(BYTE(a,
      i), BYTE(b, i)); d; }))
CASE3(v_lerp_u8, u32, u32, u32, u32, ({ u32 d = 0; for (int i = 0; i < 4; i++) d |= (u32)(BYTE(a, i) + BYTE(b, i)
      + (BYTE(c, i) & 1)) / 2 << 8 * i; d; }))
CASE3(v_xad_u32, u32, u32, u32, u32, (a ^ b) + c)
CASE3(v_lshl_add_u32, u32, u32, u32, u32, (a << b % 32) + c)
CASE3(v_add_lshl_u32, u32, u32, u32, u32, (a + b) << c % 32)
CASE3(v_add3_u32, u32, u32, u32, u32, a + b + c)
CASE3(v_lshl_or_b32, u32, u32, u32, u32, a << b % 32 | c)
CASE3(v_and_or_b32, u32, u32, u32, u32, (a & b) | c)
CASE3(v_or3_b32, u32, u32, u32, u32, a | b | c)
// sums of products of fields of n bits, as many as a register has
FUNCTION i64 field(u32 x, int i, int n, int sign) { i64 v = (i64)(x >> i * n & ((1u << n) - 1));
      return sign && v >> (n - 1) ? v - (1 << n) : v; }
FUNCTION i64 products(u32 a, u32 b, int n, int sign) { i64 d = 0; for (int i = 0; i < 32 / n; i++) d += field(a,
      i, n, sign) * field(b, i, n, sign); return d; }
CASE3(v_dot2_i32_i16, u32, u32, u32, u32, c + (u32)products(a, b, 16, 1))
CASE3(v_dot2_u32_u16, u32, u32, u32, u32, c + (u32)products(a, b, 16, 0))
CASE3(v_dot4_i32_i8, u32, u32, u32, u32, c + (u32)products(a, b, 8, 1))
CASE3(v_dot4_u32_u8, u32, u32, u32, u32, c + (u32)products(a, b, 8, 0))
CASE3(v_dot8_i32_i4, u32, u32, u32, u32, c + (u32)products(a, b, 4, 1))
CASE3(v_dot8_u32_u4, u32, u32, u32, u32, c + (u32)products(a, b, 4, 0))
CASE3(v_dot2c_i32_i16, u32, u32, u32, u32, c + (u32)products(a, b, 16, 1))
CASE3(v_dot4c_i32_i8, u32, u32, u32, u32, c + (u32)products(a, b, 8, 1))
CASE3(v_dot8c_i32_i4, u32, u32, u32, u32, c + (u32)products(a, b, 4, 1))
CASE1(v_sat_pk_u8_i16, u32, i16x2, (u32)clamp(a[0], 0, 255) | (u32)clamp(a[1], 0, 255) << 8)
CASE2(v_add_u16, u16, u16, u16, (u16)(a + b))
CASE2(v_sub_u16, u16, u16, u16, (u16)(a - b))
CASE2(v_subrev_u16, u16, u16, u16, (u16)(b - a))
CASE2(v_add_i16, u16, u16, u16, (u16)(a + b))
CASE2(v_sub_i16, u16, u16, u16, (u16)(a - b))
CASE2(v_mul_lo_u16, u16, u16, u16, (u16)((u32)a * b))
CASE2(v_lshlrev_b16, u16, u16, u16, (u16)((u32)b << a % 16))
CASE2(v_lshrrev_b16, u16, u16, u16, (u16)(b >> a % 16))
CASE2(v_ashrrev_i16, i16, u16, i16, (i16)(b >> a % 16))
CASE3(v_mad_u16, u32, u16, u16, u16, KEPT((u32)a * b + c))
CASE3(v_mad_i16, u32, i16, i16, i16, KEPT(a * b + c))
CASE3(v_mad_legacy_u16, u16, u16, u16, u16, (u16)((u32)a * b + c))
CASE3(v_mad_legacy_i16, i16, i16, i16, i16, (i16)(a * b + c))
CASE2(v_pack_b32_f16, u32, u16, u16, (u32)b << 16 | a)
CASE2(v_cvt_pk_u16_u32, u32, u32, u32, (u32)clamp(a, 0, 65535) | (u32)clamp(b, 0, 65535) << 16)
CASE2(v_cvt_pk_i16_i32, u32, i32, i32, (u32)(u16)clamp(a, -32768, 32767) | (u32)clamp(b, -32768, 32767) << 16)
CASE1(v_cvt_off_f32_i4, f32, u32, (f32)((i32)(a << 28) >> 28) * 0.0625f)
#define PAIRS(name, T, d) CASE3(v_pk_##name, T##x2, T##x2, T##x2, T##x2, ({ T##x2 pair; for (int i = 0; i < 2; \
    i++) { T x = a[i], y = b[i], z = c[i]; pair[i] = (T)(d); } pair; }))
PAIRS(add_u16, u16, x + y) PAIRS(add_i16, i16, x + y) PAIRS(sub_u16, u16, x - y) PAIRS(sub_i16, i16, x - y)
PAIRS(mul_lo_u16, u16, (u32)x * y) PAIRS(mad_u16, u16, (u32)x * y + z) PAIRS(mad_i16, i16, x * y + z)
PAIRS(lshlrev_b16, u16, (u32)y << x % 16) PAIRS(lshrrev_b16, u16, y >> x % 16) PAIRS(ashrrev_i16, i16, y >> (x & 15))
PAIRS(max_i16, i16, most(x, y)) PAIRS(min_i16, i16, least(x, y)) PAIRS(max_u16, u16, most(x, y)) PAIRS(min_u16,
      u16, least(x, y))
// comparisons: v_cmp writes a mask, v_cmpx EXEC too
#define COMPARED(name, T, holds) CASE2(v_cmp_##name##_##T##__mask, u32, T, T, (holds) ? 1 : 0) \
    CASE2(v_cmpx_##name##_##T##__mask, u32, T, T, (holds) ? 1 : 0)
#define RELATIONS(T) COMPARED(lt, T, a < b) COMPARED(eq, T, a == b) COMPARED(le, T, a <= b) COMPARED(gt, T, a > \
    b) COMPARED(ge, T, a >= b) COMPARED(f, T, 0)
#define INTEGER(T) RELATIONS(T) COMPARED(ne, T, a != b) COMPARED(t, T, 1)
#define FLOAT(T) RELATIONS(T) COMPARED(lg, T, a < b || a > b) COMPARED(o, T, a == a && b == b) COMPARED(u, T, \
    a != a || b != b) \
    COMPARED(nge, T, !(a >= b)) COMPARED(nlg, T, !(a < b || a > b)) COMPARED(ngt, T, !(a > b)) COMPARED(nle, T, \
    !(a <= b)) \
    COMPARED(neq, T, a != b) COMPARED(nlt, T, !(a < b)) COMPARED(tru, T, 1)
INTEGER(i16) INTEGER(u16) INTEGER(i32) INTEGER(u32) INTEGER(i64) INTEGER(u64) FLOAT(f16) FLOAT(f32) FLOAT(f64)
// classes: a signalling or quiet NaN, -infinity, -normal, -denormal, -0, and +0 to +infinity
FUNCTION u32 class_of(u64 x, int exponent, int mantissa) {
    u64 fraction = x & ((1ull << mantissa) - 1), e = x >> mantissa & ((1ull << exponent) - 1),
      top = (1ull << exponent) - 1;
    if (e == top && fraction) return fraction >> (mantissa - 1);
    u32 size = e == top ? 3 : e ? 2 : fraction ? 1 : 0;
    return x >> (exponent + mantissa) & 1 ? 5 - size : 6 + size;
}
#define CLASS(name, T, exponent, mantissa) CASE2(name##__mask, u32, T, u32, b >> class_of(a, exponent, mantissa) & 1)
CLASS(v_cmp_class_f16, u16, 5, 10) CLASS(v_cmp_class_f32, u32, 8, 23) CLASS(v_cmp_class_f64, u64, 11, 52)
CLASS(v_cmpx_class_f16, u16, 5, 10) CLASS(v_cmpx_class_f32, u32, 8, 23) CLASS(v_cmpx_class_f64, u64, 11, 52)
CASE2(v_mul_legacy_f32, f32, f32, f32, a == 0 || b == 0 ? 0 : a * b)
CASE2(v_subrev_f16, f16, f16, f16, (f16)((f32)b - (f32)a))
CASE1(v_cvt_flr_i32_f32, i32, f32, a != a ? 0 : (i32)(a >= 0x1p31f ? 2147483647 : a < -0x1p31f ? -2147483648ll :
      (i64)__builtin_floor(a)))
FUNCTION u64 lesser(f64 a, f64 b) { u64 x, y; __builtin_memcpy(&x, &a, 8); __builtin_memcpy(&y, &b, 8);
      return a == b ? x | y : a < b ? x : y; }
FUNCTION u64 greater(f64 a, f64 b) { u64 x, y; __builtin_memcpy(&x, &a, 8); __builtin_memcpy(&y, &b, 8);
      return a == b ? x & y : a > b ? x : y; }
// min and max where NaNs are: a signalling one, made quiet, or else the other operand
FUNCTION u64 number(u64 x, u64 y, u64 both) {
    u64 quiet = 1ull << 51, top = 0x7ff0000000000000;
    int nan_x = (x & ~(1ull << 63)) > top, nan_y = (y & ~(1ull << 63)) > top;
    return nan_x && !(x & quiet) ? x | quiet : nan_y && !(y & quiet) ? y | quiet : nan_x ? y : nan_y ? x : both;
}
CASE2(v_min_f64, u64, u64, u64, ({ f64 x, y; __builtin_memcpy(&x, &a, 8); __builtin_memcpy(&y, &b, 8); number(a,
      b, lesser(x, y)); }))
CASE2(v_max_f64, u64, u64, u64, ({ f64 x, y; __builtin_memcpy(&x, &a, 8); __builtin_memcpy(&y, &b, 8); number(a,
      b, greater(x, y)); }))
