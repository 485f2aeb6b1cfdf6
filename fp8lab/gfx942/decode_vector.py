"""Vector and matrix formats: VOP1, VOP2, VOPC with SDWA and DPP, VOP3, VOP3P and MAI."""

from fp8lab.gfx942.instruction import Instruction, dpp_text
from fp8lab.gfx942.operands import (
    CONSTANT,
    VCC,
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


def vop12c(words, address):
    w, size = words[0], 4
    if w >> 25 == 0b0111111:
        format, opcode, vdst, vsrc1 = "VOP1", bits(w, 9, 8), bits(w, 17, 8), None
    elif w >> 25 == 0b0111110:
        format, opcode, vdst, vsrc1 = "VOPC", bits(w, 17, 8), VCC, bits(w, 9, 8)
    else:
        format, opcode, vdst, vsrc1 = "VOP2", bits(w, 25, 6), bits(w, 17, 8), bits(w, 9, 8)
    op = row(format, opcode, address)

    def literal():
        nonlocal size
        size = 8
        return words[1]

    src0, extra, suffix = bits(w, 0, 9), None, "_e32"
    if src0 in (249, 250):
        extra, suffix = ("sdwa", "_sdwa") if src0 == 249 else ("dpp", "_dpp")
        size, src0 = 8, VGPR + bits(words[1], 0, 8)
    dst = []
    for i, type in enumerate(op.dst):
        number = VCC if type.startswith("mask") else vdst if type == "s32" else VGPR + vdst
        if op.more.get("swap") and i == 1:
            number = src0
        dst.append(Operand(number, words_of(type)))
    numbers = iter([src0] + ([VGPR + vsrc1] if vsrc1 is not None else []))
    src = []
    for type in op.src:
        if type == "mask":
            src.append(Operand(VCC, 2))
        elif type == "lit":
            src.append(Operand(CONSTANT, 1, literal(), f"{words[1]:#x}"))
        else:
            src.append(source(next(numbers), type, literal, address))
    instruction = Instruction(address, size, op, op.name, dst, src, {}, suffix)
    if op.more.get("accumulators"):
        for operand in dst + src:
            accumulators(operand, True)
    if extra == "sdwa":
        _sdwa(instruction, words[1], format)
    elif extra == "dpp":
        _dpp(instruction, words[1])
    elif (
        "lit" in op.src
        or op.family == "lanes"
        or op.name == "v_nop"
        or op.more.get("accumulators")
        or op.more.get("swap")
    ):
        instruction.suffix = ""
    return instruction


def _sdwa(instruction, w, format):
    """Sub-dword addressing: sources are bytes or words of registers, and so is the destination."""
    op, modifiers, src = instruction.op, instruction.modifiers, instruction.src
    if op.name.startswith(("v_fmac", "v_dot")):
        raise DecodeError(f"{instruction.address:#x}: {op.name} has no SDWA form")
    if format == "VOPC":
        if bits(w, 15, 1):
            instruction.dst[0] = Operand(bits(w, 8, 7), 2)
    else:
        if bits(w, 13, 1):
            modifiers["clamp"] = True
        if bits(w, 14, 2):
            modifiers["omod"] = bits(w, 14, 2)
        modifiers["dst_sel"], modifiers["dst_unused"] = bits(w, 8, 3), bits(w, 11, 2)
        writes_all = op.name.endswith(("_fp8", "_bf8"))  # these choose a byte of the source only
        if writes_all and (modifiers.pop("dst_sel"), modifiers.pop("dst_unused")) != (6, 0):
            refuse(op, instruction.address, "dst_sel")
    if bits(w, 23, 1):
        src[0] = Operand(bits(w, 0, 8), src[0].words)
    for i, low in enumerate((16, 24)):
        if i >= len(src) or (src[i].words == 2 and op.src[i] == "mask"):
            break
        modifiers[f"src{i}_sel"] = bits(w, low, 3)
        src[i].sext, src[i].neg, src[i].abs = (bool(bits(w, low + n, 1)) for n in (3, 4, 5))
        if i == 1 and bits(w, 31, 1):
            src[1].number -= VGPR
    for key, largest in (("dst_sel", 6), ("dst_unused", 2), ("src0_sel", 6), ("src1_sel", 6)):
        if modifiers.get(key, 0) > largest:
            refuse(op, instruction.address, f"{key} {modifiers[key]}, which SDWA leaves undefined")


def _dpp(instruction, w):
    """Data-parallel primitives: the first source comes from another lane."""
    modifiers, src = instruction.modifiers, instruction.src
    if instruction.op.format == "VOPC":
        raise DecodeError(f"{instruction.address:#x}: {instruction.op.name} has no DPP form")
    modifiers["dpp_ctrl"], modifiers["bound_ctrl"] = bits(w, 8, 9), bits(w, 19, 1)
    modifiers["row_mask"], modifiers["bank_mask"] = bits(w, 28, 4), bits(w, 24, 4)
    for operand, low in zip(src, (20, 22), strict=False):
        operand.neg, operand.abs = bool(bits(w, low, 1)), bool(bits(w, low + 1, 1))
    if dpp_text(modifiers["dpp_ctrl"]) is None:
        refuse(instruction.op, instruction.address, f"dpp_ctrl {modifiers['dpp_ctrl']:#x}")


def vop3(words, address):
    low, high = words[0], words[1]
    opcode = bits(low, 16, 10)
    if opcode >= 0x380:
        return vop3p(words, address, opcode - 0x380)
    if opcode < 256:
        op = row("VOPC", opcode, address)
    elif opcode < 320:
        op = row("VOP2", opcode - 256, address)
    elif opcode < 448:
        op = row("VOP1", opcode - 320, address)
    else:
        op = row("VOP3", opcode, address)
    if "lit" in op.src or op.more.get("accumulators") or op.more.get("swap"):
        raise DecodeError(f"{address:#x}: {op.name} has no VOP3 form")
    fields = iter((bits(high, 0, 9), bits(high, 9, 9), bits(high, 18, 9)))
    src = [source(next(fields), type, no_literal(op, address), address) for type in op.src]
    vdst = bits(low, 0, 8)
    dst = [Operand(vdst if op.format == "VOPC" or type == "s32" else VGPR + vdst, words_of(type)) for type in op.dst]
    instruction = Instruction(address, 8, op, op.name, dst, src, {}, "" if op.format == "VOP3" else "_e64")
    if op.family == "lanes":
        instruction.suffix = ""
    modifiers = instruction.modifiers
    if len(op.dst) == 2:  # VOP3B: a scalar destination in place of abs and op_sel
        dst[1] = Operand(bits(low, 8, 7), 2)
    else:
        for i, operand in enumerate(src):
            operand.abs = bool(low >> 8 + i & 1)
        if bits(low, 11, 4):
            modifiers["op_sel"] = bits(low, 11, 4)
    for i, operand in enumerate(src):
        operand.neg = bool(high >> 29 + i & 1)
    if bits(low, 15, 1):
        modifiers["clamp"] = True
    if bits(high, 27, 2):
        modifiers["omod"] = bits(high, 27, 2)
    _check_modifiers(instruction)
    return instruction


HALF_TYPES = ("u16", "i16", "f16")


def _check_modifiers(instruction):
    """Refuse modifiers that have no meaning for the row: better an error than a silently different result."""
    op, modifiers, address = instruction.op, instruction.modifiers, instruction.address
    floats = [type.lstrip("+")[0] == "f" or bool(op.more.get("modifiers")) for type in op.src]
    for i, operand in enumerate(instruction.src):
        if (operand.neg or operand.abs) and not floats[i]:
            refuse(op, address, f"neg or abs on source {i}, an integer")
    result = op.dst[0].lstrip("+") if op.dst else ""
    if modifiers.get("clamp") and result[0] != "f" and "clamp" not in op.more:
        refuse(op, address, "clamp")
    if modifiers.get("omod") and result[0] != "f":
        refuse(op, address, "omod")
    chosen = modifiers.get("op_sel", 0)
    for i, type in enumerate(op.src):
        if chosen >> i & 1 and type not in HALF_TYPES:
            refuse(op, address, f"op_sel on source {i}, which is not 16 bits wide")
    if chosen >> 3 and result not in HALF_TYPES and not op.more.get("writes_byte"):
        refuse(op, address, "op_sel on a destination that is not 16 bits wide")


def vop3p(words, address, opcode):
    low, high = words[0], words[1]
    if opcode >= 62:
        return mai(words, address, opcode)
    op = row("VOP3P", opcode, address)
    fields = iter((bits(high, 0, 9), bits(high, 9, 9), bits(high, 18, 9)))
    src = [source(next(fields), type, no_literal(op, address), address) for type in op.src]
    dst = [Operand(VGPR + bits(low, 0, 8), words_of(type)) for type in op.dst]
    count = len(src)
    modifiers = {
        "op_sel": bits(low, 11, 3),
        "op_sel_hi": bits(high, 27, 2) | bits(low, 14, 1) << 2,
        "neg_lo": bits(high, 29, 3),
        "neg_hi": bits(low, 8, 3),
    }
    keep = (1 << count) - 1
    modifiers = {key: value & keep for key, value in modifiers.items()}
    if bits(low, 15, 1):
        modifiers["clamp"] = True
    instruction = Instruction(address, 8, op, op.name, dst, src, modifiers)
    if modifiers.get("clamp") and op.dst[0][0] != "f" and "clamp" not in op.more:
        refuse(op, address, "clamp")
    if op.dst[0][0] != "f" and (modifiers["neg_lo"] or modifiers["neg_hi"]):
        refuse(op, address, "neg_lo or neg_hi on integers")
    if op.src[0] == "mix":
        for i, operand in enumerate(src):
            operand.neg, operand.abs = bool(modifiers["neg_lo"] >> i & 1), bool(modifiers["neg_hi"] >> i & 1)
    elif op.src[0] not in ("f16x2", "u16x2", "i16x2", "f32x2", "u32x2"):  # a dot product takes its sources as they are
        for key, usual in (("op_sel", 0), ("op_sel_hi", keep), ("neg_lo", 0), ("neg_hi", 0)):
            if modifiers[key] != usual:
                refuse(op, address, key)
    return instruction


def mai(words, address, opcode):
    low, high = words[0], words[1]
    op = row("MAI", opcode, address)
    numbers = (bits(high, 0, 9), bits(high, 9, 9), bits(high, 18, 9))
    vdst = VGPR + bits(low, 0, 8)
    acc_a, acc_b, acc_cd = bits(high, 27, 1), bits(high, 28, 1), bits(low, 15, 1)
    if op.family == "vector":  # v_accvgpr_read, v_accvgpr_write
        read = op.name.startswith("v_accvgpr_read")
        moved = source(numbers[0], "u32", no_literal(op, address), address)
        return Instruction(
            address, 8, op, op.name, [accumulators(Operand(vdst), not read)], [accumulators(moved, read)]
        )
    sizes = matrix_words(op)
    src = [source(number, type, no_literal(op, address), address) for number, type in zip(numbers, op.src, strict=True)]
    acc_c = 0 if op.more["sparse"] else acc_cd  # an index register is a VGPR
    for operand, words_, acc in zip(src, sizes[1:], (acc_a, acc_b, acc_c), strict=True):
        operand.words = words_
        accumulators(operand, acc)
    if src[0].number < VGPR or src[1].number < VGPR:
        raise DecodeError(f"{address:#x}: {op.name} takes A and B from vector registers only")
    modifiers = {
        key: value
        for key, value in (("cbsz", bits(low, 8, 3)), ("abid", bits(low, 11, 4)), ("blgp", bits(high, 29, 3)))
        if value
    }
    for key in set(modifiers) - set(_matrix_modifiers(op)):
        refuse(op, address, f"{key}:{modifiers[key]}")
    if op.more["sparse"]:
        sets = 4 if op.src[0] in ("f16", "bf16") else 2  # parts of the index register
        if src[2].number < VGPR or modifiers.get("abid", 0) >= sets:
            refuse(op, address, f"abid:{modifiers.get('abid', 0)} and index {src[2]}")
    elif 1 << modifiers.get("cbsz", 0) > op.more["blocks"]:
        refuse(op, address, f"cbsz:{modifiers['cbsz']}, more than its {op.more['blocks']} blocks")
    dst = [accumulators(Operand(vdst, sizes[0]), acc_cd)]
    return Instruction(address, 8, op, op.name, dst, src, modifiers)


def _matrix_modifiers(op):
    """The modifiers that mean something for a matrix row. Source: AMD's matrix instruction calculator."""
    several, type = op.more["blocks"] > 1 and op.src[0] != "f64", op.src[0]
    if op.more["sparse"]:
        return "cbsz", "abid"
    return (("cbsz", "abid") if several else ()) + (("blgp",) if several or type in ("f32", "f64") else ())


def matrix_words(op):
    """How many registers D, A, B and C (or the index) of a matrix row take in each lane."""
    size = {"f64": 8, "f32": 4, "xf32": 4, "i32": 4, "f16": 2, "bf16": 2, "i8": 1, "fp8": 1, "bf8": 1}
    m, n, k, blocks, sparse = (op.more[key] for key in ("m", "n", "k", "blocks", "sparse"))
    d = m * n * blocks * size[op.dst[0]] // 256
    a, b = m * k * blocks * size[op.src[0]] // 256, n * k * blocks * size[op.src[1]] // 256
    return (d, a // 2, b, 1) if sparse else (d, a, b, d)
