"""One decoded instruction, and its assembly text as LLVM spells it."""

from dataclasses import dataclass, field

from fp8lab.gfx942.operands import NONE, bits

SDWA_SELECT = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
SDWA_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")


@dataclass
class Instruction:
    """One machine instruction. dst and src hold Operands in the order of the assembly text; modifiers by LLVM's names.

    address  in bytes, as given to decode(); size 4, 8 or 12 bytes
    target   address a branch goes to, else None
    """

    address: int
    size: int
    op: object
    name: str
    dst: list
    src: list
    modifiers: dict = field(default_factory=dict)
    suffix: str = ""
    target: int | None = None

    def __str__(self):
        return _text(self)


def _text(i):
    """The assembly text, operands in LLVM's order, then modifiers."""
    name, tail = i.name + i.suffix, []
    m, more = i.modifiers, i.op.more
    if i.op.family == "memory":
        operands, tail = _memory_text(i)
        if i.op.format == "MUBUF_LDS":
            name = name.removesuffix("_lds")
            tail.append("lds")
    elif i.op.family == "lds":
        operands = [str(o) for o in i.dst + i.src]
        for key in ("offset0", "offset1", "offset"):
            if m.get(key):
                tail.append(f"{key}:{m[key]}")
    elif i.op.family == "control":
        operands = _control_text(i)
        tail += [key for key in ("sc0", "nt", "sc1") if m.get(key)]
    elif i.op.format == "SOPK" and i.op.src[-1] == "hwreg":
        register = hwreg_text(i.src[-1].value)
        operands = [str(i.dst[0]), register] if i.dst else [register, str(i.src[0])]
    else:
        operands = [str(o) for o in i.dst + i.src]
        if (i.suffix in ("_e32", "_sdwa", "_dpp") and i.op.dst[:1] == ("maskx",)) or more.get("swap"):
            operands = [str(o) for o in i.dst + i.src]
        tail = _vector_tail(i)
    text = f"{name} {', '.join(operands)}".rstrip()
    return " ".join([text, *tail])


def _vector_tail(i):
    m, tail = i.modifiers, []
    count = len(i.src)
    if i.op.format == "VOP3P":
        mix = i.op.src[0] == "mix"
        packed = i.op.src[0] in ("f16x2", "u16x2", "i16x2", "f32x2", "u32x2")
        for key, usual in (("op_sel", 0), ("op_sel_hi", 0 if mix else (1 << count) - 1), ("neg_lo", 0), ("neg_hi", 0)):
            if m[key] != usual and not (mix and key.startswith("neg")) and (packed or mix):
                tail.append(f"{key}:[" + ",".join(str(m[key] >> n & 1) for n in range(count)) + "]")
    elif "op_sel" in m:
        shown = range(4) if i.op.more.get("writes_byte") else (*range(count), 3)
        tail.append("op_sel:[" + ",".join(str(m["op_sel"] >> n & 1) for n in shown) + "]")
    if m.get("clamp"):
        tail.append("clamp")
    if m.get("omod"):
        tail.append(("", "mul:2", "mul:4", "div:2")[m["omod"]])
    for key in ("dst_sel", "dst_unused", "src0_sel", "src1_sel"):
        if key in m:
            tail.append(f"{key}:{(SDWA_UNUSED if key == 'dst_unused' else SDWA_SELECT)[m[key]]}")
    if "dpp_ctrl" in m:
        tail += [dpp_text(m["dpp_ctrl"]), f"row_mask:{m['row_mask']:#x}", f"bank_mask:{m['bank_mask']:#x}"]
        if m["bound_ctrl"]:
            tail.append("bound_ctrl:1")
    for key in ("cbsz", "abid", "blgp"):
        if m.get(key):
            if key == "blgp" and i.op.src[0] == "f64":
                tail.append("neg:[" + ",".join(str(m[key] >> n & 1) for n in range(3)) + "]")
            else:
                tail.append(f"{key}:{m[key]}")
    return tail


def dpp_text(control):
    """LLVM's name of a DPP lane pattern, or None if there is no such pattern."""
    row, n = control >> 4, control & 15
    if control < 0x100:
        return "quad_perm:[" + ",".join(str(control >> 2 * i & 3) for i in range(4)) + "]"
    if n and row in (0x10, 0x11, 0x12):
        return f"{('row_shl', 'row_shr', 'row_ror')[row - 0x10]}:{n}"
    named = {
        0x130: "wave_shl:1",
        0x134: "wave_rol:1",
        0x138: "wave_shr:1",
        0x13C: "wave_ror:1",
        0x140: "row_mirror",
        0x141: "row_half_mirror",
        0x142: "row_bcast:15",
        0x143: "row_bcast:31",
    }
    return f"row_newbcast:{n}" if row == 0x15 else named.get(control)


def _memory_text(i):
    m, form, kind = i.modifiers, i.op.more["form"], i.op.more["kind"]
    tail = []
    if form.startswith("scalar"):
        data = i.dst[0] if i.dst else i.src[0]
        base, register = i.src[-2:]
        shown = [str(register)] if register.number != NONE else []
        if m["has_offset"] and shown:
            tail.append(f"offset:{_hex(m['offset'])}")
        elif m["has_offset"]:
            shown = [_hex(m["offset"])]
        if m.get("glc"):
            tail.append("glc")
        return [str(data), str(base), *shown], tail
    if form == "buffer":
        data = i.dst[:1] or i.src[3:4]
        if kind == "atomic":
            data = i.src[3:4]
        operands = [str(o) for o in [*data, *i.src[:3]]]
        tail += [key for key in ("idxen", "offen") if m.get(key)]
    elif kind in ("load", "lds_dma"):
        operands = [str(o) for o in [*i.dst, *i.src]]
    else:
        operands = [str(o) for o in [*i.dst, i.src[0], i.src[2], i.src[1]]]
    if form == "flat":
        operands = [o for o in operands if o != "off"]
    if m.get("offset"):
        tail.append(f"offset:{m['offset']}")
    tail += [key for key in ("sc0", "nt", "sc1") if m.get(key)]
    return operands, tail


def _hex(value):
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


WAIT_FIELDS = (("vmcnt", ((0, 4), (14, 2))), ("expcnt", ((4, 3),)), ("lgkmcnt", ((8, 4),)))


def wait_counts(immediate):
    """The counters an s_waitcnt names: {"vmcnt": n, …}; a counter at its largest value is not waited for."""
    counts = {}
    for name, parts in WAIT_FIELDS:
        value = shift = 0
        for low, width in parts:
            value |= bits(immediate, low, width) << shift
            shift += width
        if value != (1 << shift) - 1:
            counts[name] = value
    return counts


def _control_text(i):
    if i.name == "s_waitcnt":
        waits = wait_counts(i.src[0].value) or {"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}  # LLVM names all, or those
        return [" ".join(f"{name}({count})" for name, count in waits.items())]
    if not i.op.src and not i.dst:
        return []
    if i.name == "s_set_gpr_idx_mode":
        return [gpr_index_text(i.src[0].value)]
    if i.name in ("s_endpgm", "s_barrier", "s_wakeup", "s_icache_inv", "s_ttracedata", "s_set_gpr_idx_off"):
        return []
    if i.name in ("s_nop", "s_sleep", "s_setprio", "s_sethalt", "s_trap", "s_incperflevel", "s_decperflevel"):
        return [str(i.src[0].value)]
    return [str(o) for o in i.dst + i.src]


def gpr_index_text(applies):
    return (
        "gpr_idx(" + ",".join(name for i, name in enumerate(("SRC0", "SRC1", "SRC2", "DST")) if applies >> i & 1) + ")"
    )


HARDWARE_REGISTERS = {
    1: "HW_REG_MODE",
    2: "HW_REG_STATUS",
    3: "HW_REG_TRAPSTS",
    4: "HW_REG_HW_ID",
    5: "HW_REG_GPR_ALLOC",
    6: "HW_REG_LDS_ALLOC",
    7: "HW_REG_IB_STS",
    15: "HW_REG_SH_MEM_BASES",
    20: "HW_REG_XCC_ID",
}


def hwreg_text(immediate):
    register, offset, width = bits(immediate, 0, 6), bits(immediate, 6, 5), bits(immediate, 11, 5) + 1
    name = HARDWARE_REGISTERS.get(register, str(register))
    return f"hwreg({name})" if (offset, width) == (0, 32) else f"hwreg({name}, {offset}, {width})"
