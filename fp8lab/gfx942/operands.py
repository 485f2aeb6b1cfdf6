"""Operands of instructions: the numbers the ISA gives registers and constants, what they hold, how LLVM spells them.

Source: CDNA3 ISA guide, "Microcode Formats", the tables of source operands.
"""

import struct
from dataclasses import dataclass

from fp8lab.gfx942.isa import BY_CODE
from fp8lab.gfx942.isa.refused import NAMES

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


# --- what all formats share -------------------------------------------------------------------------------------------


def bits(word, low, count):
    return word >> low & (1 << count) - 1


def row(format, opcode, address):
    found = BY_CODE.get((format, opcode))
    if found is None:
        name = NAMES.get(format, {}).get(opcode)
        if name:
            raise DecodeError(f"{address:#x}: {name} is an instruction that the emulator does not have")
        raise DecodeError(f"{address:#x}: {format} opcode {opcode} is no instruction of gfx942")
    return found


def refuse(op, address, what):
    raise DecodeError(f"{address:#x}: {op.name} with {what}, which the emulator does not have")


def words_of(type):
    return WORDS.get(type.lstrip("+"), 1)


def no_literal(op, address):
    def literal():
        raise DecodeError(f"{address:#x}: {op.name} cannot have a literal in this format")

    return literal


def past_the_last(number):
    """One past the last number of the registers that this one is among; a constant has room for any number of words."""
    if number >= VGPR:
        return AGPR if number < AGPR else AGPR + 256
    return CONSTANT if number < CONSTANT else NONE if number == CONSTANT else number + 1


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


def source(number, type, literal, address):
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
        elif type == "i64":  # a literal has a sign only where the operand has one
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


def accumulators(operand, yes):
    """VGPR numbers in a field mean AGPRs when the acc bit beside it is set."""
    if yes and VGPR <= operand.number < AGPR:
        operand.number += AGPR - VGPR
    return operand
