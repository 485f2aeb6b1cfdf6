"""What every kernel is held to on the contest's shapes: which of them are computed whole, and operands in float64."""

import ml_dtypes
import numpy as np

from fp8lab.hardware import CONTEST_BENCHMARK_SHAPES

SAMPLED = [(6144, 4608, 7168), (6144, 7168, 2304)]  # the largest: 304e9 of all 657e9 multiply-adds
TIMED_WHOLE = [shape for shape in CONTEST_BENCHMARK_SHAPES if shape not in SAMPLED]
VALUES = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fnuz).astype(np.float64)


def scaled(codes, scale):
    """(rows, K) float64 of e4m3fnuz codes (rows, K) and scales (K/128, rows)."""
    return VALUES[codes.view(np.uint8)] * np.repeat(scale.T.astype(np.float64), 128, axis=1)
