"""Instructions to the core's records: numbers in place of names, everything resolved that does not change at run time.

The layout of RECORD is struct Ins of core/state.h; a test and core.sizes() hold the two together.
"""

import numpy as np

from fp8lab.gfx942.isa import BY_NAME
from fp8lab.gfx942.operands import CONSTANT, EXEC, M0, NONE, VCC, VGPR, DecodeError, words_of

RECORD = np.dtype(
    [
        ("value", "<u8", 4),
        ("address", "<u4"),
        ("target", "<u4"),
        ("offset", "<i4", 2),
        ("flags", "<u4"),
        ("op", "<u2"),
        ("d", "<u2"),
        ("e", "<u2"),
        ("src", "<u2", 4),
        ("size", "u1"),
        ("neg", "u1"),
        ("abs", "u1"),
        ("sext", "u1"),
        ("op_sel", "u1"),
        ("op_sel_hi", "u1"),
        ("neg_hi", "u1"),
        ("fancy", "u1"),
        ("fancy_result", "u1"),
        ("clamp", "u1"),
        ("omod", "u1"),
        ("sdwa", "u1"),
        ("dpp", "u1"),
        ("src_sel", "u1", 2),
        ("dst_sel", "u1"),
        ("dst_unused", "u1"),
        ("bound_ctrl", "u1"),
        ("row_mask", "u1"),
        ("bank_mask", "u1"),
        ("dpp_ctrl", "<u2"),
        ("kind", "u1", 4),
        ("result_kind", "u1"),
        ("result_words", "u1"),
        ("keep_high", "u1"),
        ("unit", "u1"),
        ("passes", "u1"),
        ("cbsz", "u1"),
        ("abid", "u1"),
        ("blgp", "u1"),
        ("uses", "u1"),
        ("defs", "u1"),
        ("round", "u1"),
        ("registers", "<u2", (8, 2)),
        ("run", "<u8"),
        ("splat", "<u8", 4),
    ],
    align=True,
)

OFFEN, IDXEN, RETURNS, DST_HIGH, IS_XDL, IS_TRANS, IS_DGEMM, STORES_HIGH, COPIES, LENIENT, FIRST_LANE = (
    1,
    2,
    4,
    8,
    32,
    64,
    128,
    256,
    512,
    1024,
    2048,
)
# What core/wait_states.h asks about an instruction.
READS_LANE, SELECTS_LANE, DIVIDES, READS_M0, USES_MODE, WRITES_EXEC, SHIFTS_RESULT, SETS_WAIT = (
    1 << n for n in range(12, 20)
)
# Reading what was never written is no mistake for copies (a spill, a callee's saved register) and for masks of lanes,
# where the compiler leaves the bits of lanes that are not there undefined.
COPY_NAMES = (
    "s_mov_b32",
    "s_mov_b64",
    "v_mov_b32",
    "v_mov_b64",
    "v_accvgpr_read_b32",
    "v_accvgpr_write_b32",
    "v_accvgpr_mov_b32",
)
MASK_NAMES = tuple(f"s_{name}_b64" for name in ("and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor", "cselect"))
UNITS = {
    name: i
    for i, name in enumerate(
        (
            "other",
            "valu",
            "salu",
            "matrix",
            "lds",
            "vmem_load",
            "vmem_store",
            "vmem_lds",
            "flat",
            "smem",
            "wait",
            "barrier",
            "nop",
        )
    )
}
BITS, FLOAT16, FLOAT32, FLOAT64, SIGN16, SIGN32, SIGN64 = range(7)
KINDS = {"f16": FLOAT16, "f16hi": FLOAT16, "f16x2": FLOAT16, "f32": FLOAT32, "f32x2": FLOAT32, "f64": FLOAT64}
SIGNS = {"f16": SIGN16, "f32": SIGN32, "f64": SIGN64}  # rows whose sources have a sign but are not computed with
TRANSCENDENTAL = ("v_rcp", "v_rsq", "v_sqrt", "v_exp", "v_log", "v_sin", "v_cos")
ROW_NUMBER = {name: i for i, name in enumerate(BY_NAME)}
UNDEFINED = 0xFFFF  # the op of a record that faults when it runs


def make_program(instructions):
    """Return (records, splats): a RECORD array in the order given, and how many constants the core must spread."""
    records = np.zeros(len(instructions), RECORD)
    index = {i.address: n for n, i in enumerate(instructions)}
    splats = 0
    for record, instruction in zip(records, instructions, strict=True):
        splats += _fill(record, instruction, index)
    return records, splats


def undefined_record(address):
    record = np.zeros(1, RECORD)
    record["op"], record["address"], record["size"], record["src"] = UNDEFINED, address, 4, NONE
    return record


def _fill(r, i, index):
    op = i.op
    r["op"], r["address"], r["size"] = ROW_NUMBER[i.name], i.address, i.size
    if i.target is not None:
        if i.target not in index:
            raise DecodeError(
                f"{i.address:#x}: {i.name} branches to {i.target:#x}, which is no instruction of this code"
            )
        r["target"] = index[i.target]
    src, value, kind = [NONE] * 4, [0] * 4, [0] * 4
    for k, operand in enumerate(i.src[:4]):
        src[k], value[k] = operand.number, operand.value
    r["src"], r["value"] = src, value
    r["d"] = i.dst[0].number if i.dst else NONE
    r["e"] = i.dst[1].number if len(i.dst) > 1 else NONE
    m = i.modifiers
    r["offset"] = (m.get("offset", m.get("offset0", 0)), m.get("offset1", 0))
    flags = OFFEN * m.get("offen", False) | IDXEN * m.get("idxen", False)
    family, more = op.family, op.more
    if family in ("memory", "lds") and more["kind"] == "atomic" and i.dst:
        flags |= RETURNS
    if i.name.endswith("d16_hi") and more.get("kind") == "store":
        flags |= STORES_HIGH
    if family == "vector":
        flags |= _vector(r, i, kind)
    r["kind"] = kind
    unit = _unit(i)
    r["unit"] = UNITS[unit]
    if unit == "matrix":
        r["passes"] = more["passes"]
        for key in ("cbsz", "abid", "blgp"):
            r[key] = m.get(key, 0)
        flags |= IS_DGEMM if op.src[0] == "f64" else IS_XDL if op.src[0] != "f32" else 0
    if i.name in COPY_NAMES and not i.suffix.endswith(("sdwa", "dpp")):
        flags |= COPIES
    elif i.name in MASK_NAMES or i.name in ("v_writelane_b32", "v_readlane_b32") or i.name.startswith("scratch_store"):
        flags |= LENIENT
    elif i.name == "v_readfirstlane_b32":
        flags |= FIRST_LANE
    r["flags"] = flags | _wait_states(i, unit, r)
    uses, defs = registers(i)
    r["uses"], r["defs"] = len(uses), len(defs)
    for n, pair in enumerate(uses + defs):
        r["registers"][n] = pair
    return sum(number == CONSTANT for number in src)


def _vector(r, i, kind):
    op, m, flags = i.op, i.modifiers, 0
    acts_as = op.more.get("modifiers")
    packed = i.op.format == "VOP3P"
    fancy = sdwa = 0
    for k, operand in enumerate(i.src[:4]):
        type = op.src[k].lstrip("+")
        kind[k] = (SIGNS[acts_as] if acts_as else KINDS.get(type, BITS)) | 0x80 * (
            words_of(type) == 2 and type != "mask"
        )
        r["neg"] |= operand.neg << k
        r["abs"] |= operand.abs << k
        r["sext"] |= operand.sext << k
        fancy |= (operand.neg or operand.abs or operand.sext) << k
        if f"src{k}_sel" in m and m[f"src{k}_sel"] != 6:
            sdwa |= 1 << k
            r["src_sel"][k] = m[f"src{k}_sel"]
    if "op_sel" in m and not packed:  # a 16-bit source from the high half is SDWA's WORD_1
        for k in range(len(i.src)):
            if m["op_sel"] >> k & 1:
                sdwa |= 1 << k
                if k < 2:
                    r["src_sel"][k] = 5
        if m["op_sel"] >> 3 and not op.more.get("writes_byte"):
            flags |= DST_HIGH
    if packed:
        r["op_sel"], r["op_sel_hi"], r["neg_hi"] = m["op_sel"], m["op_sel_hi"], m["neg_hi"]
        if op.src[0] != "mix":
            r["neg"] = m["neg_lo"]
        fancy = 0
    fancy |= sdwa
    result = 0
    if "dst_sel" in m and (m["dst_sel"] != 6):
        sdwa |= 0x80
        r["dst_sel"], r["dst_unused"] = m["dst_sel"], m["dst_unused"]
        result = 1
    if op.more.get("writes_byte"):  # SDWA's BYTE_n, the other bytes kept
        sdwa |= 0x80
        r["dst_sel"], r["dst_unused"] = m.get("op_sel", 0) >> 2, 2
        result = 1
    if "dpp_ctrl" in m:
        r["dpp"], r["dpp_ctrl"], r["bound_ctrl"] = 1, m["dpp_ctrl"], m["bound_ctrl"]
        r["row_mask"], r["bank_mask"] = m["row_mask"], m["bank_mask"]
        fancy |= 1
        result = 1
    first = op.dst[0].lstrip("+") if op.dst else "u32"
    if first == "f16hi":
        flags |= DST_HIGH
    if op.more.get("keep_high"):
        r["keep_high"] = 1
    r["clamp"], r["omod"] = bool(m.get("clamp")), m.get("omod", 0)
    if r["keep_high"] or flags & DST_HIGH or r["omod"] or (r["clamp"] and first[0] == "f"):
        result = 1
    r["fancy"], r["fancy_result"], r["sdwa"] = fancy, result, sdwa
    r["result_kind"] = KINDS.get(first, BITS)
    r["result_words"] = 3 if first == "f16x2" else words_of(first)
    r["round"] = (
        0
        if FLOAT32 in (r["result_kind"], kind[0] & 127) and r["result_kind"] != FLOAT16 and kind[0] & 127 != FLOAT64
        else 2
    )
    return flags | IS_TRANS * i.name.startswith(TRANSCENDENTAL)


def _wait_states(i, unit, r):
    """Which rules of core/wait_states.h an instruction may break, and whether it starts one (SETS_WAIT)."""
    name, flags = i.name, 0
    if name in ("v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32"):
        flags |= READS_LANE | SELECTS_LANE * (len(i.src) > 1 and i.src[1].number < CONSTANT)
    flags |= DIVIDES * name.startswith("v_div_fmas") | READS_M0 * (unit == "vmem_lds" or name == "s_sendmsg")
    if name.startswith(("s_setreg", "s_getreg")) and any(o.value & 63 == 1 for o in i.src[-1:]):
        flags |= USES_MODE | SETS_WAIT * name.startswith("s_setreg")
    if unit == "valu":
        flags |= SETS_WAIT * any(o.number < CONSTANT for o in i.dst)
        flags |= (WRITES_EXEC | SETS_WAIT) * name.startswith("v_cmpx")
        flags |= (SHIFTS_RESULT | SETS_WAIT) * bool(r["sdwa"] & 0x80 or r["flags"] & DST_HIGH)
    return int(flags | SETS_WAIT * (unit == "salu" and any(o.number == M0 for o in i.dst)))


def _unit(i):
    family, kind = i.op.family, i.op.more.get("kind", "")
    if family == "memory":
        if i.op.more["form"] == "flat":
            return "flat"
        return {
            "load": "vmem_load",
            "store": "vmem_store",
            "atomic": "vmem_load" if i.dst else "vmem_store",
            "lds_dma": "vmem_lds",
            "scalar_load": "smem",
            "scalar_store": "smem",
        }[kind]
    if family == "control":
        return {"s_waitcnt": "wait", "s_barrier": "barrier", "s_nop": "nop", "s_memtime": "smem"}.get(i.name, "other")
    return {"scalar": "salu", "vector": "valu", "lanes": "valu", "matrix": "matrix", "lds": "lds"}[family]


def registers(i):
    """What an instruction reads and writes: two lists of (first register, count), for the checks.

    The old value of a destination that is only kept in part (d16 loads, op_sel, SDWA) does not count as read.
    """
    uses = [(o.number, o.words) for o in i.src if _is_register(o.number)]
    if i.name in ("v_mad_u64_u32", "v_mad_i64_i32") and uses and uses[-1][1] == 2:
        # compilers use these for 32-bit results too, and then leave the addend's high half undefined
        uses[-1] = (uses[-1][0], 1)
    if i.name.startswith("v_div_fmas"):
        uses.append((VCC, 2))
    if any(type[0] == "+" and not type.startswith("+v") for type in i.op.dst):
        uses += [(o.number, o.words) for o, type in zip(i.dst, i.op.dst, strict=True) if type[0] == "+"]
    if i.op.family == "matrix":
        # the hazard rules tell A, B and C apart by their place; a constant C keeps the place free
        uses = [(o.number, o.words) if _is_register(o.number) else (0, 0) for o in i.src]
        if i.op.more["sparse"]:  # D is C, too, and the index comes after it
            uses.insert(2, (i.dst[0].number, i.dst[0].words))
    defs = [(o.number, o.words) for o in i.dst if _is_register(o.number)]
    return uses[: 8 - len(defs)], defs


def _is_register(number):
    return (number < CONSTANT and number not in (EXEC, EXEC + 1)) or VGPR <= number < NONE
