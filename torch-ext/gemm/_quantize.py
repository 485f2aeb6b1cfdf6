"""Quantisation in torch's own operations, for builds without an op for it; the same bits as the CPU build's."""

import torch

BLOCK = 128
LARGEST = 240.0             # of e4m3fnuz
SMALLEST_SCALE = 2.0**-126  # below it float32 has few bits, and x / scale could pass LARGEST


def quantize(x, block_rows):
    """Return codes (rows, K) e4m3fnuz and scale (K / 128, ceil(rows / block_rows)) float32 of x (rows, K) float32.

    scale is amax / 240 of a block's finite elements, 1 for a block of zeros; a code is x / scale, rounded to nearest
    even, NaN where x is infinite or NaN.
    """
    rows, k = x.shape
    row_blocks = -(-rows // block_rows)
    padded = torch.nn.functional.pad(x, (0, 0, 0, row_blocks * block_rows - rows))
    blocks = padded.reshape(row_blocks, block_rows, k // BLOCK, BLOCK)
    finite = blocks.abs().nan_to_num(0.0, 0.0)
    amax = finite.amax((1, 3), keepdim=True) if blocks.numel() else finite.new_zeros(row_blocks, 1, k // BLOCK, 1)
    scale = (amax / LARGEST).clamp_min(SMALLEST_SCALE).where(amax > 0, 1.0)
    codes = (blocks / scale).to(torch.float8_e4m3fnuz).reshape(padded.shape)[:rows]
    return codes.contiguous(), scale.reshape(row_blocks, k // BLOCK).T.contiguous()
