"""`make bench`: the op on this CPU beside what one would write with torch alone.

    python -m benchmarks.cpu        table, and build/bench/bench.json

Two rows without a target say how much of the possible was reached: torch's float32 matmul alone, its operands float32
already, and the FMA peak of the CPU itself, which no float32 GEMM of that size can beat (fma_peak.cpp).
"""

import ctypes
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from kernels import get_local_kernel

from benchmarks.report import ROOT, medians, report, row
from fp8lab import localbuild, ninjafile

M, N, K = 1024, 1536, 7168      # a layer of DeepSeek-V3, as in the contest amd/fp8-mm of gpu-mode
BLOCK = 128


def main():
    kernel = get_local_kernel(Path(localbuild.build()).parent, backend="cpu")
    isa = kernel.ops.cpu_isa()
    print(f"{cpu_name()}, {torch.get_num_threads()} threads, torch {torch.__version__}, code path {isa}\n")
    rows = [*gemm_rows(kernel, isa), quantize_row(kernel)]
    return 0 if report("bench", rows) else 1


def gemm_rows(kernel, isa):
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(M, K, generator=generator), torch.randn(N, K, generator=generator)
    a, a_scale = kernel.quantize_activation(x)
    b, b_scale = kernel.quantize_weight(w)
    out = torch.empty(M, N, dtype=torch.bfloat16)
    x16, w16 = x.bfloat16(), w.bfloat16()

    expected = dequantize_matmul(a, b, a_scale, b_scale)
    torch.testing.assert_close(kernel.gemm(a, b, a_scale, b_scale).float(), expected, rtol=2e-2, atol=1e-3)

    x32, w32 = a.float(), b.float()
    contestants = {
        "ours": lambda: kernel.gemm(a, b, a_scale, b_scale, out=out),
        "float32": lambda: dequantize_matmul(a, b, a_scale, b_scale),
        "bfloat16": lambda: x16 @ w16.T,
        "alone": lambda: x32 @ w32,
    }
    peak = fma_peak(isa)
    if peak:
        contestants["bound"] = lambda: peak(2 * M * N * K)
    ms = medians(contestants)
    name = f"gemm {M}×{N}×{K}, ms"
    yield row(name, ms["ours"], ms["float32"], "dequantise + float32 matmul", target=3)
    yield row(name, ms["ours"], ms["bfloat16"], "bfloat16 matmul", target=0.8)
    yield row(name, ms["ours"], ms["alone"], "float32 matmul alone")
    if peak:
        yield row(name, ms["ours"], ms["bound"], "bound: float32 FMA peak")


def quantize_row(kernel):
    x = torch.randn(4096, 7168, generator=torch.Generator().manual_seed(1))
    codes, scale = kernel.quantize_activation(x)
    expected_codes, expected_scale = eager_quantize(x)
    assert torch.equal(scale, expected_scale)
    assert torch.equal(codes.view(torch.uint8), expected_codes.view(torch.uint8))

    ms = medians({"ours": lambda: kernel.quantize_activation(x), "eager": lambda: eager_quantize(x)})
    return row("quantize_activation 4096×7168, ms", ms["ours"], ms["eager"], "eager torch", target=3)


# --- the peers: what one writes with torch alone ---


def dequantize_matmul(a, b, a_scale, b_scale):
    """Return the float32 product; b_scale has no partial column here."""
    a = a.float() * a_scale.T.repeat_interleave(BLOCK, dim=1)
    b = b.float() * b_scale.repeat_interleave(BLOCK, dim=0).repeat_interleave(BLOCK, dim=1)
    return a @ b


def eager_quantize(x):
    """Return what quantize_activation(x) does for finite x, in five lines of torch."""
    blocks = x.view(x.shape[0], -1, BLOCK)
    amax = blocks.abs().amax(dim=-1)
    scale = torch.where(amax == 0, 1.0, (amax / 240).clamp_min(2.0**-126))
    codes = (blocks / scale[..., None]).to(torch.float8_e4m3fnuz).view(x.shape)
    return codes, scale.T.contiguous()


def fma_peak(isa):
    """Return a function that spends as long as `flops` take on all threads at the CPU's peak, None on other CPUs."""
    if platform.machine() != "x86_64" or not isa.startswith("avx"):
        return None
    library = ROOT / "build-ext" / "fma_peak.so"
    source = Path(__file__).with_name("fma_peak.cpp")
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([*ninjafile.compiler(), "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    function = getattr(ctypes.CDLL(library), "fma_avx2" if isa == "avx2" else "fma_avx512")
    function.argtypes = [ctypes.c_int64]
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads)      # ctypes lets go of the interpreter lock during the call
    return lambda flops: list(pool.map(function, [flops // threads] * threads))


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
