"""The kernel's configurations, compiled here and run on the emulator: shared by the tests of this folder."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
from contest_oracle import scaled

from fp8lab import hipcc, ninjafile
from fp8lab.gfx942 import CodeObject, Device
from fp8lab.launcher import FLAGS as HIP_FLAGS

SOURCES = Path(__file__).resolve().parents[2] / "gemm"
FLAGS = (*HIP_FLAGS, f"-I{SOURCES}")
SOURCE = '#include "gemm_configs.h"\nGEMM_CONFIGS(GEMM_KERNEL)\n'
F8, BF16 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.bfloat16
BAND = 1024  # rows compared at once, which bounds the memory it takes
CALL = 0x5EED_0000_0000_0100  # the upper 56 bits are the number of a call


@functools.cache
def compiled():
    """Every configuration: the code object that the built extension contains; 50 s where it is not cached."""
    return hipcc.device_code(SOURCES / "gemm_launcher.hip", "gfx942", HIP_FLAGS, cxx=ninjafile.compiler())


@functools.cache
def kernels():
    return CodeObject.load(compiled().path).kernels


def names():
    """The configurations' names, read from the table without compiling it."""
    return re.findall(r"X\((gemm_\w+),", (SOURCES / "gemm_configs.h").read_text())


@dataclass
class Problem:
    """One product: codes and scales, and its float64 value. a (M, K), b (N, K): rows of K, in logical order."""

    a: np.ndarray
    b: np.ndarray
    a_scale: np.ndarray
    b_scale: np.ndarray

    @classmethod
    def random(cls, m, n, k, seed=0):
        """Normally distributed codes and scales, as in the contest."""
        rng = np.random.default_rng([seed, m, n, k])
        codes = rng.standard_normal(1 << 16, np.float32).astype(F8)  # drawing from these is quick for large matrices
        a, b = (codes[rng.integers(0, 1 << 16, (rows, k), np.uint16)] for rows in (m, n))
        a_scale = rng.standard_normal((k // 128, m), np.float32)
        return cls(a, b, a_scale, rng.standard_normal((k // 128, -(-n // 128)), np.float32))

    def reference(self, rows=slice(None), columns=slice(None)):
        """The float64 value, or some rows and columns of it. Scales are finite, so each may stand at its operand."""
        b_scale = np.repeat(self.b_scale, 128, axis=1)[:, : len(self.b)]
        return scaled(self.a[rows], self.a_scale[:, rows]) @ scaled(self.b[columns], b_scale[:, columns]).T


def place(rows, contiguous, pitch=None, skew=0):
    """Return (array, row stride, k stride) of a copy of rows, K- or row-contiguous, from byte `skew` of it on."""
    matrix = rows.view(np.uint8) if contiguous == "k" else rows.view(np.uint8).T
    pitch = pitch or matrix.shape[1]
    room = np.zeros(skew + max(0, (matrix.shape[0] - 1) * pitch + matrix.shape[1]), np.uint8)
    np.lib.stride_tricks.as_strided(room[skew:], matrix.shape, (pitch, 1))[:] = matrix
    return room, *((pitch, 1) if contiguous == "k" else (1, pitch))


def layouts(name):
    """The contiguous axes a configuration reads, as "kk", "mk" …; any strides reads both kinds."""
    tail = name.rsplit("_", 1)[1]
    return "kn" if tail == "any" else tail


def tile(name):
    return tuple(int(x) for x in name.split("_")[1].split("x"))


def workgroup(name, m, n, parts, row, column, part):
    """Number of the workgroup that computes a part of the tile at (row, column) of the grid of tiles; see tile.h."""
    tile_m, tile_n = tile(name)
    rows, columns = -(-m // tile_m), -(-n // tile_n)
    band = row // 4 * 4  # tiles are counted down columns of bands of four rows
    at = part * rows * columns + band * columns + column * min(4, rows - band) + row - band
    each, more = divmod(rows * columns * parts, 8)  # workgroups of each XCD, and how many XCDs have one more
    first = [xcd * each + min(xcd, more) for xcd in range(8)]
    xcd = max(x for x in range(8) if first[x] <= at)
    return (at - first[xcd]) * 8 + xcd


def launch(name, problem, parts=1, device=None, a=None, b=None, out=None, shuffle_seed=None, workgroups=None,
           call=CALL):  # fmt: skip
    """Run one configuration; return (out as bfloat16 bits (M, N), Run).

    Operands and out that are not given are made as the name says; out is full of a NaN that no kernel makes.
    workgroups: run only these.
    """
    kernel = name if hasattr(name, "resources") else kernels()[name]
    name = kernel.name
    (m, k), n = problem.a.shape, len(problem.b)
    contiguous = layouts(name)
    a, a_row, a_k = a or place(problem.a, contiguous[0])
    b, b_row, b_k = b or place(problem.b, contiguous[1])
    out = np.full((m, n), 0x7FC1, np.uint16) if out is None else out
    tile_m, tile_n = tile(name)
    tiles = -(-m // tile_m) * -(-n // tile_n)
    partial, arrived = garbage(name, tiles, parts)
    run = (device or Device()).launch(
        kernel, (tiles * parts,), (kernel.resources.workgroup_size,),
        [a, b, problem.a_scale, problem.b_scale, out, m, n, k, a_row, a_k, b_row, b_k, out.strides[0] // 2, parts,
         partial, arrived, call], shuffle_seed=shuffle_seed, workgroups=workgroups)  # fmt: skip
    if parts > 1 and workgroups is None:
        assert not arrived.any(), "a repeated call would find the counters of this one"
    return out, run


def garbage(name, tiles, parts):
    """A workspace as memory comes: NaN, and counters that look like another call's."""
    if parts == 1:
        return None, None
    tile_m, tile_n = tile(name)
    partial = np.full(tiles * parts * tile_m * tile_n, np.nan, np.float32)
    return partial, np.full(tiles, 0x1234_5678_9ABC_DE02, np.uint64)


def ulps(bits, exact):
    """Distance of bfloat16 bits from the float64 value, in bfloat16 steps; 0 where both are NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        want = exact.astype(np.float32).astype(BF16)
    got = bits.view(BF16)
    steps = np.abs(_ordered(bits) - _ordered(want.view(np.uint16)))
    return np.where(np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32)), 0, steps)


def _ordered(bits):
    bits = bits.astype(np.int32)
    return np.where(bits & 0x8000, -(bits & 0x7FFF), bits)


def assert_close(bits, problem, rows=slice(None), columns=slice(None)):
    """At most 1 bf16 step from float64 on 99.9 % of the elements, and the contest's tolerance on all."""
    bits, off = bits[rows, columns], 0
    for first in range(0, len(bits), BAND):
        part = np.ascontiguousarray(bits[first : first + BAND])
        exact = problem.reference(np.arange(len(problem.a))[rows][first : first + BAND], columns)
        off += (ulps(part, exact) > 1).sum()
        finite = np.isfinite(exact)
        error = np.abs(part.view(BF16)[finite].astype(np.float64) - exact[finite])
        assert (error <= 1e-3 + 2e-2 * np.abs(exact[finite])).all()
    assert off <= 1e-3 * bits.size, f"{off} of {bits.size} are off"
