// Between integers and floats, in all directions; where C leaves the result open, saturated by comparison first.
// clang-format off
#define SATURATED(R, a, low, high, least, most) \
    ((a) != (a) ? (R)0 : (a) <= (low) ? (least) : (a) >= (high) ? (most) : (R)(a))
#define MIN32 (-2147483647 - 1)
#define MIN64 (-9223372036854775807ll - 1)
#define TO_FLOATS(T)                       \
    CASE1(f32_from_##T, f32, T, (f32)a)    \
    CASE1(f64_from_##T, f64, T, (f64)a)
TO_FLOATS(i8) TO_FLOATS(u8) TO_FLOATS(i16) TO_FLOATS(u16) TO_FLOATS(i32) TO_FLOATS(u32) TO_FLOATS(i64) TO_FLOATS(u64)
CASE1(f16_from_u16, f16, u16, (f16)(f32)a)
CASE1(f16_from_i16, f16, i16, (f16)(f32)a)
CASE1(f16_from_u8, f16, u8, (f16)(f32)a)
#define FROM_FLOATS(T)                                                                                  \
    CASE1(i32_from_##T, i32, T, SATURATED(i32, a, (T)MIN32, (T)2147483647, MIN32, 2147483647))          \
    CASE1(u32_from_##T, u32, T, SATURATED(u32, a, 0, (T)4294967295, 0, 4294967295))                     \
    CASE1(i64_from_##T, i64, T, SATURATED(i64, a, (T)MIN64, (T)0x1p63, MIN64, 9223372036854775807ll))   \
    CASE1(u64_from_##T, u64, T, SATURATED(u64, a, 0, (T)0x1p64, 0, ~0ull))                              \
    CASE1(i16_from_##T, i16, T, SATURATED(i16, a, -32768, 32767, -32768, 32767))                        \
    CASE1(u16_from_##T, u16, T, SATURATED(u16, a, 0, 65535, 0, 65535))                                  \
    CASE1(i8_from_##T, i8, T, SATURATED(i8, a, -128, 127, -128, 127))
FROM_FLOATS(f32)
FROM_FLOATS(f64)
CASE1(i16_from_f16, i16, f16, SATURATED(i16, (f32)a, -32768, 32767, -32768, 32767))
CASE1(u16_from_f16, u16, f16, SATURATED(u16, (f32)a, 0, 65504, 0, 65504))
CASE1(i32_in_range, i32, f16, a > (f16)-30000 && a < (f16)30000 ? (i32)a : 7)
CASE1(i16_in_range_from_f16, i16, f16, a > (f16)-30000 && a < (f16)30000 ? (i16)a : 7)
CASE1(u16_in_range_from_f16, u16, f16, a >= 0 && a < (f16)60000 ? (u16)a : 7)
CASE1(f64_from_f32, f64, f32, (f64)a)
CASE1(f32_from_f64, f32, f64, (f32)a)
CASE1(f16_from_f32, f16, f32, (f16)a)
CASE1(f32_from_f16, f32, f16, (f32)a)
CASE1(f64_from_f16, f64, f16, (f64)(f32)a)
CASE1(byte_0, f32, u32, (f32)(a & 255))
CASE1(byte_1, f32, u32, (f32)(a >> 8 & 255))
CASE1(byte_2, f32, u32, (f32)(a >> 16 & 255))
CASE1(byte_3, f32, u32, (f32)(a >> 24))
CASE1(rounded_to_int, i32, f32, a > -1e9f && a < 1e9f ? (i32)__builtin_floorf(a + 0.5f) : 7)
CASE1(floor_to_int, i32, f32, a > -1e9f && a < 1e9f ? (i32)__builtin_floorf(a) : 7)
CASE1(bits_of_f32, u32, f32, ({ u32 u; f32 x = a; __builtin_memcpy(&u, &x, 4); u + 1; }))
CASE2(negated_f32_of_bits, u32, u32, u32,
      ({ u32 u = a ^ b; f32 f; __builtin_memcpy(&f, &u, 4); f = -f; __builtin_memcpy(&u, &f, 4); u; }))
