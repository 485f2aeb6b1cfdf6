"""benchmarks/isa.py: a configuration is measured, held to its bar and beside a peer. Nothing here looks at a clock."""

import ctypes
from dataclasses import replace

import pytest

from benchmarks import isa
from fp8lab import toolchain
from fp8lab.hardware import CONTEST_SHAPES
from fp8lab.listing import find_mca

ONE = "GEMM_KERNEL(gemm_128x128_kk, Tile128x128, KContiguous, KContiguous)"


@pytest.fixture(scope="module")
def ours():
    return isa.measure_ours(ONE)


def test_a_configuration_is_measured_on_a_tile_of_its_own_size_and_layouts(ours):
    ((name, figures),) = ours.items()
    assert name == "gemm_128x128_kk" and isa.tile(name) == (128, 128) and isa.layouts(name) == "kk"
    mfmas = 128 * 128 * 128 * isa.BLOCKS // (16 * 16 * 32)
    assert figures.traffic.mfma_clocks == mfmas * 4  # 4 passes of 4 clocks, on 4 SIMDs
    assert figures.traffic.loaded_bytes >= isa.BLOCKS * (128 + 128) * 128


def test_a_kernel_that_computes_something_else_has_no_figures(monkeypatch):
    a, b, a_scale, b_scale, expected = isa.problem(128, 128)
    monkeypatch.setattr(isa, "problem", lambda m, n: (a, b, a_scale, b_scale, expected + 100))
    with pytest.raises(ArithmeticError, match="gemm_128x128_kk is wrong"):
        isa.measure_ours(ONE)


def test_the_bar_is_that_of_the_tile_where_it_has_one_and_else_of_the_layouts():
    named = ["256x256_kk", "64x64_kk", "256x128_mn", "128x64_mn", "64x64_odd_kn", "64x64_any"]
    assert [isa.most_passes(f"gemm_{name}") for name in named] == [1.08, 1.13, 1.18, 1.22, 1.40, None]


@pytest.mark.skipif(find_mca() is None, reason="llvm-mca is not on PATH; Debian's package llvm-22 has it")
def test_a_loop_is_held_to_its_bar_and_to_the_peer(ours):
    ((name, figures),) = ours.items()
    slower = replace(figures, report=replace(figures.report, passes=2 * figures.report.passes))
    bar, peer, lds_bar, lds = isa.loop_rows({name: figures}, {name: slower})
    assert (bar.ours, bar.peer, bar.met) == (round(figures.passes, 3), 1.13, figures.passes <= 1.13)
    assert (peer.peer_name, peer.ratio, peer.met) == ("Triton", 2, True)
    assert (lds_bar.name, lds_bar.peer) == (f"LDS clocks per MFMA clock, {name}", 0.75)
    assert (lds.peer_name, lds.ratio, lds.met) == ("Triton", 1, True)


def test_the_worst_configuration_counts(ours):
    ((name, figures),) = ours.items()
    resources = replace(figures.report.resources, vgpr_spills=3, vgpr=300, scratch_bytes=16)
    worse = replace(figures, report=replace(figures.report, resources=resources),
                    traffic=replace(figures.traffic, conflicts=5))  # fmt: skip
    rows = {(r.name, r.peer_name): r for r in isa.worst_rows({name: figures, "other": worse}, {name: figures})}
    for what, value in (("LDS conflict clocks of every access", 5), ("VGPR and SGPR spilled", 3),
                        ("bytes of scratch a lane", 16)):  # fmt: skip
        against_bar = rows[f"{what}, most of any configuration", "bar: at most"]
        assert (against_bar.ours, against_bar.peer, against_bar.met) == (value, 0, False)
    waves = rows["waves a SIMD, fewest of any configuration", "bar: at least"]
    assert (waves.ours, waves.peer, waves.met) == (1, 2, False)
    assert rows["waves a SIMD, fewest of any configuration", "Triton"].ratio == 0.5


def test_launches_are_counted_and_cus_shared_out():
    class Library:
        """A launcher that launches twice, has 152 workgroups for all, and refuses N = 4096."""

        launches = ctypes.c_uint(0)

        def gemm_run(self, problem, stream):
            self.launches.value += 2
            return 0

        def gemm_describe(self, problem, text, size):
            text.value = b"gemm_256x128_mn, 152 workgroups, K in 5 parts"
            return problem._obj.n == 4096 and problem._obj.m != 1024

    launcher = isa.Launcher(Library(), Library.launches, " U hipMalloc\n U hipLaunchKernel\n U _Znwm\n U memcpy\n")
    assert launcher.allocators == ["hipMalloc", "_Znwm"]
    rows = {(r.name, r.peer_name): r for r in isa.launch_rows(launcher, {"any": None})}
    cus = rows["CUs with work, m=1024 n=576 k=7168, %", "bar: at least"]
    assert (cus.ours, cus.met) == (50, False)
    assert rows["CUs with work, m=1024 n=576 k=7168, %", "Triton, plain grid of 256×128"].peer == round(2000 / 304, 3)
    assert not rows["parts of K, most of the shapes above", "bar: at most"].met
    assert rows["launches a call, most of the contest's shapes", "bar: at most"].ours == 2
    assert rows[f"shapes refused, of {len(CONTEST_SHAPES) + len(isa.OTHER_SHAPES)}", "bar: at most"].ours == 4


@pytest.mark.skipif(toolchain.find_clang().name == "ziglang", reason="its bare clang finds no headers of a C library")
def test_the_launcher_is_asked_itself():
    launcher = isa.Launcher.build()
    name, workgroups, parts = launcher.choice(1024, 7168, 256)
    assert name.endswith("_mn") and workgroups > 0 and parts == 1
    assert launcher.launches(1024, 7168, 256) == 1
    assert launcher.choice(64, 64, 100) is None  # K is no multiple of 128


def test_triton_is_told_which_strides_are_one_and_what_is_not_aligned():
    assert isa.strides_known("gemm_128x128_mk") == {"ones": ["a_row", "b_k"], "unaligned": []}
    assert isa.strides_known("gemm_128x128_odd_mk") == {"ones": ["a_row", "b_k"], "unaligned": ["a", "a_k"]}
    assert isa.strides_known("gemm_64x64_any")["ones"] == []
