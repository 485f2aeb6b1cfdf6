"""Operands for the op's tests: any layout, any code, guarded outputs."""

import itertools
import threading

import torch

FP8 = torch.float8_e4m3fnuz
LAYOUTS = list(itertools.product(("K-contiguous", "M-contiguous"), ("K-contiguous", "N-contiguous")))


def codes(rows, columns, generator, nan=False):
    """Every finite code equally often; with nan also 0x80."""
    bits = torch.randint(0, 256, (rows, columns), generator=generator, dtype=torch.uint8)
    return (bits if nan else bits.where(bits != 0x80, torch.zeros_like(bits))).view(FP8)


def scales(rows, columns, generator):
    """Either sign, magnitudes of which results come out near 1, one in eight zero."""
    magnitude = torch.rand(rows, columns, generator=generator) * 4e-3
    sign = torch.randint(-1, 2, (rows, columns), generator=generator)
    return (magnitude * sign).contiguous()


def laid_out(x, along, pitch=0):
    """x with its axis `along` (0 or 1) contiguous and rows that are `pitch` elements further apart than need be.

    What lies between the rows is NaN, so that reading it shows.
    """
    rows = x if along == 1 else x.T
    shape = rows.shape[0], rows.shape[1] + pitch
    buffer = torch.full(shape, 0x80, dtype=torch.uint8, device=x.device).view(x.dtype)
    view = buffer[:, : rows.shape[1]]
    view.copy_(rows)
    return view if along == 1 else view.T


def problem(m, n, k, layout=("K-contiguous", "K-contiguous"), seed=0, pitch=0, nan=False):
    """(a, b, a_scale, b_scale) in one of LAYOUTS."""
    generator = torch.Generator().manual_seed(seed)
    a = laid_out(codes(m, k, generator, nan), 1 if layout[0] == "K-contiguous" else 0, pitch)
    b = laid_out(codes(k, n, generator, nan), 0 if layout[1] == "K-contiguous" else 1, pitch)
    return a, b, scales(k // 128, m, generator), scales(k // 128, -(-n // 128), generator)


class Guarded:
    """An (m, n) bfloat16 output inside a larger buffer, whose other elements must keep their value."""

    def __init__(self, m, n, sentinel=42.0, device="cpu"):
        self.buffer = torch.full((m + 2, n + 9), sentinel, dtype=torch.bfloat16, device=device)
        self.view = self.buffer[1 : m + 1, 3 : n + 3]
        self.sentinel = sentinel

    def changes(self):
        """Coordinates in the buffer of elements outside the view that changed."""
        outside = torch.ones_like(self.buffer, dtype=torch.bool)
        outside[1 : self.view.shape[0] + 1, 3 : self.view.shape[1] + 3] = False
        return (outside & (self.buffer != self.sentinel)).nonzero().tolist()

    def is_untouched(self):
        return bool((self.buffer == self.sentinel).all())


def bits(x):
    """For bitwise comparison, NaN included."""
    return x.contiguous().view(torch.int16 if x.element_size() == 2 else torch.uint8)


def wrong_calls_of_threads(gemm, operands, expected, rounds):
    """Call gemm in one thread for each of the operands; return the numbers of those whose bits were not as expected."""
    wrong = []

    def work(i):
        for _ in range(rounds):
            if not torch.equal(bits(gemm(*operands[i])).cpu(), expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(operands))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong
