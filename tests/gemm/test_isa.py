"""What the compiler makes of the kernel: registers, and an inner loop that keeps the matrix pipe busy."""

import pytest
from emulated import Problem, compiled, kernels, launch, names, tile

from benchmarks.isa import MOST_LDS, most_passes
from fp8lab.listing import find_mca, main_loop
from fp8lab.report import traffic

# Tiles by waves that share nothing, wave_tile.h; but any strides are read by the other kind.
SMALL = [name for name in names() if tile(name) == (64, 64) and not name.endswith("any")]
LARGE = [name for name in names() if tile(name) >= (128, 128)]


@pytest.mark.parametrize("name", names())
def test_nothing_spills_and_two_waves_fit_a_simd(name):
    need = compiled().resources[name]
    assert need.vgpr_spills == need.sgpr_spills == need.scratch_bytes == need.agpr == 0
    assert need.waves_per_simd >= 2


@pytest.mark.parametrize("name", names())
def test_the_loop_has_no_instruction_that_would_stop_it(name):
    loop = main_loop(kernels()[name])
    small, large = (loop.count(f"v_mfma_f32_{shape}_fp8_fp8") for shape in ("16x16x32", "32x32x16"))
    assert 4 * small + 8 * large == loop.mfma_passes >= 128
    assert loop.count("v_pk_fma") == 0  # does not issue beside an MFMA
    assert loop.count("s_load", "s_buffer_load") == 0  # out of order with LDS: its wait would be for everything
    assert loop.count("v_accvgpr", "scratch_") == 0
    assert loop.count("s_barrier") == (0 if name in SMALL else 2)
    assert min(loop.vmcnt) > 0


@pytest.mark.skipif(find_mca() is None, reason="llvm-mca is not on PATH; Debian's package llvm-22 has it")
@pytest.mark.parametrize("name", [name for name in names() if not name.endswith("any")])
def test_the_loop_takes_little_longer_than_its_mfmas(name):
    loop = main_loop(kernels()[name])
    assert loop.passes() / loop.mfma_passes <= most_passes(name)


@pytest.mark.parametrize("name", LARGE)
def test_lds_is_busy_for_less_time_than_the_matrix_pipe(name):
    _, run = launch(name, Problem.random(*tile(name), 256))
    seen = traffic(main_loop(kernels()[name]), run, workgroups=1)
    assert 0 < seen.lds_per_mfma <= MOST_LDS[tile(name)]
    assert seen.conflicts == 0


@pytest.mark.parametrize("name", SMALL)
def test_the_loop_of_a_small_tile_leaves_lds_alone_or_has_it_to_itself(name):
    """Transposing both operands, wave_tile_mn.h, takes LDS as long as the matrix pipe; the others need none."""
    if name != "gemm_64x64_mn":
        assert main_loop(kernels()[name]).count("ds_") == 0
        return
    _, run = launch(name, Problem.random(64, 64, 1024))
    assert traffic(main_loop(kernels()[name]), run, workgroups=1).lds_per_mfma <= 1
