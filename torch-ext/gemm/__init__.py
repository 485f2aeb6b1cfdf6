"""FP8 (e4m3fnuz) GEMM with block scales.

    C[m, n] = Σ_kb a_scale[kb, m] · b_scale[kb, n // 128] · Σ_{k in block kb} a[m, k] · b[k, n]      128 of k a block

quantize_activation() and quantize_weight() make the operands from float data.
"""

import torch

from ._ops import add_op_namespace_prefix, ops

__all__ = ["gemm", "quantize_activation", "quantize_weight"]

BLOCK = 128


def gemm(a, b, a_scale, b_scale, out=None):
    if out is None:
        out = torch.empty(a.shape[0], b.shape[1], dtype=torch.bfloat16, device=a.device)
    ops.gemm(a, b, a_scale, b_scale, out)
    return out


def quantize_activation(x):
    codes, scale = _quantize(x, 1)
    return codes, scale


def quantize_weight(w):
    codes, scale = _quantize(w, BLOCK)
    return codes.T, scale


def _quantize(x, block_rows):
    rows, k = x.shape
    x = x.float().contiguous()
    codes = torch.empty(rows, k, dtype=torch.float8_e4m3fnuz, device=x.device)
    scale = torch.empty(k // BLOCK, -(-rows // block_rows), dtype=torch.float32, device=x.device)
    ops.quantize(x, block_rows, codes, scale)
    return codes, scale
