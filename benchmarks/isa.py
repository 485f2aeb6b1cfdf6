"""`make bench-isa`: what a compiler and an emulator can show of the MI300X kernel, beside its peers. No times.

    python -m benchmarks.isa                    tables, and build/bench/isa.json
    FP8LAB_TRITON=DIR python -m benchmarks.isa  the same with Triton; pip install --no-deps --target DIR triton==3.9.0

Every configuration of gemm_configs.h and a Triton kernel for the same op, tile and layouts (triton_gemm.py) are
compiled here, run on the emulator on one tile, and compared with the reference. Of Triton's variants (waves, 1 or 2
stages, MFMAs of 16 or 32 rows) the one counts whose longer pipe is shortest: LDS clocks, or llvm-mca's passes.
RadeonFlow's figures are constants. docs/figures.md says what each figure means, and what it does not say.
"""

import ctypes
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import ROOT, bar, report, row
from benchmarks.report import table as print_table
from fp8lab import formats, hipcc, ninjafile, reference, toolchain
from fp8lab.gfx942 import CodeObject, Device
from fp8lab.hardware import CONTEST_SHAPES, MI300X
from fp8lab.launcher import FLAGS as HIP_FLAGS
from fp8lab.listing import find_mca
from fp8lab.report import Report, Traffic, traffic
from fp8lab.report import report as report_of

SOURCES = ROOT / "gemm"
STUB = ROOT / "tests" / "gemm" / "hip_stub"  # a HIP runtime that counts launches; it has no hipMalloc
BLOCKS = 8  # of K, in the launches here
TRITON = os.environ.get("FP8LAB_TRITON")
HOW_TO_TRITON = "pip install --no-deps --target DIR triton==3.9.0 (1 GB), then FP8LAB_TRITON=DIR make bench-isa"

# The bars: what two rough proofs of this design reached, by layouts ("odd": any pitch) and tile.
MOST_PASSES = {"256x256_kk": 1.08, "kk": 1.13, "256x128_mn": 1.18, "mn": 1.22, "mk": 1.20, "kn": 1.20, "odd": 1.40}
MOST_LDS = {(128, 128): 0.75, (256, 128): 0.69, (128, 256): 0.69, (256, 256): 0.50}
LEAST_CUS, MOST_PARTS, LEAST_WAVES = 90, 4, 2

# RadeonFlow/RadeonFlow_Kernels @685749e, its 256×128 GEMM after two transposing launches. Registers and loop: compiled
# by clang 22.1.8, llvm-mca-22; its own ROCm 6.3 may allocate otherwise. Workgroups: of its launches at m = 1024.
RADEONFLOW = {"passes": 2.71, "lds": 1.19, "spills": 65, "scratch": 272, "agpr": 161, "waves": 2, "launches": 4}
RADEONFLOW_WORKGROUPS = {(1536, 7168): 192, (3072, 1536): 192, (576, 7168): 160, (7168, 256): 224, (7168, 2048): 224,
                         (4608, 7168): 288, (7168, 2304): 224, (512, 7168): 128, (4096, 512): 128}  # fmt: skip
OTHER_SHAPES = ((1, 1, 128), (1, 7168, 2048), (17, 65, 256), (100, 1536, 7168), (1000, 576, 7168), (2048, 4096, 512),
                (4096, 4096, 4096), (8192, 8192, 8192))  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """One kernel: what its code object says, and what one tile of BLOCKS blocks asks for."""

    report: Report
    traffic: Traffic

    @property
    def passes(self):
        return self.report.passes_per_mfma_pass

    @property
    def lds(self):
        return self.traffic.lds_per_mfma


def main():
    if not find_mca():
        print("llvm-mca is not on PATH: no passes. On Debian: apt-get install llvm-22\n")
    ours = measure_ours()
    peers = measure_triton(ours) if TRITON else {}
    if not TRITON:
        print(f"No rows beside Triton: {HOW_TO_TRITON}\n")
    print_side_by_side(ours, peers)
    launcher = Launcher.build()
    rows = [*loop_rows(ours, peers), *worst_rows(ours, peers), *launch_rows(launcher, peers)]
    return 0 if report("isa", rows) else 1


# --- measuring ---


def tile(name):
    return tuple(int(n) for n in re.search(r"_(\d+)x(\d+)_", name).groups())


def layouts(name):
    """The contiguous axes of a and b: "kk", "mn" …; where any will do, K-contiguous a and N-contiguous b."""
    tail = name.rsplit("_", 1)[1]
    return "kn" if tail == "any" else tail


@functools.cache
def problem(m, n):
    """Codes of a (M, K) and b (K, N), both scales, and the float64 product."""
    rng, k = np.random.default_rng([m, n]), 128 * BLOCKS
    a, b = (formats.encode(rng.standard_normal(shape, np.float32), formats.E4M3FNUZ) for shape in ((m, k), (k, n)))
    scales = [rng.uniform(0.5, 2, (BLOCKS, columns)).astype(np.float32) for columns in (m, -(-n // 128))]
    return a, b, *scales, reference.gemm(a, b, *scales)


def measure(kernel, m, n, axes, block, arguments, dynamic_lds=0):
    """Run a kernel on the one tile of an m × n problem, see that it is right, and return its Figures.

    axes       contiguous ones of a and b
    arguments  function of (a, b, a_scale, b_scale, out, strides of a, strides of b) -> the kernel's
    """
    a, b, a_scale, b_scale, expected = problem(m, n)
    b, out, k = b.T, np.zeros((m, n), np.uint16), 128 * BLOCKS
    operands = [np.ascontiguousarray(x if axis == "k" else x.T) for x, axis in ((a, axes[0]), (b, axes[1]))]
    strides = [(k, 1) if axis == "k" else (1, rows) for axis, rows in ((axes[0], m), (axes[1], n))]
    args = arguments(*operands, a_scale, b_scale, out, *strides)
    run = Device(checks="none").launch(kernel, 1, block, args, dynamic_lds=dynamic_lds, trace=True)
    compared = reference.compare((out.astype(np.uint32) << 16).view(np.float32), expected)
    if not compared.within_tolerance:
        raise ArithmeticError(f"{kernel.name} is wrong, so its figures are of no use: {compared}")
    made = report_of(kernel, dynamic_lds)
    return Figures(made, traffic(made.loop, run, workgroups=1))


def measure_ours(configurations=None):
    """{name: Figures} of every configuration that the launcher has, or of some in the words of gemm_configs.h."""
    if configurations is None:
        compiled = hipcc.device_code(SOURCES / "gemm_launcher.hip", "gfx942", HIP_FLAGS, cxx=ninjafile.compiler())
    else:
        compiled = toolchain.compile(
            f'#include "gemm_configs.h"\n{configurations}\n', flags=(*HIP_FLAGS, f"-I{SOURCES}")
        )
    figures = {}
    for name, kernel in compiled.code_object.kernels.items():
        (m, n), k = tile(name), 128 * BLOCKS

        def arguments(a, b, a_scale, b_scale, out, a_strides, b_strides, m=m, n=n, k=k):
            one_part = [1, None, None, 0]
            return [a, b, a_scale, b_scale, out, m, n, k, *a_strides, *b_strides, n, *one_part]

        figures[name] = measure(kernel, m, n, layouts(name), kernel.resources.workgroup_size, arguments)
    return figures


def measure_triton(ours):
    """{name of ours: Figures} of the best Triton variant for each configuration."""
    variants = [
        {"name": f"{name}_waves{waves}_stages{stages}_mfma{mfma}", "tile": tile(name), "waves": waves,
         "stages": stages, "mfma": mfma, **strides_known(name)}
        for name, figures in ours.items() for waves in _waves(name, figures) for stages in (1, 2) for mfma in (16, 32)
    ]  # fmt: skip
    best = {}
    with tempfile.TemporaryDirectory(prefix="fp8lab-") as folder:
        folder = Path(folder)
        (folder / "variants.json").write_text(json.dumps(variants))
        cache = {"TRITON_CACHE_DIR": str(ROOT / "build-ext" / "triton"), "TRITON_DEFAULT_FP_FUSION": "1"}
        script = [sys.executable, Path(__file__).with_name("triton_gemm.py"), folder / "variants.json", folder]
        subprocess.run(script, check=True, env=os.environ | cache | {"PYTHONPATH": TRITON})
        for variant in variants:
            name = variant["name"].split("_waves")[0]
            made = _measure_variant(folder, variant["name"], name)
            if name not in best or max(made.lds, made.passes or 0) < max(best[name].lds, best[name].passes or 0):
                best[name] = made
    return best


def _waves(name, figures):
    """As many as ours has, and one for each 2048 elements of C, at most 8."""
    m, n = tile(name)
    return sorted({figures.report.resources.workgroup_size // 64, min(8, m * n // 2048)})


def strides_known(name):
    """Which strides Triton is told to be 1, and of which arguments nothing is known."""
    if name.endswith("_any"):
        return {"ones": [], "unaligned": ["a", "a_row", "a_k", "b", "b_row", "b_k"]}
    ones, unaligned = [], []
    for operand, axis in zip("ab", layouts(name), strict=True):
        ones.append(f"{operand}_k" if axis == "k" else f"{operand}_row")
        if "odd" in name and axis != "k":
            unaligned += [operand, f"{operand}_k"]
    return {"ones": ones, "unaligned": unaligned}


def _measure_variant(folder, variant, name):
    about = json.loads((folder / f"{variant}.json").read_text())
    (kernel,) = CodeObject.load(folder / f"{variant}.hsaco").kernels.values()
    (m, n), k = tile(name), 128 * BLOCKS

    def arguments(a, b, a_scale, b_scale, out, a_strides, b_strides):
        strides = dict(zip(("a_row", "a_k", "b_row", "b_k"), (*a_strides, *b_strides), strict=True))
        given = [a, b, a_scale, b_scale, out, m, n, k, *(x for key, x in strides.items() if key not in about["ones"])]
        return given + [None] * (sum(not x.is_hidden for x in kernel.arguments) - len(given))  # Triton's own, unused

    return measure(kernel, m, n, layouts(name), 64 * about["waves"], arguments, about["lds"])


class Launcher:
    """gemm_launcher.hip's host half, linked to a HIP runtime that counts the launches."""

    class Problem(ctypes.Structure):
        """gemm_problem of gemm_launcher.h."""

        _fields_ = [(name, ctypes.c_int64) for name in ("m", "n", "k")] + [
            (name, ctypes.c_void_p if name in ("a", "b", "a_scale", "b_scale", "out", "workspace") else ctypes.c_int64)
            for name in ("a", "a_row_stride", "a_k_stride", "b", "b_k_stride", "b_column_stride", "a_scale", "b_scale",
                         "out", "out_row_stride", "workspace", "workspace_bytes")
        ]  # fmt: skip

    @classmethod
    def build(cls):
        """Compile it; None, and a sentence, where the clang at hand has no C library."""
        flags = ["-x", "hip", "--offload-host-only", "--offload-arch=gfx942", "-fuse-cuid=none", "-nogpuinc",
                 "-nogpulib", "-std=c++17", "-O1", "-fPIC", f"-I{STUB}"]  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="fp8lab-") as folder:
            made = toolchain.find_clang().run(*flags, "-c", str(SOURCES / "gemm_launcher.hip"), "-o", f"{folder}/l.o")
            if made.returncode:
                print(f"No rows about launches: {made.stderr.strip().splitlines()[0]}\n")
                return None
            called = subprocess.check_output(["nm", "-u", f"{folder}/l.o"], text=True)
            recorder = ["c++", "-shared", "-fPIC", f"-I{STUB}", STUB / "recorder.cpp", f"{folder}/l.o"]
            subprocess.run([*recorder, "-Wl,-z,defs", "-o", f"{folder}/launcher.so"], check=True)
            library = ctypes.CDLL(f"{folder}/launcher.so")
            return cls(library, ctypes.c_uint.in_dll(library, "launches"), called)

    def __init__(self, library, counter, called):
        self._library, self._counter = library, counter
        self.allocators = re.findall(r"\b(?:\w*[mM]alloc\w*|\w*[aA]lloc|_Zn[wa]\w*|mmap\w*)\b", called)

    def problem(self, m, n, k):
        """As the contest gives it: a M-contiguous, b N-contiguous; addresses that nothing reads."""
        page = 1 << 20
        return self.Problem(m, n, k, page, 1, m, page, n, 1, page, page, page, n, page, 1 << 40)

    def choice(self, m, n, k):
        """(configuration, workgroups, parts of K), or None where the launcher refuses the shape."""
        text = ctypes.create_string_buffer(200)
        if self._library.gemm_describe(ctypes.byref(self.problem(m, n, k)), text, 200):
            return None
        name, workgroups, parts = text.value.decode().split(", ")
        return name, int(workgroups.split()[0]), int(parts.split()[2])

    def launches(self, m, n, k):
        """How many launches one call makes."""
        before = self._counter.value
        if status := self._library.gemm_run(ctypes.byref(self.problem(m, n, k)), None):
            raise RuntimeError(f"gemm_run returned status {status} for {m}×{n}×{k}")
        return self._counter.value - before


# --- telling ---


def print_side_by_side(ours, peers):
    header = ("configuration", "", "VGPR", "AGPR", "SGPR", "spills", "LDS", "waves", "loop", "mfma", "valu", "lds",
              "vmem", "passes", "LDS/MFMA", "conflicts", "bytes/clk")  # fmt: skip
    lines = []
    for name in ours:
        for who, figures in (("ours", ours[name]), ("Triton", peers.get(name))):
            if figures:
                lines.append((name if who == "ours" else "", who, *_cells(figures)))
    print_table([header, *lines])
    print()


def _cells(figures):
    r, loop, seen = figures.report.resources, figures.report.loop, figures.traffic
    texts = [r.vgpr, r.agpr, r.sgpr, figures.report.spills, r.lds_bytes, r.waves_per_simd,
             len(loop.instructions), *(loop.mix.get(kind, 0) for kind in ("mfma", "valu", "lds", "vmem")),
             "" if figures.passes is None else f"{figures.passes:.2f}", f"{figures.lds:.2f}", seen.conflicts,
             f"{seen.bytes_per_mfma_clock:.0f}"]  # fmt: skip
    return [str(text) for text in texts]


def loop_rows(ours, peers):
    """Passes and LDS clocks of each configuration: against its bar, against Triton, and RadeonFlow at its own tile."""
    for name, figures in ours.items():
        if figures.passes is None:
            break
        what = f"mca passes per MFMA pass, {name}"
        if limit := most_passes(name):
            yield bar(what, figures.passes, limit)
        if name in peers:
            yield row(what, figures.passes, peers[name].passes, "Triton", 1)
        if name == "gemm_256x128_kk":
            yield row(what, figures.passes, RADEONFLOW["passes"], "RadeonFlow", 1)
    for name, figures in ours.items():
        what = f"LDS clocks per MFMA clock, {name}"
        if limit := MOST_LDS.get(tile(name)):
            yield bar(what, figures.lds, limit)
        if name in peers:
            yield row(what, figures.lds, peers[name].lds, "Triton", 1)
        if name == "gemm_256x128_kk":
            yield row(what, figures.lds, RADEONFLOW["lds"], "RadeonFlow", 1)


def most_passes(name):
    """The bar for a configuration; None for the one that reads any strides, byte by byte."""
    key = name.removeprefix("gemm_")
    return MOST_PASSES.get(key) or MOST_PASSES.get("odd" if "odd" in key else key.rsplit("_", 1)[1])


def worst_rows(ours, peers):
    """What no configuration may have: the worst of them all against the bar and the peers."""

    def worst(figure, of, pick=max):
        return pick(figure(each.report, each.traffic) for each in of.values())

    for what, limit, radeonflow, figure in (
        ("LDS conflict clocks of every access", 0, None, lambda r, t: t.conflicts),
        ("VGPR and SGPR spilled", 0, RADEONFLOW["spills"], lambda r, t: r.spills),
        ("bytes of scratch a lane", 0, RADEONFLOW["scratch"], lambda r, t: r.resources.scratch_bytes),
        ("AGPR copies in the loop", 0, RADEONFLOW["agpr"], lambda r, t: r.loop.count("v_accvgpr")),
        ("v_pk_fma in the loop", 0, None, lambda r, t: r.loop.count("v_pk_fma")),
        ("waits for vmcnt(0) in the loop", 0, None, lambda r, t: r.loop.vmcnt.count(0)),
        ("lgkmcnt(0) for scalar loads in the loop", 0, None, lambda r, t: r.loop.scalar_waits),
    ):
        what = f"{what}, most of any configuration"
        yield bar(what, worst(figure, ours), limit)
        if peers:
            yield row(what, worst(figure, ours), worst(figure, peers), "Triton")
        if radeonflow:
            yield row(what, worst(figure, ours), radeonflow, "RadeonFlow", 1)
    what, fewest = "waves a SIMD, fewest of any configuration", lambda r, t: r.resources.waves_per_simd
    yield bar(what, worst(fewest, ours, min), LEAST_WAVES, at_least=True)
    if peers:
        yield row(what, worst(fewest, ours, min), worst(fewest, peers, min), "Triton", more_is_better=True)
    yield row(what, worst(fewest, ours, min), RADEONFLOW["waves"], "RadeonFlow", 1, more_is_better=True)


def launch_rows(launcher, peers):
    """What reaches the device: CUs with work, parts of K, launches, shapes."""
    if launcher is None:
        return

    def share(workgroups):
        return 100 * min(1, workgroups / MI300X.compute_units)

    most_parts = 0
    for m, n, k in CONTEST_SHAPES:
        if m != 1024:
            continue
        name, workgroups, parts = launcher.choice(m, n, k)
        most_parts = max(most_parts, parts)
        what = f"CUs with work, m=1024 n={n} k={k}, %"
        yield bar(what, share(workgroups), LEAST_CUS, at_least=True)
        if peers:
            (tile_m, tile_n), other = tile(name), f"Triton, plain grid of {tile(name)[0]}×{tile(name)[1]}"
            plain = -(-m // tile_m) * -(-n // tile_n)
            yield row(what, share(workgroups), share(plain), other, 1, more_is_better=True)
        theirs = share(RADEONFLOW_WORKGROUPS[n, k])
        yield row(what, share(workgroups), theirs, "RadeonFlow", 1, more_is_better=True)
    yield bar("parts of K, most of the shapes above", most_parts, MOST_PARTS)
    launches = max(launcher.launches(*shape) for shape in CONTEST_SHAPES)
    yield bar("launches a call, most of the contest's shapes", launches, 1)
    yield row("launches a call, most of the contest's shapes", launches, RADEONFLOW["launches"], "RadeonFlow", 1)
    yield bar("functions that allocate, called by the launcher", len(launcher.allocators), 0)  # nothing can be held
    shapes = (*CONTEST_SHAPES, *OTHER_SHAPES)
    what, refused = f"shapes refused, of {len(shapes)}", sum(launcher.choice(*shape) is None for shape in shapes)
    yield bar(what, refused, 0)
    yield row(what, refused, len(OTHER_SHAPES), "RadeonFlow, the contest's only", 1)


if __name__ == "__main__":
    sys.exit(main())
