"""Block scales: one float32 scale for every block of a matrix, so that each block fills the range of an FP8 format.

    x[m, k] ≈ scales[m // block_rows, k // block_columns] · decode(codes[m, k])

quantize() takes any block shape; quantize_activation() and quantize_weight() give the two operands of the op
`gemm` in its own layouts. numpy in, numpy out (codes as uint8); torch in, torch out (codes in the FP8 dtype).

The rule, which torch-ext/gemm follows bit for bit in C++; every step is one float32 operation, rounded to nearest even:

    amax  = largest |x| of the block, over its finite elements only
    scale = max(amax / fmt.max, 2^-126), and 1 for a block whose finite elements are all zero
    code  = encode(x / scale): a division, not a product with 1 / scale; nearest even; infinite or NaN gives NaN

- Why 1 for zeros: any scale stands for zero; 1 keeps 0 / scale and 1 / scale finite, and reads as "nothing to scale".
- Why 2^-126, the smallest normal float32: below it a scale has few bits left, so x / scale could pass fmt.max, and
  a GPU that flushes subnormals would see 0.
- Finite x never overflow: x / scale exceeds fmt.max by float32 rounding at most, far less than half a step.
- NaN and infinity stay visible, in their own element: NaN gives a NaN code, infinity what fmt has for it (NaN but in
  e5m2). They do not enter amax, as one of them would then turn its whole block into NaN.
- Data in float64 is rounded to float32 first, and what is beyond float32 counts as infinite.

Source of the recipes: arXiv 2412.19437 §3.3 (1×128 activation tiles, 128×128 weight blocks).
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from fp8lab.formats import E4M3FNUZ, Format, as_codes, as_floats, decode, encode, is_torch, to_torch

K_BLOCK = 128    # elements along k that share a scale, and of a weight also along n
RECIPES = {      # name -> block (rows, columns); None is the whole axis
    "per tensor": (None, None),
    "per row": (1, None),
    "1×128": (1, K_BLOCK),
    "128×128": (K_BLOCK, K_BLOCK),
}
SMALLEST_SCALE = np.float32(2.0**-126)


@dataclass(frozen=True)
class Quantized:
    """A matrix as FP8 codes and block scales.

    codes   (M, N) uint8, or torch FP8
    scales  (ceil(M / block[0]), ceil(N / block[1])) float32
    block   rows and columns that share a scale, as numbers no larger than the matrix
    """

    codes: Any
    scales: Any
    fmt: Format
    block: tuple

    @property
    def shape(self):
        return tuple(self.codes.shape)

    @property
    def scale_bytes(self):
        """Bytes of the scales; the codes take one byte an element."""
        return 4 * int(np.prod(self.scales.shape))

    def dequantize(self):
        """Return the (M, N) float32 matrix that codes and scales stand for."""
        values = decode(self.codes, self.fmt)
        return _like(values * _spread(_scales(self.scales, "scales"), self.block, self.shape), self.codes)


def quantize(x, fmt=E4M3FNUZ, block=(1, 128), scale="float32", rounding="nearest-even", overflow="nan", seed=None):
    """Return x as Quantized: codes in fmt and a scale a block, by the rule at the head of this module.

    x         (M, N) float32, bfloat16, float16 or float64
    block     (rows, columns) that share a scale; None, or more than there are, is the whole axis; the last block of
              an axis may be partial
    scale     "float32"       amax / fmt.max
              "power-of-two"  that, rounded up to a power of two: dividing by it loses nothing, and it fits the one
                              byte of an e8m0 scale. Up, so that nothing overflows; OCP MX rounds down and saturates
    rounding, overflow, seed  as encode() takes them. Only infinite x overflow; "saturate" hides them as ±amax

    Raises ValueError for x that is no matrix, a block that is not two positive sizes or None, an unknown scale.

    >>> q = quantize(np.array([[1.0, -2.0, 0.0, 0.0], [3.0, 240.0, 0.0, 0.0]]), block=(2, 2))
    >>> q.scales, q.dequantize()[1]
    (array([[1., 1.]], dtype=float32), array([  3., 240.,   0.,   0.], dtype=float32))
    """
    if scale not in ("float32", "power-of-two"):
        raise ValueError(f"scale is {scale!r}, needs 'float32' or 'power-of-two'")
    values = _float32_matrix(x)
    block = _block_sizes(block, values.shape)
    blocks = _in_blocks(values, block)
    scales = _block_scales(blocks, fmt, scale)
    with np.errstate(invalid="ignore"):                                        # a signalling NaN
        scaled = blocks / scales
    codes = encode(scaled, fmt, rounding, overflow, seed)
    (m, n), (padded_m, padded_n) = values.shape, (blocks.shape[0] * block[0], blocks.shape[2] * block[1])
    codes = np.ascontiguousarray(codes.reshape(padded_m, padded_n)[:m, :n])
    return Quantized(_like(codes, x, fmt), _like(scales[:, 0, :, 0], x), fmt, block)


def quantize_activation(x):
    """Return (a, a_scale), the left operand of gemm: 1×128 blocks in e4m3fnuz.

    x        (M, K) float32, bfloat16, float16 or float64, K a multiple of 128
    a        (M, K) codes, K-contiguous
    a_scale  (K / 128, M) float32, contiguous: one row per k-block, so that a tile reads its rows' scales in one go

    Raises ValueError for another shape.
    """
    x = _with_k_blocks(x, "x", "(M, K)")
    q = quantize(x, E4M3FNUZ, (1, K_BLOCK))
    return q.codes, _transposed(q.scales)


def quantize_weight(w):
    """Return (b, b_scale), the right operand of gemm: 128×128 blocks in e4m3fnuz.

    w        (N, K) float32, bfloat16, float16 or float64, as nn.Linear stores its weight; K a multiple of 128
    b        (K, N) codes, K-contiguous: the transposed view of the (N, K) codes, strides (1, K)
    b_scale  (K / 128, ceil(N / 128)) float32, contiguous; the last column may stand for fewer than 128 columns of b

    Raises ValueError for another shape.
    """
    w = _with_k_blocks(w, "w", "(N, K), as nn.Linear stores its weight")
    q = quantize(w, E4M3FNUZ, (K_BLOCK, K_BLOCK))
    return q.codes.T, _transposed(q.scales)


def dequantize_activation(a, a_scale):
    """Return the (M, K) float32 matrix that codes and scales stand for: a_scale[k // 128, m] · a[m, k].

    a        (M, K) e4m3fnuz codes, any strides; a NaN code gives NaN
    a_scale  (K / 128, M) float32, any sign

    Raises ValueError if one of them has another shape, TypeError for what holds no codes.
    """
    m, k = matrix_shape(a, "a", "(M, K)")
    scales = checked_scales(a_scale, "a_scale", (-(-k // K_BLOCK), m),
                            f"one row per 128 of K = {k}, one column per row of a")
    return _like(decode(as_codes(a, E4M3FNUZ, "a"), E4M3FNUZ) * _spread(scales.T, (1, K_BLOCK), (m, k)), a)


def dequantize_weight(b, b_scale):
    """Return the (N, K) float32 weight that codes and scales stand for: b_scale[k // 128, n // 128] · b[k, n].

    b        (K, N) e4m3fnuz codes, any strides, as quantize_weight() gives them; a NaN code gives NaN
    b_scale  (K / 128, ceil(N / 128)) float32, any sign

    Raises ValueError if one of them has another shape, TypeError for what holds no codes.
    """
    k, n = matrix_shape(b, "b", "(K, N)")
    scales = checked_scales(b_scale, "b_scale", (-(-k // K_BLOCK), -(-n // K_BLOCK)),
                            f"one row per 128 of K = {k}, one column per 128 of N = {n}, rounded up")
    return _like(decode(as_codes(b, E4M3FNUZ, "b"), E4M3FNUZ).T * _spread(scales.T, (K_BLOCK, K_BLOCK), (n, k)), b)


def checked_scales(scales, name, shape, meaning):
    """Return scales as a float32 array. Raises ValueError: name is …, needs shape: meaning; TypeError if no floats."""
    scales = _scales(scales, name)
    if scales.shape != shape:
        raise ValueError(f"{name} is {scales.shape}, needs {shape}: {meaning}; see quantize_activation() and "
                         f"quantize_weight()")
    return scales


# --- blocks ---


def _in_blocks(values, block):
    """Return (M, N) as (grid rows, block rows, grid columns, block columns), padded with zeros where a tail needs it.

    Zeros change no amax. Without a tail this is a view.
    """
    (m, n), (rows, columns) = values.shape, block
    if m % rows or n % columns:
        values = np.pad(values, ((0, -m % rows), (0, -n % columns)))
    return values.reshape(-(-m // rows), rows, -(-n // columns), columns)


def _block_scales(blocks, fmt, scale):
    """(grid rows, 1, grid columns, 1) float32."""
    magnitude = np.abs(blocks)
    amax = magnitude.max(axis=(1, 3), keepdims=True)
    if not np.isfinite(amax).all():
        amax = np.where(np.isfinite(magnitude), magnitude, np.float32(0)).max(axis=(1, 3), keepdims=True)
    scales = np.maximum(amax / np.float32(fmt.max), SMALLEST_SCALE)
    if scale == "power-of-two":
        fraction, exponent = np.frexp(scales)                                  # fraction in [0.5, 1)
        scales = np.ldexp(np.float32(1), exponent - (fraction == 0.5))
    return np.where(amax == 0, np.float32(1), scales)


def _spread(scales, block, shape):
    """Return scales repeated to one an element."""
    rows, columns = (np.arange(size) // step for size, step in zip(shape, block, strict=True))
    return scales[rows[:, None], columns]


def _block_sizes(block, shape):
    is_pair = isinstance(block, tuple | list) and len(block) == 2
    if not is_pair or not all(size is None or _is_positive_int(size) for size in block):
        raise ValueError(f"block is {block!r}, needs (rows, columns), each a positive int or None for the whole axis")
    wholes = [max(whole, 1) for whole in shape]
    return tuple(min(int(size or whole), whole) for size, whole in zip(block, wholes, strict=True))


def _is_positive_int(size):
    return isinstance(size, Integral) and not isinstance(size, bool) and size > 0


# --- the edges: numpy or torch ---


def _float32_matrix(x):
    if len(np.shape(x)) != 2:
        raise ValueError(f"x has shape {tuple(np.shape(x))}, needs a matrix of two axes; x.reshape(-1, x.shape[-1]) "
                         f"flattens the leading ones")
    with np.errstate(over="ignore"):
        return as_floats(x).astype(np.float32, copy=False)


def _with_k_blocks(x, name, shape):
    given = tuple(np.shape(x))
    if len(given) != 2 or given[1] % K_BLOCK:
        raise ValueError(f"{name} is {given}, needs {shape}, with K a multiple of {K_BLOCK}")
    return x


def matrix_shape(codes, name, axes):
    """Return (rows, columns), or raise ValueError: name is …, needs axes."""
    shape = tuple(np.shape(codes))
    if len(shape) != 2:
        raise ValueError(f"{name} is {shape}, needs {axes}; see quantize_activation() and quantize_weight()")
    return shape


def _scales(scales, name):
    return as_floats(scales, name).astype(np.float32, copy=False)


def _transposed(scales):
    return scales.T.contiguous() if is_torch(scales) else np.ascontiguousarray(scales.T)


def _like(result, x, fmt=None):
    """Return a numpy result in the kind of x, on its device; with fmt the result is codes."""
    if not is_torch(x):
        return result
    import torch

    result = np.ascontiguousarray(result)
    return (to_torch(result, fmt) if fmt else torch.from_numpy(result)).to(x.device)
