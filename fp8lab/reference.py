"""The oracle of the op `gemm`, and the report that compares a result with it.

    C[m, n] = Σ_kb a_scale[kb, m] · b_scale[kb, n // 128] · Σ_{k in block kb} a[m, k] · b[k, n]

A product of two e4m3 numbers is a multiple of 2^-20 (fnuz), and 128 of them stay below 2^23, so that float64 adds them
without any error: inside a block the oracle is exact, in any order of summation.
"""

from dataclasses import dataclass

import numpy as np

from fp8lab.formats import E4M3FNUZ, FORMATS, as_codes, as_floats, decode, is_torch, odd_float32_bits
from fp8lab.scaling import K_BLOCK, checked_scales, matrix_shape

ATOL, RTOL = 1e-3, 2e-2    # the public tolerance: gpu-mode reference-kernels, problems/amd/fp8-mm, as last in force


def gemm(a, b, a_scale, b_scale, fmt=E4M3FNUZ):
    """Return the (M, N) float64 result of the formula above.

    a        (M, K) codes, any strides: uint8 in fmt, or a torch FP8 tensor, which knows its own format
    b        (K, N) codes, likewise
    a_scale  (K / 128, M) float32, numpy or torch
    b_scale  (K / 128, ceil(N / 128)) float32

    K = 0 gives zeros. A NaN code or scale gives NaN in all it takes part in.
    Raises ValueError for sizes that do not fit together or K not a multiple of 128, TypeError for operands that hold
    no codes and scales that are no floating-point numbers.
    """
    return _gemm(a, b, a_scale, b_scale, fmt, np.float64)


def gemm_float32(a, b, a_scale, b_scale, fmt=E4M3FNUZ):
    """Return the (M, N) float32 result in the order of the CPU: acc += (a_scale · b_scale) · dot, block after block.

    The GPU's larger tiles keep that order too; its 64 × 64 tiles, and parts of K, add sums of blocks at the end.
    Each of the three operations is rounded to float32. dot, the sum over one block, is exact and rounded once, so that
    the result is the same bits everywhere; hardware adds the 128 products in an order of its own, with more roundings.

    Arguments and errors as gemm().
    """
    return _gemm(a, b, a_scale, b_scale, fmt, np.float32)


def _gemm(a, b, a_scale, b_scale, fmt, dtype):
    (m, k), (b_rows, n) = matrix_shape(a, "a", "(M, K)"), matrix_shape(b, "b", "(K, N)")
    if k != b_rows:
        raise ValueError(f"a is {(m, k)} and b {(b_rows, n)}, needs (M, K) and (K, N) of the same K; "
                         f"quantize_weight() gives b as (K, N)")
    if k % K_BLOCK:
        raise ValueError(f"K is {k}, needs a multiple of {K_BLOCK}: each k-block has one scale")
    a_scale = checked_scales(a_scale, "a_scale", (k // K_BLOCK, m),
                             f"one row per 128 of K = {k}, one column per row of a")
    b_scale = checked_scales(b_scale, "b_scale", (k // K_BLOCK, -(-n // K_BLOCK)),
                             f"one row per 128 of K = {k}, one column per 128 of N = {n}, rounded up")
    a, b = _decoded(a, "a", fmt), _decoded(b, "b", fmt)
    column_block = np.arange(n) // K_BLOCK
    acc = np.zeros((m, n), dtype)
    with np.errstate(over="ignore", invalid="ignore"):    # float32 overflow and NaN are results like any other
        for kb in range(k // K_BLOCK):
            block = slice(kb * K_BLOCK, (kb + 1) * K_BLOCK)
            dot = (a[:, block].astype(np.float64) @ b[block].astype(np.float64)).astype(dtype)
            scale = a_scale[kb].astype(dtype)[:, None] * b_scale[kb].astype(dtype)[column_block]
            acc += scale * dot
    return acc


def _decoded(codes, name, fmt):
    if is_torch(codes):
        fmt = FORMATS.get(str(codes.dtype).removeprefix("torch.float8_"), fmt)
    return decode(as_codes(codes, fmt, name), fmt)


def to_bfloat16(x):
    """Return x rounded to bfloat16, to nearest even, as float32 numbers; NaN stays NaN, too large becomes infinite.

    x  any shape; float64 (rounded once), float32, bfloat16 or float16, numpy or torch

    >>> to_bfloat16([1 + 2**-8, 1 + 2**-8 + 2**-40])    # a tie goes to even, just above it does not
    array([1.       , 1.0078125], dtype=float32)
    """
    x = as_floats(x)
    bits = odd_float32_bits(x).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isnan(x), 0x7FC00000, bits).astype(np.uint32).view(np.float32)


@dataclass(frozen=True)
class Report:
    """How far a result is from what was expected; str() gives it in lines to read."""

    shape: tuple
    max_abs: float             # largest |got - expected|
    max_rel: float             # largest |got - expected| / |expected|, where expected is not 0
    snr_db: float              # 10 · log10(Σ expected² / Σ (got - expected)²)
    ulp_histogram: dict        # bfloat16 steps between the two -> elements: {"0": 4090, "1": 6, …}
    share_within_1_ulp: float  # 0…1
    worst: tuple | None        # (coordinates, got, expected) of the element furthest out, in units of the tolerance
    nan_mismatches: int        # elements that are NaN in one of the two only
    within_tolerance: bool     # |got - expected| <= atol + rtol · |expected| everywhere, and no NaN mismatch
    atol: float
    rtol: float

    def __str__(self):
        verdict = "within" if self.within_tolerance else "NOT within"
        ulps = ", ".join(f"{ulp}: {count}" for ulp, count in self.ulp_histogram.items() if count)
        lines = [
            f"{' × '.join(map(str, self.shape))} elements, {verdict} {self.atol:g} + {self.rtol:g} · |expected|",
            f"largest error   {self.max_abs:.3g} absolute, {self.max_rel:.3g} relative; SNR {self.snr_db:.1f} dB",
            f"bfloat16 ulps   {ulps or 'none'}  ({self.share_within_1_ulp:.3%} within 1)",
        ]
        if self.worst:
            at, got, expected = self.worst
            lines.append(f"worst element   [{', '.join(map(str, at))}]: got {got:.6g}, expected {expected:.6g}")
        if self.nan_mismatches:
            lines.append(f"NaN mismatches  {self.nan_mismatches}")
        return "\n".join(lines)


ULP_BINS = {"0": 0, "1": 1, "2": 2, "3–4": 3, "5–16": 5, "17–256": 17, "257 or more": 257}    # name -> first of it


def compare(got, expected, atol=ATOL, rtol=RTOL):
    """Return the Report of got against expected.

    got, expected  the same shape; float64, float32, bfloat16 or float16, numpy or torch
    atol, rtol     an error of atol + rtol · |expected| is allowed; with 0, 0 none is

    Errors are of the values as given. Ulps are counted between the two rounded to bfloat16, the dtype of the op's
    result; ±0 are one number, and NaN equals NaN. Elements that are infinite or NaN in either take no part in max_abs,
    max_rel and snr_db; equal infinities are within the tolerance, others not.

    Raises ValueError for different shapes, TypeError for other dtypes.
    """
    got, expected = as_floats(got, "got"), as_floats(expected, "expected")
    if got.shape != expected.shape:
        raise ValueError(f"got is {got.shape}, needs the shape of expected, {expected.shape}")
    ulps = _bfloat16_steps(got, expected)
    with np.errstate(all="ignore"):
        got, expected = got.astype(np.float64), expected.astype(np.float64)
        is_finite = np.isfinite(got) & np.isfinite(expected)
        mismatch = np.isnan(got) != np.isnan(expected)
        error = np.where(is_finite, np.abs(got - expected), np.where(ulps == 0, 0.0, np.inf))
        allowed = atol + rtol * np.where(is_finite, np.abs(expected), 0.0)
        excess = np.where(error == 0, 0.0, error / allowed)     # 0 / 0 is no excess
        finite_error, finite_expected = error[is_finite], expected[is_finite]
        relative = finite_error[finite_expected != 0] / np.abs(finite_expected[finite_expected != 0])
        noise = np.sum(finite_error**2)
        snr_db = 10 * np.log10(np.sum(finite_expected**2) / noise) if noise else np.inf
    worst = None
    if got.size:
        at = np.unravel_index(np.argmax(excess), got.shape)
        worst = (tuple(int(i) for i in at), float(got[at]), float(expected[at]))
    counts = np.histogram(ulps, [*ULP_BINS.values(), np.inf])[0]
    return Report(
        shape=got.shape,
        max_abs=float(finite_error.max(initial=0)),
        max_rel=float(relative.max(initial=0)),
        snr_db=float(snr_db),
        ulp_histogram={name: int(count) for name, count in zip(ULP_BINS, counts, strict=True)},
        share_within_1_ulp=float(np.mean(ulps <= 1)) if ulps.size else 1.0,
        worst=worst,
        nan_mismatches=int(mismatch.sum()),
        within_tolerance=bool((excess <= 1).all()),
        atol=atol,
        rtol=rtol,
    )


def _bfloat16_steps(got, expected):
    """Elementwise how many bfloat16 numbers apart; NaN against a number counts as 2^16."""
    def position(x):    # bfloat16 numbers in ascending order, counted from 0 at ±0
        bits = (to_bfloat16(x).view(np.uint32) >> 16).astype(np.int64)
        return np.where(bits & 0x8000, -(bits & 0x7FFF), bits)

    steps = np.abs(position(got) - position(expected))
    got_nan, expected_nan = np.isnan(got), np.isnan(expected)
    return np.where(got_nan | expected_nan, np.where(got_nan & expected_nan, 0, 1 << 16), steps)
