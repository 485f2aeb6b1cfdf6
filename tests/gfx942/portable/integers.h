// 32-bit integers: one operation each, and the combinations that the ISA has in one instruction.
CASE2(add, u32, u32, u32, a + b)
CASE2(subtract, u32, u32, u32, a - b)
CASE1(subtract_from_constant, u32, u32, 77 - a)
CASE1(negate, u32, u32, 0 - a)
CASE2(multiply, u32, u32, u32, (a * b))
CASE1(multiply_by_short_constant, u32, u32, a * 1234)
CASE1(add_short_constant, u32, u32, a + 1234)
CASE2(high_product_unsigned, u32, u32, u32, (u32)((u64)a * b >> 32))
CASE2(high_product_signed, i32, i32, i32, (i32)((i64)a * b >> 32))
CASE2(product_24_unsigned, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff))
CASE2(high_product_24_unsigned, u32, u32, u32, (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >> 32))
CASE2(product_24_signed, i32, i32, i32, (i32)((i64)((i32)((u32)a << 8) >> 8) * ((i32)((u32)b << 8) >> 8)))
CASE2(high_product_24_signed, i32, i32, i32, (i32)((i64)((i32)((u32)a << 8) >> 8) * ((i32)((u32)b << 8) >> 8) >> 32))
CASE3(multiply_add_24_unsigned, u32, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff) + c)
CASE3(multiply_add_24_signed, u32, i32, i32, u32, (u32)((i64)((i32)((u32)a << 8) >> 8) * ((i32)((u32)b << 8) >> 8)) + c)
CASE3(multiply_add, u32, u32, u32, u32, (a * b + c))
CASE2(divide_unsigned, u32, u32, u32, a / (b | 1))
CASE2(divide_signed, i32, i32, i32, b == 0 || (a == -2147483647 - 1 && b == -1) ? 0 : a / b)
CASE2(remainder_unsigned, u32, u32, u32, a % (b | 1))
CASE2(remainder_signed, i32, i32, i32, b == 0 || b == -1 ? 0 : a % b)
CASE1(divide_by_constant, u32, u32, a / 7)
CASE1(divide_signed_by_constant, i32, i32, a / 10)
CASE2(shift_left, u32, u32, u32, a << (b & 31))
CASE2(shift_right, u32, u32, u32, a >> (b & 31))
CASE2(shift_right_signed, i32, i32, u32, a >> (b & 31))
CASE2(rotate_left, u32, u32, u32, a << (b & 31) | a >> (-b & 31))
CASE3(funnel_shift, u32, u32, u32, u32, (u32)(((u64)a << 32 | b) >> (c & 31)))
CASE2(funnel_shift_by_bytes, u32, u32, u32, (u32)(((u64)a << 32 | b) >> 8))
CASE2(bitwise_and, u32, u32, u32, (a & b))
CASE2(bitwise_or, u32, u32, u32, a | b)
CASE2(bitwise_xor, u32, u32, u32, a ^ b)
CASE1(bitwise_not, u32, u32, ~a)
CASE2(bitwise_and_not, u32, u32, u32, a & ~b)
CASE2(bitwise_or_not, u32, u32, u32, a | ~b)
CASE2(bitwise_nand, u32, u32, u32, (~a | ~b))
CASE2(bitwise_nor, u32, u32, u32, ~(a | b))
CASE2(bitwise_xnor, u32, u32, u32, ~(a ^ b))
CASE3(and_or, u32, u32, u32, u32, (a & b) | c)
CASE3(or3, u32, u32, u32, u32, a | b | c)
CASE3(add3, u32, u32, u32, u32, a + b + c)
CASE3(xor_add, u32, u32, u32, u32, (a ^ b) + c)
CASE3(shift_add, u32, u32, u32, u32, (a << (b & 31)) + c)
CASE2(shift_1_add, u32, u32, u32, (a << 1) + b)
CASE2(shift_2_add, u32, u32, u32, (a << 2) + b)
CASE2(shift_3_add, u32, u32, u32, (a << 3) + b)
CASE2(shift_4_add, u32, u32, u32, (a << 4) + b)
CASE3(add_shift, u32, u32, u32, u32, (a + b) << (c & 31))
CASE3(shift_or, u32, u32, u32, u32, a << (b & 31) | c)
CASE3(choose_bits, u32, u32, u32, u32, (a & b) | (~a & c))
CASE2(mask_of_width_at, u32, u32, u32, ((1u << (a & 31)) - 1) << (b & 31))
CASE3(field_unsigned, u32, u32, u32, u32, a >> (b & 31) & ((1u << (c & 31)) - 1))
CASE1(constant_field_unsigned, u32, u32, a >> 5 & 0x3ff)
CASE1(constant_field_signed, i32, i32, (i32)((u32)a << 9) >> 20)
CASE1(sign_extend_byte, i32, u32, (i8)a)
CASE1(sign_extend_half, i32, u32, (i16)a)
CASE1(set_bit, u32, u32, a | 1u << 20)
CASE1(clear_bit, u32, u32, a & ~(1u << 20))
CASE1(is_bit_set, u32, u32, a >> 11 & 1 ? 17 : 4)
CASE2(is_any_bit_set, u32, u32, u32, a >> (b & 31) & 1 ? 17 : 4)
CASE1(reverse_bits, u32, u32, ({
          u32 r = 0;
          for (int i = 0; i < 32; i++) r |= (a >> i & 1) << (31 - i);
          r;
      }))
CASE1(swap_bytes, u32, u32, __builtin_bswap32(a))
CASE2(mix_bytes, u32, u32, u32, (a & 0xff) << 16 | (b >> 8 & 0xff) << 24 | (a >> 24) | (b & 0xff) << 8)
CASE2(mix_words, u32, u32, u32, (a & 0xffff) | b << 16)
CASE2(mix_low_and_high_words, u32, u32, u32, (a & 0xffff) | (b & 0xffff0000))
CASE2(mix_high_words, u32, u32, u32, a >> 16 | (b & 0xffff0000))
CASE1(leading_zeros, u32, u32, a ? __builtin_clz(a) : 32)
CASE1(trailing_zeros, u32, u32, a ? __builtin_ctz(a) : 32)
CASE1(leading_zeros_or_minus_one, i32, u32, a ? __builtin_clz(a) : -1)
CASE1(trailing_zeros_or_minus_one, i32, u32, a ? __builtin_ctz(a) : -1)
CASE1(lowest_zero, u32, u32, ~a ? __builtin_ctz(~a) : 32)
CASE1(redundant_sign_bits, i32, i32, __builtin_clrsb(a))
CASE1(ones, u32, u32, __builtin_popcount(a))
CASE1(any_ones, u32, u32, __builtin_popcount(a & 0x5555) ? a : 3)
CASE1(zeros, u32, u32, 32 - __builtin_popcount(a))
CASE2(ones_plus, u32, u32, u32, __builtin_popcount(a) + b)
CASE1(parity, u32, u32, __builtin_parity(a))
CASE1(absolute, u32, i32, a < 0 ? 0 - (u32)a : (u32)a)
CASE2(distance_signed, u32, i32, i32, a < b ? (u32)b - (u32)a : (u32)a - (u32)b)
CASE3(distance_plus, u32, u32, u32, u32, (a > b ? a - b : b - a) + c)
CASE2(min_signed, i32, i32, i32, a < b ? a : b)
CASE2(max_signed, i32, i32, i32, a > b ? a : b)
CASE2(min_unsigned, u32, u32, u32, a < b ? a : b)
CASE2(max_unsigned, u32, u32, u32, a > b ? a : b)
FUNCTION i32 min_i32(i32 a, i32 b) {
    return a < b ? a : b;
}
FUNCTION i32 max_i32(i32 a, i32 b) {
    return a > b ? a : b;
}
FUNCTION u32 min_u32(u32 a, u32 b) {
    return a < b ? a : b;
}
FUNCTION u32 max_u32(u32 a, u32 b) {
    return a > b ? a : b;
}
CASE3(min3_signed, i32, i32, i32, i32, min_i32(min_i32(a, b), c))
CASE3(max3_signed, i32, i32, i32, i32, max_i32(max_i32(a, b), c))
CASE3(min3_unsigned, u32, u32, u32, u32, min_u32(min_u32(a, b), c))
CASE3(max3_unsigned, u32, u32, u32, u32, max_u32(max_u32(a, b), c))
CASE3(median_signed, i32, i32, i32, i32, max_i32(min_i32(a, b), min_i32(max_i32(a, b), c)))
CASE3(median_unsigned, u32, u32, u32, u32, max_u32(min_u32(a, b), min_u32(max_u32(a, b), c)))
CASE1(clamp_signed, i32, i32, max_i32(min_i32(a, 1000), -50))
CASE2(add_saturated, u32, u32, u32, a + b < a ? ~0u : a + b)
CASE2(subtract_saturated, u32, u32, u32, a < b ? 0 : a - b)
CASE2(add_saturated_signed, i32, i32, i32, ({
          i64 t = (i64)a + b;
          t > 2147483647 ? 2147483647 : t < -2147483648ll ? -2147483647 - 1 : (i32)t;
      }))
CASE2(subtract_saturated_signed, i32, i32, i32, ({
          i64 t = (i64)a - b;
          t > 2147483647 ? 2147483647 : t < -2147483648ll ? -2147483647 - 1 : (i32)t;
      }))
CASE2(add_overflows, u32, i32, i32, ({
          i32 t;
          __builtin_add_overflow(a, b, &t) ? (u32)t + 1 : (u32)t;
      }))
CASE2(multiply_overflows, u32, u32, u32, ({
          u32 t;
          __builtin_mul_overflow(a, b, &t) ? 1 : t;
      }))
#define COMPARE(type)                                                                            \
    CASE3(compare_##type, u32, type, type, u32,                                                  \
          (a < b ? c : 3) + (a == b ? c : 5) * 2 + (a <= b ? c : 7) * 3 + (a > b ? c : 11) * 5 + \
              (a != b ? c : 13) * 7 + (a >= b ? c : 17) * 9)
#define COMPARE_WITH_CONSTANTS(type)                                                                         \
    CASE2(compare_##type##_with_constants, u32, type, u32,                                                   \
          (a < 1000 ? b : 3) + (a == 2000 ? b : 5) * 2 + (a <= 3000 ? b : 7) * 3 + (a > 4000 ? b : 11) * 5 + \
              (a != 5000 ? b : 13) * 7 + (a >= 6000 ? b : 17) * 9)
COMPARE(u32)
COMPARE(i32)
COMPARE(u16)
COMPARE(i16)
COMPARE_WITH_CONSTANTS(u32)
COMPARE_WITH_CONSTANTS(i32)
CASE3(dot2_signed, u32, u32, u32, u32, c + (u32)((i16)a * (i16)b) + (u32)((i16)(a >> 16) * (i16)(b >> 16)))
CASE3(dot2_unsigned, u32, u32, u32, u32, c + (a & 0xffff) * (b & 0xffff) + (a >> 16) * (b >> 16))
CASE3(dot4_signed, i32, u32, u32, i32,
      (i32)((u32)c + (u32)((i8)a * (i8)b) + (u32)((i8)(a >> 8) * (i8)(b >> 8)) + (u32)((i8)(a >> 16) * (i8)(b >> 16)) +
            (u32)((i8)(a >> 24) * (i8)(b >> 24))))
CASE3(dot4_unsigned, u32, u32, u32, u32,
      c + (a & 255) * (b & 255) + (a >> 8 & 255) * (b >> 8 & 255) + (a >> 16 & 255) * (b >> 16 & 255) +
          (a >> 24) * (b >> 24))
#define NIBBLES(i) (a >> i & 15) * (b >> i & 15)
CASE3(dot8_unsigned, u32, u32, u32, u32,
      c + NIBBLES(0) + NIBBLES(4) + NIBBLES(8) + NIBBLES(12) + NIBBLES(16) + NIBBLES(20) + NIBBLES(24) + NIBBLES(28))
