"""What MI300X and its peers can do at most, as numbers with sources, and the roofline of the op `gemm` on them.

The roofline: a kernel that moves B bytes and computes F operations takes at least max(F / peak, B / bandwidth). Its
arithmetic intensity F / B against the ridge, peak / bandwidth, says which of the two it is. Both peaks are on paper;
no kernel reaches them, and long FP8 runs clock lower. Nothing here is a measurement unless it says so.
"""

import os
import platform
import time
from dataclasses import dataclass

import numpy as np

from fp8lab.formats import E4M3FN, E4M3FNUZ
from fp8lab.scaling import K_BLOCK


@dataclass(frozen=True)
class Hardware:
    """One device: dense peaks, without sparsity."""

    name: str
    arch: str                # as compilers call it: gfx942, sm_90
    fp8_flops: float         # operations a second; a multiply-add is two
    bandwidth: float         # bytes a second between the device and its memory
    compute_units: int       # CU, or SM on NVIDIA
    source: str

    @property
    def ridge(self):
        """Operations a byte at which the two limits meet."""
        return self.fp8_flops / self.bandwidth


ROCM_SPECS = "ROCm documentation, \"AMD GPU specifications\" (compute units)"
MI300X = Hardware("MI300X", "gfx942", 2614.9e12, 5.3e12, 304, f"AMD Instinct MI300X data sheet; {ROCM_SPECS}")
MI325X = Hardware("MI325X", "gfx942", 2614.9e12, 6.0e12, 304, f"AMD Instinct MI325X data sheet; {ROCM_SPECS}")
MI355X = Hardware("MI355X", "gfx950", 5.0e15, 8.0e12, 256,
                  f"AMD at ISSCC 2026: 5 PFLOPS of FP8 (rounded), 8192 operations a clock and CU; 8 TB/s; {ROCM_SPECS}")
H100 = Hardware("H100 SXM", "sm_90", 1978.9e12, 3.35e12, 132,
                "NVIDIA H100 data sheet: 3,958 TFLOPS of FP8 are with sparsity, half of it is dense")
H200 = Hardware("H200 SXM", "sm_90", 1978.9e12, 4.8e12, 132, "NVIDIA H200 data sheet; FP8 as H100")
HARDWARE = {row.name: row for row in (MI300X, MI325X, MI355X, H100, H200)}

# What one CU of MI300X has. Sources: CDNA3 ISA guide; AMD CDNA 3 white paper.
MI300X_CU = {
    "SIMDs": 4,
    "lanes a wave": 64,
    "LDS bytes": 64 * 1024,
    "LDS banks": 32,
    "VGPRs a lane": 512,            # architectural and accumulation registers together, shared by the waves of a SIMD
    "FP8 operations a clock": 4096,
    "peak clock in Hz": 2.1e9,
}

# The FP8 e4m3 format that the matrix instructions of an architecture read. e5m2 follows the same family.
# Sources: HIP documentation, "Low precision floating point types"; LLVM AMDGPU, for gfx950 and gfx12; NVIDIA CUDA Math
# API, __nv_fp8_e4m3. NOTE: gfx950 is OCP although it is a gfx9; a kernel built for both must not share its bytes.
FP8_FORMAT = {
    "gfx942": E4M3FNUZ,    # MI300A, MI300X, MI325X
    "gfx950": E4M3FN,      # MI350X, MI355X
    "gfx1200": E4M3FN,     # Radeon RX 9060
    "gfx1201": E4M3FN,     # Radeon RX 9070
    "sm_89": E4M3FN,       # Ada
    "sm_90": E4M3FN,       # Hopper
    "sm_100": E4M3FN,      # Blackwell
    "sm_120": E4M3FN,
}


def fp8_format(arch):
    """Return the e4m3 format that arch computes with; arch as torch reports it, "gfx942:sramecc+:xnack-" included.

    Raises ValueError for an architecture that is not in the table, most of which have no FP8 matrix instructions.

    >>> fp8_format("gfx942:sramecc+:xnack-").name, fp8_format("gfx950").name
    ('e4m3fnuz', 'e4m3fn')
    """
    name = arch.partition(":")[0]
    if name not in FP8_FORMAT:
        raise ValueError(f"arch is {arch!r}, needs one known to compute in FP8: {', '.join(FP8_FORMAT)}")
    return FP8_FORMAT[name]


@dataclass(frozen=True)
class Cost:
    """The work of one gemm call: every operand read once, the result written once."""

    flops: int
    bytes: int

    @property
    def intensity(self):
        """Operations a byte; 0 where there is nothing to do."""
        return self.flops / self.bytes if self.bytes else 0.0


def gemm_cost(m, n, k):
    """Return the Cost of C (m, n) = A (m, k) · B (k, n): FP8 operands, their float32 block scales, bfloat16 result.

    Any sizes, also a k that the op does not take: its last block then has fewer elements and a scale all the same.

    >>> gemm_cost(1024, 1536, 7168)
    Cost(flops=22548578304, bytes=21727872)
    """
    if min(m, n, k) < 0:
        raise ValueError(f"m, n, k are {m}, {n}, {k}, needs sizes of 0 or more")
    scales = -(-k // K_BLOCK) * (m + -(-n // K_BLOCK))
    return Cost(flops=2 * m * n * k, bytes=m * k + k * n + 4 * scales + 2 * m * n)


@dataclass(frozen=True)
class Roofline:
    """Where one shape lies under the roof of one device."""

    intensity: float     # operations a byte
    ridge: float         # operations a byte
    attainable: float    # operations a second
    bound: str           # "memory" or "compute"
    time_us: float       # the least time, from the two peaks alone


def roofline(m, n, k, hardware=MI300X):
    """Return the Roofline of gemm with these sizes: attainable = min(peak, intensity · bandwidth).

    >>> roofline(1024, 7168, 256).bound, round(roofline(1024, 7168, 256).time_us, 2)
    ('memory', 3.17)
    """
    cost = gemm_cost(m, n, k)
    return Roofline(
        intensity=cost.intensity,
        ridge=hardware.ridge,
        attainable=min(hardware.fp8_flops, cost.intensity * hardware.bandwidth),
        bound="memory" if cost.intensity < hardware.ridge else "compute",
        time_us=1e6 * max(cost.flops / hardware.fp8_flops, cost.bytes / hardware.bandwidth),
    )


def this_machine(size=1024, repeats=5):
    """Return this computer as Hardware, measured now (about a second): the best of some float32 products and copies.

    float32, as a CPU has no FP8 units: the op's CPU backend decodes FP8 and multiplies floats. bandwidth counts a copy
    of 256 MiB as read and written once.
    """
    def best(work):
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    a, b = np.random.default_rng(0).random((2, size, size), np.float32)
    source, target = np.ones((2, 64 << 20), np.float32)
    return Hardware(
        name="this computer",
        arch=platform.machine(),
        fp8_flops=2 * size**3 / best(lambda: a @ b),
        bandwidth=2 * source.nbytes / best(lambda: np.copyto(target, source)),
        compute_units=os.cpu_count() or 1,
        source=f"measured here: float32 product of {size} × {size}, copy of {source.nbytes >> 20} MiB",
    )


# (m, n, k). Source: gpu-mode reference-kernels, problems/amd/fp8-mm/task.yml. The (n, k) are layers of DeepSeek-V3,
# most of them split over 8 GPUs.
CONTEST_BENCHMARK_SHAPES = tuple(
    (m, n, k)
    for n, k in ((1536, 7168), (3072, 1536), (576, 7168), (7168, 256), (7168, 2048), (4608, 7168), (7168, 2304),
                 (512, 7168), (4096, 512))
    for m in (1024, 6144)
)
CONTEST_TEST_SHAPES = (
    (64, 64, 128), (64, 1536, 7168), (64, 3072, 1536), (64, 576, 7168), (96, 7168, 256), (96, 7168, 2048),
    (96, 4608, 7168), (128, 7168, 2304), (128, 512, 7168), (512, 4096, 512), (512, 1536, 7168),
)
CONTEST_SHAPES = CONTEST_BENCHMARK_SHAPES + CONTEST_TEST_SHAPES

# layer -> (n, k), that is (out_features, in_features). m is the number of tokens.
# Sources: config.json of deepseek-ai/DeepSeek-V3 and of sentence-transformers/all-MiniLM-L6-v2.
MODEL_SHAPES = {
    "all-MiniLM-L6-v2": {
        "attention query, key, value, output": (384, 384),
        "feed-forward up": (1536, 384),
        "feed-forward down": (384, 1536),
    },
    "DeepSeek-V3": {
        "q_a_proj": (1536, 7168),
        "q_b_proj": (24576, 1536),
        "kv_a_proj_with_mqa": (576, 7168),
        "o_proj": (7168, 16384),
        "expert gate and up": (4096, 7168),
        "expert down": (7168, 2048),
    },
}
