"""LDS: 64 KiB that the waves of a workgroup share, and exchange between lanes through its crossbar.

m is the value in LDS, d and e the data registers; loads set d, stores set m, atomics change m as one step and "rtn"
rows return the old value. The address is a VGPR (bytes) plus a 16-bit offset; read2 and write2 have two 8-bit offsets,
counted in elements (st64: in 64 elements). Source: CDNA3 ISA guide, "Data Share Operations".
"""

from fp8lab.gfx942.isa import row


def read(suffix, opcode, type, meaning="", **more):
    name = f"ds_read{suffix}" if suffix[0] == "2" else f"ds_read_{suffix}"
    row("lds", name, f"DS {opcode}", f"| {type}", meaning, kind="load", **more)


def write(suffix, opcode, type, meaning="", **more):
    name = f"ds_write{suffix}" if suffix[0] == "2" else f"ds_write_{suffix}"
    row("lds", name, f"DS {opcode}", f"| {type}", meaning, kind="store", **more)


def atomic(name, opcode, type, meaning, rtn=32, plain=True):
    """One read-modify-write; most have a form that returns the old value, at opcode + 32."""
    if plain:
        row("lds", f"ds_{name}", f"DS {opcode}", f"| {type}", meaning, kind="atomic", returns=False)
    if rtn is not None:
        operation, _, width = name.rpartition("_")
        returning = f"ds_{operation}_rtn_{width}"
        row("lds", returning, f"DS {opcode + rtn}", f"| {type}", meaning, kind="atomic", returns=True)


# --- reads ------------------------------------------------------------------------------------------------------------
read("b32", 54, "u32x1")
read("b64", 118, "u32x2")
read("b96", 254, "u32x3")
read("b128", 255, "u32x4")
read("2_b32", 55, "u32x1", pair=1)                     # pair: two elements, offsets in elements * pair
read("2st64_b32", 56, "u32x1", pair=64)
read("2_b64", 119, "u32x2", pair=1)
read("2st64_b64", 120, "u32x2", pair=64)
read("i8", 57, "i8", "d = (u32)(i32)m")
read("u8", 58, "u8", "d = m")
read("i16", 59, "i16", "d = (u32)(i32)m")
read("u16", 60, "u16", "d = m")
read("u8_d16", 86, "u8", "d = (d & 0xffff0000) | m")
read("u8_d16_hi", 87, "u8", "d = (d & 0xffff) | (u32)m << 16")
read("i8_d16", 88, "i8", "d = (d & 0xffff0000) | (u16)m")
read("i8_d16_hi", 89, "i8", "d = (d & 0xffff) | (u32)(u16)m << 16")
read("u16_d16", 90, "u16", "d = (d & 0xffff0000) | m")
read("u16_d16_hi", 91, "u16", "d = (d & 0xffff) | (u32)m << 16")

# --- writes -----------------------------------------------------------------------------------------------------------
write("b32", 13, "u32x1")
write("b64", 77, "u32x2")
write("b96", 222, "u32x3")
write("b128", 223, "u32x4")
write("2_b32", 14, "u32x1", pair=1)
write("2st64_b32", 15, "u32x1", pair=64)
write("2_b64", 78, "u32x2", pair=1)
write("2st64_b64", 79, "u32x2", pair=64)
write("b8", 30, "u8", "m = (u8)d")
write("b16", 31, "u16", "m = (u16)d")
write("b8_d16_hi", 84, "u8", "m = (u8)(d >> 16)")
write("b16_d16_hi", 85, "u16", "m = (u16)(d >> 16)")

# --- atomics ----------------------------------------------------------------------------------------------------------
for first, u, i in ((0, "u32", "i32"), (64, "u64", "i64")):
    b = u.replace("u", "b")
    atomic(f"add_{u}", first + 0, u, "m = m + d")
    atomic(f"sub_{u}", first + 1, u, "m = m - d")
    atomic(f"rsub_{u}", first + 2, u, "m = d - m")
    atomic(f"inc_{u}", first + 3, u, "m = m >= d ? 0 : m + 1")
    atomic(f"dec_{u}", first + 4, u, "m = m == 0 || m > d ? d : m - 1")
    atomic(f"min_{i}", first + 5, i, "m = d < m ? d : m")
    atomic(f"max_{i}", first + 6, i, "m = d > m ? d : m")
    atomic(f"min_{u}", first + 7, u, "m = d < m ? d : m")
    atomic(f"max_{u}", first + 8, u, "m = d > m ? d : m")
    atomic(f"and_{b}", first + 9, u, "m = m & d")
    atomic(f"or_{b}", first + 10, u, "m = m | d")
    atomic(f"xor_{b}", first + 11, u, "m = m ^ d")
    atomic(f"mskor_{b}", first + 12, u, "m = (m & ~d) | e")
    atomic(f"cmpst_{b}", first + 16, u, "m = m == d ? e : m")
    atomic(f"wrxchg_{b}", first + 13, u, "m = d", plain=False)     # exchange; without return it is a ds_write
for first, f in ((0, "f32"), (64, "f64")):
    atomic(f"cmpst_{f}", first + 17, f, "m = m == d ? e : m")
    atomic(f"min_{f}", first + 18, f, f"m = min_{f}(m, d)")
    atomic(f"max_{f}", first + 19, f, f"m = max_{f}(m, d)")
atomic("add_f32", 21, "f32", "m = m + d")
atomic("add_f64", 92, "f64", "m = m + d")
atomic("wrap_b32", 20, "u32", "m = m >= d ? m - d : m + e", plain=False)
atomic("pk_add_f16", 23, "u32", "m = add_f16x2(m, d)", rtn=160)
atomic("pk_add_bf16", 24, "u32", "m = add_bf16x2(m, d)", rtn=160)

# --- exchange between lanes: no memory is touched, only the crossbar --------------------------------------------------
# Meaning for the wave: source(l) is the lane that lane l reads, if that lane is active; else it gets 0.
row("lds", "ds_swizzle_b32", "DS 61", "| u32", "swizzle(w, in)", kind="crossbar", reads_data=False)
row("lds", "ds_permute_b32", "DS 62", "| u32", "permute(w, in)", kind="crossbar", reads_data=True)    # to addr / 4
row("lds", "ds_bpermute_b32", "DS 63", "| u32", "bpermute(w, in)", kind="crossbar", reads_data=True)  # from addr / 4
row("lds", "ds_nop", "DS 20", "|", "", kind="nop")
