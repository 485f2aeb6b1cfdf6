"""FP8 (e4m3fnuz) GEMM with block scales, for MI300X and for the CPU, each in a build of its own.

    C[m, n] = Σ_kb a_scale[kb, m] · b_scale[kb, n // 128] · Σ_{k in block kb} a[m, k] · b[k, n]      128 of k a block

>>> a, a_scale = gemm.quantize_activation(x)                    # x (M, K)
>>> b, b_scale = gemm.quantize_weight(linear.weight.detach())   # weight (N, K), as nn.Linear stores it
>>> c = gemm.gemm(a, b, a_scale, b_scale)                       # (M, N) bfloat16, close to x @ weight.T
"""

import torch

from . import layers
from ._checks import BLOCK, check_apart, check_device, check_float_matrix, check_gemm, check_reach
from ._ops import add_op_namespace_prefix, ops
from ._quantize import quantize

__all__ = ["gemm", "layers", "quantize_activation", "quantize_weight"]

BACKEND = ops.backend()     # what this build is for: "cpu", "rocm", or "emulated": the GPU's machine code on the CPU


def gemm(a, b, a_scale, b_scale, out=None):
    """Return the block-scaled product of a and b, the formula above.

    a        (M, K) float8_e4m3fnuz, K-contiguous or M-contiguous, rows of any pitch
    b        (K, N) float8_e4m3fnuz, N-contiguous or K-contiguous, as weight.T is
    a_scale  (K / 128, M) float32, contiguous, any sign
    b_scale  (K / 128, ceil(N / 128)) float32, contiguous
    out      (M, N) bfloat16, elements of a row adjacent; returned; a new tensor if None

    Any M and N, 0 included; K a multiple of 128, 0 gives zeros. A NaN code makes its row (of a) or column (of b) NaN.

    Everything is float32 up to the result, which is rounded to nearest even. The two scales of a block are multiplied
    first: where that product is out of float32's range it is infinite, or 0, or has lost bits below 2^-126, and the
    block's sum does not bring it back. On the CPU blocks are added in the order of k. On the GPU small results add
    every fourth block to one of four sums, and K may be split into up to four parts: sums of blocks, added at the end.
    Each build gives a call the same bits every time; another shape, layout or build may add in another order.

    The GPU's kernel has offsets of 32 bits: N, K and strides below 2^24 (those of axes with one element do not count),
    fewer than 2^29 elements in a_scale and b_scale, fewer than 2^22 tiles of C. The CPU has no such limits.

    Raises TypeError for what is no tensor or has another dtype, ValueError for everything else that this docstring
    does not allow: shapes, layouts, several devices or one that this build is not for, out in memory that an input
    uses, an input that requires grad while gradients are recorded or carries a tangent (torch.func.jvp). out is then
    untouched. RuntimeError where the GPU is no MI300X, C has too many tiles or HIP refuses the launch, or GEMM_CPU_ISA
    names no path of this CPU; the next call starts afresh. torch.func.vmap is not supported, torch says so.

    torch.compile wraps these in exceptions of its own, which hold the sentence: Unsupported (with fullgraph=True) for
    what is wrong with an argument, TorchRuntimeError for an out in memory of an input. A graph that was compiled for
    tensors that lie apart computes all of C before it writes such an out, or raises RuntimeError.
    """
    check_gemm(a, b, a_scale, b_scale, out)
    check_device(a, "a", BACKEND)
    if BACKEND != "cpu":
        check_reach(a, b, a_scale, b_scale, out)
    if out is None:
        out = torch.empty(a.shape[0], b.shape[1], dtype=torch.bfloat16, device=a.device)
    ops.gemm(a, b, a_scale, b_scale, out)
    return out


def quantize_activation(x):
    """Return (a, a_scale), the left operand of gemm: one scale for 1×128 elements, amax / 240.

    x        (M, K) float32, bfloat16, float16 or float64, K a multiple of 128
    a        (M, K) float8_e4m3fnuz, K-contiguous
    a_scale  (K / 128, M) float32

    NaN and infinite elements become NaN codes; the scale comes from the finite ones. Zeros get scale 1.

    Raises TypeError for another dtype, ValueError for another shape, and for x that requires grad while gradients are
    recorded or carries a tangent. Source of the recipe: arXiv 2412.19437 §3.3.
    """
    check_float_matrix(x, "x", "(M, K)")
    check_device(x, "x", BACKEND)
    return _quantize(x, 1)


def quantize_weight(w):
    """Return (b, b_scale), the right operand of gemm: one scale for 128×128 elements, amax / 240.

    w        (N, K) float32, bfloat16, float16 or float64, as nn.Linear stores its weight; K a multiple of 128
    b        (K, N) float8_e4m3fnuz, K-contiguous: the transposed view of the (N, K) codes
    b_scale  (K / 128, ceil(N / 128)) float32; the last column may stand for fewer than 128 columns of b

    Otherwise as quantize_activation().
    """
    check_float_matrix(w, "w", "(N, K)")
    check_device(w, "w", BACKEND)
    codes, scale = _quantize(w, BLOCK)
    return codes.T, scale


def _quantize(x, block_rows):
    x = x.detach().float()
    if BACKEND != "cpu":    # the other builds have no op for it
        return quantize(x, block_rows)
    rows, k = x.shape
    codes = torch.empty(rows, k, dtype=torch.float8_e4m3fnuz, device=x.device)
    scale = torch.empty(k // BLOCK, -(-rows // block_rows), dtype=torch.float32, device=x.device)
    ops.quantize(x.contiguous(), block_rows, codes, scale)
    return codes, scale


# The ops write into tensors that exist already, so there is no shape to work out: torch.compile needs to know only
# that this is all. It has no addresses, but knows which tensors are views of one storage.
@torch.library.register_fake(add_op_namespace_prefix("gemm"))
def _(a, b, a_scale, b_scale, out):
    check_apart(out, {"a": a, "b": b, "a_scale": a_scale, "b_scale": b_scale})


if BACKEND == "cpu":

    @torch.library.register_fake(add_op_namespace_prefix("quantize"))
    def _(x, block_rows, codes, scale):
        return None
