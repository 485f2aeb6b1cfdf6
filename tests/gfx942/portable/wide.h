// 64-bit integers: carries, shifts, products, division; and 128 bits where both compilers have them.
CASE2(add_u64, u64, u64, u64, a + b)
CASE2(subtract_u64, u64, u64, u64, a - b)
CASE1(negate_u64, u64, u64, 0 - a)
CASE2(multiply_u64, u64, u64, u64, (a * b))
CASE3(widening_multiply_add, u64, u32, u32, u64, (c + (u64)a * b))
CASE3(widening_multiply_add_signed, u64, i32, i32, u64, (u64)((i64)a * b) + c)
CASE2(high_product_u64, u64, u64, u64, (u64)((unsigned __int128)a * b >> 64))
CASE2(high_product_i64, i64, i64, i64, (i64)((__int128)a * b >> 64))
CASE3(add_128_high, u64, u64, u64, u64,
      (u64)((((unsigned __int128)a << 64 | b) + ((unsigned __int128)b << 64 | c)) >> 64))
CASE3(subtract_128_high, u64, u64, u64, u64,
      (u64)((((unsigned __int128)a << 64 | b) - ((unsigned __int128)b << 64 | c)) >> 64))
CASE2(divide_u64, u64, u64, u64, a / (b | 1))
CASE2(divide_i64, i64, i64, i64, b == 0 || b == -1 ? 0 : a / b)
CASE2(remainder_u64, u64, u64, u64, a % (b | 1))
CASE2(remainder_i64, i64, i64, i64, b == 0 || b == -1 ? 0 : a % b)
CASE1(divide_u64_by_constant, u64, u64, a / 1000000007)
CASE2(shift_left_u64, u64, u64, u32, a << (b & 63))
CASE2(shift_right_u64, u64, u64, u32, a >> (b & 63))
CASE2(shift_right_i64, i64, i64, u32, a >> (b & 63))
CASE2(rotate_u64, u64, u64, u32, a << (b & 63) | a >> (-b & 63))
CASE2(shift_3_add_u64, u64, u64, u64, (a << 3) + b)
CASE2(and_u64, u64, u64, u64, (a & b))
CASE2(or_u64, u64, u64, u64, a | b)
CASE2(xor_u64, u64, u64, u64, a ^ b)
CASE1(not_u64, u64, u64, ~a)
CASE2(and_not_u64, u64, u64, u64, a & ~b)
CASE2(or_not_u64, u64, u64, u64, a | ~b)
CASE2(nand_u64, u64, u64, u64, (~a | ~b))
CASE2(nor_u64, u64, u64, u64, ~(a | b))
CASE2(xnor_u64, u64, u64, u64, ~(a ^ b))
CASE2(mask_u64, u64, u32, u32, ((1ull << (a & 63)) - 1) << (b & 63))
CASE1(field_u64, u64, u64, a >> 13 & 0x1fffffffffull)
CASE1(field_i64, i64, i64, (i64)((u64)a << 10) >> 27)
CASE1(set_bit_u64, u64, u64, a | 1ull << 45)
CASE1(clear_bit_u64, u64, u64, a & ~(1ull << 45))
CASE2(is_bit_set_u64, u32, u64, u32, a >> (b & 63) & 1 ? 9 : 5)
CASE1(is_fixed_bit_set_u64, u32, u64, a >> 41 & 1 ? 9 : 5)
#ifdef __AMDGCN__
CASE1(reverse_bits_u64, u64, u64, __builtin_bitreverse64(a))
#else
CASE1(reverse_bits_u64, u64, u64, ({
          u64 r = 0;
          for (int i = 0; i < 64; i++) r |= (a >> i & 1) << (63 - i);
          r;
      }))
#endif
CASE1(swap_bytes_u64, u64, u64, __builtin_bswap64(a))
CASE1(leading_zeros_u64, u32, u64, a ? __builtin_clzll(a) : 64)
CASE1(trailing_zeros_u64, u32, u64, a ? __builtin_ctzll(a) : 64)
CASE1(trailing_zeros_u64_or_minus_one, i32, u64, a ? __builtin_ctzll(a) : -1)
CASE1(lowest_zero_u64, u32, u64, ~a ? __builtin_ctzll(~a) : 64)
CASE1(redundant_sign_bits_u64, i32, i64, __builtin_clrsbll(a))
CASE1(ones_u64, u32, u64, __builtin_popcountll(a))
CASE1(zeros_u64, u32, u64, 64 - __builtin_popcountll(a))
CASE1(any_ones_u64, u32, u64, __builtin_popcountll(a & 0x5555000000ull) ? 1 : 3)
CASE1(absolute_u64, u64, i64, a < 0 ? 0 - (u64)a : (u64)a)
CASE2(min_i64, i64, i64, i64, a < b ? a : b)
CASE2(max_u64, u64, u64, u64, a > b ? a : b)
CASE3(select_u64, u64, u64, u64, u32, c & 1 ? a : b)
#define COMPARE_64(type)                                                                         \
    CASE3(compare_##type, u32, type, type, u32,                                                  \
          (a < b ? c : 3) + (a == b ? c : 5) * 2 + (a <= b ? c : 7) * 3 + (a > b ? c : 11) * 5 + \
              (a != b ? c : 13) * 7 + (a >= b ? c : 17) * 9)
COMPARE_64(u64)
COMPARE_64(i64)
CASE1(sign_extend_u64, i64, i32, (i64)a)
CASE2(join, u64, u32, u32, (u64)a << 32 | b)
CASE2(add_overflows_u64, u64, u64, u64, ({
          u64 t;
          __builtin_add_overflow(a, b, &t) ? t ^ 1 : t;
      }))
CASE2(add_overflows_i64, u64, i64, i64, ({
          i64 t;
          __builtin_add_overflow(a, b, &t) ? (u64)t ^ 1 : (u64)t;
      }))
CASE1(sign_extend_byte_u64, i64, u64, (i64)(i8)a)
CASE1(sign_extend_24_u64, i64, u64, (i64)(a << 40) >> 40)
CASE2(nand_plus, u32, u32, u32, (~a | ~b) + 5)
