"""Notebook 04: the reference of the op, where an element lies in memory, and what bounds a shape."""

import numpy as np

from .. import hardware
from .exercise import Exercise, Wrong

K_BLOCK = 128


def _problem(m, n, k, seed):
    """Decoded operands as float64 and their scales; m, n and the numbers of blocks all differ."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-8, 9, (m, k)) / 4.0, rng.integers(-8, 9, (k, n)) / 4.0
    return a, b, rng.uniform(0.5, 2, (k // K_BLOCK, m)), rng.uniform(0.5, 2, (k // K_BLOCK, -(-n // K_BLOCK)))


def _gemm(a, b, a_scale, b_scale, blocks=None, a_at=lambda s, kb: s[kb], b_at=None):
    """The op in float64; the arguments after the scales are mistakes: blocks to sum, where a scale is read."""
    columns = np.arange(b.shape[1])
    b_at = b_at or (lambda s, kb: s[kb, columns // K_BLOCK])
    c = np.zeros((a.shape[0], b.shape[1]))
    for kb in range(a.shape[1] // K_BLOCK) if blocks is None else blocks(a.shape[1] // K_BLOCK):
        k = slice(kb * K_BLOCK, (kb + 1) * K_BLOCK)
        c += a_at(a_scale, kb)[:, None] * b_at(b_scale, kb)[None, :] * (a[:, k] @ b[k])
    return c


def _next(kb, scales):
    return (kb + 1) % len(scales)


def _spread_columns(scales, kb, n):
    """The scale of column n taken from n * blocks // N: blocks of equal width."""
    return scales[kb, np.arange(n) * scales.shape[1] // n]


REFERENCE = Exercise(
    id="04.reference",
    name="gemm_reference",
    question="Write gemm_reference(a, b, a_scale, b_scale) for decoded a (M, K) and b (K, N): the sum over blocks kb "
             "of a_scale[kb, m] · b_scale[kb, n // 128] · (a's block · b's block).",
    minutes=10,
    read="The reference",
    cases=lambda: [(f"M, N, K = {', '.join(map(str, sizes))}", _problem(*sizes, seed=6))
                   for sizes in ((5, 200, 384), (3, 384, 512))],
    reference=_gemm,
    wrong=(
        Wrong("transposed scales",
              "a_scale is read as (M, K/128) though it is (K/128, M): the same numbers in another order.",
              lambda a, b, s, t: _gemm(a, b, s.reshape(s.shape[::-1]).T, t), "The contract"),
        Wrong("b_scale transposed",
              "b_scale is read as (N/128, K/128) though it is (K/128, N/128).",
              lambda a, b, s, t: _gemm(a, b, s, t.reshape(t.shape[::-1]).T), "The contract"),
        Wrong("a_scale forgotten",
              "It equals the result with every a_scale at 1.",
              lambda a, b, s, t: _gemm(a, b, np.ones_like(s), t)),
        Wrong("b_scale forgotten",
              "It equals the result with every b_scale at 1.",
              lambda a, b, s, t: _gemm(a, b, s, np.ones_like(t))),
        Wrong("no scales",
              "It is a @ b: no scale is used.",
              lambda a, b, s, t: a @ b),
        Wrong("scale inverted",
              "You divide by the scales; a code times its scale is the value.",
              lambda a, b, s, t: _gemm(a, b, 1 / s, 1 / t)),
        Wrong("scale of the wrong block",
              "Each block uses the a_scale of the block after it.",
              lambda a, b, s, t: _gemm(a, b, s, t, a_at=lambda s, kb: s[_next(kb, s)])),
        Wrong("b_scale of the wrong block",
              "Each block uses the b_scale of the block after it.",
              lambda a, b, s, t: _gemm(a, b, s, np.roll(t, -1, axis=0))),
        Wrong("scales dealt round",
              "Neighbouring columns take the scales in turn, n % blocks. 128 neighbours share one: n // 128.",
              lambda a, b, s, t: _gemm(a, b, s, t, b_at=lambda t, kb: t[kb, np.arange(b.shape[1]) % t.shape[1]])),
        Wrong("first block's scales",
              "Every block uses the scales of block 0, as if there were one scale for all of k.",
              lambda a, b, s, t: _gemm(a, b, s, t, a_at=lambda s, kb: s[0],
                                       b_at=lambda t, kb: t[0, np.arange(b.shape[1]) // K_BLOCK])),
        Wrong("first column's scale",
              "Every column uses b_scale[kb, 0]; column n needs b_scale[kb, n // 128].",
              lambda a, b, s, t: _gemm(a, b, s, t, b_at=lambda t, kb: np.full(b.shape[1], t[kb, 0]))),
        Wrong("equal column blocks",
              "The columns are divided evenly among the scales. Blocks are 128 wide, the last may be narrower: n // "
              "128.",
              lambda a, b, s, t: _gemm(a, b, s, t, b_at=lambda t, kb: _spread_columns(t, kb, b.shape[1]))),
        Wrong("skipped tail",
              "The last block of k is missing from the sum.",
              lambda a, b, s, t: _gemm(a, b, s, t, blocks=lambda count: range(count - 1))),
        Wrong("only the last block",
              "Only the last block of k is there: the sum is overwritten instead of added to.",
              lambda a, b, s, t: _gemm(a, b, s, t, blocks=lambda count: [count - 1])),
        Wrong("scales averaged",
              "The sum over all of k is multiplied by the mean scale. Each block has its own, so it has to be scaled "
              "before it is added.",
              lambda a, b, s, t: (a @ b) * s.mean(0)[:, None] * t.mean(0)[np.arange(b.shape[1]) // K_BLOCK]),
        Wrong("result transposed",
              "The values are right, but the result is (N, M).",
              lambda a, b, s, t: _gemm(a, b, s, t).T),
        Wrong("e4m3fn codes",
              "Every element is four times too large: both operands were decoded as e4m3fn, twice each.",
              lambda a, b, s, t: 4 * _gemm(a, b, s, t)),
    ),
    rtol=1e-4,
)


def _places():
    return [(f"k={k}, n={n}, K={size_k}, N={size_n}", (k, n, size_k, size_n))
            for k, n, size_k, size_n in ((0, 0, 384, 1536), (1, 0, 384, 1536), (0, 1, 384, 1536), (127, 575, 256, 576))]


OFFSET = Exercise(
    id="04.offset",
    name="offset_of_b",
    question="b is weight.T: the weight is (N, K), contiguous, one byte an element. Write offset_of_b(k, n, K, N): "
             "how many bytes after the first element does b[k, n] lie?",
    minutes=5,
    read="Layouts: where an element lies",
    cases=_places,
    reference=lambda k, n, size_k, size_n: n * size_k + k,
    wrong=(
        Wrong("layout swapped",
              "That is an N-contiguous b, as if it had been copied into (K, N). weight.T copies nothing: neighbours "
              "along k stay neighbours in memory.",
              lambda k, n, size_k, size_n: k * size_n + n),
        Wrong("wrong pitch",
              "k moves by one, that is right. A step in n moves a whole row of the weight, which has K elements, not "
              "N.",
              lambda k, n, size_k, size_n: n * size_n + k),
        Wrong("steps swapped",
              "The pitch is K, but it is n that jumps by it: b[k, n] is weight[n, k].",
              lambda k, n, size_k, size_n: k * size_k + n),
        Wrong("four bytes an element",
              "Four times too far: an FP8 element has one byte.",
              lambda k, n, size_k, size_n: 4 * (n * size_k + k)),
        Wrong("bits",
              "That is in bits.",
              lambda k, n, size_k, size_n: 8 * (n * size_k + k)),
    ),
    rtol=0.0,
)

SHAPES = ((1024, 1536, 7168), (1, 7168, 2048), (6144, 7168, 256), (64, 576, 7168))


def _place(m, n, k, flops=2, in_bytes=1, out_bytes=2, scale_bytes=4, scales=True, up=True, ridge=None):
    blocks, columns = k // K_BLOCK, -(-n // K_BLOCK) if up else n // K_BLOCK
    moved = in_bytes * (m * k + k * n) + out_bytes * m * n
    moved += scale_bytes * blocks * (m + columns) if scales else 0
    intensity = flops * m * n * k / moved
    return intensity, "compute" if intensity >= (ridge or hardware.MI300X.ridge) else "memory"


def _reference_place(m, n, k):
    place = hardware.roofline(m, n, k)
    return place.intensity, place.bound


BOUND = Exercise(
    id="04.bound",
    name="place",
    question="Write place(m, n, k): the arithmetic intensity of the op, operations a byte, every operand, scale and "
             'result moved once; and "memory" or "compute", what bounds it on MI300X. A multiply-add is two '
             "operations; hardware.MI300X.ridge is where the two meet.",
    minutes=8,
    read="How fast can it be",
    parts=("intensity", "bound"),
    cases=lambda: [(f"{m}, {n}, {k}", (m, n, k)) for m, n, k in SHAPES],
    reference=_reference_place,
    wrong=(
        Wrong("missing factor 2",
              "Half of it: a multiply-add is two operations.",
              lambda m, n, k: _place(m, n, k, flops=1)),
        Wrong("result in float32",
              "The result is bfloat16, 2 bytes an element; you count 4.",
              lambda m, n, k: _place(m, n, k, out_bytes=4)),
        Wrong("result in FP8",
              "The result is bfloat16, 2 bytes an element; you count 1.",
              lambda m, n, k: _place(m, n, k, out_bytes=1)),
        Wrong("operands in bfloat16",
              "a and b are FP8, 1 byte an element; you count 2: half of the intensity is what FP8 wins.",
              lambda m, n, k: _place(m, n, k, in_bytes=2)),
        Wrong("scales forgotten",
              "Nearly: the scales are missing. They are 4 bytes each and a few per cent of the traffic.",
              lambda m, n, k: _place(m, n, k, scales=False)),
        Wrong("one byte a scale",
              "The scales are float32, 4 bytes each; you count 1.",
              lambda m, n, k: _place(m, n, k, scale_bytes=1)),
        Wrong("scales of the tail forgotten",
              "Nearly: N = 576 has ceil(576 / 128) = 5 columns of b_scale; rounded down they are 4.",
              lambda m, n, k: _place(m, n, k, up=False)),
        Wrong("result forgotten",
              "The result is missing: m · n elements of 2 bytes are written.",
              lambda m, n, k: _place(m, n, k, out_bytes=0)),
        Wrong("bound swapped",
              "The intensity is right, the bound is not: few operations a byte means that memory is what it waits "
              "for.",
              lambda m, n, k: (_place(m, n, k)[0], {"memory": "compute", "compute": "memory"}[_place(m, n, k)[1]])),
        Wrong("bytes per operation",
              "That is bytes per operation; the intensity is operations per byte.",
              lambda m, n, k: (1 / _place(m, n, k)[0], _place(m, n, k)[1])),
    ),
)

EXERCISES = [REFERENCE, OFFSET, BOUND]
