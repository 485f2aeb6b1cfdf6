"""Launches that would never end: what counts as a hang, which waves are named, step limits, and Ctrl-C."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gfx942_kernels import BUILT, assemble, compile_hip, lanes_kernel, needs_clang
from gfx942_sources import CORPUS

from fp8lab.cli import main
from fp8lab.gfx942 import Device, KernelFault, device

pytestmark = needs_clang


def hang(body, grid=1, block=64, checks="none", scratch=0, **options):
    """The KernelFault of body, which does not end."""
    kernel = assemble(lanes_kernel(body, 1, 1), scratch=scratch).kernels["kernel"]
    args = [np.zeros((grid + 1, block), np.uint32), np.zeros((grid + 1, block), np.uint32)]
    with pytest.raises(KernelFault) as caught:
        Device(threads=2, checks=checks, **{"hang_after": 100_000, **options}).launch(kernel, grid, block, args)
    assert {f.kind for f in caught.value.findings} == {"hang"}
    return caught.value


def forever(body, before=""):
    return f"v_mov_b32_e32 v2, 0\n  v_mov_b32_e32 v3, 1\n  {before}\nagain:\n  {body}\n  s_branch again"


@pytest.mark.parametrize(
    "body",
    [
        "global_load_dword v60, v2, s[6:7]\n  s_waitcnt vmcnt(0)",
        "global_atomic_swap v60, v2, v3, s[6:7] sc0\n  s_waitcnt vmcnt(0)",  # a lock that is taken stays taken
        "global_atomic_cmpswap v60, v2, v[2:3], s[6:7] sc0\n  s_waitcnt vmcnt(0)",
        "global_store_dword v2, v3, s[6:7]",
        "global_store_byte v2, v3, s[6:7]",
        "ds_write_b32 v2, v3\n  s_waitcnt lgkmcnt(0)",
        "ds_add_u32 v2, v2\n  s_waitcnt lgkmcnt(0)",
        "scratch_store_dword off, v4, off\n  v_add_u32_e32 v4, 1, v4",  # nobody else sees it
        "s_barrier",
    ],
)
@pytest.mark.parametrize("checks", ["none", "all"])
def test_polling_that_changes_no_memory_is_a_hang(body, checks):
    kernel = assemble(lanes_kernel(forever(body, "v_mov_b32_e32 v4, 0"), 1, 1), lds=256, scratch=64).kernels["kernel"]
    args = [np.zeros((3, 64), np.uint32), np.zeros((3, 64), np.uint32)]
    with pytest.raises(KernelFault, match="memory has not changed and no wave has ended"):
        Device(checks=checks, hang_after=100_000, step_limit=10_000_000).launch(kernel, 2, 64, args)


def test_a_loop_that_changes_memory_goes_on_until_the_step_limit():
    body = forever("global_atomic_add v60, v2, v3, s[6:7] sc0\n  s_waitcnt vmcnt(0)")
    assert "the step limit is reached" in str(hang(body, step_limit=300_000, hang_after=1000))
    assert 10_000_000 < Device().step_limit < 10_000_000_000  # there is one


def test_every_waiting_wave_is_named_with_its_place():
    wait = "v_readfirstlane_b32 s12, v0\n  s_cmp_lt_u32 s12, 64\n  s_cbranch_scc1 again\n  s_barrier"
    fault = hang(forever("s_nop 0", wait), grid=3, block=512)
    waves = {(f.workgroup[0], f.wave): f.instruction for f in fault.findings}
    assert len(fault.findings) == len(waves) == 3 * 8 and {f.address for f in fault.findings} == {0}
    assert {i for (_, wave), i in waves.items() if wave} == {"s_barrier"}
    assert {i for (_, wave), i in waves.items() if not wave} <= {"s_nop 0", "s_branch 65534"}
    lines = str(fault).splitlines()
    assert "24 waves are left" in lines[0]
    assert any("workgroup (0, 0, 0), (1, 0, 0), (2, 0, 0), wave 1-7 waits at s_barrier at 0x" in i for i in lines)


def test_more_waves_than_findings_are_named_too():
    fault = hang(forever("s_sleep 1"), grid=60, block=512, hang_after=1000)
    assert len({(f.workgroup, f.wave) for f in fault.findings}) == 60 * 8 == len(fault.findings)


def test_the_progress_of_one_workgroup_is_that_of_all():
    """Workgroup 1 counts to 5000 in memory while 0 waits for it."""
    body = """v_mov_b32_e32 v2, 0\n  v_mov_b32_e32 v3, 1\n  s_sub_u32 s6, s6, s9\n  s_subb_u32 s7, s7, 0
  s_mov_b64 exec, 1\n  s_cmp_eq_u32 s2, 0\n  s_movk_i32 s12, 5000\n  s_cbranch_scc1 wait
count:\n  global_atomic_add v2, v3, s[6:7]
  s_sub_u32 s12, s12, 1\n  s_cmp_lg_u32 s12, 0\n  s_cbranch_scc1 count\n  s_endpgm
wait:\n  global_load_dword v5, v2, s[6:7] sc1\n  s_waitcnt vmcnt(0)\n  v_readfirstlane_b32 s13, v5
  s_cmp_lg_u32 s13, s12\n  s_cbranch_scc1 wait\n  s_endpgm"""
    kernel = assemble(lanes_kernel(body, 1, 1)).kernels["kernel"]
    out = np.zeros((2, 64), np.uint32)
    Device(threads=1, checks="none", hang_after=30_000).launch(kernel, 2, 64, [np.zeros((2, 64), np.uint32), out])
    assert out[0, 0] == 5000


@pytest.mark.parametrize(
    ("body", "grid", "times"),
    [("v_add_u32_e32 v2, 1, v2", 40, 15_000), ("global_load_dword v5, v4, s[6:7]\n  s_waitcnt vmcnt(0)", 12, 8_000)],
    ids=["arithmetic", "reading"],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_waves_that_compute_or_read_for_long_are_no_hang(body, grid, times, threads):
    """Each runs more than twice the instructions of a slice, all together more than hang_after, before it stores."""
    loop = "s_sub_u32 s12, s12, 1\n  s_cmp_lg_u32 s12, 0\n  s_cbranch_scc1 again\n  v_mov_b32_e32 v60, s12"
    body = f"v_mov_b32_e32 v2, 0\n  v_mov_b32_e32 v4, 0\n  s_mov_b32 s12, {times}\nagain:\n  {body}\n  {loop}"
    kernel = assemble(lanes_kernel(body, 1, 1)).kernels["kernel"]
    out = np.ones((grid, 64), np.uint32)
    device = Device(threads=threads, checks="none", hang_after=400_000)
    device.launch(kernel, grid, 64, [np.zeros((grid, 64), np.uint32), out])
    assert not out.any()


def test_a_stream_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(device, "STREAM_LIMIT", 100_000)
    kernel = assemble(lanes_kernel(forever("global_atomic_add v2, v3, s[6:7]"), 1, 1)).kernels["kernel"]
    with pytest.raises(KernelFault, match=r"more steps than stream.. keeps; choose fewer workgroups"):
        Device().stream(kernel, 1, 64, [np.zeros((1, 64), np.uint32)] * 2)


def test_the_command_line_has_a_step_limit(capsys, tmp_path):
    compile_hip(CORPUS["spin"], name="spin")
    flag = f"zeros:int32:1:{tmp_path}/flag.npy"
    assert main(["gfx942", "run", "--step-limit", "30000", str(BUILT / "spin.co"), "forever", flag]) == 1
    assert "the step limit is reached" in capsys.readouterr().err


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
from gfx942_kernels import assemble, lanes_kernel
from fp8lab.gfx942 import Device
signal.signal(signal.SIGINT, signal.default_int_handler)
kernel = assemble(lanes_kernel(sys.argv[1], 1, 1)).kernels["kernel"]
args = [np.zeros((8, 64), np.uint32), np.zeros((8, 64), np.uint32)]
try:
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    Device(threads=2, step_limit=None).launch(kernel, 8, 64, args)
except KeyboardInterrupt:
    counted = args[1].copy()
assert counted.any() and Device(checks="none").launch(kernel, 0, 64, args).counts == {}
assert np.array_equal(args[1], counted)  # nothing runs on
print("usable")
"""


def test_ctrl_c_ends_a_launch_and_leaves_the_process_usable():
    command = [sys.executable, "-c", INTERRUPTED, forever("global_atomic_add v2, v3, s[6:7]")]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=120)
    assert done.stdout == "usable\n", done.stderr
