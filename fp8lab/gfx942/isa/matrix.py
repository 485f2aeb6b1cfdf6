"""Matrix instructions: D = A · B + C for one wave, on the matrix core. EXEC is ignored: all 64 lanes take part.

    mfma("f32_32x32x16_fp8_fp8", 119, passes=8)
         D is f32, 32x32; A is 32x16 fp8, B is 16x32 fp8       8 passes = 32 clocks of the matrix core

"2b", "4b", "16b": so many independent products side by side. Where elements live, with M rows, N = M columns and K
the depth, one block (blocks follow each other along the lanes):

    A[i, k], B[k, j]   lane i + M * (k / per_lane), element k % per_lane of that lane's registers
    D[i, j], C[i, j]   lane j + M * (i / 4 % (64 / M)), register 4 * (i / (4 * 64 / M)) + i % 4
                       (f64: lane j + 16 * (i % 4), registers from 2 * (i / 4))

Modifiers: cbsz and abid, for several blocks: of every 2^cbsz blocks of A, block abid is used for all. blgp, for f32 and
for several blocks: a lane pattern of B (1, 2 a half for both; 3 moved by 16 lanes; 4-7 one 16 for all); for f64: bits
that negate A, B, C. See ../core/mfma.h.

    smfmac("f32_16x16x64_fp8_fp8", 123, passes=4)
         D += A · B; of every four elements of A along k, two are stored; a register holds 2 bits for each: which two

A lies as in a dense instruction of depth K / 2, B and D as above. abid says which part of the index register is meant.

Arithmetic, from arXiv 2511.10909 (bit-exact MMA models): products are exact and are added in fused groups of `group`
elements of k (16 for FP8, 8 for f16 and bf16, 4 for xf32); f32 and f64 are chains of fused multiply-adds. See
../core/dot.h.

Source: CDNA3 ISA guide, "Matrix Arithmetic Instructions"; layouts compared with AMD's matrix instruction calculator.
"""

from fp8lab.gfx942.isa import row


def mfma(name, opcode, passes):
    """A row; the shape, the block count and the types are read from the name, which is AMD's."""
    d, shape, *rest = name.split("_")
    m, n, k = map(int, shape.split("x"))
    blocks = int(rest.pop(0)[:-1]) if rest[0].endswith("b") and rest[0][:-1].isdigit() else 1
    a, b = rest if len(rest) == 2 else rest * 2
    shape = dict(m=m, n=n, k=k, blocks=blocks, sparse=False)
    row("matrix", f"v_mfma_{name}", f"MAI {opcode}", f"{d} {a} {b} {d}", "", passes=passes, **shape)


def smfmac(name, opcode, passes):
    d, shape, *rest = name.split("_")
    m, n, k = map(int, shape.split("x"))
    a, b = rest if len(rest) == 2 else rest * 2
    shape = dict(m=m, n=n, k=k, blocks=1, sparse=True)
    row("matrix", f"v_smfmac_{name}", f"MAI {opcode}", f"{d} {a} {b} u32", "", passes=passes, **shape)


mfma("f32_16x16x8_xf32", 62, passes=4)
mfma("f32_32x32x4_xf32", 63, passes=8)
mfma("f32_32x32x1_2b_f32", 64, passes=16)
mfma("f32_16x16x1_4b_f32", 65, passes=8)
mfma("f32_4x4x1_16b_f32", 66, passes=2)
mfma("f32_32x32x2_f32", 68, passes=16)
mfma("f32_16x16x4_f32", 69, passes=8)
mfma("f32_32x32x4_2b_f16", 72, passes=16)
mfma("f32_16x16x4_4b_f16", 73, passes=8)
mfma("f32_4x4x4_16b_f16", 74, passes=2)
mfma("f32_32x32x8_f16", 76, passes=8)
mfma("f32_16x16x16_f16", 77, passes=4)
mfma("i32_32x32x4_2b_i8", 80, passes=16)
mfma("i32_16x16x4_4b_i8", 81, passes=8)
mfma("i32_4x4x4_16b_i8", 82, passes=2)
mfma("i32_32x32x16_i8", 86, passes=8)
mfma("i32_16x16x32_i8", 87, passes=4)
mfma("f32_32x32x4_2b_bf16", 93, passes=16)
mfma("f32_16x16x4_4b_bf16", 94, passes=8)
mfma("f32_4x4x4_16b_bf16", 95, passes=2)
mfma("f32_32x32x8_bf16", 96, passes=8)
mfma("f32_16x16x16_bf16", 97, passes=4)
mfma("f64_16x16x4_f64", 110, passes=8)
mfma("f64_4x4x4_4b_f64", 111, passes=4)
mfma("f32_16x16x32_bf8_bf8", 112, passes=4)
mfma("f32_16x16x32_bf8_fp8", 113, passes=4)
mfma("f32_16x16x32_fp8_bf8", 114, passes=4)
mfma("f32_16x16x32_fp8_fp8", 115, passes=4)
mfma("f32_32x32x16_bf8_bf8", 116, passes=8)
mfma("f32_32x32x16_bf8_fp8", 117, passes=8)
mfma("f32_32x32x16_fp8_bf8", 118, passes=8)
mfma("f32_32x32x16_fp8_fp8", 119, passes=8)

# --- sparse -----------------------------------------------------------------------------------------------------------
smfmac("f32_16x16x32_f16", 98, passes=4)
smfmac("f32_32x32x16_f16", 100, passes=8)
smfmac("f32_16x16x32_bf16", 102, passes=4)
smfmac("f32_32x32x16_bf16", 104, passes=8)
smfmac("i32_16x16x64_i8", 106, passes=4)
smfmac("i32_32x32x32_i8", 108, passes=8)
for i, types in enumerate(("bf8_bf8", "bf8_fp8", "fp8_bf8", "fp8_fp8")):
    smfmac(f"f32_16x16x64_{types}", 120 + i, passes=4)
    smfmac(f"f32_32x32x32_{types}", 124 + i, passes=8)
