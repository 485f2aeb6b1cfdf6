"""A tile that compiles is right; one that would not be is refused, in words that say what it needs."""

import functools

import pytest
from emulated import FLAGS, Problem, assert_close, launch, tile

from fp8lab import toolchain

LAYOUTS = {"k": "KContiguous", "m": "RowContiguous<true>", "n": "RowContiguous<true>"}
RIGHT = ["128x64_4x1_mn", "64x128_1x2_kk", "128x128_4x2_kk", "64x256_1x4_kk"]  # none of them in gemm_configs.h
REFUSED = {
    "32x128_1x2_kk": "m is a multiple of 64",
    "96x64_3x1_mn": "m is a multiple of 64",
    "192x64_2x1_kk": "a wave has 32, 64 or 128 rows of C",
    "64x128_1x1_kk": "n is 64 waves_n",
    "512x64_16x1_kk": "a workgroup has at most 8",
    "512x128_4x2_kk": r"m \+ n is at most 512",
    "192x64_6x1_kk": "m / 2 and n are multiples of 8 rows a wave",
    "64x64_1x1_kk": "the number of waves is even",
    "64x256_1x4_mn": "m / 2 and n are 16 or 32 rows a wave",
}


def source(*rows):
    """Kernels gemm_<tile>_<waves>_<layouts>."""
    text = '#include "gemm_configs.h"\n'
    for row in rows:
        (m, n), (waves_m, waves_n), (a, b) = (part.split("x") if "x" in part else part for part in row.split("_"))
        text += f"namespace gemm {{ typedef Tile<{m}, {n}, {waves_m}, {waves_n}> Tile{row}; }}\n"
        text += f"GEMM_KERNEL(gemm_{row}, Tile{row}, {LAYOUTS[a]}, {LAYOUTS[b]})\n"
    return text


@functools.cache
def kernels():
    return toolchain.compile(source(*RIGHT), flags=FLAGS).code_object.kernels


@pytest.mark.parametrize("row", RIGHT)
def test_a_tile_that_compiles_is_right(row):
    kernel = kernels()[f"gemm_{row}"]
    m, n = tile(kernel.name)
    for size in ((m, n, 256), (m + 36, n + 68, 384)):
        problem = Problem.random(*size)
        out, run = launch(kernel, problem)
        assert run.findings == []
        assert_close(out, problem)


@pytest.mark.parametrize(("row", "needs"), REFUSED.items())
def test_a_tile_that_would_be_wrong_is_refused_with_what_it_needs(row, needs):
    with pytest.raises(toolchain.CompileError, match=f"static assertion.*{needs}"):
        toolchain.compile(source(row), flags=FLAGS)
