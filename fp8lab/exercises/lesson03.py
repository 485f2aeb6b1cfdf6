"""Notebook 03: the scales of both operands, laid out as the op wants them, and scales that are powers of two."""

import numpy as np

from ..formats import E4M3FNUZ
from ..scaling import quantize, quantize_activation, quantize_weight
from .exercise import Exercise, Wrong

LIMIT = np.float32(E4M3FNUZ.max)


def _activations():
    """(M, K) = (256, 256): every mistake in the axes gives a result of a possible shape."""
    rng = np.random.default_rng(4)
    x = (rng.standard_normal((256, 256)) * rng.lognormal(0, 1, (256, 1))).astype(np.float32)
    x[:, 7] *= -9
    wide = (rng.standard_normal((3, 640)) - 0.5).astype(np.float32)
    return [("x of (256, 256)", (x,)), ("x of (3, 640)", (wide,))]


def _blocks(x):
    return x.reshape(x.shape[0], -1, 128)                            # (M, K/128, 128)


def _a_scale(x):
    return quantize_activation(x)[1]


def _other_axis(x):
    """Blocks of 128 rows: only where M is a multiple, else of all rows."""
    rows = 128 if x.shape[0] % 128 == 0 else x.shape[0]
    return np.abs(x.reshape(-1, rows, x.shape[1])).max(1) / LIMIT


ACTIVATION = Exercise(
    id="03.activation",
    name="activation_scales",
    question="Write activation_scales(x): for x of (M, K), one float32 scale for each 128 elements along k of each "
             "row, so that the largest magnitude lands on 240, laid out as (K/128, M). K is a multiple of 128.",
    minutes=8,
    read="Scales as the kernel wants them",
    cases=_activations,
    reference=_a_scale,
    wrong=(
        Wrong("transposed scales",
              "The values are right, the layout is (M, K/128). The op wants (K/128, M), so that a tile of rows reads "
              "its scales of one block in one go.",
              lambda x: _a_scale(x).T),
        Wrong("reshaped, not transposed",
              "The shape is right, the order is not: reshape keeps the order in memory and only renames the axes. Use "
              "a transpose.",
              lambda x: _a_scale(x).T.reshape(-1, x.shape[0])),
        Wrong("wrong axis",
              "Those are blocks of 128 rows at one k. An activation's blocks run along k: 128 elements of a row.",
              _other_axis),
        Wrong("per row",
              "Every block of a row has the row's own maximum: that is the recipe per row, repeated. Take the maximum "
              "inside each block.",
              lambda x: np.repeat(np.abs(x).max(1)[None] / LIMIT, x.shape[1] // 128, 0)),
        Wrong("per tensor",
              "Every scale is that of the whole tensor. Take the maximum inside each block.",
              lambda x: np.full((x.shape[1] // 128, x.shape[0]), np.abs(x).max() / LIMIT)),
        Wrong("every so many elements",
              "Each block takes elements that lie apart: reshape(M, 128, K/128) puts neighbours into different blocks. "
              "The 128 elements of a block are neighbours: reshape(M, K/128, 128).",
              lambda x: (np.abs(x.reshape(x.shape[0], 128, -1)).max(1) / LIMIT).T),
        Wrong("448 instead of 240",
              "The layout is right, every scale too small: divided by 448, the largest number of e4m3fn.",
              lambda x: _a_scale(x) * (LIMIT / 448)),
        Wrong("scale inverted",
              "The layout is right, but those are 240 / amax. The scale is what codes are multiplied with.",
              lambda x: 1 / _a_scale(x)),
        Wrong("magnitude forgotten",
              "The layout is right, but the maximum is taken without the magnitude: blocks whose largest element is "
              "negative get too small a scale.",
              lambda x: _blocks(x).max(2).T / LIMIT),
        Wrong("amax, not scale",
              "Those are the largest magnitudes; divided by 240 they are the scales.",
              lambda x: _a_scale(x) * LIMIT),
        Wrong("mean instead of maximum",
              "Those come from the mean magnitude of a block: everything well above it overflows.",
              lambda x: np.abs(_blocks(x)).mean(2).T / LIMIT),
    ),
)


def _weights():
    rng = np.random.default_rng(5)
    w = (rng.standard_normal((576, 256)) * 0.05).astype(np.float32)    # (N, K), as nn.Linear stores it
    w[512:] *= 3                        # the tail differs from the block before,
    w[450] *= 12                        # whose last rows are larger still,
    w[120] *= 8                         # and a block boundary that is off by some rows shows,
    w[20] *= 6                          # as does a tail that is filled up with the first rows
    w[:, 130] *= -7
    return [("w of (576, 256)", (w,))]


def _b_scale(w):
    return quantize_weight(w)[1]


def _whole_blocks_only(w):
    return _b_scale(w[: w.shape[0] // 128 * 128])


def _last_128(w):
    """The tail block as the last 128 rows: reaches back into the block before."""
    tail = np.abs(w[-128:].reshape(128, -1, 128)).max((0, 2)) / LIMIT
    return np.column_stack([_whole_blocks_only(w), tail])


def _equal_blocks(w):
    """N cut into ceil(N/128) equal pieces."""
    pieces = np.array_split(w, -(-w.shape[0] // 128))
    return np.column_stack([np.abs(piece.reshape(len(piece), -1, 128)).max((0, 2)) / LIMIT for piece in pieces])


WEIGHT = Exercise(
    id="03.weight",
    name="weight_scales",
    question="Write weight_scales(w): for a weight w of (N, K) as nn.Linear stores it, one float32 scale for each 128 "
             "x 128 block, laid out as (K/128, ceil(N/128)). N = 576 here: the last block has 64 rows.",
    minutes=10,
    read="When N is not a multiple of 128",
    cases=_weights,
    reference=_b_scale,
    wrong=(
        Wrong("skipped tail",
              "Four columns: N // 128 rounds down, and the last 64 rows of w have no scale. Round up.",
              _whole_blocks_only),
        Wrong("tail as the last 128",
              "All right but the last column: its block is the last 64 rows alone; you took the last 128, which "
              "belong to the block before as well.",
              _last_128),
        Wrong("tail reuses the block before",
              "All right but the last column: it repeats the scale of the block before. The tail has a block of its "
              "own.",
              lambda w: _b_scale(w)[:, [0, 1, 2, 3, 3]]),
        Wrong("tail filled with the first rows",
              "All right but the last column: its 64 rows are filled up to 128 with the first rows of w. Nothing, or "
              "zeros, may stand there.",
              lambda w: _b_scale(np.pad(w, ((0, -len(w) % 128), (0, 0)), mode="wrap"))),
        Wrong("equal blocks",
              "You cut N into five equal pieces. Blocks are 128 wide, and only the last is narrower: the kernel looks "
              "the scale up at n // 128.",
              _equal_blocks),
        Wrong("transposed scales",
              "The values are right, the layout is (ceil(N/128), K/128). The op wants k first.",
              lambda w: _b_scale(w).T),
        Wrong("1x128 blocks",
              "Those are the scales of an activation, one for each row: a weight's blocks are 128 x 128.",
              lambda w: quantize_activation(w)[1]),
        Wrong("448 instead of 240",
              "The layout is right, every scale too small: divided by 448, the largest number of e4m3fn.",
              lambda w: _b_scale(w) * (LIMIT / 448)),
        Wrong("scale inverted",
              "The layout is right, but those are 240 / amax. The scale is what codes are multiplied with.",
              lambda w: 1 / _b_scale(w)),
        Wrong("magnitude forgotten",
              "The layout is right, but the maximum is taken without the magnitude: negative weights are not seen.",
              lambda w: np.vstack([_plain_max(w[:, k : k + 128]) for k in range(0, w.shape[1], 128)])),
    ),
)


def _plain_max(columns):
    return np.array([columns[n : n + 128].max() for n in range(0, len(columns), 128)]) / LIMIT


def _power(amax, rounded=np.ceil, limit=240.0):
    return 2.0 ** rounded(np.log2(amax / limit))


POWER = Exercise(
    id="03.power",
    name="power_of_two_scale",
    question="Write power_of_two_scale(amax): the smallest power of two with which the block's largest magnitude "
             "still fits under 240.",
    minutes=5,
    read="Powers of two",
    cases=lambda: [(f"{amax:g}", (amax,)) for amax in (240.0, 241.0, 120.0, 100.0, 0.001, 456.0, 330.0)],
    reference=lambda amax: float(quantize(np.array([[amax]]), block=(1, 1), scale="power-of-two").scales[0, 0]),
    wrong=(
        Wrong("rounded down",
              "Rounded down, amax / scale can reach 480: the largest elements overflow. Round up.",
              lambda amax: _power(amax, np.floor)),
        Wrong("rounded to nearest",
              "Rounded to the nearest power of two, some scales are too small, and their blocks overflow. Round up "
              "always.",
              lambda amax: _power(amax, np.round)),
        Wrong("one too large",
              "Where amax / 240 is a power of two already, that is the scale; you take the next one, and lose half of "
              "the range.",
              lambda amax: _power(amax, lambda power: np.floor(power) + 1)),
        Wrong("448 instead of 240",
              "Divided by 448, the largest number of e4m3fn: some blocks overflow.",
              lambda amax: _power(amax, limit=448.0)),
        Wrong("128 instead of 240",
              "Divided by 128: the block would fit under 128, and most scales are twice as large as needed.",
              lambda amax: _power(amax, limit=128.0)),
        Wrong("256 instead of 240",
              "Divided by 256, which e4m3fnuz does not have: a block whose maximum is between 240 and 256 times the "
              "scale overflows.",
              lambda amax: _power(amax, limit=256.0)),
        Wrong("not a power of two",
              "That is amax / 240, the float32 scale; it still has to be rounded up to a power of two.",
              lambda amax: amax / 240),
        Wrong("exponent, not scale",
              "That is the exponent; the scale is two to the power of it.",
              lambda amax: np.ceil(np.log2(amax / 240))),
        Wrong("scale inverted",
              "That is what the block is multiplied with. The scale is what codes are multiplied with.",
              lambda amax: 1 / _power(amax)),
    ),
    rtol=0.0,
)

EXERCISES = [ACTIVATION, WEIGHT, POWER]
