"""Layers for kernels.kernelize(): only forward(), the module it replaces keeps its own constructor and state."""

import torch
from torch import nn

from ._checks import check_layer_input


class BlockScaledLinear(nn.Module):
    """nn.Linear with an FP8 weight: the activation is quantised on the way in, 1×128, and multiplied by gemm().

    weight        (N, K) float8_e4m3fnuz, the codes of quantize_weight(w)[0].T
    weight_scale  (K / 128, ceil(N / 128)) float32, quantize_weight(w)[1]
    bias          (N,) or None
    """

    weight: torch.Tensor
    weight_scale: torch.Tensor
    bias: torch.Tensor | None
    can_torch_compile = True
    has_backward = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x @ weight.T + bias for x (…, K), in the dtype of x, which quantize_activation() has to accept.

        Raises ValueError if the last axis of x is not K, and what quantize_activation() and gemm() raise.
        """
        from . import gemm, quantize_activation  # here, as the package imports this module first

        check_layer_input(x, self.weight)
        a, a_scale = quantize_activation(x.reshape(x.shape[:-1].numel(), x.shape[-1]))
        y = gemm(a, self.weight.T, a_scale, self.weight_scale)
        y = y.to(x.dtype).reshape(*x.shape[:-1], self.weight.shape[0])
        return y if self.bias is None else (y + self.bias).to(x.dtype)
