"""The launcher as a library: it answers as the extension does, runs on the emulator, and takes other tables."""

import numpy as np
import pytest
import torch

from fp8lab import launcher, toolchain
from fp8lab.gfx942 import Device
from fp8lab.launcher import FITS_ALL, Choice, Problem

TILE = "typedef Tile<64, 128, 2, 2> Tile64x128;"
ROW = "X(gemm_64x128_kk, Tile64x128, KContiguous, KContiguous)"


@pytest.fixture(scope="module")
def real():
    return launcher.load()


def operands(m=70, n=130, k=256):
    torch.manual_seed(m)
    a, b = (torch.randn(rows, k).to(torch.float8_e4m3fnuz) for rows in (m, n))
    return a, b.T, torch.rand(k // 128, m), torch.rand(k // 128, -(-n // 128))


def test_a_problem_of_tensors_runs_to_the_bits_of_the_op(real):
    from kernels import get_local_kernel

    from fp8lab import localbuild

    gemm = get_local_kernel(localbuild.build("emulated").parent, backend="cpu")
    out = torch.zeros(70, 130, dtype=torch.bfloat16)
    assert real.run(Problem.of(*operands(), out)) == 0
    assert torch.equal(out, gemm.gemm(*operands()))


def test_a_workspace_of_the_size_asked_for_lets_k_be_split(real):
    out, alone = torch.zeros(2, 70, 130, dtype=torch.bfloat16)
    problem = Problem.of(*operands(k=4096), alone)
    assert real.choice(problem).parts == 1 and real.run(problem) == 0
    workspace = torch.empty(real.workspace_bytes(problem), dtype=torch.uint8)
    problem = Problem.of(*operands(k=4096), out, workspace)
    assert real.choice(problem).parts > 1 and real.run(problem) == 0
    torch.testing.assert_close(out, alone, rtol=1e-2, atol=1e-3)


def test_what_is_wrong_comes_back_as_a_status_with_a_sentence(real):
    problem = Problem.of(*operands(), torch.zeros(70, 130, dtype=torch.bfloat16))
    problem.k = 100
    assert real.sentence(real.run(problem)).startswith("k is not a multiple of 128")
    with pytest.raises(ValueError, match="M, N, K = 64, 64, 100: k is not a multiple of 128"):
        real.choice(Problem.sized(64, 64, 100))
    with pytest.raises(ValueError, match=r"has no memory, needs Problem\.of"):
        real.run(Problem.sized(64, 64, 128))


def test_a_kernel_that_leaves_its_operands_is_reported(real, monkeypatch):
    monkeypatch.setenv("FP8LAB_HIP_CHECKS", "all")
    problem = Problem.of(*operands(), torch.zeros(70, 130, dtype=torch.bfloat16))
    problem.a += 1 << 30
    with pytest.raises(RuntimeError, match="global-out-of-bounds"):
        real.run(problem)


def test_the_sizes_of_a_problem_decide_the_choice(real):
    assert real.choice(Problem.sized(6144, 7168, 2048)).name == "gemm_256x256_kk"
    choice = real.choice(Problem.sized(1024, 512, 7168, "M-contiguous", "N-contiguous"))
    assert choice.name.endswith("_mn") and choice.parts > 1
    assert real.choice(Problem.sized(1024, 512, 7168, "M-contiguous", "N-contiguous", 0)).parts == 1


# --- other tables ---


def test_a_practice_table_has_the_rows_asked_for_and_their_tiles_only():
    text = launcher.table(["gemm_256x128_kk"])
    assert launcher.rows_of(text) == ["gemm_256x128_kk", FITS_ALL]
    assert "Tile256x128;" in text and "Tile64x64;" in text and "Tile256x256" not in text
    assert set(launcher.rows_of(text)) < set(launcher.rows_of(launcher.table()))


def test_a_new_row_is_chosen_and_computes(real):
    text = launcher.with_rows(launcher.table(["gemm_64x64_kk"]), TILE, ROW)
    assert launcher.rows_of(text) == ["gemm_64x128_kk", "gemm_64x64_kk", FITS_ALL]
    mine, problem = launcher.load(text), Problem.sized(64, 129280, 7168)
    assert mine.choice(problem).tile == (64, 128)
    assert launcher.load(text, with_kernels=False).choice(problem) == mine.choice(problem)

    m, n, k = 64, 280 * 128, 128    # enough tiles for nine of ten compute units
    out = torch.zeros(m, n, dtype=torch.bfloat16)
    problem = Problem.of(*operands(m, n, k), out)
    assert mine.choice(problem).name == "gemm_64x128_kk" and mine.run(problem) == 0
    a, b, a_scale, b_scale = operands(m, n, k)
    wide = torch.arange(n) // 128
    torch.testing.assert_close(out.float(), a.float() @ b.float() * a_scale.T * b_scale[:, wide], rtol=1e-2, atol=1e-3)


def test_a_row_alone_runs_on_a_device():
    text = launcher.with_rows(launcher.table(["gemm_64x64_kk"]), TILE, ROW)
    assert launcher.compile_row(text, "gemm_64x128_kk").resources["gemm_64x128_kk"].workgroup_size == 256
    with pytest.raises(KeyError, match="no row 'gemm_64x128'; there are gemm_64x128_kk, gemm_64x64_kk"):
        launcher.compile_row(text, "gemm_64x128")


def test_a_table_that_leaves_problems_without_a_row_is_refused():
    text = launcher.table(["gemm_64x64_kk"]).replace(FITS_ALL, "gemm_other")
    with pytest.raises(ValueError, match="lacks gemm_64x64_any"):
        launcher.load(text)


def test_an_impossible_tile_gets_the_compilers_own_sentence():
    text = launcher.with_rows(launcher.table(["gemm_64x64_kk"]), TILE.replace("2, 2", "2, 1"), ROW)
    with pytest.raises(toolchain.CompileError, match="a wave's columns lie in one block of b_scale"):
        launcher.compile_row(text, "gemm_64x128_kk")


# --- where workgroups go ---

PLACES = """
#include "tile.h"
extern "C" __attribute__((global)) void places(int* out, int m, int n, int k, int parts) {
    gemm::Place p = gemm::place<gemm::Tile<128, 64, 4, 1>>(m, n, k, parts);
    int* mine = out + 3 * __builtin_amdgcn_workgroup_id_x();
    mine[0] = p.row / 128, mine[1] = p.column / 64, mine[2] = p.part;
}
"""


@pytest.mark.parametrize(("m", "n", "parts"), [(1, 1, 1), (128, 64, 4), (1024, 576, 4), (700, 1000, 3), (6144, 200, 1),
                                               (1100, 4608, 2)])
def test_workgroups_are_where_the_device_code_puts_them(m, n, parts):
    kernel = toolchain.compile(PLACES, flags=("-O2", "-std=c++17", f"-I{launcher.GEMM}")).code_object.kernels["places"]
    count = -(-m // 128) * -(-n // 64) * parts
    out = np.zeros((count, 3), np.int32)
    Device(checks="none").launch(kernel, (count,), (64,), [out, m, n, 1024, parts])
    where = launcher.workgroups(Choice("gemm_128x64_kk", count, parts), m, n)
    assert np.array_equal(out, np.stack([where.row, where.column, where.part], axis=1))
    assert len(np.unique(out, axis=0)) == count


def test_compute_units_get_all_workgroups_evenly():
    for count in (1, 8, 303, 304, 305, 1344):
        load = launcher.load_of_cus(Choice("gemm_128x64_kk", count, 1))
        assert load.shape == (8, 38) and load.sum() == count and load.max() - load.min() <= 1
