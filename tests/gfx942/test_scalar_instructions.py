"""Scalar instructions against C, 65,536 operands each: destination, SCC and EXEC, bit for bit."""

import pytest
from gfx942_instructions import check, instructions, run_scalar, signatures
from gfx942_kernels import needs_clang

from fp8lab.gfx942.isa import BY_NAME

pytestmark = needs_clang
TESTED_WITH_THE_DEVICE = {"s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"}  # MODE: test_device.py


@pytest.mark.parametrize("signature", signatures("scalar"))
def test_scalar_instructions_do_what_c_says(signature):
    assert not check("scalar", signature, run_scalar, 38)


def test_every_scalar_instruction_is_described_in_c():
    ours = {name for name, op in BY_NAME.items() if op.family == "scalar"}
    assert set(instructions("scalar")) == ours - TESTED_WITH_THE_DEVICE
