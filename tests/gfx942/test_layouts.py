"""The table of register layouts against the calculator's equations, its published answers, and the emulator itself."""

import csv

import calculator
import numpy as np
import pytest
from gfx942_kernels import needs_clang, run_lanes

from fp8lab.gfx942 import layouts
from fp8lab.gfx942.isa import BY_NAME

DENSE = [name for name in layouts.instructions() if name.startswith("v_mfma")]


def test_the_file_is_what_the_equations_give():
    lines = [line for line in layouts.SOURCE.read_text().splitlines() if not line.startswith("#")]
    assert [tuple(line) for line in csv.reader(lines)] == [
        calculator.COLUMNS,
        *(tuple(map(str, row)) for row in calculator.rows()),
    ]


def test_every_matrix_instruction_has_its_layouts():
    assert layouts.instructions() == [op.name for op in BY_NAME.values() if op.family == "matrix"]


@pytest.mark.parametrize(
    "question, answer",
    [
        # examples in the calculator's README, of instructions that CDNA 2 and 3 share
        (("v_mfma_f32_4x4x4_16b_f16", "A", 17, 1, 0), (1, 2, 4)),
        (("v_mfma_f32_4x4x4_16b_f16", "A", 17, 1, 1), (1, 3, 4)),
        (("v_mfma_f32_4x4x4_16b_f16", "D", 33, 2, 0), (2, 1, 8)),
        (("v_mfma_f32_4x4x4_16b_f16", "D", 6, 3, 0), (3, 2, 1)),
        (("v_mfma_f64_4x4x4_4b_f64", "D", 35, 0, 0), (2, 3, 0)),
        (("v_mfma_f64_16x16x4_f64", "B", 42, 0, 0), (2, 10, 0)),
        (("v_mfma_f64_16x16x4_f64", "B", 42, 1, 0), (2, 10, 0)),
        (("v_smfmac_f32_16x16x32_f16", "K", 50, 0, 2), (2, 14, 0)),  # K[2][31] in bits 7:4 of lane 50: its two places
        (("v_smfmac_f32_16x16x32_f16", "K", 50, 0, 3), (2, 15, 0)),
    ],
)
def test_answers_published_with_the_calculator(question, answer):
    found = layouts.element(*question)
    assert found == answer
    instruction, operand, lane, register, place = question
    first = register & ~1 if layouts.layout(instruction, operand).bits == 64 else register
    assert layouts.location(instruction, operand, *found) == (lane, first, place)


@pytest.mark.parametrize("name", layouts.instructions())
def test_every_element_lies_in_one_place_and_is_found_there(name):
    for operand in layouts.operands(name):
        at = layouts.layout(name, operand)
        table = layouts.table(name, operand)[:, :: max(1, at.bits // 32)]
        if operand == "K":  # the rest of the register is for other values of abid
            table = table[:, :, : np.prod(at.shape) // 64]
        seen = {tuple(x) for x in table.reshape(-1, 3)}
        assert len(seen) == table.size // 3 == np.prod(at.shape)
        for row, column, block in list(seen)[::7]:
            lane, register, place = layouts.location(name, operand, row, column, block)
            assert layouts.element(name, operand, lane, register, place) == (row, column, block)
            assert tuple(layouts.table(name, operand)[lane, register, place]) == (row, column, block)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: layouts.layout("v_add_f32", "A"), "no matrix instruction"),
        (lambda: layouts.element("v_mfma_f32_32x32x2_f32", "E", 0, 0), "needs one of A, B, D of"),
        (lambda: layouts.element("v_mfma_f32_32x32x16_fp8_fp8", "A", 64, 0), "lane is 64, needs 0 to 63"),
        (lambda: layouts.element("v_mfma_f32_32x32x16_fp8_fp8", "A", 0, 2), "register is 2, needs 0 to 1"),
        (lambda: layouts.element("v_mfma_f32_32x32x16_fp8_fp8", "A", 0, 0, 4), "place is 4, needs 0 to 3"),
        (lambda: layouts.location("v_mfma_f32_32x32x16_fp8_fp8", "A", 0, 16), "column is 16, needs 0 to 15"),
    ],
)
def test_what_has_no_layout_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


ONE = {
    "f64": 0x3FF0 << 48,
    "f32": 0x3F800000,
    "xf32": 0x3F800000,
    "f16": 0x3C00,
    "bf16": 0x3F80,
    "i8": 1,
    "fp8": 0x40,
    "bf8": 0x40,
}


def registers_of(name, operand, matrix):
    """(blocks, rows, columns) raw element bits -> (registers, 64) uint32, by the table."""
    at = layouts.layout(name, operand)
    out = np.zeros((at.registers, 64), np.uint32)
    for (block, row, column), bits in np.ndenumerate(matrix):
        lane, register, place = layouts.location(name, operand, row, column, block)
        out[register, lane] |= np.uint32(int(bits) << at.bits * place & 0xFFFFFFFF)
        if at.bits == 64:
            out[register + 1, lane] = int(bits) >> 32
    return out


@needs_clang
@pytest.mark.parametrize("name", DENSE)
def test_the_emulator_multiplies_what_the_table_says(name):
    """D = A · B for random matrices of 0 and 1, laid out and read back by the table alone: exact in every type."""
    op = BY_NAME[name]
    rng = np.random.default_rng(len(name))
    a, b = (rng.integers(0, 2, layouts.layout(name, x).shape) for x in "AB")
    a_in = registers_of(name, "A", a * ONE[op.src[0]])
    b_in = registers_of(name, "B", b * ONE[op.src[1]])
    pad = lambda x: np.concatenate([x, x[:1]]) if len(x) % 2 else x  # noqa: E731  (operands start at even registers)
    a_in, b_in = pad(a_in), pad(b_in)
    count = layouts.layout(name, "D").registers
    span = lambda first, n: f"v[{first}:{first + n - 1}]" if n > 1 else f"v{first}"  # noqa: E731
    n_a, n_b = (layouts.layout(name, x).registers for x in "AB")
    body = f"{name} {span(60, count)}, {span(10, n_a)}, {span(10 + len(a_in), n_b)}, 0"
    out, _ = run_lanes(body, np.concatenate([a_in, b_in]), count)
    raw = out.astype(np.uint64)
    table = layouts.table(name, "D")[:, :, 0]
    got = np.zeros(layouts.layout(name, "D").shape)
    for lane in range(64):
        for register in range(0, count, layouts.layout(name, "D").bits // 32):
            row, column, block = table[lane, register]
            if op.dst[0] == "f64":
                value = (raw[register, lane] | raw[register + 1, lane] << np.uint64(32)).view(np.float64)
            else:
                value = out[register, lane].view(np.int32 if op.dst[0] == "i32" else np.float32)
            got[block, row, column] = value
    assert np.array_equal(got, a @ b)
