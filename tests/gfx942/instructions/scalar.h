// What scalar instructions do, from the CDNA3 ISA guide's pseudocode: NAME gives the destination, NAME__scc the
// condition code, NAME__exec the mask of lanes. a, b are the sources, c is SCC before; where an instruction has one
// source, b is what the destination held, and where it uses EXEC, b is EXEC. K is the immediate of s_…k_….
// clang-format off
#define K (-1)
#define IF(condition) ((condition) ? 1 : 0)
#define OP1(name, R, A, d) CASE3(name, R, A, R, u32, d)
#define OP2(name, R, A, B, d) CASE3(name, R, A, B, u32, d)
#define SCC(name, A, B, condition) CASE3(name##__scc, u32, A, B, u32, IF(condition))
// the destination, and whether it is other than 0
#define BOOL1(name, R, A, d) OP1(name, R, A, d) SCC(name, A, u32, (R)(d) != 0)
#define BOOL2(name, R, A, B, d) OP2(name, R, A, B, d) SCC(name, A, B, (R)(d) != 0)
#define BITWISE(op, d) BOOL2(s_##op##_b32, u32, u32, u32, d) BOOL2(s_##op##_b64, u64, u64, u64, d)
BITWISE(and, a & b) BITWISE(or, a | b) BITWISE(xor, a ^ b) BITWISE(andn2, a & ~b) BITWISE(orn2, a | ~b)
BITWISE(nand, ~(a & b)) BITWISE(nor, ~(a | b)) BITWISE(xnor, ~(a ^ b))
OP2(s_add_u32, u32, u32, u32, a + b) SCC(s_add_u32, u32, u32, (u64)a + b > 0xffffffff)
OP2(s_sub_u32, u32, u32, u32, a - b) SCC(s_sub_u32, u32, u32, b > a)
OP2(s_add_i32, u32, u32, u32, a + b) SCC(s_add_i32, i32, i32, (i64)a + b != (i32)((u32)a + (u32)b))
OP2(s_sub_i32, u32, u32, u32, a - b) SCC(s_sub_i32, i32, i32, (i64)a - b != (i32)((u32)a - (u32)b))
OP2(s_addc_u32, u32, u32, u32, a + b + (c & 1)) SCC(s_addc_u32, u32, u32, (u64)a + b + (c & 1) > 0xffffffff)
OP2(s_subb_u32, u32, u32, u32, a - b - (c & 1)) SCC(s_subb_u32, u32, u32, (u64)b + (c & 1) > a)
OP2(s_min_i32, i32, i32, i32, a < b ? a : b) SCC(s_min_i32, i32, i32, a < b)
OP2(s_min_u32, u32, u32, u32, a < b ? a : b) SCC(s_min_u32, u32, u32, a < b)
OP2(s_max_i32, i32, i32, i32, a < b ? b : a) SCC(s_max_i32, i32, i32, a >= b)
OP2(s_max_u32, u32, u32, u32, a < b ? b : a) SCC(s_max_u32, u32, u32, a >= b)
OP2(s_cselect_b32, u32, u32, u32, c & 1 ? a : b) OP2(s_cselect_b64, u64, u64, u64, c & 1 ? a : b)
BOOL2(s_lshl_b32, u32, u32, u32, a << b % 32) BOOL2(s_lshl_b64, u64, u64, u32, a << b % 64)
BOOL2(s_lshr_b32, u32, u32, u32, a >> b % 32) BOOL2(s_lshr_b64, u64, u64, u32, a >> b % 64)
BOOL2(s_ashr_i32, i32, i32, u32, a >> b % 32) BOOL2(s_ashr_i64, i64, i64, u32, a >> b % 64)
OP2(s_bfm_b32, u32, u32, u32, ((1u << a % 32) - 1) << b % 32)
OP2(s_bfm_b64, u64, u32, u32, ((1ull << a % 64) - 1) << b % 64)
// a field of width bits from `low` on; what lies beyond the register is 0, or the sign
FUNCTION u64 bits_from(u64 x, u32 low, u32 width) { u64 d = 0; for (u32 i = 0; i < width && i + low < 64; i++)
      d |= (x >> (low + i) & 1) << i; return d; }
FUNCTION u64 signed_bits_from(u64 x, u32 low, u32 width) {
    u64 d = 0;
    if (width) for (u32 i = 0; i < 64; i++) { u32 at = low + (i < width ? i : width - 1); d |= (x >>
      (at < 64 ? at : 63) & 1) << i; }
    return d;
}
#define WIDTH (b >> 16 & 127)
BOOL2(s_bfe_u32, u32, u32, u32, (u32)bits_from(a, b % 32, WIDTH))
BOOL2(s_bfe_u64, u64, u64, u32, bits_from(a, b % 64, WIDTH))
BOOL2(s_bfe_i32, u32, i32, u32, (u32)signed_bits_from((u64)(i64)a, b % 32, WIDTH))
BOOL2(s_bfe_i64, u64, i64, u32, signed_bits_from((u64)a, b % 64, WIDTH))
OP2(s_mul_i32, u32, u32, u32, a * b)
OP2(s_mul_hi_u32, u32, u32, u32, (u32)((u64)a * b >> 32)) OP2(s_mul_hi_i32, i32, i32, i32, (i32)((i64)a * b >> 32))
BOOL2(s_absdiff_i32, u32, i32, i32, (u32)(a < b ? (i64)b - a : (i64)a - b))
#define SHIFT_ADD(n) OP2(s_lshl##n##_add_u32, u32, u32, u32, (a << n) + b) SCC(s_lshl##n##_add_u32, u32, u32, \
    ((u64)a << n) + b > 0xffffffff)
SHIFT_ADD(1) SHIFT_ADD(2) SHIFT_ADD(3) SHIFT_ADD(4)
OP2(s_pack_ll_b32_b16, u32, u32, u32, (b % 65536) * 65536 + a % 65536)
OP2(s_pack_lh_b32_b16, u32, u32, u32, (b / 65536) * 65536 + a % 65536)
OP2(s_pack_hh_b32_b16, u32, u32, u32, (b / 65536) * 65536 + a / 65536)
OP1(s_movk_i32, i32, u32, K) OP1(s_cmovk_i32, u32, u32, c & 1 ? (u32)K : b)
OP1(s_addk_i32, u32, u32, b + (u32)K) CASE3(s_addk_i32__scc, u32, u32, i32, u32,
      IF((i64)b + K != (i32)((u32)b + (u32)K)))
OP1(s_mulk_i32, u32, u32, b * (u32)K)
OP1(s_mov_b32, u32, u32, a) OP1(s_mov_b64, u64, u64, a)
OP1(s_cmov_b32, u32, u32, c & 1 ? a : b) OP1(s_cmov_b64, u64, u64, c & 1 ? a : b)
BOOL1(s_not_b32, u32, u32, ~a) BOOL1(s_not_b64, u64, u64, ~a)
FUNCTION u64 mirrored(u64 x, int bits) { u64 d = 0; for (int i = 0; i < bits; i++) d = d << 1 | (x >> i & 1);
      return d; }
FUNCTION u32 count(u64 x, int bits, u32 which) { u32 n = 0; for (int i = 0; i < bits; i++) n += (x >> i & 1)
      == which; return n; }
FUNCTION i32 lowest(u64 x, int bits, u32 which) { for (int i = 0; i < bits; i++) if ((x >> i & 1) == which)
      return i; return -1; }
FUNCTION i32 highest(u64 x, int bits) { for (int i = 0; i < bits; i++) if (x >> (bits - 1 - i) & 1) return i;
      return -1; }
FUNCTION i32 sign_change(u64 x, int bits) { for (int i = 1; i < bits; i++) if ((x >> (bits - 1 - i) ^ x >>
      (bits - 1)) & 1) return i; return -1; }
OP1(s_brev_b32, u32, u32, (u32)mirrored(a, 32)) OP1(s_brev_b64, u64, u64, mirrored(a, 64))
#define COUNTS(n) BOOL1(s_bcnt0_i32_b##n, u32, u##n, count(a, n, 0)) BOOL1(s_bcnt1_i32_b##n, u32, u##n, count(a, \
    n, 1)) \
    OP1(s_ff0_i32_b##n, i32, u##n, lowest(a, n, 0)) OP1(s_ff1_i32_b##n, i32, u##n, lowest(a, n, 1)) \
    OP1(s_flbit_i32_b##n, i32, u##n, highest(a, n))
COUNTS(32) COUNTS(64)
OP1(s_flbit_i32, i32, u32, sign_change(a, 32)) OP1(s_flbit_i32_i64, i32, u64, sign_change(a, 64))
OP1(s_sext_i32_i8, i32, u32, (i8)a) OP1(s_sext_i32_i16, i32, u32, (i16)a)
OP1(s_bitset0_b32, u32, u32, b & ~(1u << a % 32)) OP1(s_bitset1_b32, u32, u32, b | 1u << a % 32)
OP1(s_bitset0_b64, u64, u32, b & ~(1ull << a % 64)) OP1(s_bitset1_b64, u64, u32, b | 1ull << a % 64)
BOOL1(s_abs_i32, u32, i32, (u32)(a < 0 ? -(i64)a : a))
FUNCTION u64 quad_any(u64 x, int bits) { u64 d = 0; for (int i = 0; i < bits; i += 4) if (x >> i & 15)
      d |= 1ull << i / 4; return d; }
FUNCTION u64 quad_all(u64 x, int bits) { u64 d = 0; for (int i = 0; i < bits; i++) if (x >> (i & 60) & 15)
      d |= 1ull << i; return d; }
BOOL1(s_quadmask_b32, u32, u32, (u32)quad_any(a, 32)) BOOL1(s_quadmask_b64, u64, u64, quad_any(a, 64))
BOOL1(s_wqm_b32, u32, u32, (u32)quad_all(a, 32)) BOOL1(s_wqm_b64, u64, u64, quad_all(a, 64))
FUNCTION u64 doubled(u32 x) { u64 d = 0; for (int i = 0; i < 32; i++) d |= (u64)(x >> i & 1) * 3 << 2 * i; return d; }
OP1(s_bitreplicate_b64_b32, u64, u32, doubled(a))
#define SAVE(op, e) OP2(s_##op##_saveexec_b64, u64, u64, u64, b) OP2(s_##op##_saveexec_b64__exec, u64, u64, u64, \
    e) SCC(s_##op##_saveexec_b64, u64, u64, (e) != 0)
SAVE(and, a & b) SAVE(or, a | b) SAVE(xor, a ^ b) SAVE(andn2, a & ~b) SAVE(orn2, a | ~b) SAVE(nand, ~(a & b))
SAVE(nor, ~(a | b)) SAVE(xnor, ~(a ^ b)) SAVE(andn1, ~a & b) SAVE(orn1, ~a | b)
#define WRITE(op, e) OP2(s_##op##_wrexec_b64, u64, u64, u64, e) OP2(s_##op##_wrexec_b64__exec, u64, u64, u64, e) \
    SCC(s_##op##_wrexec_b64, u64, u64, (e) != 0)
WRITE(andn1, ~a & b) WRITE(andn2, a & ~b)
#define RELATION(name, op) SCC(s_cmp_##name##_i32, i32, i32, a op b) SCC(s_cmp_##name##_u32, u32, u32, a op b) \
    SCC(s_cmpk_##name##_i32, i32, u32, a op K) SCC(s_cmpk_##name##_u32, u32, u32, a op (u32)(u16)K)
RELATION(eq, ==) RELATION(lg, !=) RELATION(gt, >) RELATION(ge, >=) RELATION(lt, <) RELATION(le, <=)
SCC(s_cmp_eq_u64, u64, u64, a == b) SCC(s_cmp_lg_u64, u64, u64, a != b)
SCC(s_bitcmp0_b32, u32, u32, (a >> b % 32) % 2 == 0) SCC(s_bitcmp1_b32, u32, u32, (a >> b % 32) % 2 == 1)
SCC(s_bitcmp0_b64, u64, u32, (a >> b % 64) % 2 == 0) SCC(s_bitcmp1_b64, u64, u32, (a >> b % 64) % 2 == 1)
