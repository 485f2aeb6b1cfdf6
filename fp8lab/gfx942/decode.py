"""Machine code to instructions: bytes -> Instruction(name, operands, modifiers).

The decoder is driven by the table in isa/: a format says where the fields are, the row says what they mean. It needs
no LLVM at run time. What it does not know, an opcode, an operand or a modifier, is an error with mnemonic and address,
never skipped. str(instruction) is LLVM's spelling, which is how tests compare it with llvm-objdump.

    for instruction in decode(code, address=0x1900):
        print(hex(instruction.address), instruction)

Here are the scalar formats and the dispatch; decode_vector.py and decode_memory.py have the others, operands.py and
instruction.py what they yield. Source: CDNA3 ISA guide, "Microcode Formats".
"""

import struct

from fp8lab.gfx942.decode_memory import ds, flat, mubuf, smem
from fp8lab.gfx942.decode_vector import vop3, vop12c
from fp8lab.gfx942.instruction import Instruction, gpr_index_text
from fp8lab.gfx942.operands import (
    CONSTANT,
    NONE,
    VGPR,
    DecodeError,
    Operand,
    bits,
    past_the_last,
    row,
    source,
    words_of,
)


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
        instruction = _decode(words, address)
    except IndexError:
        raise DecodeError(
            f"{address:#x}: the code ends inside an instruction that starts with {words[0]:#010x}"
        ) from None
    _check_registers(instruction)
    return instruction


def _check_registers(i):
    """Refuse what the encoding can say and the hardware has not: the core trusts every register number."""
    for operand in (*i.dst, *i.src):
        if operand.number != NONE and operand.number + operand.words > past_the_last(operand.number):
            raise DecodeError(f"{i.address:#x}: {i.name} with {operand}, past the last register")
    for operand in i.dst:
        if CONSTANT <= operand.number < VGPR:
            raise DecodeError(f"{i.address:#x}: {i.name} writes operand {operand.number}, which is no register")
    vector_only = ()
    if i.op.family == "matrix":
        vector_only = i.src if i.op.more["sparse"] or i.src[2].number != CONSTANT else i.src[:2]
    elif i.name in ("v_readlane_b32", "v_readfirstlane_b32"):
        vector_only = i.src[:1]
    elif i.op.more.get("swap"):
        vector_only = [*i.dst, *i.src]
    for operand in vector_only:
        if operand.number < VGPR:
            raise DecodeError(f"{i.address:#x}: {i.name} with {operand}, needs a vector register there")


def _decode(words, address):
    w = words[0]
    if w >> 31 == 0:
        return vop12c(words, address)
    if w >> 30 == 0b10:
        return scalar(words, address)
    kind = w >> 26
    if kind == 0b111010:  # typed buffers, for graphics
        row("MTBUF", bits(w, 15, 4), address)
    decoder = {0b110100: vop3, 0b110110: ds, 0b110111: flat, 0b111000: mubuf, 0b110000: smem}.get(kind)
    if decoder is None:
        raise DecodeError(f"{address:#x}: no gfx942 instruction starts with {w:#010x}")
    return decoder(words, address)


def scalar(words, address):
    w, size = words[0], 4

    def literal():
        nonlocal size
        size = 8
        return words[1]

    top = w >> 23
    if top == 0b101111101:
        op = row("SOP1", bits(w, 8, 8), address)
    elif top == 0b101111110:
        op = row("SOPC", bits(w, 16, 7), address)
    elif top == 0b101111111:
        op = row("SOPP", bits(w, 16, 7), address)
    elif w >> 28 == 0b1011:
        op = row("SOPK", bits(w, 23, 5), address)
    else:
        op = row("SOP2", bits(w, 23, 7), address)
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
            src.append(source(next(fields), type, literal, address))
    return Instruction(address, size, op, op.name, dst, src, target=target)
