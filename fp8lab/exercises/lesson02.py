"""Notebook 02: scale and cast a tensor, choose what happens at the edges, measure the error."""

import numpy as np

from ..formats import E4M3FN, E4M3FNUZ, encode
from .exercise import Exercise, Wrong


def _tensors():
    """Largest magnitudes that make every correct way of computing the scale give the same bits."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4, 64)).astype(np.float32)
    negative = x.copy()
    x[1, 7], negative[2, 9] = 60.0, -15.0
    return [("x with its largest element 60", (x,)), ("x with its largest element -15", (negative,))]


def _quantize(x, limit=240.0, amax=lambda x: np.abs(x).max(), fmt=E4M3FNUZ, **how):
    scale = np.float32(amax(x) / limit)
    return encode(x / scale, fmt, **how), scale


def _multiplied(x):
    scale = _quantize(x)[1]
    return encode(x * scale, E4M3FNUZ), scale


def _inverted(x):
    codes, scale = _quantize(x)
    return codes, 1 / scale


SCALE = Exercise(
    id="02.scale",
    name="quantize_tensor",
    question="Write quantize_tensor(x): one scale for the whole tensor, so that its largest magnitude lands on the "
             "largest e4m3fnuz number, and the codes of x / scale. Return codes and scale. fp8lab.formats.encode "
             "rounds for you.",
    minutes=8,
    read="One scale for a tensor",
    parts=("codes", "scale"),
    cases=_tensors,
    reference=_quantize,
    wrong=(
        Wrong("448 instead of 240",
              "The scale is amax / 448: 448 is the largest number of e4m3fn. Of this format it is 240, so the largest "
              "elements overflow to NaN.",
              lambda x: _quantize(x, 448.0)),
        Wrong("448, saturated",
              "The scale is amax / 448, the largest number of e4m3fn, and what is past 240 was cut off there.",
              lambda x: _quantize(x, 448.0, overflow="saturate")),
        Wrong("scale inverted",
              "The codes are right, but you return 240 / amax, what x was multiplied with. The scale is what codes "
              "are multiplied with to come back.",
              _inverted),
        Wrong("magnitude forgotten",
              "The scale comes from x.max(): a large negative element is not seen, and overflows. Take the largest "
              "magnitude.",
              lambda x: _quantize(x, amax=np.max)),
        Wrong("scaled to 1",
              "The scale is amax, so the codes reach only 1.0 of the 240 there are, and small elements fall into the "
              "subnormals.",
              lambda x: _quantize(x, 1.0)),
        Wrong("truncation",
              "The scale is right, the codes are cut towards zero instead of rounded to nearest even: twice the "
              "error, and always to one side.",
              lambda x: _quantize(x, rounding="toward-zero"), "Rounding"),
        Wrong("e4m3fn codes",
              "The scale is right, but the codes are those of e4m3fn: read as e4m3fnuz they mean half as much.",
              lambda x: _quantize(x, fmt=E4M3FN)),
        Wrong("multiplied by the scale",
              "The scale is right, but x is multiplied with it. Codes are those of x / scale, so that codes times "
              "scale is x.",
              _multiplied),
        Wrong("no scale",
              "The tensor was cast as it is, with the scale 1: only part of the range is used.",
              lambda x: (encode(x, E4M3FNUZ), np.float32(1))),
    ),
    rtol=1e-6,
)


def _pairs():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((16, 32))
    return [("x, y", (x, x * 1.05 + 0.01 * rng.standard_normal(x.shape))),
            ("large x, y", (100 * x, 100 * x + rng.standard_normal(x.shape)))]


def _snr(x, y):
    return 10 * np.log10(np.sum(x**2) / np.sum((x - y) ** 2))


SNR = Exercise(
    id="02.snr",
    name="snr_db",
    question="Write snr_db(x, y): how far the energy of x, Σ x², is above the energy of the error x - y, in decibel.",
    minutes=5,
    read="Error metrics",
    cases=_pairs,
    reference=_snr,
    wrong=(
        Wrong("20 instead of 10",
              "Twice as many decibels as there are: 20 · log10 is for amplitudes, and squares are energies.",
              lambda x, y: 2 * _snr(x, y)),
        Wrong("not squared",
              "You compare sums of magnitudes; energy is the sum of squares.",
              lambda x, y: 10 * np.log10(np.sum(np.abs(x)) / np.sum(np.abs(x - y)))),
        Wrong("inverted",
              "The sign is wrong: signal over error, so that better is larger.",
              lambda x, y: -_snr(x, y)),
        Wrong("natural logarithm",
              "That takes the natural logarithm; decibel means log10.",
              lambda x, y: 10 * np.log(np.sum(x**2) / np.sum((x - y) ** 2))),
        Wrong("logarithm of base 2",
              "That takes log2; decibel means log10.",
              lambda x, y: 10 * np.log2(np.sum(x**2) / np.sum((x - y) ** 2))),
        Wrong("bel, not decibel",
              "That is a tenth of it: decibel is ten times log10.",
              lambda x, y: _snr(x, y) / 10),
        Wrong("signal of the result",
              "The signal is x, what should have come out; you take the energy of y.",
              lambda x, y: 10 * np.log10(np.sum(y**2) / np.sum((x - y) ** 2))),
        Wrong("ratio, not decibel",
              "That is the ratio itself; decibel is 10 · log10 of it.",
              lambda x, y: np.sum(x**2) / np.sum((x - y) ** 2)),
        Wrong("largest error",
              "That compares the largest element with the largest error; one element decides. SNR sums over all.",
              lambda x, y: 10 * np.log10(np.max(x**2) / np.max((x - y) ** 2))),
    ),
)

CHOICES = {
    "weights, scaled by their own maximum": "nearest-even",
    "a sum of many tiny updates kept in FP8": "stochastic",
    "activations with yesterday's scale": "saturate",
    "hunting for a wrong scale": "nan",
}


def _chosen(place, answer):
    return {**CHOICES, list(CHOICES)[place]: answer}


POLICY = Exercise(
    id="02.policy",
    name="choices",
    question='For the first two, choose a rounding: "nearest-even", "toward-zero" or "stochastic". For the last two, '
             'choose what overflow becomes: "nan" or "saturate".',
    minutes=4,
    read="Rounding",
    reference=CHOICES,
    wrong=(
        Wrong("stochastic weights",
              "All right but the weights: stochastic rounding is right on average over many draws, but a weight is "
              "drawn once, and its error is larger than that of the nearest number.",
              _chosen(0, "stochastic")),
        Wrong("truncated weights",
              "All right but the weights: toward-zero makes every weight smaller, so the errors of a sum add up "
              "instead of cancelling.",
              _chosen(0, "toward-zero")),
        Wrong("nearest for tiny updates",
              "All right but the updates: each is smaller than half a step, so the nearest number is the old one, "
              "every time, and the sum never moves.",
              _chosen(1, "nearest-even")),
        Wrong("truncated updates",
              "All right but the updates: toward-zero drops every one of them.",
              _chosen(1, "toward-zero")),
        Wrong("NaN in production",
              "All right but the activations: a value slightly past the old maximum would become NaN and take its "
              "whole row of results with it. Saturated, it is off by a few per cent.",
              _chosen(2, "nan"), "Past the edge: NaN or saturate"),
        Wrong("overflow swapped",
              "The last two are the other way round: in production a value slightly past the maximum should "
              "saturate; who hunts for a mistake wants to see NaN.",
              CHOICES | {list(CHOICES)[2]: "nan", list(CHOICES)[3]: "saturate"}, "Past the edge: NaN or saturate"),
        Wrong("saturation hides",
              "All right but the hunt: saturation turns a wrong scale into slightly wrong numbers. NaN shows where it "
              "happened.",
              _chosen(3, "saturate"), "Past the edge: NaN or saturate"),
    ),
)

EXERCISES = [SCALE, SNR, POLICY]
