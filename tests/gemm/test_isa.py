"""What the compiler makes of the kernel: registers, and an inner loop that keeps the matrix pipe busy."""

import pytest
from emulated import Problem, compiled, kernels, launch, names, tile

from fp8lab.listing import find_mca, main_loop
from fp8lab.report import traffic

LARGE = [name for name in names() if tile(name) >= (128, 128)]

# Passes of the loop for each pass of its MFMAs, by llvm-mca-22. What bounds 64x64_mn: gemm_configs.h.
MOST_PASSES = {"256x256_kk": 1.08, "kk": 1.13, "256x128_mn": 1.18, "mn": 1.22, "64x64_mn": 1.44, "mk": 1.20, "kn": 1.20,
               "odd": 1.40}  # fmt: skip
# LDS clocks for each clock of MFMA, from every address of a launch; the rough proof's figures.
MOST_LDS = {(128, 128): 0.75, (256, 128): 0.69, (128, 256): 0.69, (256, 256): 0.50}


def limit(name):
    tail = name.removeprefix("gemm_")
    return MOST_PASSES.get(tail) or MOST_PASSES["odd" if "odd" in tail else tail.rsplit("_", 1)[1]]


@pytest.mark.parametrize("name", names())
def test_nothing_spills_and_two_waves_fit_a_simd(name):
    need = compiled().resources[name]
    assert need.vgpr_spills == need.sgpr_spills == need.scratch_bytes == need.agpr == 0
    assert need.waves_per_simd >= 2


@pytest.mark.parametrize("name", names())
def test_the_loop_has_no_instruction_that_would_stop_it(name):
    loop = main_loop(kernels()[name])
    assert loop.count("v_mfma_f32_16x16x32_fp8_fp8") == loop.mfma_passes / 4 >= 32
    assert loop.count("v_pk_fma") == 0  # does not issue beside an MFMA
    assert loop.count("s_load", "s_buffer_load") == 0  # out of order with LDS: its wait would be for everything
    assert loop.count("v_accvgpr", "scratch_") == 0
    assert loop.count("s_barrier") == (2 if loop.count("ds_") else 0)
    if not name.endswith("any"):
        assert min(loop.vmcnt) > 0


@pytest.mark.skipif(find_mca() is None, reason="llvm-mca is not on PATH; Debian's package llvm-22 has it")
@pytest.mark.parametrize("name", [name for name in names() if not name.endswith("any")])
def test_the_loop_takes_little_longer_than_its_mfmas(name):
    loop = main_loop(kernels()[name])
    assert loop.passes() / loop.mfma_passes <= limit(name)


@pytest.mark.parametrize("name", LARGE)
def test_lds_is_busy_for_less_time_than_the_matrix_pipe(name):
    _, run = launch(name, Problem.random(*tile(name), 256))
    seen = traffic(main_loop(kernels()[name]), run, workgroups=1)
    assert 0 < seen.lds_per_mfma <= MOST_LDS[tile(name)]
    assert seen.conflicts == 0


@pytest.mark.parametrize("name", [name for name in names() if tile(name) == (64, 64) and not name.endswith("any")])
def test_the_loop_of_a_small_tile_leaves_lds_alone(name):
    assert main_loop(kernels()[name]).count("ds_") == 0
