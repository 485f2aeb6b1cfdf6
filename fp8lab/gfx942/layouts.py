"""Where a matrix instruction keeps its elements: lane, register and bits of A[row, k], B[k, column] and D[row, column].

    from fp8lab.gfx942 import layouts
    layouts.element("v_mfma_f32_32x32x16_fp8_fp8", "A", lane=37, register=1, place=2)
    # Element(row=5, column=14, block=0): A[5, 14], bits 16 to 23 of the second register of A in lane 37
    layouts.location("v_mfma_f32_32x32x16_fp8_fp8", "D", row=5, column=14)
    # Location(lane=46, register=1, place=0)

Sparse instructions (v_smfmac_…) store two of every four elements of A along k: column counts the stored ones, and
operand "K" is the register of their 2-bit places among the four.

The tables are those of AMD's matrix instruction calculator (ROCm/amd_matrix_instruction_calculator, MIT licence). They
lie in layouts.csv, a line an operand: as all sizes are powers of two, each bit of a coordinate is one bit of the lane
(l), the register (r) or the element's place within its register (e). tests/gfx942 compares them with the calculator's
equations and with what the emulator does.
"""

import csv
import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

LANES = 64
SOURCE = Path(__file__).with_name("layouts.csv")


class Element(NamedTuple):
    """A matrix element: A[row, k], B[k, column] or D[row, column] of one of the instruction's blocks."""

    row: int
    column: int
    block: int


class Location(NamedTuple):
    """lane 0-63; register from the operand's first; place from its low bits (in units of the element's width)."""

    lane: int
    register: int
    place: int


class Layout(NamedTuple):
    """One operand of one instruction. bits: width of an element; registers: how many a lane holds.

    places     elements of one register: 4 for FP8, 2 for f16; 1 for elements of 32 bits and for 64, that fill two
    row, column, block   for each bit of the coordinate, lowest first, the bit that holds it: ("l", 5) is bit 5 of lane
    """

    bits: int
    registers: int
    row: tuple
    column: tuple
    block: tuple

    @property
    def places(self):
        return max(1, 32 // self.bits)

    @property
    def shape(self):
        """(blocks, rows, columns) of the operand."""
        return 1 << len(self.block), 1 << len(self.row), 1 << len(self.column)


@functools.cache
def _read():
    lines = [line for line in SOURCE.read_text().splitlines() if not line.startswith("#")]
    found = {}
    for line in csv.DictReader(lines):
        row, column, block = (
            tuple((bit[0], int(bit[1:])) for bit in line[axis].split()) for axis in ("row", "column", "block")
        )
        found[line["instruction"], line["operand"]] = Layout(
            int(line["bits"]), int(line["registers"]), row, column, block
        )
    return found


def instructions():
    """The mnemonics that have a layout, in the order of their opcodes."""
    return list(dict.fromkeys(name for name, _ in _read()))


def layout(instruction, operand):
    """Return the Layout of operand "A", "B", "C", "D" or "K" of a matrix instruction (its mnemonic, "v_mfma_…").

    C lies as D does. Raises ValueError for an instruction or operand that has none.
    """
    found = _read().get((instruction, "D" if operand == "C" else operand))
    if found is None:
        if instruction not in instructions():
            raise ValueError(f"{instruction!r} is no matrix instruction of gfx942; see layouts.instructions()")
        raise ValueError(f"operand is {operand!r}, needs one of {', '.join(operands(instruction))} of {instruction}")
    return found


def operands(instruction):
    """The operands of an instruction that have a layout: A, B, D, and K if it is sparse; C lies as D does."""
    return [operand for name, operand in _read() if name == instruction]


def element(instruction, operand, lane, register, place=0):
    """Return the Element that a lane holds in a register of an operand (numbered from the operand's first).

    place  which of the register's elements, from the low bits: 0-3 for FP8, 0-1 for f16, 0 for 32 and 64 bits

    An element of 64 bits lies in an even register and the next one; both give it.
    Raises ValueError for a lane, register or place that the operand has not.
    """
    at = layout(instruction, operand)
    for name, value, size in (("lane", lane, LANES), ("register", register, at.registers), ("place", place, at.places)):
        if not 0 <= value < size:
            raise ValueError(f"{name} is {value}, needs 0 to {size - 1} for {operand} of {instruction}")
    held = {"l": lane, "r": register, "e": place}
    row, column, block = (
        sum((held[kind] >> bit & 1) << power for power, (kind, bit) in enumerate(axis))
        for axis in (at.row, at.column, at.block)
    )
    return Element(row, column, block)


def location(instruction, operand, row, column, block=0):
    """Return the Location of an element: the inverse of element(); for 64 bits, the first of the two registers.

    Raises ValueError for coordinates outside the operand.
    """
    at = layout(instruction, operand)
    held = {"l": 0, "r": 0, "e": 0}
    axes = (at.block, at.row, at.column)
    for name, value, size, axis in zip(("block", "row", "column"), (block, row, column), at.shape, axes, strict=True):
        if not 0 <= value < size:
            raise ValueError(f"{name} is {value}, needs 0 to {size - 1} for {operand} of {instruction}")
        for power, (kind, bit) in enumerate(axis):
            held[kind] |= (value >> power & 1) << bit
    return Location(held["l"], held["r"], held["e"])


def table(instruction, operand):
    """All of element() at once.

    Returns (64, registers, places, 3) int, [lane, register, place] -> row, column, block.
    """
    at = layout(instruction, operand)
    shape = LANES, at.registers, at.places
    lane, register, place = np.indices(shape)
    held = {"l": lane, "r": register, "e": place}
    found = np.zeros((*shape, 3), int)
    for n, axis in enumerate((at.row, at.column, at.block)):
        for power, (kind, bit) in enumerate(axis):
            found[..., n] |= (held[kind] >> bit & 1) << power
    return found
