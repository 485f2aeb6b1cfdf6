"""LDS between waves: what must have been waited for at the barrier, whichever wave the emulator runs first."""

import numpy as np
import pytest
from gfx942_kernels import assemble, lanes_kernel, needs_clang

from fp8lab.gfx942 import Device, KernelFault

pytestmark = needs_clang

# The producer fills LDS and meets the other wave at the barrier, which then reads; the producer waits before or after.
EXCHANGE = """v_readfirstlane_b32 s12, v0
  v_and_b32_e32 v4, 63, v0
  v_lshlrev_b32_e32 v4, 2, v4
  s_mov_b32 m0, 0
  s_nop 4
  s_cmp_{other} s12, 0
  s_cbranch_scc1 meet
  {fill}
  {before}
meet:
  {barriers}
  s_cmp_{other} s12, 0
  s_cbranch_scc1 reader
  {after}
  s_branch done
reader:
  ds_read_b32 v60, v4
  s_waitcnt lgkmcnt(0)
done:"""
DMA, WRITE, ATOMIC = "global_load_lds_dword v4, s[4:5]", "ds_write_b32 v4, v10", "ds_add_u32 v4, v10"


def findings(body, checks="all"):
    kernel = assemble(lanes_kernel(body, 1, 1), lds=512).kernels["kernel"]
    source, target = np.ones((1, 128), np.uint32), np.zeros((8, 512), np.uint32)
    return Device(checks=checks).launch(kernel, 1, 128, [source, target]).findings


def exchange(fill, **pieces):
    pieces = {"other": "lg_u32", "before": "s_nop 0", "after": "s_nop 0", "barriers": "s_barrier", **pieces}
    return [f.kind for f in findings(EXCHANGE.format(fill=fill, **pieces))]


@pytest.mark.parametrize(
    "fill, wait, kind", [(DMA, "vmcnt", "missing-wait"), (WRITE, "lgkmcnt", "lds-write-not-waited")]
)
@pytest.mark.parametrize("other", ["lg_u32", "eq_u32"], ids=["wave 0 fills", "wave 1 fills"])
def test_what_another_wave_reads_after_the_barrier_was_waited_for_before_it(fill, wait, kind, other):
    wait = f"s_waitcnt {wait}(0)"
    assert exchange(fill, other=other, before=wait) == []
    assert exchange(fill, other=other, after=wait) == [kind]
    assert exchange(fill, other=other, after=wait, barriers=f"s_barrier\n  {wait}\n  s_barrier") == []


@pytest.mark.parametrize("other", ["lg_u32", "eq_u32"], ids=["wave 0 fills", "wave 1 fills"])
@pytest.mark.parametrize(
    "fill, wait, kind", [(DMA, "vmcnt", "missing-wait"), (WRITE, "lgkmcnt", "lds-write-not-waited")]
)
def test_a_wave_that_ends_without_waiting_has_not_waited(fill, wait, kind, other):
    ends = exchange(fill, other=other, before="s_endpgm")
    assert sorted(ends) == sorted(["barrier-divergence", kind])
    assert exchange(fill, other=other, before=f"s_waitcnt {wait}(0)\n  s_endpgm") == ["barrier-divergence"]


@pytest.mark.parametrize("fill, wait", [(DMA, "vmcnt"), (WRITE, "lgkmcnt")])
@pytest.mark.parametrize("other", ["lg_u32", "eq_u32"], ids=["wave 0 fills", "wave 1 fills"])
def test_without_a_barrier_it_is_a_race_only(fill, wait, other):
    found = exchange(fill, other=other, barriers="s_nop 0", after=f"s_waitcnt {wait}(0)")
    assert set(found) - {"uninitialised-lds"} <= {"lds-race", "lds-same-value"} and found


OVERWRITE = """v_and_b32_e32 v4, 63, v0
  v_lshlrev_b32_e32 v4, 2, v4
  v_readfirstlane_b32 s12, v0
  s_mov_b32 m0, 0
  ds_write_b32 v4, v10
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 second
  {first}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_branch done
second:
  {second}
  s_waitcnt vmcnt(0) lgkmcnt(0)
done:"""


@pytest.mark.parametrize("second", [WRITE, DMA])
@pytest.mark.parametrize("first, says", [("ds_read_b32 v60, v4", "is read by"), (WRITE, "is written by")])
def test_a_same_value_finding_says_what_the_other_wave_did(first, says, second):
    last = max(findings(OVERWRITE.format(first=first, second=second)), key=lambda f: f.pc)
    assert last.kind == "lds-same-value" and f"LDS byte 0 {says} wave 0" in last.message


def test_findings_that_there_is_no_room_for_are_counted():
    body = "\n  ".join(["global_load_dword v60, v1, s[4:5] offset:1024"] * 300)
    kernel = assemble(lanes_kernel(body, 1, 1)).kernels["kernel"]
    run = Device().launch(kernel, 1, 64, [np.ones((1, 64), np.uint32), np.zeros((1, 64), np.uint32)])
    assert len(run.findings) == 256 and run.findings_dropped == 64 * (300 - 256)
    with pytest.raises(KernelFault, match=r"(?s)trap: s_trap 2.*and 2816 more, at other instructions"):
        findings(f"{body}\n  s_trap 2")
