"""Vector instructions against C, 65,536 operands each: results and masks, bit for bit."""

from functools import partial

import numpy as np
import pytest
from gfx942_instructions import check, run_vector, signatures
from gfx942_kernels import needs_clang, run_lanes

pytestmark = needs_clang


@pytest.mark.parametrize("signature", signatures("vector"))
def test_vector_instructions_do_what_c_says(signature):
    assert not check("vector", signature, partial(run_vector, "vector"), 48)


def test_moves_between_registers():
    x = np.random.default_rng(0).integers(0, 1 << 32, (2, 64), dtype=np.uint32)
    body = """v_mov_b32_e32 v60, v10
  v_mov_b32_e32 v61, v11
  v_swap_b32 v60, v61
  v_nop
  v_accvgpr_write_b32 a4, v10
  v_accvgpr_mov_b32 a5, a4
  v_accvgpr_read_b32 v62, a5"""
    out, _ = run_lanes(body, x, 3)
    assert np.array_equal(out, x[[1, 0, 0]])
