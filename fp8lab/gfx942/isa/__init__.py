"""The gfx942 instruction set as a table: one line an instruction. The core in ../core is generated from it.

How to read a line:

    op("v_lshlrev_b32", "VOP2 18", "u32 u32 u32", "d = b << (a & 31)")   # "rev": the shift count comes first
        name             encoding   types          meaning

encoding  the ISA guide's format and opcode number. VOP1, VOP2 and VOPC rows exist in the 64-bit VOP3 format too, at
          opcode + 320, + 256 and + 0: the decoder knows, the table does not repeat them.
types     the destination, then the sources in the order of the assembly text. "x y | a b" has two destinations.
          u32 i32 f32 u64 i64 f64   a register, or two
          u16 i16 f16               the low half of a register; f16 is computed in float and rounded once
          u16x2 i16x2 f16x2 f32x2   packed: the meaning holds for each half, chosen by op_sel and op_sel_hi
          mask                      one bit a lane, in a pair of scalar registers
          +u32                      a destination whose old value the meaning reads
meaning   C for one active lane (one wave for s_*): d, e are the destinations, a, b, c the sources, lane the lane,
          scc the scalar condition code. Functions such as min_f32 are in ../core: arithmetic.h, formats.h.

What the frame round a meaning does, so that no row has to: reads and broadcasts operands, applies neg, abs, op_sel,
SDWA and DPP to sources, flushes denormals and rounds as MODE says, applies omod, clamp and op_sel to the result, and
writes only the lanes that EXEC names.

Source of encodings and meanings: AMD "Instinct MI300" CDNA3 ISA guide; of spellings: LLVM 22. tests/gfx942 checks
every row against LLVM's disassembler, and meanings against C compiled for the host, ml_dtypes, numpy and mmasim.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Op:
    """One row: what an instruction is called, how it is encoded, what it reads and writes, what it means.

    family   which frame runs the meaning: "scalar", "vector", "memory" …, the module the row is in
    dst, src tuples of types; size is how many bytes a memory instruction moves a lane; passes is how long an MFMA
             occupies the matrix core (1 pass = 4 clocks); more holds what only one family needs
    """

    name: str
    format: str
    opcode: int
    dst: tuple
    src: tuple
    meaning: str
    family: str
    more: dict = field(default_factory=dict)


BY_NAME = {}
BY_CODE = {}  # (format, opcode) -> Op


def row(family, name, encoding, types, meaning, **more):
    """Add one instruction to the table; a name or an encoding that is taken is a mistake in the table."""
    format, opcode = encoding.split()
    dst, bar, src = types.partition("|")
    if not bar:
        words = types.split()
        dst, src = (words[:1], words[1:]) if words and words[0] != "-" else ([], words[1:])
    else:
        dst, src = dst.split(), src.split()
    made = Op(name, format, int(opcode), tuple(dst), tuple(src), meaning, family, more)
    for table, key in ((BY_NAME, name), (BY_CODE, (made.format, made.opcode))):
        if key in table:
            raise ValueError(f"{key} is in the table twice")
        table[key] = made
    return made


from fp8lab.gfx942.isa import control, lds, matrix, memory, scalar, vector  # noqa: E402, F401  (they fill the table)
