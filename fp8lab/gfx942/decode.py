"""Machine code to instructions: bytes -> Instruction(name, operands, modifiers).

The decoder is driven by the table in isa/: a format says where the fields are, the row says what they mean. It needs
no LLVM at run time. What it does not know, an opcode, an operand or a modifier, is an error with mnemonic and address,
never skipped. str(instruction) is LLVM's spelling, which is how tests compare it with llvm-objdump.

    for instruction in decode(code, address=0x1900):
        print(hex(instruction.address), instruction)

Source: CDNA3 ISA guide, "Microcode Formats".
"""

import struct
from dataclasses import dataclass, field

from fp8lab.gfx942.isa import BY_CODE, BY_NAME

# Operand numbers: 0-127 scalar registers as the ISA counts them, 256 + n a VGPR, 512 + n an AGPR; CONSTANT has a value.
VGPR, AGPR = 256, 512
FLAT_SCRATCH, VCC, M0, EXEC, CONSTANT, VCCZ, EXECZ, SCC, NONE = 102, 106, 124, 126, 128, 251, 252, 253, 0xFFFF
SPECIAL = {102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 126: "exec"}  # pairs; halves end in _lo and _hi
APERTURES = {235: "src_shared_base", 236: "src_shared_limit", 237: "src_private_base", 238: "src_private_limit"}
SHARED_BASE, PRIVATE_BASE = 0x0001_0000 << 32, 0x0002_0000 << 32  # where flat addresses mean LDS and scratch
FLOATS = {240: "0.5", 241: "-0.5", 242: "1.0", 243: "-1.0", 244: "2.0", 245: "-2.0", 246: "4.0", 247: "-4.0"}
ONE_OVER_TWO_PI = 248

WORDS = {
    "u64": 2,
    "i64": 2,
    "f64": 2,
    "mask": 2,
    "maskx": 2,
    "f32x2": 2,
    "u32x2": 2,
    "u32x3": 3,
    "u32x4": 4,
    "u32x8": 8,
    "u32x16": 16,
}
SDWA_SELECT = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
SDWA_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
MEMORY_FORMATS = {0: "FLAT", 1: "SCRATCH", 2: "GLOBAL"}


class DecodeError(ValueError):
    """The bytes at an address are no instruction of gfx942 that the emulator has, or have a modifier it has not."""


@dataclass
class Operand:
    """One operand: its number (above), how many registers, and a constant's bits as the instruction sees them."""

    number: int
    words: int = 1
    value: int = 0
    text: str = ""
    neg: bool = False
    abs: bool = False
    sext: bool = False

    def __str__(self):
        text = self.text or register_name(self.number, self.words)
        if self.sext:
            text = f"sext({text})"
        if self.abs:
            text = f"|{text}|"
        return f"-{text}" if self.neg else text


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


def decode(code, address=0):
    """Yield the Instructions of code (bytes), whose first byte is at address.

    Raises DecodeError at the first instruction that the table does not have, and on code that ends inside one.
    """
    at = 0
    while at < len(code):
        instruction = decode_one(code, at, address + at)
        yield instruction
        at += instruction.size


def decode_one(code, at, address):
    """Return the Instruction that starts at code[at]. Raises DecodeError."""
    words = struct.unpack_from(f"<{min(3, (len(code) - at) // 4)}I", code, at)
    if not words:
        raise DecodeError(f"{address:#x}: the code ends inside an instruction ({len(code) - at} bytes left)")
    try:
        return _decode(words, address)
    except IndexError:
        raise DecodeError(
            f"{address:#x}: the code ends inside an instruction that starts with {words[0]:#010x}"
        ) from None


def _decode(words, address):
    w = words[0]
    if w >> 31 == 0:
        return _vop12c(words, address)
    if w >> 30 == 0b10:
        return _scalar(words, address)
    kind = w >> 26
    decoder = {0b110100: _vop3, 0b110110: _ds, 0b110111: _flat, 0b111000: _mubuf, 0b110000: _smem}.get(kind)
    if decoder is None:
        raise DecodeError(f"{address:#x}: no gfx942 instruction starts with {w:#010x}")
    return decoder(words, address)


def bits(word, low, count):
    return word >> low & (1 << count) - 1


def _row(format, opcode, address):
    found = BY_CODE.get((format, opcode))
    if found is None:
        raise DecodeError(f"{address:#x}: {format} opcode {opcode} is not in the emulator's table")
    return found


def _refuse(op, address, what):
    raise DecodeError(f"{address:#x}: {op.name} with {what}, which the emulator does not have")


def words_of(type):
    return WORDS.get(type.lstrip("+"), 1)


# --- operands ---------------------------------------------------------------------------------------------------------


def register_name(number, words):
    if number == NONE:
        return "off"
    if number >= VGPR:
        kind, first = ("a", number - AGPR) if number >= AGPR else ("v", number - VGPR)
    elif number in SPECIAL and words == 2:
        return SPECIAL[number]
    elif number & ~1 in SPECIAL and words == 1:
        return SPECIAL[number & ~1] + ("_hi" if number & 1 else "_lo")
    elif number == M0:
        return "m0"
    elif number >= 108:
        kind, first = "ttmp", number - 108
    else:
        kind, first = "s", number
    return f"{kind}{first}" if words == 1 else f"{kind}[{first}:{first + words - 1}]"


def _source(number, type, literal, address):
    """The Operand for the ISA's 9-bit source number; type decides what a constant's bits are."""
    words = words_of(type)
    if number >= VGPR or number <= 124 or number in (126, 127):
        return Operand(number, words)
    if 128 <= number <= 208:
        value = number - 128 if number <= 192 else 192 - number
        return Operand(CONSTANT, words, _integer(value, type), str(value))
    if number in FLOATS:
        value = _float(float(FLOATS[number]), type)
        return Operand(CONSTANT, words, value, f"{value:#x}" if type in ("u16", "i16") else FLOATS[number])
    if number == ONE_OVER_TWO_PI:
        text = {"f16": "0.15915494", "f64": "0.15915494309189532"}.get(type, "0.15915494")
        return Operand(CONSTANT, words, {"f16": 0x3118, "f64": 0x3FC45F306DC9C882}.get(type, 0x3E22F983), text)
    if number in APERTURES:
        base = SHARED_BASE if number < 237 else PRIVATE_BASE
        value = base | (0xFFFFFFFF if number in (236, 238) else 0)
        return Operand(CONSTANT, words, value if words == 2 else value >> 32, APERTURES[number])
    if number in (VCCZ, EXECZ, SCC):
        return Operand(number, words, 0, {VCCZ: "src_vccz", EXECZ: "src_execz", SCC: "src_scc"}[number])
    if number == 255:
        value = literal() & 0xFFFFFFFF
        shown = f"{value:#x}"
        if type == "f64":
            value <<= 32  # a 32-bit literal is the high half of a double
        elif type in ("u64", "i64", "mask"):
            value = (value ^ 0x80000000) - 0x80000000 & 0xFFFFFFFFFFFFFFFF
        return Operand(CONSTANT, words, value, shown)
    raise DecodeError(f"{address:#x}: source operand number {number} means nothing on gfx942")


def _integer(value, type):
    return value & (0xFFFFFFFFFFFFFFFF if words_of(type) == 2 and type not in ("f32x2", "u32x2") else 0xFFFFFFFF)


def _float(value, type):
    if type in ("f16", "f16x2", "u16", "i16", "u16x2", "i16x2"):
        return struct.unpack("<H", struct.pack("<e", value))[0]
    if type in ("f64", "u64", "i64"):
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    return struct.unpack("<I", struct.pack("<f", value))[0]


def _accumulators(operand, yes):
    """VGPR numbers in a field mean AGPRs when the acc bit beside it is set."""
    if yes and VGPR <= operand.number < AGPR:
        operand.number += AGPR - VGPR
    return operand


# --- scalar formats ---------------------------------------------------------------------------------------------------


def _scalar(words, address):
    w, size = words[0], 4

    def literal():
        nonlocal size
        size = 8
        return words[1]

    top = w >> 23
    if top == 0b101111101:
        op = _row("SOP1", bits(w, 8, 8), address)
    elif top == 0b101111110:
        op = _row("SOPC", bits(w, 16, 7), address)
    elif top == 0b101111111:
        op = _row("SOPP", bits(w, 16, 7), address)
    elif w >> 28 == 0b1011:
        op = _row("SOPK", bits(w, 23, 5), address)
    else:
        op = _row("SOP2", bits(w, 23, 7), address)
    destination, immediate = bits(w, 16, 7), w & 0xFFFF
    signed = (immediate ^ 0x8000) - 0x8000
    dst = [Operand(destination, words_of(type)) for type in op.dst]
    fields = iter((bits(w, 0, 8), bits(w, 8, 8)))
    src, target = [], None
    for type in op.src:
        if type == "simm":
            target = address + 4 + 4 * signed
            src.append(Operand(CONSTANT, 1, signed & 0xFFFFFFFF, str(immediate)))
        elif type == "hwreg":
            src.append(Operand(CONSTANT, 1, immediate, f"{immediate:#x}"))
        elif type == "imm":
            value = (
                immediate
                if op.format == "SOPP" or (op.name.startswith("s_cmpk") and op.name.endswith("u32"))
                else signed
            )
            src.append(Operand(CONSTANT, 1, value & 0xFFFFFFFF, f"{immediate:#x}"))
        elif type == "lit":
            src.append(Operand(CONSTANT, 1, literal(), f"{words[1]:#x}"))
        elif type == "idx":
            src.append(Operand(CONSTANT, 1, bits(w, 8, 4), gpr_index_text(bits(w, 8, 4))))
        elif op.format == "SOPK":
            src.append(Operand(destination, words_of(type)))
        else:
            src.append(_source(next(fields), type, literal, address))
    return Instruction(address, size, op, op.name, dst, src, target=target)


def _smem(words, address):
    low, high = words[0], words[1]
    op = _row("SMEM", bits(low, 18, 8), address)
    if op.family == "control":
        return Instruction(address, 8, op, op.name, [Operand(bits(low, 6, 7), 2) for _ in op.dst], [])
    data, base = bits(low, 6, 7), bits(low, 0, 6) * 2
    has_immediate, has_register = bits(low, 17, 1), bits(low, 14, 1)
    offset = (bits(high, 0, 21) ^ 0x100000) - 0x100000 if has_immediate else 0
    if bits(low, 15, 1):
        _refuse(op, address, "nv")
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


# --- vector formats ---------------------------------------------------------------------------------------------------


def _vop12c(words, address):
    w, size = words[0], 4
    if w >> 25 == 0b0111111:
        format, opcode, vdst, vsrc1 = "VOP1", bits(w, 9, 8), bits(w, 17, 8), None
    elif w >> 25 == 0b0111110:
        format, opcode, vdst, vsrc1 = "VOPC", bits(w, 17, 8), VCC, bits(w, 9, 8)
    else:
        format, opcode, vdst, vsrc1 = "VOP2", bits(w, 25, 6), bits(w, 17, 8), bits(w, 9, 8)
    op = _row(format, opcode, address)

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
            src.append(_source(next(numbers), type, literal, address))
    instruction = Instruction(address, size, op, op.name, dst, src, {}, suffix)
    if op.more.get("accumulators"):
        for operand in dst + src:
            _accumulators(operand, True)
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
    if op.name.startswith("v_fmac"):
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
            _refuse(op, instruction.address, "dst_sel")
    if bits(w, 23, 1):
        src[0] = Operand(bits(w, 0, 8), src[0].words)
    for i, low in enumerate((16, 24)):
        if i >= len(src) or (src[i].words == 2 and op.src[i] == "mask"):
            break
        modifiers[f"src{i}_sel"] = bits(w, low, 3)
        src[i].sext, src[i].neg, src[i].abs = (bool(bits(w, low + n, 1)) for n in (3, 4, 5))
        if i == 1 and bits(w, 31, 1):
            src[1].number -= VGPR
    if any(SDWA_SELECT[7:8] for key in ("dst_sel", "src0_sel", "src1_sel") if modifiers.get(key, 0) == 7):
        _refuse(op, instruction.address, "an SDWA selection of 7")


def _dpp(instruction, w):
    """Data-parallel primitives: the first source comes from another lane."""
    modifiers, src = instruction.modifiers, instruction.src
    modifiers["dpp_ctrl"], modifiers["bound_ctrl"] = bits(w, 8, 9), bits(w, 19, 1)
    modifiers["row_mask"], modifiers["bank_mask"] = bits(w, 28, 4), bits(w, 24, 4)
    for operand, low in zip(src, (20, 22), strict=False):
        operand.neg, operand.abs = bool(bits(w, low, 1)), bool(bits(w, low + 1, 1))
    if dpp_text(modifiers["dpp_ctrl"]) is None:
        _refuse(instruction.op, instruction.address, f"dpp_ctrl {modifiers['dpp_ctrl']:#x}")


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


def _vop3(words, address):
    low, high = words[0], words[1]
    opcode = bits(low, 16, 10)
    if opcode >= 0x380:
        return _vop3p(words, address, opcode - 0x380)
    if opcode < 256:
        op = _row("VOPC", opcode, address)
    elif opcode < 320:
        op = _row("VOP2", opcode - 256, address)
    elif opcode < 448:
        op = _row("VOP1", opcode - 320, address)
    else:
        op = _row("VOP3", opcode, address)
    if "lit" in op.src or op.more.get("accumulators") or op.more.get("swap"):
        raise DecodeError(f"{address:#x}: {op.name} has no VOP3 form")
    fields = iter((bits(high, 0, 9), bits(high, 9, 9), bits(high, 18, 9)))
    src = [_source(next(fields), type, _no_literal(op, address), address) for type in op.src]
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
            _refuse(op, address, f"neg or abs on source {i}, an integer")
    result = op.dst[0].lstrip("+") if op.dst else ""
    if modifiers.get("clamp") and result[0] != "f" and "clamp" not in op.more:
        _refuse(op, address, "clamp")
    if modifiers.get("omod") and result[0] != "f":
        _refuse(op, address, "omod")
    chosen = modifiers.get("op_sel", 0)
    for i, type in enumerate(op.src):
        if chosen >> i & 1 and type not in HALF_TYPES:
            _refuse(op, address, f"op_sel on source {i}, which is not 16 bits wide")
    if chosen >> 3 and result not in HALF_TYPES:
        _refuse(op, address, "op_sel on a destination that is not 16 bits wide")


def _no_literal(op, address):
    def literal():
        raise DecodeError(f"{address:#x}: {op.name} cannot have a literal in this format")

    return literal


def _vop3p(words, address, opcode):
    low, high = words[0], words[1]
    if opcode >= 62:
        return _mai(words, address, opcode)
    op = _row("VOP3P", opcode, address)
    fields = iter((bits(high, 0, 9), bits(high, 9, 9), bits(high, 18, 9)))
    src = [_source(next(fields), type, _no_literal(op, address), address) for type in op.src]
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
        _refuse(op, address, "clamp")
    if op.dst[0][0] != "f" and (modifiers["neg_lo"] or modifiers["neg_hi"]):
        _refuse(op, address, "neg_lo or neg_hi on integers")
    if op.src[0] == "mix":
        for i, operand in enumerate(src):
            operand.neg, operand.abs = bool(modifiers["neg_lo"] >> i & 1), bool(modifiers["neg_hi"] >> i & 1)
    elif op.src[0] not in ("f16x2", "u16x2", "i16x2", "f32x2", "u32x2") and modifiers["op_sel"]:
        _refuse(op, address, "op_sel")
    return instruction


def _mai(words, address, opcode):
    low, high = words[0], words[1]
    op = _row("MAI", opcode, address)
    numbers = (bits(high, 0, 9), bits(high, 9, 9), bits(high, 18, 9))
    vdst = VGPR + bits(low, 0, 8)
    acc_a, acc_b, acc_cd = bits(high, 27, 1), bits(high, 28, 1), bits(low, 15, 1)
    if op.family == "vector":  # v_accvgpr_read, v_accvgpr_write
        read = op.name.startswith("v_accvgpr_read")
        source = _source(numbers[0], "u32", _no_literal(op, address), address)
        return Instruction(
            address, 8, op, op.name, [_accumulators(Operand(vdst), not read)], [_accumulators(source, read)]
        )
    sizes = matrix_words(op)
    src = [
        _source(number, type, _no_literal(op, address), address) for number, type in zip(numbers, op.src, strict=True)
    ]
    for operand, words_, acc in zip(src, sizes[1:], (acc_a, acc_b, acc_cd), strict=True):
        operand.words = words_
        _accumulators(operand, acc)
    if src[0].number < VGPR or src[1].number < VGPR:
        raise DecodeError(f"{address:#x}: {op.name} takes A and B from vector registers only")
    modifiers = {
        key: value
        for key, value in (("cbsz", bits(low, 8, 3)), ("abid", bits(low, 11, 4)), ("blgp", bits(high, 29, 3)))
        if value
    }
    if modifiers:
        _refuse(op, address, ", ".join(f"{key}:{value}" for key, value in modifiers.items()))
    dst = [_accumulators(Operand(vdst, sizes[0]), acc_cd)]
    return Instruction(address, 8, op, op.name, dst, src, modifiers)


def matrix_words(op):
    """How many registers D, A, B and C of an MFMA row take in each lane."""
    size = {"f64": 8, "f32": 4, "xf32": 4, "i32": 4, "f16": 2, "bf16": 2, "i8": 1, "fp8": 1, "bf8": 1}
    m, n, k, blocks = (op.more[key] for key in ("m", "n", "k", "blocks"))
    d = m * n * blocks * size[op.dst[0]] // 256
    return d, m * k * blocks * size[op.src[0]] // 256, n * k * blocks * size[op.src[1]] // 256, d


# --- memory formats ---------------------------------------------------------------------------------------------------


def _ds(words, address):
    low, high = words[0], words[1]
    op = _row("DS", bits(low, 17, 8), address)
    if bits(low, 16, 1):
        _refuse(op, address, "gds")
    acc, more = bits(low, 25, 1), op.more
    addr, data0, data1, vdst = (VGPR + bits(high, low_bit, 8) for low_bit in (0, 8, 16, 24))
    words_ = words_of(op.src[0]) if op.src else 1
    pair, kind = more.get("pair"), more["kind"]
    dst, src = [], [Operand(addr)]
    if kind == "load" or more.get("returns") or kind == "crossbar":
        dst = [_accumulators(Operand(vdst, words_ * (2 if pair else 1)), acc)]
    if kind in ("store", "atomic") or more.get("reads_data"):
        src.append(_accumulators(Operand(data0, words_), acc))
    if (pair and kind == "store") or (kind == "atomic" and "e" in _names(op.meaning)):
        src.append(_accumulators(Operand(data1, words_), acc))
    offsets = {"offset0": bits(low, 0, 8), "offset1": bits(low, 8, 8)}
    modifiers = offsets if pair else {"offset": bits(low, 0, 16)}
    if kind == "nop":
        dst, src = [], []
    return Instruction(address, 8, op, op.name, dst, src, modifiers)


def _names(meaning):
    return set("".join(c if c.isalnum() or c == "_" else " " for c in meaning).split())


def _cache_bits(low):
    """sc0 (glc), sc1, nt: which caches to go through. They change nothing here, but sc0 makes an atomic return."""
    return {}


def _flat(words, address):
    low, high = words[0], words[1]
    segment = bits(low, 14, 2)
    if segment not in MEMORY_FORMATS:
        raise DecodeError(f"{address:#x}: flat instruction with segment 3")
    op = _row(MEMORY_FORMATS[segment], bits(low, 18, 7), address)
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
            _refuse(op, address, "the lds bit")
    dst = []
    if kind == "load" or (kind == "atomic" and sc0):
        dst = [_accumulators(Operand(vdst, words_), acc)]
    src = [address_operand, base]
    if kind in ("store", "atomic"):
        src.append(_accumulators(Operand(data, words_ * (2 if "cmpswap" in op.name else 1)), acc))
    modifiers = {"offset": offset} | _flags(low, ("sc0", 16), ("nt", 17), ("sc1", 25))
    return Instruction(address, 8, op, op.name, dst, src, modifiers)


def _flags(word, *names):
    return {name: True for name, bit in names if word >> bit & 1}


def _mubuf(words, address):
    low, high = words[0], words[1]
    lds = bits(low, 16, 1)
    op = _row("MUBUF_LDS" if lds else "MUBUF", bits(low, 18, 7), address)
    modifiers = {"offset": bits(low, 0, 12)}
    modifiers |= _flags(low, ("idxen", 13), ("offen", 12), ("sc0", 14), ("nt", 17), ("sc1", 15))
    if op.family == "control":
        return Instruction(address, 8, op, op.name, [], [], modifiers)
    kind, acc = op.more["kind"], bits(high, 23, 1)
    addr, data, resource = VGPR + bits(high, 0, 8), VGPR + bits(high, 8, 8), bits(high, 16, 5) * 4
    words_ = words_of(op.src[0])
    used = modifiers.get("idxen", 0) + modifiers.get("offen", 0)
    address_operand = Operand(addr if used else NONE, max(1, used))
    offset = _source(bits(high, 24, 8), "u32", _no_literal(op, address), address)
    moved = _accumulators(Operand(data, words_ * (2 if "cmpswap" in op.name else 1)), acc)
    dst = []
    if kind == "load":
        dst = [moved]
    elif kind == "atomic" and modifiers.get("sc0"):
        dst = [Operand(moved.number, words_)]
    src = [address_operand, Operand(resource, 4), offset] + ([moved] if kind in ("store", "atomic") else [])
    return Instruction(address, 8, op, op.name, dst, src, modifiers)


# --- LLVM's spelling --------------------------------------------------------------------------------------------------


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
        tail.append("op_sel:[" + ",".join(str(m["op_sel"] >> n & 1) for n in (*range(count), 3)) + "]")
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
        return [" ".join(f"{name}({count})" for name, count in wait_counts(i.src[0].value).items())]
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


assert BY_NAME  # the table is filled when isa is imported
