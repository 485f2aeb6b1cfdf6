"""`make bench-emulator`: how fast the emulator runs a GEMM of a contest shape, and what its checks and threads cost.

    python -m benchmarks.emulator                        table, and build/bench/emulator.json
    python -m benchmarks.emulator --prototype FOLDER     and beside the proof of concept in FOLDER: gfx942emu.py and
                                                         k/gemm.hip, whose kernel gemm128 both then run

The result is compared with the float64 reference before anything is timed. On a machine that does other work too, the
row about threads says less than it should: 2 threads need 2 idle CPUs.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.report import ROOT, bar, medians, report, row
from fp8lab import formats, reference, toolchain
from fp8lab.gfx942 import Device
from fp8lab.gfx942.core import build

M, N, K = 1024, 1536, 7168  # a layer of DeepSeek-V3, as in the contest amd/fp8-mm of gpu-mode
TILE = 128
GRID, LANES = (N // TILE, M // TILE, 1), 256
ROUNDS = 3
OURS = '#include "gemm_configs.h"\nGEMM_KERNEL(gemm_128x128_kk, Tile128x128, KContiguous, KContiguous)\n'
FLAGS = ("-O3", "-std=c++17", "-fno-slp-vectorize", f"-I{ROOT / 'gemm'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prototype", type=Path, help="folder of the proof of concept")
    prototype = parser.parse_args().prototype
    rows = [*start_rows(), *launch_rows()]
    if prototype:
        rows += prototype_rows(prototype)
    else:
        print("No row beside the proof of concept: --prototype FOLDER\n")
    return 0 if report("emulator", rows) else 1


def start_rows():
    """What one waits for before the first launch."""
    yield bar("first compile of the core, s", compile_seconds(), 15)
    yield bar("import fp8lab.gfx942, s", import_seconds(), 0.3)


def compile_seconds():
    _, command = next(build.compilers())
    with tempfile.TemporaryDirectory(prefix="fp8lab-") as folder:
        started = time.perf_counter()
        if failed := build.compile_library(command, build.sources(), Path(folder) / "core.so"):
            raise build.CoreBuildError(failed)
        return time.perf_counter() - started


def import_seconds(runs=5):
    """The median of some, each in a Python of its own, numpy included."""
    code = "import time; t = time.perf_counter(); import fp8lab.gfx942; print(time.perf_counter() - t)"
    done = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
            for _ in range(runs)]  # fmt: skip
    return statistics.median(float(each.stdout) for each in done)


def launch_rows():
    """Threads and checks, on the kernel that gemm/ has for this tile."""
    kernel = toolchain.compile(OURS, flags=FLAGS).code_object.kernels["gemm_128x128_kk"]
    operands = problem()
    args = [*operands[:4], np.zeros((M, N), np.uint16), M, N, K, K, 1, K, 1, N, 1, None, None, 0]

    def launch(**options):
        device = Device(**options)
        return lambda: device.launch(kernel, GRID[0] * GRID[1], LANES, args)

    see_that_it_is_right(launch(checks="none"), args[4], operands)
    cpus = os.cpu_count()
    contestants = {"none": launch(checks="none"), "all": launch(checks="all"), "one": launch(checks="none", threads=1)}
    if cpus > 2:
        contestants["two"] = launch(checks="none", threads=2)
    ms = medians(contestants, ROUNDS)
    name = f"gemm_128x128_kk {M}×{N}×{K}"
    if cpus > 1:
        yield row(f"{name}, 2 threads, ms", ms.get("two", ms["none"]), ms["one"], "1 thread", 1.8)
    yield row(f'{name}, checks="all", ms', ms["all"], 3 * ms["none"], '3 × checks="none"', 1)


def prototype_rows(folder):
    """The proof of concept on its own kernel, both with all threads, exact MFMA, with and without checks."""
    with tempfile.TemporaryDirectory(prefix="fp8lab-") as copied:  # it writes beside itself
        shutil.copytree(folder, copied, dirs_exist_ok=True)
        compiled = toolchain.compile(Path(copied) / "k" / "gemm.hip")
        sys.path.insert(0, copied)
        import gfx942emu

        kernel, theirs = compiled.code_object.kernels["gemm128"], gfx942emu.Module(str(compiled.path))
        *operands, expected = problem()
        args = [*operands, np.zeros((M, N), np.uint16), M, N, K]
        cpus = os.cpu_count()
        checked, unchecked = Device(checks="all"), Device(checks="none")

        def prototype(check):
            return lambda: theirs.launch("gemm128", GRID, (LANES, 1, 1), args, race=check, wait=check, threads=cpus)

        contestants = {
            "ours": lambda: unchecked.launch(kernel, GRID, LANES, args),
            "theirs": prototype(False),
            "ours checked": lambda: checked.launch(kernel, GRID, LANES, args),
            "theirs checked": prototype(True),
        }
        for contestant in contestants.values():
            see_that_it_is_right(contestant, args[4], [*operands, expected])
        ms = medians(contestants, ROUNDS)
    name = f"gemm128 {M}×{N}×{K}, {cpus} threads"
    yield row(f"{name}, ms", ms["ours"], ms["theirs"], "proof of concept", 1.5)
    yield row(f"{name}, checked, ms", ms["ours checked"], ms["theirs checked"], "proof of concept, its 2 checks", 1.5)


def problem():
    """Codes (M, K) and (N, K), both scales, and the float64 product; normal numbers, as in a model."""
    rng = np.random.default_rng(0)
    a, b = (formats.encode(rng.standard_normal((rows, K), np.float32), formats.E4M3FNUZ) for rows in (M, N))
    scales = [rng.uniform(0.5, 1.5, (K // 128, columns)).astype(np.float32) for columns in (M, N // 128)]
    return a, b, *scales, reference.gemm(a, b.T, *scales)


def see_that_it_is_right(launch, out, operands):
    out[:] = 0x7FC1
    launch()
    compared = reference.compare((out.astype(np.uint32) << 16).view(np.float32), operands[4])
    if not compared.within_tolerance:
        raise ArithmeticError(f"the result is wrong, so its time is of no use: {compared}")


if __name__ == "__main__":
    sys.exit(main())
