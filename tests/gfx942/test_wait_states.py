"""Wait states after vector instructions that write scalar registers or EXEC, after writes of M0 and MODE."""

import numpy as np
import pytest
from gfx942_kernels import assemble, lanes_kernel, needs_clang

from fp8lab.gfx942 import Device

pytestmark = needs_clang
PREVIOUS = "s_mov_b32 m0, 0\n  v_mov_b32_e32 v2, 0\n  v_mov_b32_e32 v20, s4\n  v_mov_b32_e32 v21, s5\n  s_nop 7\n  "


@pytest.mark.parametrize(
    "needed, writes, reads",
    [
        (4, "v_readfirstlane_b32 s12, v10", "v_readlane_b32 s13, v11, s12"),
        (4, "v_cmp_eq_u32_e32 vcc, 0, v10", "v_div_fmas_f32 v60, v11, v12, v13"),
        (5, "v_readfirstlane_b32 s12, v20\n  v_readfirstlane_b32 s13, v21", "global_load_dword v60, v2, s[12:13]"),
        (5, "v_cmpx_eq_u32_e32 vcc, v10, v10", "v_mov_b32_dpp v60, v11 row_shr:1 row_mask:0xf bank_mask:0xf"),
        (4, "v_cmpx_eq_u32_e32 vcc, v10, v10", "v_readlane_b32 s12, v10, 3"),
        (1, "v_mov_b32_e32 v22, 1", "v_readlane_b32 s12, v22, 3"),
        (2, "v_readfirstlane_b32 s12, v10", "v_mov_b32_e32 v60, s12"),
        (2, "v_cmp_eq_u32_e32 vcc, 0, v10", "v_cndmask_b32_e32 v60, v10, v11, vcc"),
        (1, "s_mov_b32 m0, 4", "global_load_lds_dword v1, s[4:5]"),
        (1, "v_add_u32_sdwa v20, v10, v11 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
         "v_mov_b32_e32 v60, v20"),
        (2, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0", "s_getreg_b32 s12, hwreg(HW_REG_MODE, 0, 2)"),
    ],
)  # fmt: skip
def test_wait_states_round_scalar_registers(needed, writes, reads):
    """As many as LLVM inserts for gfx942 (llc -run-pass post-RA-hazard-rec), and one fewer is found."""

    def found(states):
        nops = f"s_nop {states - 1}\n  " if states else ""
        body = f"{PREVIOUS}{writes}\n  {nops}{reads}\n  s_nop 7"
        kernel = assemble(lanes_kernel(body, 4, 1), lds=1024).kernels["kernel"]
        arrays = [np.zeros((4, 64), np.uint32), np.zeros((1, 64), np.uint32)]
        return [f.kind for f in Device().launch(kernel, 1, 64, arrays).findings]

    assert found(needed) == []
    assert found(needed - 1) == ["missing-wait-states"]
