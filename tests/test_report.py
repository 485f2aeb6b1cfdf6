"""Figures of a kernel: its main loop found and counted, its traffic summed, and what the command says."""

import re

import numpy as np
import pytest

from fp8lab import toolchain
from fp8lab.cli import main
from fp8lab.gfx942 import Device
from fp8lab.listing import Loop, NoLoop, find_mca, main_loop
from fp8lab.report import report, traffic

# Two loops: one that only adds, and one with an MFMA and an LDS read whose 64 lanes need one bank.
SOURCE = """
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef long i64;
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64)))
void two_loops(const i64* a, float* out, int n, int stride) {
    __attribute__((shared)) static float lds[64 * 32];
    int lane = __builtin_amdgcn_workitem_id_x();
    for (int i = lane; i < 64 * 32; i += 64) lds[i] = i;
    f32x4 sum = 0;
    float scale = 0;
    _Pragma("unroll 1") for (int i = 0; i < n; i++) {
        i64 x = a[64 * i + lane];
        sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(x, x, sum, 0, 0, 0);
        scale += *(volatile __attribute__((address_space(3))) float*)&lds[lane * stride % (64 * 32)];
    }
    out[lane] = sum[0] + sum[1] * scale;
}
extern "C" __attribute__((global)) void no_loop(float* out) { out[__builtin_amdgcn_workitem_id_x()] = 1; }
"""
ROUNDS = 5


@pytest.fixture(scope="module")
def made():
    return toolchain.compile(SOURCE)


@pytest.fixture(scope="module")
def kernel(made):
    return made.code_object.kernels["two_loops"]


def launch(kernel, stride, trace=True):
    a, out = np.zeros((ROUNDS, 64), np.int64), np.zeros(64, np.float32)
    return Device(checks="none").launch(kernel, 1, 64, [a, out, ROUNDS, stride], trace=trace)


def test_the_main_loop_is_the_one_with_the_mfma_and_nothing_around_it(kernel):
    loop = main_loop(kernel)
    assert loop.count("v_mfma") == 1 and loop.count("ds_read") == 1 and loop.count("ds_write", "global_store") == 0
    assert loop.mfma_passes == 4 and loop.mix["mfma"] == 1 and sum(loop.mix.values()) == len(loop.instructions)
    counts = launch(kernel, 1).counts.by_address
    assert {counts[i.address] for i in loop.instructions} == {ROUNDS}


def test_a_block_of_the_loop_that_lies_behind_its_jump_back_belongs_to_it():
    rarely = "if (__builtin_expect(__builtin_amdgcn_readfirstlane((int)x) == 7, 0)) __builtin_amdgcn_s_sleep(1);"
    body = toolchain.compile(SOURCE.replace("scale +=", f"{rarely} scale +="))
    loop = main_loop(body.code_object.kernels["two_loops"])
    (sleep,) = [i.address for i in loop.instructions if i.name == "s_sleep"]
    assert sleep > min(i.address for i in loop.instructions if i.target == loop.instructions[0].address)


def test_waits_are_told_apart():
    def loop(*lines):
        source = "\\n".join(lines)
        text = SOURCE.replace("i64 x =", f'asm volatile("{source}" ::: "s40", "s41", "memory"); i64 x =')
        return main_loop(toolchain.compile(text).code_object.kernels["two_loops"])

    plain, behind_lds = loop("s_nop 0"), loop("s_waitcnt lgkmcnt(0)")
    assert behind_lds.scalar_waits == plain.scalar_waits == 0
    assert loop("s_load_dword s40, s[40:41], 0x0", "s_waitcnt lgkmcnt(0)").scalar_waits == 1
    assert loop("s_waitcnt lgkmcnt(0)", "s_load_dword s40, s[40:41], 0x0").scalar_waits == 1  # of the round before
    assert loop("s_waitcnt vmcnt(0)").vmcnt.count(0) == plain.vmcnt.count(0) + 1
    assert loop("s_waitcnt vmcnt(3)").vmcnt.count(3) == plain.vmcnt.count(3) + 1


@pytest.mark.parametrize(("stride", "clocks"), [(1, 2), (32, 64)])  # 64 lanes of 4 bytes: 2 clocks, or one bank for all
def test_traffic_is_that_of_the_loop_and_conflicts_those_of_the_kernel(kernel, stride, clocks):
    seen = traffic(main_loop(kernel), launch(kernel, stride), workgroups=76)
    assert seen.loop_mfma_clocks == seen.mfma_clocks == ROUNDS * 4  # 4 passes of 4 clocks, on one of 4 SIMDs
    assert seen.loop_lds_clocks == ROUNDS * clocks and seen.lds_per_mfma == clocks / 4
    assert seen.conflicts == ROUNDS * (clocks - 2)
    assert (seen.loaded_bytes, seen.stored_bytes) == (ROUNDS * 64 * 8, 64 * 4)
    assert seen.sector_bytes == seen.loaded_bytes + seen.stored_bytes and seen.bytes_per_mfma_clock == 128
    assert seen.busy_cus == 0.25


def test_no_loop_and_no_trace_are_errors(made, kernel):
    with pytest.raises(NoLoop, match="no_loop has no loop with a matrix instruction"):
        main_loop(made.code_object.kernels["no_loop"])
    with pytest.raises(ValueError, match="without trace=True"):
        traffic(main_loop(kernel), launch(kernel, 1, trace=False), workgroups=1)


def test_dynamic_lds_counts_for_the_waves_that_fit(kernel):
    static = report(kernel).resources
    more = report(kernel, dynamic_lds=8192).resources
    assert static.lds_bytes == 8192 and more.lds_bytes == 16384
    assert (static.waves_per_simd, more.waves_per_simd) == (2, 1)  # of 64 KiB, and one wave a workgroup


@pytest.mark.skipif(find_mca() is None, reason="llvm-mca is not on PATH; Debian's package llvm-22 has it")
def test_llvm_mca_reads_the_decoded_text_as_it_reads_the_compilers(made, kernel):
    lines = re.search(r"^two_loops:.*?\n(.*?)^\.Lfunc_end", made.assembly, re.S | re.M)[1].splitlines()
    lines = [code for line in lines if (code := line.split(";")[0].strip())]
    first = next(n for n, line in enumerate(lines) if "global_load" in line)
    last = next(n for n, line in enumerate(lines) if n > first and line.startswith("s_cbranch"))
    start = max(n for n, line in enumerate(lines[:first]) if line.startswith(".LBB"))

    class Text(str):
        target, name = None, property(lambda self: self.split()[0])

    theirs = Loop(tuple(Text(line) for line in lines[start + 1 : last]))
    assert main_loop(kernel).passes() == theirs.passes() >= 4


def test_the_command_reports_every_kernel_or_one(made, capsys):
    assert main(["gfx942", "report", str(made.path)]) == 0
    out = capsys.readouterr().out
    assert "two_loops\n" in out and "1 mfma" in out and "8192 bytes of LDS" in out
    assert "no_loop\n" in out and "main loop    none" in out


def test_the_command_adds_what_a_launch_asks_for(made, tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.zeros((ROUNDS, 64), np.int64))
    arguments = [f"{tmp_path}/a.npy", f"zeros:float32:64:{tmp_path}/out.npy", str(ROUNDS), "32"]
    assert main(["gfx942", "report", "--kernel", "two_loops", str(made.path), *arguments]) == 0
    out = capsys.readouterr().out
    assert "16.00 clocks for each clock of MFMA" in out and f"{62 * ROUNDS} clocks of bank conflicts" in out
    assert "0.3% of 304 CUs have work" in out
    assert not (tmp_path / "out.npy").exists()  # a report writes nothing


def test_the_command_explains_mistakes(made, tmp_path, capsys):
    (tmp_path / "text").write_text("hello")
    for arguments, message in (
        ([str(made.path), "--kernel", "three"], "has no kernel three; it has"),
        ([str(made.path), "--kernel", "no_loop"], "no loop of no_loop has a matrix instruction"),
        ([str(tmp_path / "text")], "needs a code object"),
        ([str(tmp_path / "nothing.co")], "No such file"),
        ([str(made.path), "1"], "--kernel two_loops or no_loop"),
        (["--kernel", "two_loops", str(made.path), "1"], "takes 4 arguments"),
        (["--kernel", "two_loops", str(made.path), "null", "zeros:float32:64:x.npy", "0", "1"], "ran no MFMA of"),
    ):
        assert main(["gfx942", "report", *arguments]) == 1
        assert message in capsys.readouterr().err
