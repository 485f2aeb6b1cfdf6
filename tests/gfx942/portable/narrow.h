// 16-bit integers, alone and in pairs.
CASE2(add_u16, u16, u16, u16, (u16)(a + b))
CASE2(subtract_u16, u16, u16, u16, (u16)(a - b))
CASE1(subtract_u16_from_constant, u16, u16, (u16)(1000 - a))
CASE2(multiply_u16, u16, u16, u16, (u16)((u32)a * b))
CASE3(multiply_add_u16, u16, u16, u16, u16, (u16)((c + (u32)a * b)))
CASE3(multiply_add_i16, i16, i16, i16, i16, (i16)((u32)a * (u32)b + (u32)c))
CASE3(widening_multiply_add_u16, u32, u16, u16, u32, (c + (u32)a * b))
CASE3(widening_multiply_add_i16, i32, i16, i16, u32, (i32)((u32)(a * b) + c))
CASE2(shift_left_u16, u16, u16, u16, (u16)((u32)a << (b & 15)))
CASE2(shift_right_u16, u16, u16, u16, (u16)(a >> (b & 15)))
CASE2(shift_right_i16, i16, i16, u16, (i16)(a >> (b & 15)))
CASE2(min_u16, u16, u16, u16, a < b ? a : b)
CASE2(max_u16, u16, u16, u16, a > b ? a : b)
CASE2(min_i16, i16, i16, i16, a < b ? a : b)
CASE2(max_i16, i16, i16, i16, a > b ? a : b)
FUNCTION i16 lower_i16(i16 a, i16 b) {
    return a < b ? a : b;
}
FUNCTION i16 upper_i16(i16 a, i16 b) {
    return a > b ? a : b;
}
FUNCTION u16 lower_u16(u16 a, u16 b) {
    return a < b ? a : b;
}
FUNCTION u16 upper_u16(u16 a, u16 b) {
    return a > b ? a : b;
}
CASE3(min3_i16, i16, i16, i16, i16, lower_i16(lower_i16(a, b), c))
CASE3(max3_i16, i16, i16, i16, i16, upper_i16(upper_i16(a, b), c))
CASE3(min3_u16, u16, u16, u16, u16, lower_u16(lower_u16(a, b), c))
CASE3(max3_u16, u16, u16, u16, u16, upper_u16(upper_u16(a, b), c))
CASE3(median_i16, i16, i16, i16, i16, upper_i16(lower_i16(a, b), lower_i16(upper_i16(a, b), c)))
CASE3(median_u16, u16, u16, u16, u16, upper_u16(lower_u16(a, b), lower_u16(upper_u16(a, b), c)))
CASE2(add_saturated_u16, u16, u16, u16, (u16)(a + b > 65535 ? 65535 : a + b))
CASE2(subtract_saturated_u16, u16, u16, u16, (u16)(a < b ? 0 : a - b))
CASE2(add_saturated_i16, i16, i16, i16, (i16)(a + b > 32767 ? 32767 : a + b < -32768 ? -32768 : a + b))
CASE2(subtract_saturated_i16, i16, i16, i16, (i16)(a - b > 32767 ? 32767 : a - b < -32768 ? -32768 : a - b))
CASE1(saturate_to_bytes, u32, i16x2,
      (u32)(a[0] < 0     ? 0
            : a[0] > 255 ? 255
                         : a[0]) |
          (u32)(a[1] < 0     ? 0
                : a[1] > 255 ? 255
                             : a[1])
              << 8)
CASE2(add_u8, u8, u8, u8, (u8)(a + b))
CASE2(average_u8, u8, u8, u8, (u8)((a + b + 1) >> 1))
// pairs
CASE2(add_pairs, u16x2, u16x2, u16x2, a + b)
CASE2(subtract_pairs, u16x2, u16x2, u16x2, a - b)
CASE2(subtract_signed_pairs, i16x2, u16x2, u16x2, (i16x2)(a - b))
CASE2(multiply_pairs, u16x2, u16x2, u16x2, (a * b))
CASE3(multiply_add_pairs, u16x2, u16x2, u16x2, u16x2, (a * b + c))
CASE2(shift_left_pairs, u16x2, u16x2, u16x2, a << (b & 15))
CASE2(shift_right_pairs, u16x2, u16x2, u16x2, a >> (b & 15))
CASE2(shift_right_signed_pairs, i16x2, i16x2, i16x2, a >> (b & 15))
CASE2(min_signed_pairs, i16x2, i16x2, i16x2, (i16x2){lower_i16(a[0], b[0]), lower_i16(a[1], b[1])})
CASE2(max_signed_pairs, i16x2, i16x2, i16x2, (i16x2){upper_i16(a[0], b[0]), upper_i16(a[1], b[1])})
CASE2(min_unsigned_pairs, u16x2, u16x2, u16x2, (u16x2){lower_u16(a[0], b[0]), lower_u16(a[1], b[1])})
CASE2(max_unsigned_pairs, u16x2, u16x2, u16x2, (u16x2){upper_u16(a[0], b[0]), upper_u16(a[1], b[1])})
CASE2(add_crossed_pairs, u16x2, u16x2, u16x2, a + (u16x2){b[1], b[0]})
CASE2(xor_bytes, u8x4, u8x4, u8x4, a ^ b)
CASE2(add_bytes, u8x4, u8x4, u8x4, a + b)
CASE2(low_and_high, u16x2, u16x2, u16x2, (u16x2){a[0], b[1]})
CASE2(high_and_high, u16x2, u16x2, u16x2, (u16x2){a[1], b[1]})
CASE2(low_and_low, u16x2, u16x2, u16x2, (u16x2){a[0], b[0]})
CASE3(product_of_sum_u16, u16, u16, u16, u16, (u16)((u32)(u16)(a + b) * c))
CASE3(product_of_sum_plus_u16, u16, u16, u16, u16, (u16)((u32)(u16)(a + b) * c + b))
CASE3(product_of_sum_plus_i16, i16, i16, i16, i16, (i16)((u32)(i16)(a + b) * (u32)c + (u32)b))
CASE2(product_by_constant_plus, u32, u16, u32, a * 100u + b)
FUNCTION u32 branch_u16(u16 a, u16 b, u32 c) {
    if (a >= b)
        c += 5;
    else
        c *= 3;
    if (a != b)
        for (u32 i = 0; i < (c & 3); i++) c = c * 3 + i;
    return c;
}
FUNCTION u32 branch_i16(i16 a, i16 b, u32 c) {
    while (a >= b && c < 0xfffffff0) {
        c += 9;
        b = (i16)(b + (c & 0xfff));
    }
    if (a <= b)
        for (u32 i = 0; i < (c & 3); i++) c = c * 3 + i;
    return c;
}
CASE3(branches_u16, u32, u16, u16, u32, branch_u16(a, b, c))
CASE3(branches_i16, u32, i16, i16, u32, branch_i16(a > 30000 ? 0 : a, b < -30000 ? 0 : b, c & 0xffff))
