"""Memory formats: SMEM, DS, FLAT (with GLOBAL and SCRATCH) and MUBUF."""

from fp8lab.gfx942.instruction import Instruction
from fp8lab.gfx942.operands import (
    NONE,
    VGPR,
    DecodeError,
    Operand,
    accumulators,
    bits,
    no_literal,
    refuse,
    row,
    source,
    words_of,
)

MEMORY_FORMATS = {0: "FLAT", 1: "SCRATCH", 2: "GLOBAL"}


def smem(words, address):
    low, high = words[0], words[1]
    op = row("SMEM", bits(low, 18, 8), address)
    if op.family == "control":
        return Instruction(address, 8, op, op.name, [Operand(bits(low, 6, 7), 2) for _ in op.dst], [])
    data, base = bits(low, 6, 7), bits(low, 0, 6) * 2
    has_immediate, has_register = bits(low, 17, 1), bits(low, 14, 1)
    offset = (bits(high, 0, 21) ^ 0x100000) - 0x100000 if has_immediate else 0
    if bits(low, 15, 1):
        refuse(op, address, "nv")
    # an offset register stands in the immediate's field when there is no immediate
    register = bits(high, 25, 7) if has_register else bits(high, 0, 7) if not has_immediate else NONE
    moved = Operand(data, words_of(op.src[0]))
    stores = op.more["kind"] == "scalar_store"
    dst, src = ([], [moved]) if stores else ([moved], [])
    src += [Operand(base, 4 if op.more["form"] == "scalar_buffer" else 2), Operand(register)]
    modifiers = {"offset": offset, "has_offset": has_immediate}
    if bits(low, 16, 1):
        modifiers["glc"] = True
    return Instruction(address, 8, op, op.name, dst, src, modifiers)


def ds(words, address):
    low, high = words[0], words[1]
    op = row("DS", bits(low, 17, 8), address)
    if bits(low, 16, 1):
        refuse(op, address, "gds")
    acc, more = bits(low, 25, 1), op.more
    addr, data0, data1, vdst = (VGPR + bits(high, low_bit, 8) for low_bit in (0, 8, 16, 24))
    words_ = words_of(op.src[0]) if op.src else 1
    pair, kind = more.get("pair"), more["kind"]
    dst, src = [], [Operand(addr)]
    if kind == "load" or more.get("returns") or kind == "crossbar":
        dst = [accumulators(Operand(vdst, words_ * (2 if pair else 1)), acc)]
    if kind in ("store", "atomic") or more.get("reads_data"):
        src.append(accumulators(Operand(data0, words_), acc))
    if (pair and kind == "store") or (kind == "atomic" and "e" in _names(op.meaning)):
        src.append(accumulators(Operand(data1, words_), acc))
    offsets = {"offset0": bits(low, 0, 8), "offset1": bits(low, 8, 8)}
    modifiers = offsets if pair else {"offset": bits(low, 0, 16)}
    if kind == "nop":
        dst, src = [], []
    return Instruction(address, 8, op, op.name, dst, src, modifiers)


def _names(meaning):
    return set("".join(c if c.isalnum() or c == "_" else " " for c in meaning).split())


def flat(words, address):
    low, high = words[0], words[1]
    segment = bits(low, 14, 2)
    if segment not in MEMORY_FORMATS:
        raise DecodeError(f"{address:#x}: flat instruction with segment 3")
    op = row(MEMORY_FORMATS[segment], bits(low, 18, 7), address)
    offset = (bits(low, 0, 13) ^ 0x1000) - 0x1000 if segment else bits(low, 0, 12)
    acc, more = bits(high, 23, 1), op.more
    kind, form = more["kind"], more["form"]
    sc0 = bits(low, 16, 1)
    addr, data, saddr, vdst = (
        VGPR + bits(high, 0, 8),
        VGPR + bits(high, 8, 8),
        bits(high, 16, 7),
        VGPR + bits(high, 24, 8),
    )
    saddr = NONE if saddr == 0x7F or form == "flat" else saddr
    words_ = words_of(op.src[0])
    if form == "scratch":
        # the lds bit says whether a VGPR offset takes part
        address_operand = Operand(addr if bits(low, 13, 1) else NONE)
        base = Operand(saddr)
    else:
        address_operand = Operand(addr, 2 if saddr == NONE else 1)
        base = Operand(saddr, 2 if saddr != NONE else 1)
        if bits(low, 13, 1):
            refuse(op, address, "the lds bit")
    dst = []
    if kind == "load" or (kind == "atomic" and sc0):
        dst = [accumulators(Operand(vdst, words_), acc)]
    src = [address_operand, base]
    if kind in ("store", "atomic"):
        src.append(accumulators(Operand(data, words_ * (2 if "cmpswap" in op.name else 1)), acc))
    modifiers = {"offset": offset} | _flags(low, ("sc0", 16), ("nt", 17), ("sc1", 25))
    return Instruction(address, 8, op, op.name, dst, src, modifiers)


def _flags(word, *names):
    return {name: True for name, bit in names if word >> bit & 1}


def mubuf(words, address):
    low, high = words[0], words[1]
    lds = bits(low, 16, 1)
    op = row("MUBUF_LDS" if lds else "MUBUF", bits(low, 18, 7), address)
    modifiers = {"offset": bits(low, 0, 12)}
    modifiers |= _flags(low, ("idxen", 13), ("offen", 12), ("sc0", 14), ("nt", 17), ("sc1", 15))
    if op.family == "control":
        return Instruction(address, 8, op, op.name, [], [], modifiers)
    kind, acc = op.more["kind"], bits(high, 23, 1)
    addr, data, resource = VGPR + bits(high, 0, 8), VGPR + bits(high, 8, 8), bits(high, 16, 5) * 4
    words_ = words_of(op.src[0])
    used = modifiers.get("idxen", 0) + modifiers.get("offen", 0)
    address_operand = Operand(addr if used else NONE, max(1, used))
    offset = source(bits(high, 24, 8), "u32", no_literal(op, address), address)
    moved = accumulators(Operand(data, words_ * (2 if "cmpswap" in op.name else 1)), acc)
    dst = []
    if kind == "load":
        dst = [moved]
    elif kind == "atomic" and modifiers.get("sc0"):
        dst = [Operand(moved.number, words_)]
    src = [address_operand, Operand(resource, 4), offset] + ([moved] if kind in ("store", "atomic") else [])
    return Instruction(address, 8, op, op.name, dst, src, modifiers)
