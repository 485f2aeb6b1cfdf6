"""Notebook 05: where an MFMA keeps an element, where barriers belong, and a swizzle without bank conflicts."""

from functools import lru_cache

import numpy as np

from .. import banks, steps
from ..gfx942 import Device, KernelFault, layouts
from ..toolchain import CompileError
from .exercise import Exercise, Wrong

MFMA = "v_mfma_f32_16x16x32_fp8_fp8"
ASKED = {    # operand, lane, register, place
    "D, lane 37, register 2": ("D", 37, 2, 0),
    "D, lane 15, register 3": ("D", 15, 3, 0),
    "A, lane 37, register 1, bits 8 to 15": ("A", 37, 1, 1),
}


def _held(model):
    return {label: model(*asked) for label, asked in ASKED.items()}


def _right(operand, lane, register, place, instruction=MFMA):
    return tuple(layouts.element(instruction, operand, lane, register, place)[:2])


def _registers_apart(operand, lane, register, place):
    """D as if the registers of a lane were 4 rows apart; A as if its registers were."""
    if operand == "D":
        return lane // 16 + 4 * register, lane % 16
    return lane % 16, lane // 16 * 4 + 16 * register + place


def _rows_in_turn(operand, lane, register, place):
    """As if the lanes took the elements of the matrix in turn, row after row."""
    at = lane * (4 if operand == "D" else 8) + 4 * register * (operand == "A") + (register if operand == "D" else place)
    return divmod(at, 16 if operand == "D" else 32)


ELEMENT = Exercise(
    id="05.element",
    name="held",
    question="Which element does each place in the wave hold? A pair: (row, column) of D, (row, k) of A. The "
             f"instruction is {MFMA}.",
    minutes=6,
    read="The matrix instruction",
    reference=_held(_right),
    wrong=(
        Wrong("row and column exchanged",
              "The pairs are the wrong way round: first the row, then the column or k.",
              _held(lambda *asked: _right(*asked)[::-1])),
        Wrong("the 32 × 32 instruction",
              "That is where v_mfma_f32_32x32x16_fp8_fp8 keeps it. Here a lane's row or column is lane % 16.",
              _held(lambda *asked: _right(*asked, instruction="v_mfma_f32_32x32x16_fp8_fp8"))),
        Wrong("registers apart",
              "The registers of a lane hold neighbours: 4 rows of D in a row, 8 bytes of A in a row. It is the lanes "
              "that are apart, 16 of them by one step.",
              _held(_registers_apart)),
        Wrong("row after row",
              "The lanes do not take the matrix row after row: neighbours among the lanes hold neighbouring columns "
              "of D, and neighbouring rows of A.",
              _held(_rows_in_turn)),
        Wrong("bytes from the high end",
              "Bits 0 to 7 of a register are its first byte, so bits 8 to 15 are the second.",
              _held(lambda operand, lane, register, place: _right(operand, lane, register, 3 - place)
                    if operand == "A" else _right(operand, lane, register, place))),
    ),
)

BARE = steps.without_barriers("2_lds_tile")
PER_BLOCK = 2


def _place_barriers(after):
    """Return what the emulator says to the step 2_lds_tile with barriers after these lines of BARE, as a sentence."""
    lines = BARE.splitlines()
    whole = isinstance(after, list | tuple | set) and all(isinstance(n, int | np.integer) for n in after)
    if not whole or not all(1 <= n <= len(lines) for n in after):
        return f"It has to be a list of line numbers from 1 to {len(lines)}, such as [9, 12]"
    return _run_with_barriers(tuple(sorted(int(n) for n in after)))


@lru_cache(maxsize=64)
def _run_with_barriers(after):
    problem, out = steps.Problem.random(16, 128, 384), np.zeros((16, 128), np.uint16)
    try:
        kernel = steps.compile(steps.with_barriers(BARE, after)).code_object.kernels["gemm"]
        operands = [problem.a, problem.b, problem.a_scale, problem.b_scale, out, *problem.sizes]
        # One thread, so that the first finding is the same one each time; a hang ends soon.
        run = Device(threads=1, hang_after=100_000).launch(kernel, (8, 1), steps.LANES, operands)
    except CompileError as error:
        return f"With barriers there it does not compile: {' '.join(str(error).splitlines()[0].split())}"
    except KernelFault as fault:
        return f"The kernel cannot end: {fault.findings[0].kind}, {fault.findings[0].message}"
    if run.findings:
        first = run.findings[0]
        return f"The emulator has {len(run.findings)} findings. The first is {first.kind}: {first.message}"
    waves = 8 * steps.LANES // 64
    met = run.counts.get("s_barrier", 0) / waves / (problem.sizes[2] // 128)
    if met > PER_BLOCK:
        return (f"There is no finding, but a wave meets {met:g} barriers for each block of K, and {PER_BLOCK} are "
                "enough")
    return "no finding"


BARRIER = Exercise(
    id="05.barrier",
    name="barrier_after",
    question="After which lines of the kernel does a __syncthreads() belong? A list of line numbers; two barriers are "
             "enough.",
    minutes=6,
    read="Sharing needs barriers",
    examine=_place_barriers,
    reference=[15, 22],
    wrong=(
        Wrong("only after the copy",
              "A race is left. A wave that is done with its sums begins to copy the next block of K while a slower "
              "one still reads this block.",
              [15]),
        Wrong("only after the sums",
              "A race is left. A wave begins its sums while others have not yet copied their share of the tile.",
              [22]),
        Wrong("inside the copy",
              "That works, but it stands in the loop that copies: all waves meet once for every byte of theirs, not "
              "once when all is there.",
              [14, 22]),
        Wrong("inside the sums",
              "That works, but a wave meets the others for each k: hundreds of barriers that nothing needs.",
              [15, 20]),
    ),
)

ROWS = 128


def _clocks_of(positions):
    """Return (clocks of a 16-byte read, of a write, rows of two lanes that meet in a bank) at worst in a tile."""
    def place(row, chunk):
        return row * banks.ROW_BYTES + positions[row, chunk] * 16

    reads, rows = [], None
    for first in range(0, ROWS, 16):
        for half in (0, 4):
            at = np.array([place(first + lane % 16, lane // 16 + half) for lane in range(64)])
            reads.append(banks.clocks(at, 16, "read"))
            rows = rows or _meeting(at, first)
    writes = [banks.clocks([place(first + lane // 8, lane % 8) for lane in range(64)], 16, "write")
              for first in range(0, ROWS, 8)]
    return max(reads), max(writes), rows


def _meeting(addresses, first):
    """The first two rows whose lanes want the same banks at once, or None."""
    for group in banks.groups(16, "read"):
        seen = {}
        for lane in group:
            other = seen.setdefault(addresses[lane] % banks.ROW_BYTES, lane)
            if addresses[other] != addresses[lane]:
                return first + other % 16, first + lane % 16
    return None


def _examine_swizzle(results):
    positions = np.zeros((ROWS, 8), int)
    for (row, chunk), position in zip(np.ndindex(ROWS, 8), results, strict=True):
        if not isinstance(position, int | np.integer) or not 0 <= position < 8:
            shown = repr(position) if len(repr(position)) < 30 else type(position).__name__
            return f"swizzle({row}, {chunk}) gives {shown}, needs a whole number from 0 to 7: a place in the same row"
        positions[row, chunk] = position
    for row, places in enumerate(positions):
        order = places.tolist()
        for chunk, position in enumerate(order):
            if position in order[:chunk]:
                return (f"In row {row}, chunks {order.index(position)} and {chunk} both lie at place {position}: one "
                        "would overwrite the other")
    read, write, rows = _clocks_of(positions)
    if (read, write) == (banks.ideal_clocks(16, "read"), banks.ideal_clocks(16, "write")):
        return "no conflicts"
    meeting = f"; rows {rows[0]} and {rows[1]} want the same banks at once" if rows else ""
    return f"A read of the operand takes {read} clocks, a write of the tile {write}; 8 are possible{meeting}"


SWIZZLE = Exercise(
    id="05.swizzle",
    name="swizzle",
    question="Write swizzle(row, chunk): at which of the 8 places of its row a chunk of 16 bytes lies, so that neither "
             "reads of the operand nor writes of the tile meet in a bank.",
    minutes=8,
    read="Banks",
    cases=lambda: [(f"{row}, {chunk}", (row, chunk)) for row in range(ROWS) for chunk in range(8)],
    examine=_examine_swizzle,
    reference=lambda row, chunk: chunk ^ row % 8,
    wrong=(
        Wrong("no swizzle",
              "Rows that follow each other have a chunk in the same place, so in the same banks, and a read takes 32 "
              "clocks. Eight rows need eight different orders.",
              lambda row, chunk: chunk),
        Wrong("row not cut to 3 bits",
              "From row 8 on the place is outside the row. Only row % 8 may take part.",
              lambda row, chunk: chunk ^ row),
        Wrong("two bits of the row",
              "Rows 0 and 4 get the same order. They are not read at once for the same chunk, but row 4 is read with "
              "the next chunk: 16 clocks.",
              lambda row, chunk: chunk ^ row % 4),
        Wrong("two rows alike",
              "Rows 0 and 1 get the same order, and they are read at once: 16 clocks.",
              lambda row, chunk: chunk ^ row // 2 % 8),
        Wrong("turned instead of xor",
              "Turning a row by its number is nearly right. But lanes 0-3 are read with lanes 20-23, whose chunk is "
              "the next one, and then rows 0 and 7 meet.",
              lambda row, chunk: (chunk + row) % 8),
        Wrong("chunks lost",
              "A product is no order of the row: in every other row several chunks get the same place.",
              lambda row, chunk: chunk * (row + 1) % 8),
        Wrong("odd rows mirrored",
              "Only two orders for eight rows: every second row meets.",
              lambda row, chunk: chunk ^ 7 * (row % 2)),
    ),
)

EXERCISES = [ELEMENT, BARRIER, SWIZZLE]
