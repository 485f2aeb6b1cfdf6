"""Vector instructions: one result a lane. Types, then meaning in C for one active lane.

Source: CDNA3 ISA guide, "Vector ALU Operations". "rev" swaps the operands: the shift count, or what is subtracted,
comes first, because only the first source may be a scalar or a constant.
"""

from functools import partial

from fp8lab.gfx942.isa import row

op = partial(row, "vector")

# --- moves and bits ---------------------------------------------------------------------------------------------------
op("v_nop", "VOP1 0", "|", "")
op("v_mov_b32", "VOP1 1", "u32 u32", "d = a")
op("v_mov_b64", "VOP1 56", "u64 u64", "d = a")
op("v_not_b32", "VOP1 43", "u32 u32", "d = ~a")
op("v_bfrev_b32", "VOP1 44", "u32 u32", "d = reverse_u32(a)")
op("v_ffbh_u32", "VOP1 45", "u32 u32", "d = leading_zeros(a)")      # find first bit from the high end; -1 if none
op("v_ffbl_b32", "VOP1 46", "u32 u32", "d = lowest_one(a)")
op("v_ffbh_i32", "VOP1 47", "u32 i32", "d = leading_signs(a)")
op("v_and_b32", "VOP2 19", "u32 u32 u32", "d = a & b")
op("v_or_b32", "VOP2 20", "u32 u32 u32", "d = a | b")
op("v_xor_b32", "VOP2 21", "u32 u32 u32", "d = a ^ b")
op("v_xnor_b32", "VOP2 61", "u32 u32 u32", "d = ~(a ^ b)")
op("v_lshrrev_b32", "VOP2 16", "u32 u32 u32", "d = b >> (a & 31)")
op("v_ashrrev_i32", "VOP2 17", "i32 u32 i32", "d = b >> (a & 31)")
op("v_lshlrev_b32", "VOP2 18", "u32 u32 u32", "d = b << (a & 31)")
op("v_lshlrev_b64", "VOP3 655", "u64 u32 u64", "d = b << (a & 63)")
op("v_lshrrev_b64", "VOP3 656", "u64 u32 u64", "d = b >> (a & 63)")
op("v_ashrrev_i64", "VOP3 657", "i64 u32 i64", "d = b >> (a & 63)")
op("v_bfe_u32", "VOP3 456", "u32 u32 u32 u32", "d = a >> (b & 31) & ((1u << (c & 31)) - 1)")
op("v_bfe_i32", "VOP3 457", "i32 i32 u32 u32", "d = field_i32(a, b & 31, c & 31)")
op("v_bfi_b32", "VOP3 458", "u32 u32 u32 u32", "d = (a & b) | (~a & c)")
op("v_bfm_b32", "VOP3 659", "u32 u32 u32", "d = ((1u << (a & 31)) - 1) << (b & 31)")
op("v_alignbit_b32", "VOP3 462", "u32 u32 u32 u32", "d = (u32)(((u64)a << 32 | b) >> (c & 31))")
op("v_alignbyte_b32", "VOP3 463", "u32 u32 u32 u32", "d = (u32)(((u64)a << 32 | b) >> 8 * (c & 3))")
op("v_perm_b32", "VOP3 493", "u32 u32 u32 u32", "d = permute_bytes(a, b, c)")
op("v_bcnt_u32_b32", "VOP3 651", "u32 u32 u32", "d = count_ones(a) + b")
op("v_mbcnt_lo_u32_b32", "VOP3 652", "u32 u32 u32", "d = b + count_ones(a & lanes_below_lo(lane))")
op("v_mbcnt_hi_u32_b32", "VOP3 653", "u32 u32 u32", "d = b + count_ones(a & lanes_below_hi(lane))")
op("v_cndmask_b32", "VOP2 0", "u32 u32 u32 mask", "d = c ? b : a", modifiers="f32")      # neg, abs act as on floats
op("v_swap_b32", "VOP1 81", "+u32 +u32 |", "u32 t = d; d = e; e = t", swap=True)
op("v_accvgpr_mov_b32", "VOP1 82", "u32 u32", "d = a", accumulators=True)
op("v_accvgpr_read_b32", "MAI 88", "u32 u32", "d = a")
op("v_accvgpr_write_b32", "MAI 89", "u32 u32", "d = a")

# --- integer arithmetic -----------------------------------------------------------------------------------------------
op("v_add_u32", "VOP2 52", "u32 u32 u32", "d = a + b", clamp="u64 t = (u64)a + b; d = t >> 32 ? ~0u : (u32)t")
op("v_sub_u32", "VOP2 53", "u32 u32 u32", "d = a - b", clamp="d = a < b ? 0 : a - b")
op("v_subrev_u32", "VOP2 54", "u32 u32 u32", "d = b - a", clamp="d = b < a ? 0 : b - a")
op("v_add_i32", "VOP3 668", "i32 i32 i32", "d = (i32)((u32)a + (u32)b)", clamp="d = saturate_i32((i64)a + b)")
op("v_sub_i32", "VOP3 669", "i32 i32 i32", "d = (i32)((u32)a - (u32)b)", clamp="d = saturate_i32((i64)a - b)")
op("v_add_co_u32", "VOP2 25", "u32 mask | u32 u32", "d = a + b; e = d < a")
op("v_sub_co_u32", "VOP2 26", "u32 mask | u32 u32", "d = a - b; e = a < b")
op("v_subrev_co_u32", "VOP2 27", "u32 mask | u32 u32", "d = b - a; e = b < a")
op("v_addc_co_u32", "VOP2 28", "u32 mask | u32 u32 mask", "u64 t = (u64)a + b + c; d = (u32)t; e = t >> 32")
op("v_subb_co_u32", "VOP2 29", "u32 mask | u32 u32 mask", "u64 t = (u64)a - b - c; d = (u32)t; e = t >> 32 & 1")
op("v_subbrev_co_u32", "VOP2 30", "u32 mask | u32 u32 mask", "u64 t = (u64)b - a - c; d = (u32)t; e = t >> 32 & 1")
op("v_mul_lo_u32", "VOP3 645", "u32 u32 u32", "d = a * b")
op("v_mul_hi_u32", "VOP3 646", "u32 u32 u32", "d = (u32)((u64)a * b >> 32)")
op("v_mul_hi_i32", "VOP3 647", "i32 i32 i32", "d = (i32)((i64)a * b >> 32)")
op("v_mul_i32_i24", "VOP2 6", "i32 i32 i32", "d = (i32)((i64)low24(a) * low24(b))")
op("v_mul_hi_i32_i24", "VOP2 7", "i32 i32 i32", "d = (i32)((i64)low24(a) * low24(b) >> 32)")
op("v_mul_u32_u24", "VOP2 8", "u32 u32 u32", "d = (a & 0xffffff) * (b & 0xffffff)")
op("v_mul_hi_u32_u24", "VOP2 9", "u32 u32 u32", "d = (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >> 32)")
op("v_mad_i32_i24", "VOP3 450", "i32 i32 i32 i32", "d = (i32)((i64)low24(a) * low24(b) + c)")
op("v_mad_u32_u24", "VOP3 451", "u32 u32 u32 u32", "d = (a & 0xffffff) * (b & 0xffffff) + c")
op("v_mad_u64_u32", "VOP3 488", "u64 mask | u32 u32 u64", "u64 t = (u64)a * b; d = t + c; e = d < t")
op("v_mad_i64_i32", "VOP3 489", "i64 mask | i32 i32 i64",
   "e = __builtin_add_overflow((i64)a * b, c, &d) ^ (d < 0)")      # bit 64 of the sum: the sign before it wraps
op("v_mad_u32_u16", "VOP3 497", "u32 u16 u16 u32", "d = (u32)a * b + c")
op("v_mad_i32_i16", "VOP3 498", "i32 i16 i16 i32", "d = (i32)((i64)a * b + c)")
op("v_min_i32", "VOP2 12", "i32 i32 i32", "d = a < b ? a : b")
op("v_max_i32", "VOP2 13", "i32 i32 i32", "d = a > b ? a : b")
op("v_min_u32", "VOP2 14", "u32 u32 u32", "d = a < b ? a : b")
op("v_max_u32", "VOP2 15", "u32 u32 u32", "d = a > b ? a : b")
op("v_min3_i32", "VOP3 465", "i32 i32 i32 i32", "i32 t = a < b ? a : b; d = t < c ? t : c")
op("v_min3_u32", "VOP3 466", "u32 u32 u32 u32", "u32 t = a < b ? a : b; d = t < c ? t : c")
op("v_max3_i32", "VOP3 468", "i32 i32 i32 i32", "i32 t = a > b ? a : b; d = t > c ? t : c")
op("v_max3_u32", "VOP3 469", "u32 u32 u32 u32", "u32 t = a > b ? a : b; d = t > c ? t : c")
op("v_med3_i32", "VOP3 471", "i32 i32 i32 i32", "d = median_i32(a, b, c)")
op("v_med3_u32", "VOP3 472", "u32 u32 u32 u32", "d = median_u32(a, b, c)")
op("v_sad_u8", "VOP3 473", "u32 u32 u32 u32", "d = c + sad_u8(a, b)")
op("v_sad_hi_u8", "VOP3 474", "u32 u32 u32 u32", "d = c + (sad_u8(a, b) << 16)")
op("v_sad_u16", "VOP3 475", "u32 u32 u32 u32", "d = c + distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16)")
op("v_sad_u32", "VOP3 476", "u32 u32 u32 u32", "d = c + distance(a, b)")
op("v_xad_u32", "VOP3 499", "u32 u32 u32 u32", "d = (a ^ b) + c")
op("v_lshl_add_u32", "VOP3 509", "u32 u32 u32 u32", "d = (a << (b & 31)) + c")
op("v_add_lshl_u32", "VOP3 510", "u32 u32 u32 u32", "d = (a + b) << (c & 31)")
op("v_add3_u32", "VOP3 511", "u32 u32 u32 u32", "d = a + b + c")
op("v_lshl_or_b32", "VOP3 512", "u32 u32 u32 u32", "d = a << (b & 31) | c")
op("v_and_or_b32", "VOP3 513", "u32 u32 u32 u32", "d = (a & b) | c")
op("v_or3_b32", "VOP3 514", "u32 u32 u32 u32", "d = a | b | c")
op("v_lshl_add_u64", "VOP3 520", "u64 u64 u32 u64", "d = (a << (b & 7)) + c")
op("v_msad_u8", "VOP3 484", "u32 u32 u32 u32", "d = c + masked_sad_u8(a, b)")            # where b's byte is not 0
op("v_lerp_u8", "VOP3 461", "u32 u32 u32 u32", "d = average_u8(a, b, c)")                 # c's low bits round up

# --- dot products: the elements of a register with another's, added to c, or to d itself ("c" in the name) ------------
for i, (sum, type) in enumerate((("dot2_i16", "i32"), ("dot2_u16", "u32"), ("dot4_i8", "i32"), ("dot4_u8", "u32"),
                                 ("dot8_i4", "i32"), ("dot8_u4", "u32"))):
    name, total = f"v_{sum.replace('_', f'_{type}_')}", f"c + {sum}(a, b)"
    types, clamped = f"{type} u32 u32 {type}", f"d = saturate_{type}({total})"
    op(name, f"VOP3P {38 + i}", types, f"d = ({type})({total})", clamp=clamped)
op("v_dot2_f32_f16", "VOP3P 35", "f32 u32 u32 f32", "d = dot2_f16(a, b, c)")               # the low halves first
op("v_dot2c_f32_f16", "VOP2 55", "+f32 u32 u32", "d = dot2_f16(a, b, d)")
op("v_dot2c_i32_i16", "VOP2 56", "+i32 u32 u32", "d = (i32)(d + dot2_i16(a, b))")
op("v_dot4c_i32_i8", "VOP2 57", "+i32 u32 u32", "d = (i32)(d + dot4_i8(a, b))")
op("v_dot8c_i32_i4", "VOP2 58", "+i32 u32 u32", "d = (i32)(d + dot8_i4(a, b))")

# --- 16-bit integers: the high half of the destination becomes zero, except where keep_high says the GPU keeps it -----
op("v_add_u16", "VOP2 38", "u16 u16 u16", "d = a + b", clamp="d = a + b > 0xffff ? 0xffff : a + b")
op("v_sub_u16", "VOP2 39", "u16 u16 u16", "d = a - b", clamp="d = a < b ? 0 : a - b")
op("v_subrev_u16", "VOP2 40", "u16 u16 u16", "d = b - a", clamp="d = b < a ? 0 : b - a")
op("v_mul_lo_u16", "VOP2 41", "u16 u16 u16", "d = (u16)((u32)a * b)")
op("v_lshlrev_b16", "VOP2 42", "u16 u16 u16", "d = (u16)(b << (a & 15))")
op("v_lshrrev_b16", "VOP2 43", "u16 u16 u16", "d = b >> (a & 15)")
op("v_ashrrev_i16", "VOP2 44", "i16 u16 i16", "d = b >> (a & 15)")
op("v_max_u16", "VOP2 47", "u16 u16 u16", "d = a > b ? a : b")
op("v_max_i16", "VOP2 48", "i16 i16 i16", "d = a > b ? a : b")
op("v_min_u16", "VOP2 49", "u16 u16 u16", "d = a < b ? a : b")
op("v_min_i16", "VOP2 50", "i16 i16 i16", "d = a < b ? a : b")
op("v_add_i16", "VOP3 670", "i16 i16 i16", "d = (i16)(a + b)", clamp="d = saturate_i16(a + b)")
op("v_sub_i16", "VOP3 671", "i16 i16 i16", "d = (i16)(a - b)", clamp="d = saturate_i16(a - b)")
op("v_mad_u16", "VOP3 516", "u16 u16 u16 u16", "d = (u16)((u32)a * b + c)", keep_high=True)
op("v_mad_i16", "VOP3 517", "i16 i16 i16 i16", "d = (i16)(a * b + c)", keep_high=True)
op("v_mad_legacy_u16", "VOP3 491", "u16 u16 u16 u16", "d = (u16)((u32)a * b + c)")
op("v_mad_legacy_i16", "VOP3 492", "i16 i16 i16 i16", "d = (i16)(a * b + c)")
op("v_min3_i16", "VOP3 501", "i16 i16 i16 i16", "i16 t = a < b ? a : b; d = t < c ? t : c")
op("v_min3_u16", "VOP3 502", "u16 u16 u16 u16", "u16 t = a < b ? a : b; d = t < c ? t : c")
op("v_max3_i16", "VOP3 504", "i16 i16 i16 i16", "i16 t = a > b ? a : b; d = t > c ? t : c")
op("v_max3_u16", "VOP3 505", "u16 u16 u16 u16", "u16 t = a > b ? a : b; d = t > c ? t : c")
op("v_med3_i16", "VOP3 507", "i16 i16 i16 i16", "d = (i16)median_i32(a, b, c)")
op("v_med3_u16", "VOP3 508", "u16 u16 u16 u16", "d = (u16)median_u32(a, b, c)")
op("v_sat_pk_u8_i16", "VOP1 79", "u16 u32", "d = saturate_u8((i16)a) | saturate_u8((i16)(a >> 16)) << 8")
op("v_pack_b32_f16", "VOP3 672", "u32 u16 u16", "d = a | (u32)b << 16", modifiers="f16")

# --- packed 16-bit ----------------------------------------------------------------------------------------------------
op("v_pk_mad_i16", "VOP3P 0", "i16x2 i16x2 i16x2 i16x2", "d = (i16)(a * b + c)")
op("v_pk_mul_lo_u16", "VOP3P 1", "u16x2 u16x2 u16x2", "d = (u16)((u32)a * b)")
op("v_pk_add_i16", "VOP3P 2", "i16x2 i16x2 i16x2", "d = (i16)(a + b)", clamp="d = saturate_i16(a + b)")
op("v_pk_sub_i16", "VOP3P 3", "i16x2 i16x2 i16x2", "d = (i16)(a - b)", clamp="d = saturate_i16(a - b)")
op("v_pk_lshlrev_b16", "VOP3P 4", "u16x2 u16x2 u16x2", "d = (u16)(b << (a & 15))")
op("v_pk_lshrrev_b16", "VOP3P 5", "u16x2 u16x2 u16x2", "d = b >> (a & 15)")
op("v_pk_ashrrev_i16", "VOP3P 6", "i16x2 u16x2 i16x2", "d = b >> (a & 15)")
op("v_pk_max_i16", "VOP3P 7", "i16x2 i16x2 i16x2", "d = a > b ? a : b")
op("v_pk_min_i16", "VOP3P 8", "i16x2 i16x2 i16x2", "d = a < b ? a : b")
op("v_pk_mad_u16", "VOP3P 9", "u16x2 u16x2 u16x2 u16x2", "d = (u16)((u32)a * b + c)")
op("v_pk_add_u16", "VOP3P 10", "u16x2 u16x2 u16x2", "d = a + b", clamp="d = a + b > 0xffff ? 0xffff : a + b")
op("v_pk_sub_u16", "VOP3P 11", "u16x2 u16x2 u16x2", "d = a - b", clamp="d = a < b ? 0 : a - b")
op("v_pk_max_u16", "VOP3P 12", "u16x2 u16x2 u16x2", "d = a > b ? a : b")
op("v_pk_min_u16", "VOP3P 13", "u16x2 u16x2 u16x2", "d = a < b ? a : b")
op("v_pk_fma_f16", "VOP3P 14", "f16x2 f16x2 f16x2 f16x2", "d = fma_f16(a, b, c)")
op("v_pk_add_f16", "VOP3P 15", "f16x2 f16x2 f16x2", "d = a + b")
op("v_pk_mul_f16", "VOP3P 16", "f16x2 f16x2 f16x2", "d = a * b")
op("v_pk_min_f16", "VOP3P 17", "f16x2 f16x2 f16x2", "d = min_f32(a, b)")
op("v_pk_max_f16", "VOP3P 18", "f16x2 f16x2 f16x2", "d = max_f32(a, b)")

# --- packed float32: two registers, each half with its own modifiers --------------------------------------------------
op("v_pk_fma_f32", "VOP3P 48", "f32x2 f32x2 f32x2 f32x2", "d = fmaf(a, b, c)")
op("v_pk_mul_f32", "VOP3P 49", "f32x2 f32x2 f32x2", "d = a * b")
op("v_pk_add_f32", "VOP3P 50", "f32x2 f32x2 f32x2", "d = a + b")
op("v_pk_mov_b32", "VOP3P 51", "u32x2 u32x2 u32x2", "d = half ? b : a", first_from_lo=True)    # op_sel for both

# --- float32 ----------------------------------------------------------------------------------------------------------
op("v_add_f32", "VOP2 1", "f32 f32 f32", "d = a + b")
op("v_sub_f32", "VOP2 2", "f32 f32 f32", "d = a - b")
op("v_subrev_f32", "VOP2 3", "f32 f32 f32", "d = b - a")
op("v_mul_f32", "VOP2 5", "f32 f32 f32", "d = a * b")
op("v_mul_legacy_f32", "VOP3 673", "f32 f32 f32", "d = a == 0 || b == 0 ? 0 : a * b")     # DirectX 9: 0 * inf is 0
op("v_fma_f32", "VOP3 459", "f32 f32 f32 f32", "d = fmaf(a, b, c)")
op("v_fmac_f32", "VOP2 59", "+f32 f32 f32", "d = fmaf(a, b, d)")
op("v_fmamk_f32", "VOP2 23", "f32 f32 lit f32", "d = fmaf(a, b, c)")                       # a * literal + c
op("v_fmaak_f32", "VOP2 24", "f32 f32 f32 lit", "d = fmaf(a, b, c)")                       # a * b + literal
op("v_min_f32", "VOP2 10", "f32 f32 f32", "d = min_f32(a, b)")
op("v_max_f32", "VOP2 11", "f32 f32 f32", "d = max_f32(a, b)")
op("v_min3_f32", "VOP3 464", "f32 f32 f32 f32", "d = min_f32(min_f32(a, b), c)")
op("v_max3_f32", "VOP3 467", "f32 f32 f32 f32", "d = max_f32(max_f32(a, b), c)")
op("v_med3_f32", "VOP3 470", "f32 f32 f32 f32", "d = med3_f32(a, b, c)")
op("v_trunc_f32", "VOP1 28", "f32 f32", "d = truncf(a)")
op("v_ceil_f32", "VOP1 29", "f32 f32", "d = ceilf(a)")
op("v_rndne_f32", "VOP1 30", "f32 f32", "d = round_even_f32(a)")
op("v_floor_f32", "VOP1 31", "f32 f32", "d = floorf(a)")
op("v_fract_f32", "VOP1 27", "f32 f32", "d = fract_f32(a)")
op("v_ldexp_f32", "VOP3 648", "f32 f32 i32", "d = ldexpf(a, b)")
op("v_frexp_exp_i32_f32", "VOP1 51", "i32 f32", "d = frexp_exponent(a)")
op("v_frexp_mant_f32", "VOP1 52", "f32 f32", "d = frexp_mantissa_f32(a)")
# Transcendentals: the GPU is within 1 ulp, these are the host's correctly rounded or nearly so; not bit-exact.
op("v_rcp_f32", "VOP1 34", "f32 f32", "d = 1.0f / a")
op("v_rcp_iflag_f32", "VOP1 35", "f32 f32", "d = 1.0f / a")          # as v_rcp_f32; only the exception flags differ
op("v_rsq_f32", "VOP1 36", "f32 f32", "d = (float)(1.0 / sqrt(a))")
op("v_sqrt_f32", "VOP1 39", "f32 f32", "d = sqrtf(a)")
op("v_exp_f32", "VOP1 32", "f32 f32", "d = exp2f(a)")
op("v_log_f32", "VOP1 33", "f32 f32", "d = log2f(a)")
op("v_exp_legacy_f32", "VOP1 75", "f32 f32", "d = exp2f(a)")
op("v_log_legacy_f32", "VOP1 76", "f32 f32", "d = log2f(a)")
op("v_sin_f32", "VOP1 41", "f32 f32", "d = (float)sin(a * 6.283185307179586)")            # a in turns
op("v_cos_f32", "VOP1 42", "f32 f32", "d = (float)cos(a * 6.283185307179586)")
# Division, correctly rounded: scale numerator and denominator, refine with fma, undo the scale, patch special cases.
op("v_div_scale_f32", "VOP3 480", "f32 mask | f32 f32 f32", "d = div_scale_f32(a, b, c, &scaled); e = scaled")
op("v_div_fmas_f32", "VOP3 482", "f32 f32 f32 f32", "d = div_fmas_f32(a, b, c, vcc)")
op("v_div_fixup_f32", "VOP3 478", "f32 f32 f32 f32", "d = div_fixup_f32(a, b, c)")

# --- float64 ----------------------------------------------------------------------------------------------------------
op("v_add_f64", "VOP3 640", "f64 f64 f64", "d = a + b")
op("v_mul_f64", "VOP3 641", "f64 f64 f64", "d = a * b")
op("v_fma_f64", "VOP3 460", "f64 f64 f64 f64", "d = fma(a, b, c)")
op("v_fmac_f64", "VOP2 4", "+f64 f64 f64", "d = fma(a, b, d)")
op("v_min_f64", "VOP3 642", "f64 f64 f64", "d = min_f64(a, b)")
op("v_max_f64", "VOP3 643", "f64 f64 f64", "d = max_f64(a, b)")
op("v_ldexp_f64", "VOP3 644", "f64 f64 i32", "d = ldexp(a, b)")
op("v_trunc_f64", "VOP1 23", "f64 f64", "d = trunc(a)")
op("v_ceil_f64", "VOP1 24", "f64 f64", "d = ceil(a)")
op("v_rndne_f64", "VOP1 25", "f64 f64", "d = round_even_f64(a)")
op("v_floor_f64", "VOP1 26", "f64 f64", "d = floor(a)")
op("v_fract_f64", "VOP1 50", "f64 f64", "d = fract_f64(a)")
op("v_frexp_exp_i32_f64", "VOP1 48", "i32 f64", "d = frexp_exponent(a)")
op("v_frexp_mant_f64", "VOP1 49", "f64 f64", "d = frexp_mantissa_f64(a)")
op("v_rcp_f64", "VOP1 37", "f64 f64", "d = 1.0 / a")                  # as above: the host's, not the GPU's last bit
op("v_rsq_f64", "VOP1 38", "f64 f64", "d = 1.0 / sqrt(a)")
op("v_sqrt_f64", "VOP1 40", "f64 f64", "d = sqrt(a)")
op("v_div_scale_f64", "VOP3 481", "f64 mask | f64 f64 f64", "d = div_scale_f64(a, b, c, &scaled); e = scaled")
op("v_div_fmas_f64", "VOP3 483", "f64 f64 f64 f64", "d = div_fmas_f64(a, b, c, vcc)")
op("v_div_fixup_f64", "VOP3 479", "f64 f64 f64 f64", "d = div_fixup_f64(a, b, c)")

# --- float16 ----------------------------------------------------------------------------------------------------------
op("v_add_f16", "VOP2 31", "f16 f16 f16", "d = a + b")
op("v_sub_f16", "VOP2 32", "f16 f16 f16", "d = a - b")
op("v_subrev_f16", "VOP2 33", "f16 f16 f16", "d = b - a")
op("v_mul_f16", "VOP2 34", "f16 f16 f16", "d = a * b")
op("v_fma_f16", "VOP3 518", "f16 f16 f16 f16", "d = fma_f16(a, b, c)", keep_high=True)
op("v_min_f16", "VOP2 46", "f16 f16 f16", "d = min_f32(a, b)")
op("v_max_f16", "VOP2 45", "f16 f16 f16", "d = max_f32(a, b)")
op("v_min3_f16", "VOP3 500", "f16 f16 f16 f16", "d = min_f32(min_f32(a, b), c)")
op("v_max3_f16", "VOP3 503", "f16 f16 f16 f16", "d = max_f32(max_f32(a, b), c)")
op("v_med3_f16", "VOP3 506", "f16 f16 f16 f16", "d = med3_f32(a, b, c)")
op("v_ldexp_f16", "VOP2 51", "f16 f16 i16", "d = ldexpf(a, b)")
op("v_floor_f16", "VOP1 68", "f16 f16", "d = floorf(a)")
op("v_ceil_f16", "VOP1 69", "f16 f16", "d = ceilf(a)")
op("v_trunc_f16", "VOP1 70", "f16 f16", "d = truncf(a)")
op("v_rndne_f16", "VOP1 71", "f16 f16", "d = round_even_f32(a)")
op("v_rcp_f16", "VOP1 61", "f16 f16", "d = 1.0f / a")
op("v_sqrt_f16", "VOP1 62", "f16 f16", "d = sqrtf(a)")
op("v_rsq_f16", "VOP1 63", "f16 f16", "d = (float)(1.0 / sqrt(a))")
op("v_log_f16", "VOP1 64", "f16 f16", "d = log2f(a)")
op("v_exp_f16", "VOP1 65", "f16 f16", "d = exp2f(a)")
op("v_sin_f16", "VOP1 73", "f16 f16", "d = (float)sin(a * 6.283185307179586)")            # a in turns
op("v_cos_f16", "VOP1 74", "f16 f16", "d = (float)cos(a * 6.283185307179586)")
op("v_fract_f16", "VOP1 72", "f16 f16", "d = fract_f16(a)")
op("v_frexp_exp_i16_f16", "VOP1 67", "i16 f16", "d = (i16)frexp_exponent(a)")
op("v_frexp_mant_f16", "VOP1 66", "f16 f16", "d = frexp_mantissa_f32(a)")
op("v_div_fixup_f16", "VOP3 519", "f16 f16 f16 f16", "d = div_fixup_f32(a, b, c)", keep_high=True)
# Mixed precision: op_sel_hi says which sources are halves, op_sel which half. A result in half is rounded twice, first
# to float32: the guide's f32_to_f16(a * b + c), and what lets compilers use it for a float32 fma that is then narrowed.
op("v_fma_mix_f32", "VOP3P 32", "f32 mix mix mix", "d = fmaf(a, b, c)")
op("v_fma_mixlo_f16", "VOP3P 33", "f16 mix mix mix", "d = fmaf(a, b, c)", keep_high=True)
op("v_fma_mixhi_f16", "VOP3P 34", "f16hi mix mix mix", "d = fmaf(a, b, c)")

# --- conversions: to integers they cut towards zero, saturate, and turn NaN into 0 ------------------------------------
op("v_cvt_f32_i32", "VOP1 5", "f32 i32", "d = (float)a")
op("v_cvt_f32_u32", "VOP1 6", "f32 u32", "d = (float)a")
op("v_cvt_u32_f32", "VOP1 7", "u32 f32", "d = u32_from_f64(a)")
op("v_cvt_i32_f32", "VOP1 8", "i32 f32", "d = i32_from_f64(a)")
op("v_cvt_rpi_i32_f32", "VOP1 12", "i32 f32", "d = i32_from_f64(floor((double)a + 0.5))")
op("v_cvt_flr_i32_f32", "VOP1 13", "i32 f32", "d = i32_from_f64(floorf(a))")
op("v_cvt_i32_f64", "VOP1 3", "i32 f64", "d = i32_from_f64(a)")
op("v_cvt_u32_f64", "VOP1 21", "u32 f64", "d = u32_from_f64(a)")
op("v_cvt_f64_i32", "VOP1 4", "f64 i32", "d = a")
op("v_cvt_f64_u32", "VOP1 22", "f64 u32", "d = a")
op("v_cvt_f32_f64", "VOP1 15", "f32 f64", "d = (float)a")
op("v_cvt_f64_f32", "VOP1 16", "f64 f32", "d = a")
op("v_cvt_f16_f32", "VOP1 10", "f16 f32", "d = a")
op("v_cvt_f32_f16", "VOP1 11", "f32 f16", "d = a")
op("v_cvt_f16_u16", "VOP1 57", "f16 u16", "d = a")
op("v_cvt_f16_i16", "VOP1 58", "f16 i16", "d = a")
op("v_cvt_u16_f16", "VOP1 59", "u16 f16", "d = a < 65535 ? (u16)u32_from_f64(a) : a == a ? 0xffff : 0")
op("v_cvt_i16_f16", "VOP1 60", "i16 f16", "d = saturate_i16(i32_from_f64(a))")
op("v_cvt_f32_ubyte0", "VOP1 17", "f32 u32", "d = (float)(a & 255)")
op("v_cvt_f32_ubyte1", "VOP1 18", "f32 u32", "d = (float)(a >> 8 & 255)")
op("v_cvt_f32_ubyte2", "VOP1 19", "f32 u32", "d = (float)(a >> 16 & 255)")
op("v_cvt_f32_ubyte3", "VOP1 20", "f32 u32", "d = (float)(a >> 24)")
op("v_cvt_pkrtz_f16_f32", "VOP3 662", "u32 f32 f32", "d = f16_toward_zero(a) | (u32)f16_toward_zero(b) << 16")
op("v_cvt_pk_u8_f32", "VOP3 477", "u32 f32 u32 u32", "d = put_byte(c, b & 3, u8_from_f32(a))")
op("v_cvt_off_f32_i4", "VOP1 14", "f32 u32", "d = (float)((i32)(a << 28) >> 28) / 16")    # -8 to 7 in sixteenths
op("v_cvt_pknorm_i16_f32", "VOP3 660", "u32 f32 f32", "d = (u16)snorm16(a) | (u32)(u16)snorm16(b) << 16")
op("v_cvt_pknorm_u16_f32", "VOP3 661", "u32 f32 f32", "d = unorm16(a) | unorm16(b) << 16")
op("v_cvt_pk_u16_u32", "VOP3 663", "u32 u32 u32", "d = (a < 65535 ? a : 65535) | (b < 65535 ? b : 65535) << 16")
op("v_cvt_pk_i16_i32", "VOP3 664", "u32 i32 i32", "d = (u16)saturate_i16(a) | (u32)(u16)saturate_i16(b) << 16")
# FP8 here is fnuz: e4m3fnuz (fp8) and e5m2fnuz (bf8), bias 8 and 16, 0x80 is NaN. Out of range gives NaN, unless
# MODE.FP16_OVFL asks for the largest value. op_sel[3] says which half of d is written; the other half is kept.
op("v_cvt_f32_fp8", "VOP1 84", "f32 u32", "d = f32_from_fp8(a & 255)")
op("v_cvt_f32_bf8", "VOP1 85", "f32 u32", "d = f32_from_bf8(a & 255)")
op("v_cvt_pk_f32_fp8", "VOP1 86", "f32x2 u32", "d = f32_from_fp8(a >> 8 * half & 255)")
op("v_cvt_pk_f32_bf8", "VOP1 87", "f32x2 u32", "d = f32_from_bf8(a >> 8 * half & 255)")
op("v_cvt_pk_fp8_f32", "VOP3 674", "u16 f32 f32", "d = (u16)fp8x2_from_f32(a, b, mode)", keep_high=True)
op("v_cvt_pk_bf8_f32", "VOP3 675", "u16 f32 f32", "d = (u16)bf8x2_from_f32(a, b, mode)", keep_high=True)

# Stochastic rounding: b's high bits, as many as are dropped, are added below the last kept bit, then all below is cut.
op("v_cvt_sr_fp8_f32", "VOP3 676", "u32 f32 u32", "d = fp8_from_f32_stochastic(a, b, mode)", writes_byte=True)
op("v_cvt_sr_bf8_f32", "VOP3 677", "u32 f32 u32", "d = bf8_from_f32_stochastic(a, b, mode)", writes_byte=True)

# --- comparisons: one bit a lane; v_cmpx also writes EXEC. 16 float and 8 integer relations, in opcode order ----------
FLOAT = ("f 0", "lt a < b", "eq a == b", "le a <= b", "gt a > b", "lg a < b || a > b", "ge a >= b",
         "o a == a && b == b", "u a != a || b != b", "nge !(a >= b)", "nlg !(a < b || a > b)", "ngt !(a > b)",
         "nle !(a <= b)", "neq a != b", "nlt !(a < b)", "tru 1")
INTEGER = ("f 0", "lt a < b", "eq a == b", "le a <= b", "gt a > b", "ne a != b", "ge a >= b", "t 1")
for first, type, relations in ((32, "f16", FLOAT), (64, "f32", FLOAT), (96, "f64", FLOAT), (160, "i16", INTEGER),
                               (168, "u16", INTEGER), (192, "i32", INTEGER), (200, "u32", INTEGER),
                               (224, "i64", INTEGER), (232, "u64", INTEGER)):
    for i, relation in enumerate(relations):
        name, holds = relation.split(" ", 1)
        op(f"v_cmp_{name}_{type}", f"VOPC {first + i}", f"mask {type} {type}", f"d = {holds}")
        op(f"v_cmpx_{name}_{type}", f"VOPC {first + 16 + i}", f"maskx {type} {type}", f"d = {holds}")
# v_cmp_class: b is a set of the ten classes of IEEE numbers: signalling, quiet NaN, -inf, -normal, -denormal, -0, +0 …
op("v_cmp_class_f16", "VOPC 20", "mask u16 u32", "d = b >> class_f16(a) & 1", modifiers="f16")
op("v_cmpx_class_f16", "VOPC 21", "maskx u16 u32", "d = b >> class_f16(a) & 1", modifiers="f16")
op("v_cmp_class_f32", "VOPC 16", "mask f32 u32", "d = b >> class_f32(a) & 1", modifiers="f32")
op("v_cmpx_class_f32", "VOPC 17", "maskx f32 u32", "d = b >> class_f32(a) & 1", modifiers="f32")
op("v_cmp_class_f64", "VOPC 18", "mask f64 u32", "d = b >> class_f64(a) & 1", modifiers="f64")
op("v_cmpx_class_f64", "VOPC 19", "maskx f64 u32", "d = b >> class_f64(a) & 1", modifiers="f64")

# --- between lanes and scalars ----------------------------------------------------------------------------------------
lanes = partial(row, "lanes")   # the meaning is for the wave, not for a lane
lanes("v_readfirstlane_b32", "VOP1 2", "s32 | v32",
      "u64 active = pair(w, EXEC); put_scalar(w, in, w->v[in->src[0] - VGPR][active ? __builtin_ctzll(active) : 0])")
lanes("v_readlane_b32", "VOP3 649", "s32 | v32 u32",
      "put_scalar(w, in, w->v[in->src[0] - VGPR][scalar_u32(w, in, 1) & 63])")
lanes("v_writelane_b32", "VOP3 650", "+v32 | u32 u32",
      "w->v[in->d - VGPR][scalar_u32(w, in, 1) & 63] = scalar_u32(w, in, 0)")
