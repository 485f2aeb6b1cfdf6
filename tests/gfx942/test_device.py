"""The whole device: launches, arguments, order of workgroups, spin-waits, hangs, the trace, damaged files."""

# ruff: noqa: E501  (an instruction sequence or a kernel's line is kept whole)

import subprocess
import sys

import numpy as np
import pytest
import torch
from gfx942_kernels import BUILT, assemble, compile_hip, lanes_kernel, needs_clang, run_lanes
from gfx942_sources import CORPUS

from fp8lab.gfx942 import CodeObject, CodeObjectError, Device, KernelFault, LaunchError
from fp8lab.gfx942.core import build

pytestmark = needs_clang


def vadd():
    return compile_hip(CORPUS["vadd"], name="vadd").kernels["vadd"]


def arrays(n=256):
    return np.arange(n, dtype=np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)


# --- arguments --------------------------------------------------------------------------------------------------------


def test_torch_tensors_are_used_in_place():
    a, b, c = torch.arange(256.0), torch.ones(256), torch.zeros(256)
    Device().launch(vadd(), 1, 256, [a, b, c, 256])
    assert torch.equal(c, a + 1)


def test_a_view_gives_the_kernel_its_own_extent_only():
    store = np.zeros(300, np.float32)
    a, b, _ = arrays()
    assert Device().launch(vadd(), 1, 256, [a, b, store[20:276], 256]).findings == []
    assert (store[20:276] == a + 1).all() and store[:20].sum() == store[276:].sum() == 0
    assert [f.kind for f in Device().launch(vadd(), 1, 256, [a, b, store[20:275], 256]).findings] == [
        "global-out-of-bounds"
    ]


def test_buffers_look_4_kib_aligned_whatever_numpy_gave():
    """hipMalloc aligns; an unaligned host buffer must not double the sectors that the trace counts."""
    raw = np.zeros(4096 + 4, np.uint8)
    a = raw[4:1028].view(np.float32)
    run = Device().launch(vadd(), 1, 256, [a, *arrays()[1:], 256])
    assert {m.coalescing for m in run.memory} == {1.0}


@pytest.mark.parametrize(
    "address, sectors, ideal, size", [("v_mov_b32_e32 v3, 0", 1, 1, 256), ("v_lshlrev_b32_e32 v3, 5, v0", 4, 1, 16)]
)
def test_coalescing_is_at_most_one_and_what_is_out_of_bounds_is_no_traffic(address, sectors, ideal, size):
    """64 lanes on one address; 64 lanes, a sector each, of which four lie in a buffer of 128 bytes."""
    kernel = assemble(
        f"s_load_dwordx2 s[4:5], s[0:1], 0x0\n  {address}\n  s_waitcnt lgkmcnt(0)\n  global_load_dword v4, v3, s[4:5]"
    )
    run = Device().launch(kernel.kernels["kernel"], 1, 64, [np.zeros(32, np.uint32)] * 2)
    (load,) = run.memory
    assert (load.sectors, load.ideal_sectors, load.bytes) == (sectors, ideal, size) and load.coalescing <= 1


def test_lds_traffic_says_how_many_bytes():
    body = "v_mov_b32_e32 v4, 0\n  ds_write_b64 v4, v[10:11]\n  s_waitcnt lgkmcnt(0)"
    kernel = assemble(lanes_kernel(body, 2, 1), lds=64).kernels["kernel"]
    run = Device().launch(kernel, 1, 64, [np.zeros((2, 64), np.uint32), np.zeros((1, 64), np.uint32)])
    assert [access.bytes for access in run.lds] == [64 * 8]


def test_the_metadata_names_arguments_and_resources():
    kernel = vadd()
    assert [(a.kind, a.size) for a in kernel.arguments if not a.is_hidden] == [("global_buffer", 8)] * 3 + [
        ("by_value", 4)
    ]
    assert kernel.resources.workgroup_size == 256 and kernel.resources.lds_bytes == 0 and kernel.resources.vgpr > 0


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(args=3), "takes 4 arguments"),
        (dict(block=512), "compiled for at most 256"),
        (dict(block=0), "1 or more"),
        (dict(grid=(1, 2, 3, 4)), "one to three"),
        (dict(grid=-1), "0 or more"),
        (dict(block=(64, 64)), "too large"),
        (dict(dynamic_lds=70000), "compute unit has 65536"),
        (dict(pointer=5), "is a pointer, got int"),
        (dict(number="x"), "takes 4 bytes by value, got str"),
        (dict(number=1 << 40), "does not fit 4 bytes"),
    ],
)
def test_a_launch_that_cannot_be_says_why(change, message):
    args = [*arrays(), 256]
    if "pointer" in change:
        args[0] = change["pointer"]
    if "number" in change:
        args[3] = change["number"]
    args = args[: change.get("args", 4)]
    with pytest.raises(LaunchError, match=message):
        Device().launch(
            vadd(), change.get("grid", 1), change.get("block", 256), args, dynamic_lds=change.get("dynamic_lds", 0)
        )


def test_a_grid_of_zero_workgroups_runs_nothing():
    assert Device().launch(vadd(), 0, 256, [*arrays(), 256]).counts == {}


def test_unknown_device_options_are_refused():
    with pytest.raises(ValueError, match="'exact' or 'fast'"):
        Device(mfma="precise")


# --- workgroups among each other --------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads, seed", [(1, None), (2, None), (2, 3), (1, 7)])
def test_spin_waits_between_workgroups_make_progress(threads, seed):
    kernel = compile_hip(CORPUS["spin"], name="spin").kernels["relay"]
    n = 12
    flags, out = np.zeros(n, np.int32), np.zeros((n, 64), np.int32)
    Device(threads=threads, checks="none").launch(kernel, n, 64, [flags, out, n], shuffle_seed=seed)
    assert (out == np.arange(n)[::-1, None] + np.arange(64)).all()


def test_shuffling_changes_the_order_and_not_the_work():
    ticket = """s_load_dwordx2 s[6:7], s[0:1], 0x8\n  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  v_mov_b32_e32 v1, 0\n  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)\n  s_mov_b64 exec, 1\n  global_atomic_add v3, v1, v2, s[4:5] sc0\n  v_mov_b32_e32 v4, s2\n  s_waitcnt vmcnt(0)
  v_lshlrev_b32_e32 v3, 2, v3\n  global_store_dword v3, v4, s[6:7]"""
    kernel = assemble(ticket).kernels["kernel"]

    def order(**options):
        out = np.zeros(50, np.uint32)
        Device(threads=1, checks="none").launch(kernel, 50, 64, [np.zeros(1, np.uint32), out], **options)
        return out.tolist()

    assert order() == list(range(50))
    assert order(shuffle_seed=1) == order(shuffle_seed=1) != order() and sorted(order(shuffle_seed=1)) == list(
        range(50)
    )


def test_a_hang_names_the_waiting_waves():
    kernel = compile_hip(CORPUS["spin"], name="spin").kernels["forever"]
    with pytest.raises(KernelFault) as caught:
        Device(threads=2, hang_after=200_000).launch(kernel, 3, 64, [np.zeros(1, np.int32)])
    assert "memory has not changed" in str(caught.value) and "wave 0" in str(caught.value)


def test_a_barrier_that_not_all_waves_can_reach_is_a_hang():
    body = "v_readfirstlane_b32 s12, v0\n  s_cmp_lt_u32 s12, 64\n  s_cbranch_scc1 wait\nspin:\n  s_branch spin\nwait:\n  s_barrier"
    kernel = assemble(lanes_kernel(body, 1, 1)).kernels["kernel"]
    with pytest.raises(KernelFault, match=r"(?s)hang.*waits at s_barrier") as caught:
        Device(hang_after=100_000).launch(
            kernel, 1, 128, [np.zeros((1, 128), np.uint32), np.zeros((1, 128), np.uint32)]
        )
    assert "wave 1" in str(caught.value) and "still runs" in str(caught.value)


# --- MODE: rounding and denormals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode, direction", [(0, None), (1, np.inf), (2, -np.inf), (3, 0)])
def test_s_setreg_sets_the_direction_of_rounding(mode, direction):
    a, b = np.full(64, 1, np.float32), np.where(np.arange(64) % 2, 2.0**-30, -(2.0**-30)).astype(np.float32)
    body = f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), {mode}\n  v_add_f32_e32 v60, v10, v11\n  s_getreg_b32 s12, hwreg(HW_REG_MODE, 0, 2)\n  v_mov_b32_e32 v61, s12"
    out, _ = run_lanes(body, np.stack([a, b]).view(np.uint32), 2)
    exact = 1 + b.astype(np.float64)
    near = exact.astype(np.float32)
    up = np.where(near < exact, np.nextafter(near, np.float32(2)), near)
    down = np.where(near > exact, np.nextafter(near, np.float32(0)), near)
    want = {0: near, 1: up, 2: down, 3: down}[mode]
    assert np.array_equal(out[0].view(np.float32), want) and (out[1] == mode).all()


def test_s_setreg_flushes_denormals():
    tiny = np.full((1, 64), 1, np.uint32)
    add, as_hip_starts = "v_add_f32_e32 v60, v10, v10", dict(directives=".amdhsa_float_denorm_mode_32 3")
    assert (run_lanes(add, tiny, **as_hip_starts)[0] == 2).all()
    assert (run_lanes("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n  " + add, tiny, **as_hip_starts)[0] == 0).all()
    assert (run_lanes("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\n  " + add, tiny)[0] == 2).all()


# --- the trace --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stride, cycles", [(4, 2), (8, 4), (16, 8), (128, 64), (0, 2)])
def test_bank_conflicts_of_ds_read_b32(stride, cycles):
    """32 lanes a clock; lanes stride bytes apart share a bank every 128 bytes; the same dword is a broadcast."""
    kernel = assemble(
        lanes_kernel(f"v_mul_u32_u24_e32 v3, {stride}, v0\n  ds_read_b32 v60, v3\n  s_waitcnt lgkmcnt(0)", 1, 1),
        lds=16384,
    ).kernels["kernel"]
    run = Device(checks="none").launch(kernel, 1, 64, [np.zeros((1, 64), np.uint32)] * 2, trace=True)
    assert [(x.cycles, x.ideal_cycles) for x in run.lds] == [(cycles, 2)] and run.lds[0].conflicts == cycles - 2


@pytest.mark.parametrize("stride, sectors, lines", [(4, 8, 2), (8, 16, 4), (128, 64, 64), (0, 1, 1)])
def test_sectors_of_a_global_load(stride, sectors, lines):
    kernel = assemble(
        lanes_kernel(
            f"v_mul_u32_u24_e32 v3, {stride}, v0\n  global_load_dword v60, v3, s[4:5]\n  s_waitcnt vmcnt(0)", 64, 1
        )
    ).kernels["kernel"]
    run = Device(checks="none").launch(
        kernel, 1, 64, [np.zeros((64, 64), np.uint32), np.zeros((1, 64), np.uint32)], trace=True
    )
    (load,) = [x for x in run.memory if x.instruction == "global_load_dword v60, v3, s[4:5]"]
    assert (load.sectors, load.lines, load.bytes) == (sectors, lines, 256)


def test_counts_are_exact_and_the_same_with_any_number_of_threads():
    results = []
    for threads in (1, 2):
        run = Device(threads=threads).launch(vadd(), 7, 256, [*arrays(), 256])
        results.append(dict(run.counts))
        assert run.counts.total == sum(run.counts.by_class.values()) == sum(run.counts.by_address.values())
    assert results[0] == results[1] and results[0]["s_endpgm"] == 28


def test_stream_mode_gives_each_waves_instructions_with_their_costs():
    """The same instructions as a launch runs, for the chosen workgroups only, and no arithmetic in the matrix core."""
    kernel = compile_hip(CORPUS["gemm"], name="gemm").kernels["gemm"]
    args = [
        np.full((128, 128), 0x40, np.uint8),
        np.full((128, 128), 0x40, np.uint8),
        np.zeros((128, 128), np.float32),
        128,
        128,
        128,
    ]
    streams = Device().stream(kernel, (2, 2), 256, args, workgroups=[3, 1])
    assert set(streams) == {(w, wave) for w in (1, 3) for wave in range(4)} and not args[2].any()
    run = Device(threads=1).launch(kernel, (2, 2), 256, args)
    counted = np.zeros(len(kernel.instructions), int)
    for steps in streams.values():
        counted += np.bincount(steps["instruction"], minlength=len(counted))
    assert {kernel.instructions[i].address: 2 * n for i, n in enumerate(counted) if n} == run.counts.by_address
    everything = np.concatenate(list(streams.values()))
    assert 2 * everything["lds_cycles"].sum() == sum(x.cycles for x in run.lds)
    assert 2 * everything["sectors"].sum() == sum(x.sectors for x in run.memory)
    with pytest.raises(LaunchError, match="workgroups 0 to 3, not 4"):
        Device().stream(kernel, (2, 2), 256, args, workgroups=[4])


def test_some_workgroups_of_a_launch_run_alone_and_in_any_order():
    for seed in (None, 1):
        a, b, out = arrays()
        run = Device().launch(vadd(), 7, 256, [a, b, out, 256], shuffle_seed=seed, workgroups=[0])
        assert run.counts["s_endpgm"] == 4 and np.array_equal(out[:256], (a + b)[:256])
    with pytest.raises(LaunchError, match="workgroups 0 to 6, not 7"):
        Device().launch(vadd(), 7, 256, [*arrays(), 256], workgroups=[7])


# --- files ------------------------------------------------------------------------------------------------------------


def good_bytes():
    vadd()
    return (BUILT / "vadd.co").read_bytes()


def test_what_is_no_code_object_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        CodeObject.load(tmp_path / "none.co")
    with pytest.raises(CodeObjectError, match="a 64-bit little-endian ELF"):
        CodeObject(b"hello")
    with pytest.raises(CodeObjectError, match="made for machine 62"):
        CodeObject(good_bytes()[:18] + b"\x3e\0" + good_bytes()[20:])
    with pytest.raises(CodeObjectError, match="needs gfx942"):
        CodeObject(good_bytes()[:48] + b"\x4f" + good_bytes()[49:])
    with pytest.raises(CodeObjectError, match="needs one for gfx942"):
        CodeObject(b"__CLANG_OFFLOAD_BUNDLE__" + (0).to_bytes(8, "little"))


def test_an_offload_bundle_is_unpacked():
    inner, target = good_bytes(), b"hipv4-amdgcn-amd-amdhsa--gfx942"
    header = b"__CLANG_OFFLOAD_BUNDLE__" + (1).to_bytes(8, "little")
    entry = (4096).to_bytes(8, "little") + len(inner).to_bytes(8, "little") + len(target).to_bytes(8, "little") + target
    assert "vadd" in CodeObject((header + entry).ljust(4096, b"\0") + inner).kernels


# --- the core ---------------------------------------------------------------------------------------------------------


def test_without_a_compiler_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setattr(build, "compilers", lambda: iter(()))
    with pytest.raises(build.CoreBuildError, match=r"needs a C compiler.*pip install ziglang"):
        build.load.__wrapped__()


def test_importing_the_package_needs_numpy_only():
    script = "import sys, fp8lab.gfx942; print({'torch', 'zstandard', 'ziglang', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_checks_change_no_result():
    kernel = compile_hip(CORPUS["gemm"], name="gemm").kernels["gemm"]
    a, b = (np.random.default_rng(3).integers(0x20, 0x50, (128, 128)).astype(np.uint8) for _ in range(2))
    results = [np.zeros((128, 128), np.float32) for _ in range(2)]
    for checks, c in zip(("none", "all"), results, strict=True):
        Device(checks=checks).launch(kernel, (2, 2), 256, [a, b, c, 128, 128, 128])
    assert np.array_equal(*results) and results[0].all()
