"""AMD's matrix instruction calculator, its equations only: makes fp8lab/gfx942/layouts.csv.

    python tests/gfx942/calculator.py > fp8lab/gfx942/layouts.csv

The equations are those that ROCm/amd_matrix_instruction_calculator (AMD, MIT licence) prints as "Matrix element to
register mapping with no modifiers" (option --detail-instruction), for one element of A[i][k], B[k][j], D[i][j] of a
block. Nothing of the tool itself is here. As all sizes are powers of two and no equation carries, an element's lane,
register and place are a permutation of the bits of its coordinates: a line of the file says which bit goes where.
"""

import csv
import sys

from fp8lab.gfx942.isa import BY_NAME

BITS = {"f64": 64, "f32": 32, "xf32": 32, "i32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "index": 2}
COLUMNS = ("instruction", "operand", "bits", "registers", "block", "row", "column")


def place_a(m, depth, blocks, bits, block, i, k):
    """(lane, register, place) of A[i][k].block: M lanes hold a slice of k, then come the next ones."""
    if bits == 64:  # one element a lane; the blocks lie side by side within 16 lanes
        return i + m * block + 16 * k, 0, 0
    in_register = 32 // bits
    in_lane = m * depth * blocks // 64
    lane = i + m * (k // in_lane) + m * (depth // in_lane) * block
    return lane, k % in_lane // in_register, k % in_register


def place_b(m, depth, blocks, bits, block, k, j):
    """(lane, register, place) of B[k][j].block: as A's transpose."""
    return place_a(m, depth, blocks, bits, block, j, k)


def place_d(m, depth, blocks, bits, block, i, j):
    """(lane, register, place) of C[i][j].block and D[i][j].block."""
    if bits == 64:
        return j + 16 * (i % 4) if blocks == 1 else j + m * block + 16 * i, 2 * (i // 4), 0
    if m == 4:
        return j + m * block, i, 0
    in_block = m * m // 64  # registers of a block
    return j + m * (i // 4 % (64 // m)), in_block * block + 4 * (i // (256 // m)) + i % 4, 0


def place_k(m, kept, blocks, bits, block, i, n):
    """(lane, register, place) of K[i][n], the place in its four of the n-th stored element of row i, with abid 0."""
    in_lane = m * kept // 64
    return i + m * (n // in_lane), 0, n % in_lane


def rows():
    """The lines of the file, as tuples in the order of COLUMNS."""
    for op in BY_NAME.values():
        if op.family != "matrix":
            continue
        m, depth, blocks = op.more["m"], op.more["k"], op.more["blocks"]
        kept = depth // 2 if op.more["sparse"] else depth
        yield line(op, "A", op.src[0], place_a, m, kept, blocks, (m, kept))
        yield line(op, "B", op.src[1], place_b, m, depth, blocks, (depth, m))
        yield line(op, "D", op.dst[0], place_d, m, depth, blocks, (m, m))
        if op.more["sparse"]:
            yield line(op, "K", "index", place_k, m, kept, blocks, (m, kept))


def line(op, operand, type, place, m, depth, blocks, shape):
    """One line: each coordinate bit, lowest first, as l (lane), r (register) or e (element of a register) and a bit."""
    bits, sizes, texts = BITS[type], (blocks, *shape), []
    for which, size in enumerate(sizes):
        names = []
        for power in range(size.bit_length() - 1):
            coordinates = [1 << power if n == which else 0 for n in range(3)]
            where = place(m, depth, blocks, bits, *coordinates)
            (found,) = [(kind, value) for kind, value in zip("lre", where, strict=True) if value]
            assert found[1].bit_count() == 1, (op.name, operand, coordinates, found)
            names.append(f"{found[0]}{found[1].bit_length() - 1}")
        texts.append(" ".join(names))
    registers = max(1, sizes[0] * sizes[1] * sizes[2] * bits // (64 * 32))
    return op.name, operand, bits, registers, *texts


if __name__ == "__main__":
    print(
        "# Made by tests/gfx942/calculator.py from the equations of AMD's matrix instruction calculator (MIT licence)."
    )
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *rows()])
