"""One C source, two targets: compiled for the host and for gfx942, run on the same operands, bits compared.

The cases are in portable/*.h: operations, and small functions with loops, branches, tables and calls. What the host's
compiler and CPU make of them is an oracle that shares nothing with the emulator's table of meanings.
"""

import ctypes
import functools
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
from gfx942_instructions import instructions
from gfx942_kernels import compile_hip, needs_clang
from gfx942_operands import differences, operands
from gfx942_reference import call, compile_reference

from fp8lab.gfx942 import Device
from fp8lab.gfx942.isa import BY_NAME

pytestmark = needs_clang
SOURCES = Path(__file__).parent / "portable"
WITH_SCALAR = ("control", "conversions", "integers", "narrow", "wide")
GROUPS = (*WITH_SCALAR, "floats", "halves")
UNOPTIMISED = ("control", "conversions", "halves", "narrow", "wide")  # at -O0, too: long code, slow to decode
RUNS = [(group, level) for level in ("-O0", "-O1", "-O3") for group in (UNOPTIMISED if level == "-O0" else GROUPS)]
SIZES = {  # operands of a case's kernel, at each level of optimisation
    "-O0": {"vector": 512},
    "-O1": {"vector": 4096},
    "-O3": {"vector": 8192, "scalar": 256},
}


@functools.cache
def outcome(group, level):
    """({kernel: how it differs from the host}, names of the instructions that ran)."""
    text = (SOURCES / "targets.h").read_text() + (SOURCES / f"{group}.h").read_text()
    host = compile_reference(text)
    sizes = SIZES[level]
    flags = () if "scalar" in sizes and group in WITH_SCALAR else ("-DVECTOR_ONLY",)
    kernels = compile_hip(text, level, "-ffp-contract=off", "-w", *flags).kernels
    device, wrong, ran = Device(checks="none"), {}, set()
    for kernel in kernels.values():
        unit, case = kernel.name.split("_", 1)
        result, *types = ctypes.c_char_p.in_dll(host, f"types_{case}").value.decode().split()
        n = sizes[unit]
        x, got = operands(types, n, signalling=False), np.zeros(n, np.uint64)
        run = device.launch(kernel, n // 64 if unit == "vector" else n, 64, [x, got, n])
        ran |= set(run.counts)
        if differs := differences(got, call(host[f"host_{case}"], x)[0], result, x):
            wrong[kernel.name] = differs
    return wrong, ran


@pytest.mark.parametrize("group, level", RUNS)
def test_gfx942_and_the_host_agree_on_every_bit(group, level):
    wrong, ran = outcome(group, level)
    assert not wrong and len(ran) > 40


NOT_FROM_C = {  # what clang 22 makes of no case, and why: C has no form for it, or clang has no pattern
    "compilers for gfx942 write masks, and EXEC by s_ instructions": "v_cmpx_* v_cmp_f_* v_cmp_t_* v_cmp_tru_*",
    "equal is the same without a sign": "v_cmp_eq_i* v_cmp_ne_i* s_cmp_eq_i32 s_cmp_lg_i32 s_cmpk_eq_u32 s_cmpk_lg_u32",
    "a >= 8 is a > 7": "s_cmpk_ge_* s_cmpk_le_*",
    "rounded in ways C does not name": "v_cvt_pk* v_cvt_sr_* v_cvt_rpi_* v_cvt_flr_* v_cvt_off_*",
    "FP8 has no type in C": "v_cvt_f32_?p8 v_cvt_f32_?f8",
    "approximations": "v_exp_* v_log_* v_sin_* v_cos_* v_rcp_f16 v_rsq_f16 v_sqrt_f64",
    "lanes, EXEC, MODE, AGPRs": "v_mbcnt_* s_*_saveexec_b64 s_*_wrexec_b64 s_[gs]etreg_* v_accvgpr_mov_b32 v_nop",
    "graphics and video": "v_lerp_u8 v_msad_u8 v_sad_*u8 v_sad_u16 v_mul_legacy_f32 v_fract_f16 s_quadmask_* s_wqm_*",
    "sums of products that clang spells out": "v_dot*",
    "16 bits, computed in 32": "v_mad_?16 v_mad_legacy_* v_mad_?32_?16 v_mul_lo_u16 v_med3_u16 v_sat_pk_u8_i16",
    "another instruction gives the same bits": "v_pk_add_i16 v_pk_mad_i16 v_pk_sub_u16 v_mad_u32_u24 v_alignbyte_b32 "
    "v_subrev_f16 v_swap_b32 s_absdiff_i32 s_bcnt0_* ?_bfm_* s_bfe_u64 s_ff0_* s_nand_b32 s_flbit_i32_i64 "
    "s_bitset?_b64 s_bitcmp?_b64 s_bitreplicate_* s_cmov_* s_cmovk_*",
}


# of these, what instructions/*.h does not describe in C either
ELSEWHERE = {
    "test_instructions_fp8.py": "v_cvt_f32_?[pf]8 v_cvt_pk_f32_* v_cvt_pk_fp8_f32 v_cvt_pk_bf8_f32 v_cvt_sr_*",
    "test_instructions_float.py": "v_cvt_pkrtz_* v_cvt_pknorm_* v_cvt_pk_u8_f32 v_dot2*_f32_f16 v_fract_f16",
    "test_device.py": "s_[gs]etreg_*",
    "approximations that the GPU rounds otherwise": "v_exp_* v_log_* v_sin_* v_cos_* v_rcp_f16 v_rsq_f16 v_sqrt_f64",
    "moves: test_vector_instructions.py": "v_accvgpr_mov_b32 v_swap_b32 v_nop",
    "the guide does not say how its a + 0.5 is rounded": "v_cvt_rpi_i32_f32",
}


def patterns(groups):
    return [pattern for listed in groups.values() for pattern in listed.split()]


def matching(names, groups):
    return {name for name in names if any(fnmatch(name, pattern) for pattern in patterns(groups))}


def test_every_scalar_and_vector_instruction_ran_unless_c_has_no_form_for_it():
    ran = set().union(*(outcome(group, level)[1] for group, level in RUNS))
    left = {name for name, op in BY_NAME.items() if op.family in ("scalar", "vector", "lanes")} - ran
    assert left == matching(left, NOT_FROM_C)


def test_what_c_has_no_form_for_is_described_in_c_instruction_by_instruction():
    excused = matching([name for name, op in BY_NAME.items() if op.family in ("scalar", "vector")], NOT_FROM_C)
    described = {*instructions("scalar"), *instructions("vector")}
    assert excused - described == matching(excused, ELSEWHERE) - described
