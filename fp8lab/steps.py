"""The step kernels of lesson 05: seven short files from a naive GEMM to the ideas of gemm/, run and counted.

    outcome = run("3_mfma", Problem.random())    # compiled, run on the emulator with all checks, compared
    outcome.report, outcome.findings, outcome.instructions, outcome.matrix_share

Counts are exact; there are no times. So that problems of any size compare, they are given for 128 × 128 × 128
multiply-adds: one block of K of a 128 × 128 tile, MATRIX_CLOCKS of one compute unit's four matrix cores. Sources of the
steps: notebooks/kernels/.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fp8lab import formats, reference, toolchain
from fp8lab.gfx942 import Device
from fp8lab.gfx942.instruction import wait_counts

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "notebooks" / "kernels"
NAMES = ("1_naive", "2_lds_tile", "3_mfma", "4_vector_loads", "5_swizzle", "6_scales", "7_double_buffer")
REAL = "gemm_128x128_kk"    # the configuration of gemm/ with the tile of the last steps
# Packed arithmetic, which the compiler would form, does not run beside matrix instructions: llvm-project #157968.
FLAGS = ("-O3", "-std=c++17", "-fno-slp-vectorize")
LANES = 256
SECTOR = 32
SIMDS, ISSUE_CLOCKS, MFMA_CLOCKS = 4, 4, 16    # of a compute unit; of a wave's instruction; of a 16×16×32 FP8 MFMA
UNIT = 128**3                                  # multiply-adds
MATRIX_CLOCKS = UNIT // (16 * 16 * 32) * MFMA_CLOCKS // SIMDS


@dataclass(frozen=True)
class Problem:
    """One product, small enough for every step.

    a, b     (M, K) and (N, K) uint8 codes of e4m3fnuz, both K-contiguous
    a_scale  (K / 128, M) float32
    b_scale  (K / 128, ceil(N / 128)) float32
    """

    a: np.ndarray
    b: np.ndarray
    a_scale: np.ndarray
    b_scale: np.ndarray

    @classmethod
    def random(cls, m=128, n=256, k=512, seed=5):
        """Normal numbers and scales around 1; m and n multiples of 128, as the steps handle no edges."""
        rng = np.random.default_rng(seed)
        a, b = (formats.encode(rng.standard_normal((rows, k), np.float32), formats.E4M3FNUZ) for rows in (m, n))
        scales = (rng.uniform(0.5, 2, (k // 128, columns)).astype(np.float32) for columns in (m, n // 128))
        return cls(a, b, *scales)

    @property
    def sizes(self):
        """M, N, K."""
        return len(self.a), len(self.b), self.a.shape[1]

    @cached_property
    def expected(self):
        """(M, N) float64, from the reference."""
        return reference.gemm(self.a, self.b.T, self.a_scale, self.b_scale)


@dataclass(frozen=True)
class Outcome:
    """What a kernel did with a problem, on the emulator.

    name    of the step
    kernel  its Kernel: code and resources
    run     the Run: counts, findings, LDS and memory traffic, summed over the launch
    report  reference.Report of the result
    wave    what one wave executed, from Device.stream
    units   multiply-adds / UNIT
    blocks  blocks of K, summed over the waves
    """

    name: str
    kernel: object
    run: object
    report: reference.Report
    wave: np.ndarray
    units: float
    blocks: int

    def __str__(self):
        right = "right" if self.report.within_tolerance else "WRONG"
        found = f"{len(self.findings)} findings" if self.findings else "no finding"
        conflicts = f", {self.lds_conflicts:,.0f} of them bank conflicts" if self.lds_conflicts else ""
        issued = sum(self.instructions.values())
        return (f"{self.name}: {right}, {found}\n"
                f"    instructions {issued:,.0f}, LDS {self.lds_clocks:,.0f} clocks{conflicts}\n"
                f"    global memory {self.global_bytes:,.0f} bytes, matrix cores busy at most {self.matrix_share:.0%}")

    @property
    def findings(self):
        return self.run.findings

    @property
    def instructions(self):
        """Instructions of all waves by class: salu, valu, mfma, lds, vmem, smem, control."""
        return {name: count / self.units for name, count in self.run.counts.by_class.items()}

    @property
    def global_bytes(self):
        """Bytes moved to and from global memory, in sectors of 32: a lane that wants 1 byte moves 32 with it."""
        return SECTOR * sum(each.sectors for each in self.run.memory) / self.units

    @property
    def issue_clocks(self):
        """Clocks that a compute unit needs to issue the instructions: one in 4 clocks on each of its four SIMDs."""
        return sum(self.instructions.values()) * ISSUE_CLOCKS / SIMDS

    @property
    def lds_clocks(self):
        """Clocks for which the LDS is busy."""
        return sum(each.cycles for each in self.run.lds) / self.units

    @property
    def lds_conflicts(self):
        """Of lds_clocks, those that bank conflicts cost."""
        return sum(each.conflicts for each in self.run.lds) / self.units

    @property
    def matrix_share(self):
        """The matrix cores are busy for at most this share of the time, 0…1. Two limits are counted: issuing, with one
        wave a SIMD, and the LDS. Waiting comes on top."""
        clocks = self.instructions.get("mfma", 0) * MFMA_CLOCKS / SIMDS
        return clocks / max(clocks, self.issue_clocks, self.lds_clocks)

    @property
    def barriers(self):
        """s_barriers that a wave meets for each block of K."""
        return self.run.counts.get("s_barrier", 0) / self.blocks

    @property
    def hidden(self):
        """MFMAs that a wave runs while a load from global memory is on its way to it; the mean over its loads."""
        return hidden_mfmas([self.kernel.instructions[i] for i in self.wave["instruction"]])


def source(name):
    """Text of a step's file."""
    return (KERNELS / f"{name}.hip").read_text()


def without_barriers(name):
    """Text of a step's file without the lines that hold its barriers."""
    return "\n".join(line for line in source(name).splitlines() if "__syncthreads()" not in line) + "\n"


def with_barriers(text, after):
    """The text with a barrier after each of these lines, numbered from 1."""
    lines = text.splitlines()
    for number in sorted(after, reverse=True):
        lines.insert(number, "        __syncthreads();")
    return "\n".join(lines) + "\n"


def compile(name_or_text):
    """Return the toolchain.Compiled of a step, or of a text that includes "words.h". Raises CompileError."""
    given = KERNELS / f"{name_or_text}.hip" if name_or_text in NAMES else name_or_text
    return toolchain.compile(given, flags=(*FLAGS, f"-I{KERNELS}"))


def compile_real():
    """Return the Compiled of one configuration of gemm/, the kernel that is published."""
    text = f'#include "gemm_configs.h"\nGEMM_KERNEL({REAL}, Tile128x128, KContiguous, KContiguous)\n'
    return toolchain.compile(text, flags=(*FLAGS, f"-I{ROOT / 'gemm'}"))


def run(name, problem, text=None):
    """Run a step, or "gemm/" for the real kernel, on a problem; return the Outcome.

    name  one of NAMES, or "gemm/"; with text, what the outcome is called
    text  another source with the tile of the step whose name it is, such as an edited one
    """
    (m, n, k), out = problem.sizes, np.full((problem.sizes[0], problem.sizes[1]), 0x7FC1, np.uint16)
    operands = [problem.a, problem.b, problem.a_scale, problem.b_scale, out, m, n, k]
    if name == "gemm/":
        kernel, grid = compile_real().code_object.kernels[REAL], (m // 128 * (n // 128),)
        operands += [k, 1, k, 1, n, 1, None, None, 0]    # strides, one part along K, no workspace
    else:
        tile = 16 if name in NAMES[:2] else 128
        kernel, grid = compile(text or name).code_object.kernels["gemm"], (n // tile, m // tile)
    device = Device()
    ran = device.launch(kernel, grid, LANES, operands)
    wave = device.stream(kernel, grid, LANES, [*operands[:4], out.copy(), *operands[5:]])[0, 0]
    got = (out.astype(np.uint32) << 16).view(np.float32)
    blocks = int(np.prod(grid)) * LANES // 64 * (k // 128)
    return Outcome(name, kernel, ran, reference.compare(got, problem.expected), wave, m * n * k / UNIT, blocks)


def hidden_mfmas(instructions):
    """Return how many MFMAs stand, on average, between a load from global memory and the wait for it.

    instructions  as a wave executed them. Vector memory instructions are done in order, and s_waitcnt vmcnt(n) waits
                  until n are left on their way
    """
    mfmas, under_way, hidden = 0, [], []
    for instruction in instructions:
        name = instruction.name
        mfmas += name.startswith("v_mfma")
        if name.startswith(("global_", "buffer_")):
            under_way.append((mfmas, "load" in name))
        elif name == "s_waitcnt" and (left := wait_counts(instruction.src[0].value).get("vmcnt")) is not None:
            while len(under_way) > left:
                began, is_load = under_way.pop(0)
                hidden += [mfmas - began] if is_load else []
    return float(np.mean(hidden)) if hidden else 0.0
