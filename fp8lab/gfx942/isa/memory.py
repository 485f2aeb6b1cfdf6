"""Global, flat, scratch, buffer and scalar memory. One line an access; each exists in up to four address forms.

In a meaning, m is the value in memory (of the first type) and d the register (u32): loads set d, stores set m.
"u32x4" moves four registers and needs no meaning. For atomics, m is both: it is read, changed and written as one
step; with sc0 (glc) the old value is returned. Where addresses come from, for the active lanes:

    global_   64-bit VGPR pair, or scalar base + 32-bit VGPR, + 13-bit signed offset
    flat_     64-bit VGPR pair + offset; the apertures map LDS and scratch into the same address space
    scratch_  private memory of the lane: VGPR or SGPR or both, + offset
    buffer_   descriptor in four SGPRs (base, stride, num_records): out of range reads 0 and drops the write

Source: CDNA3 ISA guide, "Vector Memory Operations", "Flat Memory Instructions", "Scalar Memory Operations".
"""

from fp8lab.gfx942.isa import row

FORMS = {"global": "GLOBAL", "flat": "FLAT", "scratch": "SCRATCH", "buffer": "MUBUF"}


def load(suffix, opcode, type, meaning=""):
    for form, format in FORMS.items():
        row("memory", f"{form}_load_{suffix}", f"{format} {opcode}", f"| {type}", meaning, kind="load", form=form)


def store(suffix, opcode, type, meaning=""):
    for form, format in FORMS.items():
        row("memory", f"{form}_store_{suffix}", f"{format} {opcode}", f"| {type}", meaning, kind="store", form=form)


def atomic(suffix, opcode, type, meaning, forms=("global", "flat", "buffer")):
    for form in forms:
        name, encoding = f"{form}_atomic_{suffix}", f"{FORMS[form]} {opcode}"
        row("memory", name, encoding, f"| {type}", meaning, kind="atomic", form=form)


# --- loads ------------------------------------------------------------------------------------------------------------
load("ubyte", 16, "u8", "d = m")
load("sbyte", 17, "i8", "d = (u32)(i32)m")
load("ushort", 18, "u16", "d = m")
load("sshort", 19, "i16", "d = (u32)(i32)m")
load("dword", 20, "u32x1")
load("dwordx2", 21, "u32x2")
load("dwordx3", 22, "u32x3")
load("dwordx4", 23, "u32x4")
load("ubyte_d16", 32, "u8", "d = (d & 0xffff0000) | m")            # d16: half a register, the other half is kept
load("ubyte_d16_hi", 33, "u8", "d = (d & 0xffff) | (u32)m << 16")
load("sbyte_d16", 34, "i8", "d = (d & 0xffff0000) | (u16)m")
load("sbyte_d16_hi", 35, "i8", "d = (d & 0xffff) | (u32)(u16)m << 16")
load("short_d16", 36, "u16", "d = (d & 0xffff0000) | m")
load("short_d16_hi", 37, "u16", "d = (d & 0xffff) | (u32)m << 16")

# --- loads to LDS: each lane's bytes go to LDS at M0 + offset + lane * 4, and no register is written ------------------
# buffer_load_… with its lds bit set is another instruction; LLVM spells it with "lds" at the end of the line.
LDS_LOADS = (("ubyte", "u8", 38, 16), ("sbyte", "i8", 39, 17), ("ushort", "u16", 40, 18), ("sshort", "i16", 41, 19),
             ("dword", "u32", 42, 20))
for size, type, opcode, buffer_opcode in LDS_LOADS:
    types, meaning = f"| {type}", "d = (u32)(i32)m"
    more = dict(kind="lds_dma")
    row("memory", f"global_load_lds_{size}", f"GLOBAL {opcode}", types, meaning, form="global", **more)
    row("memory", f"buffer_load_{size}_lds", f"MUBUF_LDS {buffer_opcode}", types, meaning, form="buffer", **more)

# --- stores -----------------------------------------------------------------------------------------------------------
store("byte", 24, "u8", "m = (u8)d")
store("byte_d16_hi", 25, "u8", "m = (u8)(d >> 16)")
store("short", 26, "u16", "m = (u16)d")
store("short_d16_hi", 27, "u16", "m = (u16)(d >> 16)")
store("dword", 28, "u32x1")
store("dwordx2", 29, "u32x2")
store("dwordx3", 30, "u32x3")
store("dwordx4", 31, "u32x4")

# --- atomics: d is the operand, e the comparison value of cmpswap -----------------------------------------------------
for suffix, first, type, signed in (("", 64, "u32", "i32"), ("_x2", 96, "u64", "i64")):
    atomic(f"swap{suffix}", first + 0, type, "m = d")
    atomic(f"cmpswap{suffix}", first + 1, type, "m = m == e ? d : m")
    atomic(f"add{suffix}", first + 2, type, "m = m + d")
    atomic(f"sub{suffix}", first + 3, type, "m = m - d")
    atomic(f"smin{suffix}", first + 4, signed, "m = d < m ? d : m")
    atomic(f"umin{suffix}", first + 5, type, "m = d < m ? d : m")
    atomic(f"smax{suffix}", first + 6, signed, "m = d > m ? d : m")
    atomic(f"umax{suffix}", first + 7, type, "m = d > m ? d : m")
    atomic(f"and{suffix}", first + 8, type, "m = m & d")
    atomic(f"or{suffix}", first + 9, type, "m = m | d")
    atomic(f"xor{suffix}", first + 10, type, "m = m ^ d")
    atomic(f"inc{suffix}", first + 11, type, "m = m >= d ? 0 : m + 1")
    atomic(f"dec{suffix}", first + 12, type, "m = m == 0 || m > d ? d : m - 1")
atomic("add_f32", 77, "f32", "m = m + d")
atomic("pk_add_f16", 78, "u32", "m = add_f16x2(m, d)")
atomic("add_f64", 79, "f64", "m = m + d")
atomic("min_f64", 80, "f64", "m = min_f64(m, d)")
atomic("max_f64", 81, "f64", "m = max_f64(m, d)")
atomic("pk_add_bf16", 82, "u32", "m = add_bf16x2(m, d)", forms=("global", "flat"))

# --- scalar memory: uniform loads into SGPRs, through the scalar cache; addresses are rounded down to 4 bytes ---------
for opcode, words in enumerate((1, 2, 4, 8, 16)):
    suffix = f"dwordx{words}" if words > 1 else "dword"
    for prefix, first, form in (("s_load", 0, "scalar"), ("s_buffer_load", 8, "scalar_buffer")):
        encoding, types = f"SMEM {first + opcode}", f"| u32x{words}"
        row("memory", f"{prefix}_{suffix}", encoding, types, "", kind="scalar_load", form=form)
for opcode, words in ((16, 1), (17, 2), (18, 4)):
    suffix = f"dwordx{words}" if words > 1 else "dword"
    row("memory", f"s_store_{suffix}", f"SMEM {opcode}", f"| u32x{words}", "", kind="scalar_store", form="scalar")
