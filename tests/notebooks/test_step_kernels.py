"""The step kernels of lesson 05: each is right, runs without a finding, and improves what the lesson says it does."""

from types import SimpleNamespace

import numpy as np
import pytest

from fp8lab import steps
from fp8lab.toolchain import CompileError

SCALAR, WITH_MFMA = steps.NAMES[:2], steps.NAMES[2:]


@pytest.fixture(scope="module")
def outcomes():
    """Every step and the real kernel; those with MFMAs on more blocks of K, as the lesson runs them."""
    small, large = steps.Problem.random(32, 128, 256), steps.Problem.random(128, 256, 4096)
    return {name: steps.run(name, small if name in SCALAR else large) for name in (*steps.NAMES, "gemm/")}


@pytest.mark.parametrize("name", [*steps.NAMES, "gemm/"])
def test_step_is_right_and_without_a_finding(outcomes, name):
    outcome = outcomes[name]
    assert outcome.findings == []
    assert outcome.report.within_tolerance and outcome.report.share_within_1_ulp >= 0.999


@pytest.mark.parametrize("name", WITH_MFMA)
def test_step_with_mfma_is_right_for_one_block_of_k_too(name):
    outcome = steps.run(name, steps.Problem.random(256, 128, 128))
    assert outcome.findings == [] and outcome.report.within_tolerance


@pytest.mark.parametrize("name", steps.NAMES)
def test_step_needs_no_scratch_and_no_spill_and_lets_a_workgroup_run(name):
    resources = steps.compile(name).resources["gemm"]
    assert resources.vgpr_spills == resources.sgpr_spills == resources.scratch_bytes == 0
    assert resources.vgpr + resources.agpr <= 256 and resources.lds_bytes <= 65536


def test_lds_tile_moves_a_tenth_of_the_bytes(outcomes):
    assert outcomes["2_lds_tile"].global_bytes < outcomes["1_naive"].global_bytes / 10


def test_mfma_needs_a_tenth_of_the_instructions(outcomes):
    before, after = outcomes["2_lds_tile"], outcomes["3_mfma"]
    assert sum(after.instructions.values()) < sum(before.instructions.values()) / 10
    assert before.instructions.get("mfma", 0) == 0
    assert after.instructions["mfma"] == steps.UNIT / (16 * 16 * 32)


def test_vector_loads_need_a_third_of_the_memory_instructions(outcomes):
    before, after = outcomes["3_mfma"].instructions, outcomes["4_vector_loads"].instructions
    assert after["vmem"] < before["vmem"] / 3 and after["lds"] < before["lds"] / 3
    assert sum(after.values()) < sum(before.values()) / 2


def test_swizzle_leaves_no_bank_conflict_and_costs_hardly_an_instruction(outcomes):
    before, after = outcomes["4_vector_loads"], outcomes["5_swizzle"]
    assert before.lds_conflicts > before.lds_clocks / 2 and after.lds_conflicts == 0
    assert sum(after.instructions.values()) < 1.05 * sum(before.instructions.values())


def test_scales_in_registers_save_vector_and_lds_instructions_and_stores(outcomes):
    before, after = outcomes["5_swizzle"], outcomes["6_scales"]
    assert after.instructions["valu"] < 0.75 * before.instructions["valu"]
    assert after.instructions["lds"] < before.instructions["lds"] and after.lds_conflicts == 0
    assert stores(after) == stores(before) / 4


def test_double_buffer_keeps_loads_behind_mfmas_and_halves_the_barriers(outcomes):
    before, after = outcomes["6_scales"], outcomes["7_double_buffer"]
    assert before.hidden == 0 and after.hidden > 32                 # of the 64 that a wave runs in a block of K
    assert before.barriers == 2 and 1 <= after.barriers < 1.2       # one more, before the first block
    assert after.lds_conflicts == 0
    assert after.kernel.resources.lds_bytes == 2 * before.kernel.resources.lds_bytes


def test_bound_of_the_matrix_cores_grows_up_to_the_scales(outcomes):
    shares = [outcomes[name].matrix_share for name in steps.NAMES[1:6]]
    assert shares[0] == 0 and all(np.diff(shares) > 0) and shares[-1] > 0.95
    assert outcomes["7_double_buffer"].matrix_share > 0.85 and outcomes["gemm/"].matrix_share > 0.85


def test_real_kernel_hides_its_loads_with_half_of_the_lds(outcomes):
    real, double = outcomes["gemm/"], outcomes["7_double_buffer"]
    assert real.hidden > 32 and real.lds_conflicts == 0
    assert 2 * real.kernel.resources.lds_bytes == double.kernel.resources.lds_bytes


@pytest.mark.parametrize("name", [name for name in steps.NAMES if "__syncthreads" in steps.source(name)])
def test_step_without_its_barriers_is_found_out(name):
    problem = steps.Problem.random(16 if name in SCALAR else 128, 128, 256)
    outcome = steps.run(name, problem, text=steps.without_barriers(name))
    assert "lds-race" in {finding.kind for finding in outcome.findings}


def test_barriers_are_put_after_the_lines_that_are_named():
    assert steps.with_barriers("a\nb\nc\n", [1, 3]).split() == ["a", "__syncthreads();", "b", "c", "__syncthreads();"]


def test_source_that_does_not_compile_shows_the_compilers_words():
    with pytest.raises(CompileError, match="use of undeclared identifier 'sum'"):
        steps.compile(steps.source("1_naive").replace("float sum = 0;", ""))


def test_counts_are_those_of_the_launch_for_the_unit():
    outcome = steps.run("3_mfma", steps.Problem.random(128, 256, 128))
    assert outcome.units == 2
    assert outcome.run.counts["v_mfma_f32_16x16x32_fp8_fp8"] == 2 * outcome.instructions["mfma"] == 512
    assert steps.MATRIX_CLOCKS == 1024


def test_hidden_mfmas_are_those_between_a_load_and_the_wait_that_covers_it():
    def instruction(name, immediate=0):
        return SimpleNamespace(name=name, src=[SimpleNamespace(value=immediate)])

    def wait(vmcnt):
        return instruction("s_waitcnt", 0xC07F if vmcnt is None else 0x0F70 | vmcnt)    # lgkmcnt(0), or vmcnt

    mfma, load, store = map(instruction, ("v_mfma_f32_16x16x32_fp8_fp8", "global_load_dwordx4", "global_store_short"))
    order = [load, mfma, load, store, mfma, wait(None), wait(2), mfma, wait(0)]
    assert steps.hidden_mfmas(order) == pytest.approx((2 + 2) / 2)    # the store counts in order, not in the mean
    assert steps.hidden_mfmas([mfma, wait(0)]) == 0


def stores(outcome):
    """Store instructions of a launch for the unit."""
    return sum(count for name, count in outcome.run.counts.items() if name.startswith("global_store")) / outcome.units
