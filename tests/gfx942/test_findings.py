"""Findings: each kind is provoked by a kernel that has that mistake, and by none of the mistake's repaired twins."""

# ruff: noqa: E501  (an instruction sequence or a kernel's line is kept whole)

import numpy as np
import pytest
from gfx942_kernels import assemble, compile_hip, lanes_kernel, needs_clang, run_lanes
from gfx942_sources import CORPUS

from fp8lab.gfx942 import CodeObject, Device, KernelFault
from fp8lab.gfx942.findings import KINDS, parse_checks

pytestmark = needs_clang
ONE = np.arange(64, dtype=np.uint32)[None]


def kinds(body, inputs=ONE, outputs=1, checks="all", waves=1, **options):
    """The kinds of finding that body gives when run by `waves` waves of one workgroup."""
    kernel = assemble(lanes_kernel(body, len(inputs), outputs), **options).kernels["kernel"]
    target = np.zeros((outputs, 64), np.uint32)
    run = Device(checks=checks).launch(
        kernel, 1, 64 * waves, [np.ascontiguousarray(inputs), np.zeros((8, 512), np.uint32) if waves > 1 else target]
    )
    return [f.kind for f in run.findings], run


def only(body, kind, **options):
    found, run = kinds(body, **options)
    assert found == [kind], run.findings
    return run.findings[0]


def test_a_clean_kernel_has_no_findings():
    assert kinds("v_add_u32_e32 v60, 1, v10")[0] == []


def test_load_past_the_end_of_a_buffer():
    found = only(
        "v_mov_b32_e32 v2, 0x100\n  global_load_dword v60, v2, s[4:5]\n  s_waitcnt vmcnt(0)", "global-out-of-bounds"
    )
    assert "0 bytes past the end of source (256 bytes)" in found.message and "read of 4 bytes" in found.message
    assert found.count == 64 and found.lane == 0 and found.instruction == "global_load_dword v60, v2, s[4:5]"


def test_store_before_the_start_of_a_buffer():
    found = only("v_mov_b32_e32 v2, v1\n  global_store_dword v2, v10, s[6:7] offset:-4", "global-out-of-bounds")
    assert "4 bytes before target" in found.message and found.lane == 0 and found.count == 1


@pytest.mark.parametrize("lanes", ["s[12:13]", "vcc"], ids=["all-lanes", "one-lane"])
@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize("access", ["global_load_dword v60, v[20:21], off", "global_store_dword v[20:21], v10, off"])
def test_an_address_just_below_2_to_the_64(access, checks, lanes):
    """Null[-1]: address + size wraps to 0. The other lanes have a good address, and the access before it was good."""
    body = f"""v_mov_b32_e32 v20, s6\n  v_mov_b32_e32 v21, s7\n  s_mov_b64 s[12:13], exec\n  v_cmp_eq_u32_e32 vcc, 5, v0
  s_mov_b64 exec, {lanes}\n  v_mov_b32_e32 v20, -4\n  v_mov_b32_e32 v21, -1\n  s_mov_b64 exec, s[12:13]
  {access}\n  s_waitcnt vmcnt(0)"""
    if checks == "none":
        with pytest.raises(KernelFault, match=r"global-out-of-bounds.*0xfffffffffffffffc"):
            kinds(body, checks=checks)
    else:
        assert only(body, "global-out-of-bounds").address == 2**64 - 4


def test_store_to_read_only_memory():
    source, target = np.zeros((1, 64), np.uint32), np.zeros((1, 64), np.uint32)
    source.flags.writeable = False
    kernel = assemble(lanes_kernel("global_store_dword v1, v10, s[4:5]", 1, 1)).kernels["kernel"]
    assert [f.kind for f in Device().launch(kernel, 1, 64, [source, target]).findings] == ["global-out-of-bounds"]


def test_out_of_bounds_with_checks_off_is_a_fault_and_not_a_crash():
    with pytest.raises(KernelFault, match=r"global-out-of-bounds.*past the end of source"):
        kinds("v_mov_b32_e32 v2, 0x100\n  global_load_dword v60, v2, s[4:5]\n  s_waitcnt vmcnt(0)", checks="none")


def test_out_of_bounds_is_a_fault_too_where_only_other_checks_are_on():
    with pytest.raises(KernelFault, match="global-out-of-bounds"):
        kinds("v_mov_b32_e32 v2, 0x100\n  global_load_dword v60, v2, s[4:5]\n  s_waitcnt vmcnt(0)", checks="lds")


def test_a_buffer_descriptor_hides_what_is_out_of_range():
    """num_records is what the hardware checks: the load gives 0, the store is dropped, and neither is a mistake."""
    body = """s_mov_b64 s[12:13], s[4:5]\n  s_mov_b32 s14, 0x80\n  s_mov_b32 s15, 0x20000
  buffer_load_dword v60, v1, s[12:15], 0 offen\n  s_waitcnt vmcnt(0)"""
    found, _ = kinds(body)
    out, _ = run_lanes(body, ONE)
    assert found == [] and out[0].tolist() == list(range(32)) + [0] * 32


def test_lds_out_of_bounds():
    found = only("v_mov_b32_e32 v2, 0x100\n  ds_read_b32 v60, v2\n  s_waitcnt lgkmcnt(0)", "lds-out-of-bounds", lds=256)
    assert found.address == 256


def test_scratch_out_of_bounds():
    only(
        "v_mov_b32_e32 v2, 60\n  scratch_store_dwordx2 v2, v[10:11], off",
        "scratch-out-of-bounds",
        scratch=64,
        inputs=np.zeros((2, 64), np.uint32),
    )


@pytest.mark.parametrize(
    "body",
    [
        "v_mov_b32_e32 v2, 2\n  ds_write_b32 v2, v10\n  s_waitcnt lgkmcnt(0)",
        "v_mov_b32_e32 v2, 2\n  global_atomic_add v2, v10, s[6:7]",
        "s_load_dword s12, s[4:5], 0x2\n  s_waitcnt lgkmcnt(0)",
    ],
)
def test_misaligned(body):
    only(body, "misaligned", lds=1024)


def test_value_used_before_its_vmcnt():
    body = "global_load_dword v20, v1, s[4:5]\n  {}v_mov_b32_e32 v60, v20"
    found = only(body.format(""), "missing-wait")
    assert "v20" in found.message and "vmcnt" in found.message
    assert kinds(body.format("s_waitcnt vmcnt(0)\n  "))[0] == []


def test_vmcnt_that_waits_for_too_few():
    body = "global_load_dword v20, v1, s[4:5]\n  global_load_dword v21, v1, s[4:5]\n  s_waitcnt vmcnt({})\n  v_mov_b32_e32 v60, v{}"
    assert kinds(body.format(1, 20))[0] == []  # in order: the first is there
    assert kinds(body.format(1, 21))[0] == ["missing-wait"]
    assert kinds(body.format(0, 21))[0] == []


@pytest.mark.parametrize(("later", "found"), [(62, ["missing-wait"]), (63, [])])
def test_the_64th_load_under_way_waits_for_the_first(later, found):
    loads = "global_load_dword v20, v1, s[4:5]\n  " + "global_load_dword v21, v1, s[4:5]\n  " * later
    assert kinds(loads + "v_mov_b32_e32 v60, v20")[0] == found


def test_value_used_before_its_lgkmcnt():
    body = "ds_write_b32 v1, v10\n  ds_read_b32 v60, v1\n  {}v_add_u32_e32 v60, 1, v60"
    found = only(body.format(""), "missing-wait", lds=256)
    assert "lgkmcnt" in found.message
    assert kinds(body.format("s_waitcnt lgkmcnt(0)\n  "), lds=256)[0] == []


def test_scalar_loads_return_in_any_order():
    body = "s_load_dword s12, s[4:5], 0x0\n  s_load_dword s13, s[4:5], 0x4\n  s_waitcnt lgkmcnt({})\n  v_mov_b32_e32 v60, s12"
    assert kinds(body.format(1))[0] == ["missing-wait"]
    assert kinds(body.format(0))[0] == []


def test_overwriting_a_register_that_a_load_will_write():
    assert kinds("global_load_dword v60, v1, s[4:5]\n  v_mov_b32_e32 v60, 0")[0] == ["missing-wait"]


def test_load_to_lds_used_before_vmcnt():
    body = """s_mov_b32 m0, 0\n  s_nop 0\n  global_load_lds_dword v1, s[4:5]\n  {}ds_read_b32 v60, v1\n  s_waitcnt lgkmcnt(0)"""
    assert set(kinds(body.format(""), lds=256)[0]) == {"missing-wait"}
    assert kinds(body.format("s_waitcnt vmcnt(0)\n  "), lds=256)[0] == []


def test_read_of_a_register_that_was_never_written():
    found = only("v_add_u32_e32 v60, v100, v10", "uninitialised-register")
    assert "v100" in found.message
    assert kinds("s_add_u32 s12, s50, 1")[0] == ["uninitialised-register"]


def test_copying_a_register_that_was_never_written_is_no_mistake_but_using_the_copy_is():
    assert kinds("v_mov_b32_e32 v101, v100")[0] == []
    assert kinds("v_mov_b32_e32 v101, v100\n  v_add_u32_e32 v60, v101, v10")[0] == ["uninitialised-register"]


def test_lanes_that_were_switched_off_have_not_written():
    body = "s_mov_b64 exec, 0xff\n  v_mov_b32_e32 v20, 1\n  s_mov_b64 exec, -1\n  v_add_u32_e32 v60, v20, v10"
    assert only(body, "uninitialised-register").lane == 8


def test_read_of_lds_that_was_never_written():
    body = "v_mov_b32_e32 v60, 1\n  {}ds_read_b32 v60, v1\n  s_waitcnt lgkmcnt(0)"
    assert only(body.format(""), "uninitialised-lds", lds=256).address == 0
    assert kinds(body.format("ds_write_b32 v1, v10\n  "), lds=256)[0] == []


WAVES = "v_and_b32_e32 v3, 63, v0\n  v_lshlrev_b32_e32 v3, 2, v3\n  v_lshrrev_b32_e32 v4, 6, v0\n  "


@pytest.mark.parametrize("value, kind", [("v4", "lds-race"), ("v3", "lds-same-value")])
def test_two_waves_that_write_the_same_lds(value, kind):
    body = f"{WAVES}ds_write_b32 v3, {value}\n  s_waitcnt lgkmcnt(0)"
    found, run = kinds(body, inputs=np.zeros((1, 128), np.uint32), lds=512, waves=2)
    assert found == [kind] and run.findings[0].wave == 1, run.findings


def test_race_between_a_write_and_a_read_that_a_barrier_orders():
    body = (
        WAVES
        + "v_lshlrev_b32_e32 v5, 2, v0\n  ds_write_b32 v5, v10\n  s_waitcnt lgkmcnt(0)\n  {}v_sub_u32_e32 v6, 0x1fc, v5\n  "
        "ds_read_b32 v60, v6\n  s_waitcnt lgkmcnt(0)"
    )
    options = dict(inputs=np.zeros((1, 128), np.uint32), lds=512, waves=2)
    assert "lds-race" in kinds(body.format(""), **options)[0]
    assert kinds(body.format("s_barrier\n  "), **options)[0] == []


def test_atomics_on_the_same_lds_do_not_race():
    body = f"{WAVES}v_mov_b32_e32 v7, 0\n  ds_add_u32 v7, v4\n  s_waitcnt lgkmcnt(0)"
    assert kinds(body, inputs=np.zeros((1, 128), np.uint32), lds=512, waves=2)[0] in ([], ["uninitialised-lds"])


def test_barrier_passed_without_waiting_for_the_write():
    body = (
        WAVES + "v_lshlrev_b32_e32 v5, 2, v0\n  ds_write_b32 v5, v10\n  {}s_barrier\n  v_sub_u32_e32 v6, 0x1fc, v5\n  "
        "ds_read_b32 v60, v6\n  s_waitcnt lgkmcnt(0)"
    )
    options = dict(inputs=np.zeros((1, 128), np.uint32), lds=512, waves=2)
    assert kinds(body.format(""), **options)[0] == ["lds-write-not-waited"]
    assert kinds(body.format("s_waitcnt lgkmcnt(0)\n  "), **options)[0] == []


@pytest.mark.parametrize(
    "needed, body",
    [
        (
            7,
            "v_mfma_f32_16x16x32_fp8_fp8 v[20:23], v[10:11], v[12:13], v[14:17]\n  {}v_mov_b32_e32 v60, v20",
        ),  # 4 passes + 3
        (11, "v_mfma_f32_32x32x16_fp8_fp8 v[20:35], v[10:11], v[12:13], 0\n  {}v_mov_b32_e32 v60, v20"),  # 8 passes + 3
        (
            7,
            "v_mfma_f32_16x16x32_fp8_fp8 v[20:23], v[10:11], v[12:13], v[14:17]\n  {}v_mfma_f32_16x16x32_fp8_fp8 v[24:27], v[20:21], v[12:13], v[14:17]",
        ),
        (
            5,
            "v_mfma_f32_16x16x32_fp8_fp8 v[20:23], v[10:11], v[12:13], v[14:17]\n  {}v_mfma_f32_16x16x32_fp8_fp8 v[24:27], v[10:11], v[12:13], v[22:25]",
        ),
        (2, "v_mov_b32_e32 v12, 0\n  {}v_mfma_f32_16x16x32_fp8_fp8 v[20:23], v[10:11], v[12:13], v[14:17]"),
        (1, "v_rcp_f32_e32 v20, v10\n  {}v_mov_b32_e32 v60, v20"),
    ],
)
def test_missing_wait_states(needed, body):
    """Source: CDNA3 ISA guide, "Required Software-Inserted Wait States"; LLVM's hazard recognizer inserts the same."""
    inputs = np.zeros((18, 64), np.uint32)
    setup = "v_mov_b32_e32 v24, 0\n  v_mov_b32_e32 v25, 0\n  s_nop 4\n  "
    found = lambda states: kinds(setup + body.format(f"s_nop {states - 1}\n  " if states else ""), inputs=inputs)[0]  # noqa: E731
    assert found(needed) == []
    assert found(needed - 1) == ["missing-wait-states"]


def test_accumulating_into_the_same_registers_needs_no_wait_states():
    body = "\n  ".join(["v_mfma_f32_16x16x32_fp8_fp8 v[20:23], v[10:11], v[12:13], v[20:23]"] * 3)
    assert (
        kinds(
            f"v_mov_b32_e32 v20, 0\n  v_mov_b32_e32 v21, 0\n  v_mov_b32_e32 v22, 0\n  v_mov_b32_e32 v23, 0\n  s_nop 1\n  {body}",
            inputs=np.zeros((4, 64), np.uint32),
        )[0]
        == []
    )


def test_waves_that_meet_at_different_barriers():
    body = """v_readfirstlane_b32 s12, v0\n  s_cmp_lt_u32 s12, 64\n  s_cbranch_scc1 first\n  s_barrier\n  s_branch done
first:\n  s_barrier\ndone:"""
    assert kinds(body, inputs=np.zeros((1, 128), np.uint32), waves=2)[0] == ["barrier-divergence"]


def test_a_wave_that_ends_while_others_wait():
    body = "v_readfirstlane_b32 s12, v0\n  s_cmp_lt_u32 s12, 64\n  s_cbranch_scc1 stay\n  s_endpgm\nstay:\n  s_barrier"
    assert kinds(body, inputs=np.zeros((1, 128), np.uint32), waves=2)[0] == ["barrier-divergence"]


def test_a_trap_stops_the_launch():
    with pytest.raises(KernelFault, match="s_trap 2"):
        kinds("s_trap 2")


def test_a_jump_into_nowhere_stops_the_launch():
    with pytest.raises(KernelFault, match="bad-jump"):
        kinds("s_mov_b64 s[12:13], 0\n  s_setpc_b64 s[12:13]")


def test_a_check_that_is_off_finds_nothing():
    race = f"{WAVES}ds_write_b32 v3, v4\n  v_add_u32_e32 v60, v100, v10\n  s_waitcnt lgkmcnt(0)"
    options = dict(inputs=np.zeros((1, 128), np.uint32), lds=512, waves=2)
    assert kinds(race, checks="lds", **options)[0] == ["lds-race"]
    assert kinds(race, checks=["uninitialised"], **options)[0] == ["uninitialised-register"]
    assert kinds(race, checks="none", **options)[0] == []
    with pytest.raises(ValueError, match=r"'race'.*needs 'all', 'none' or some of lds"):
        parse_checks(["race"])


def test_findings_name_kernel_workgroup_wave_lane_and_instruction():
    only_lane_5 = "v_cmp_eq_u32_e32 vcc, 5, v0\n  s_and_saveexec_b64 s[12:13], vcc\n  global_load_dword v60, v1, s[4:5] offset:1024\n  s_mov_b64 exec, s[12:13]"
    found = only(only_lane_5, "global-out-of-bounds")
    assert (found.kernel, found.workgroup, found.wave, found.lane, found.count) == ("kernel", (0, 0, 0), 0, 5, 1)
    text = str(found)
    for part in (
        "global-out-of-bounds",
        "kernel kernel",
        "workgroup (0, 0, 0)",
        "wave 0",
        "lane 5",
        "global_load_dword v60, v1, s[4:5] offset:1024",
    ):
        assert part in text
    assert found.kind in KINDS


# --- mutants: a mistake put into a good kernel must be caught, and by the finding that names it -------------------------

GEMM = CORPUS["gemm"]
M = N = 64
K = 128


def run_gemm(code_object, m=M, n=N, k=K):
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0x20, 0x50, (rows, k)).astype(np.uint8) for rows in (m, n))
    c = np.zeros((m, n), np.float32)
    run = Device().launch(code_object.kernels["gemm"], (-(-n // 64), -(-m // 64)), 256, [a, b, c, m, n, k])
    return {f.kind for f in run.findings}, c, a, b


def right(c, a, b):
    import ml_dtypes

    want = a.view(ml_dtypes.float8_e4m3fnuz).astype(np.float64) @ b.view(ml_dtypes.float8_e4m3fnuz).astype(np.float64).T
    return np.allclose(c, want, rtol=1e-5, atol=1e-4)


def mutant(old, new, count=1):
    assert GEMM.count(old) >= 1
    return compile_hip(GEMM.replace(old, new, count))


def test_the_unmutated_gemm_is_clean_and_right():
    found, *result = run_gemm(compile_hip(GEMM))
    assert found == set() and right(*result)


@pytest.mark.parametrize("which", [0, 1])
def test_mutant_dropped_barrier_is_a_race(which):
    pieces = GEMM.split("        barrier();\n")
    source = (
        pieces[0]
        + ("" if which == 0 else "        barrier();\n")
        + pieces[1]
        + ("" if which == 1 else "        barrier();\n")
        + pieces[2]
    )
    assert "lds-race" in run_gemm(compile_hip(source))[0]


def test_mutant_row_out_of_bounds_is_found():
    found, *_ = run_gemm(mutant("if (row < m && column < n)", "if (row <= m && column < n)"), m=63)
    assert found == {"global-out-of-bounds"}


@pytest.mark.parametrize(
    "old, new",
    [
        ("8 * (v / 4) + 4 * (lane / 32) + v % 4, column", "16 * (lane / 32) + v, column"),  # D's rows
        ("kk + lane / 32 * 8);\n            i64 y", "kk + (1 - lane / 32) * 8);\n            i64 y"),
    ],
)  # A's k half
def test_mutant_wrong_layout_is_a_wrong_result(old, new):
    _, *result = run_gemm(mutant(old, new))
    assert not right(*result)


def test_every_dropped_s_waitcnt_that_matters_is_found():
    """Each s_waitcnt of the compiled kernel, neutralised in turn."""
    good = compile_hip(GEMM, name="mutated-gemm")
    kernel = good.kernels["gemm"]
    waits = [i for i in kernel.instructions if i.name == "s_waitcnt"]
    from gfx942_kernels import BUILT

    path = BUILT / "mutated-gemm.co"
    data = path.read_bytes()
    code = kernel.code_object.image[kernel.start : kernel.end].tobytes()
    at = data.index(code)
    caught = []
    for wait in waits:
        changed = bytearray(data)
        offset = at + wait.address - kernel.start
        changed[offset : offset + 4] = (0xBF8CCF7F).to_bytes(4, "little")  # waits for nothing
        found, *_ = run_gemm(CodeObject(changed))
        caught.append(bool(found & {"missing-wait", "lds-write-not-waited"}))
    assert caught and all(caught), [str(w) for w, c in zip(waits, caught, strict=True) if not c]
