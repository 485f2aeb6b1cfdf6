"""One point of the scale explorer: which matrix, which recipe, and what FP8 does to it. Numbers only, no picture.

A Point holds everything, its seed too, so that anyone who reads its test gets the same numbers.
"""

from dataclasses import dataclass, field, fields

import numpy as np

from ..formats import FORMATS, encode
from ..scaling import RECIPES, Quantized, quantize

DISTRIBUTIONS = {     # name -> draw(generator, shape); all of about unit size, as activations after a norm are
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails": lambda rng, shape: rng.standard_t(3, shape),
    "log-normal": lambda rng, shape: rng.choice([-1.0, 1.0], shape) * rng.lognormal(0, 1.5, shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape),
}
PLACES = ("elements", "columns")
SCALES = ("float32", "power-of-two", "none")


@dataclass(frozen=True)
class Measurement:
    """What quantising cost: error, codes that lost their value, bytes.

    snr_db           signal to noise over the elements that stayed finite, decibel
    median_error     median of relative_error, where it is not NaN; unlike the SNR not ruled by the largest elements
    max_error        largest |dequantised - x| over the same elements
    nan_codes        elements that became NaN or infinite
    saturated        elements beyond the largest number of the format times their scale
    flushed          elements other than 0 that became 0
    scale_bytes      bytes of the scales; code_bytes of the codes
    relative_error   (M, N) float32: |dequantised - x| / |x|, 0 where both are 0, NaN where the code is NaN
    """

    snr_db: float
    median_error: float
    max_error: float
    nan_codes: int
    saturated: int
    flushed: int
    scale_bytes: int
    code_bytes: int
    relative_error: np.ndarray = field(repr=False, compare=False)


def measure(x, block, fmt, scale="float32", overflow="nan"):
    """Quantise a float32 matrix and measure the loss.

    x      (M, N) float32, finite
    block  (rows, columns) that share a scale, None is the whole axis
    fmt    a row of fp8lab.formats
    scale  "float32" or "power-of-two" as scaling.quantize, or "none": cast as it is
    """
    q = _cast(x, fmt, overflow) if scale == "none" else quantize(x, fmt, block, scale, overflow=overflow)
    back = q.dequantize()
    kept = np.isfinite(back)
    error = np.where(kept, back - x, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(kept, np.where(x == 0, 0, np.abs(error) / np.abs(x)), np.nan)
    rows, columns = (np.arange(size) // step for size, step in zip(x.shape, q.block, strict=True))
    largest = fmt.max * q.scales[rows[:, None], columns]
    return Measurement(
        snr_db=_snr_db(x[kept], error),
        median_error=float(np.median(relative[kept])) if kept.any() else float("nan"),
        max_error=float(np.abs(error).max(initial=0)),
        nan_codes=int(np.count_nonzero(~kept)),
        saturated=int(np.count_nonzero(kept & (np.abs(x) > largest * (1 + 1e-6)))),
        flushed=int(np.count_nonzero((back == 0) & (x != 0))),
        scale_bytes=0 if scale == "none" else q.scale_bytes,
        code_bytes=x.size,
        relative_error=relative.astype(np.float32),
    )


def _snr_db(x, error):
    """As reference.compare(), without its report, which would take longer than all the rest of a picture."""
    noise = np.sum(error.astype(np.float64) ** 2)
    return float(10 * np.log10(np.sum(x.astype(np.float64) ** 2) / noise)) if noise else float("inf")


def _cast(x, fmt, overflow):
    return Quantized(encode(x, fmt, overflow=overflow), np.ones((1, 1), np.float32), fmt, x.shape)


@dataclass(frozen=True)
class Point:
    """A generated matrix and a recipe; names are keys of DISTRIBUTIONS, RECIPES, FORMATS, PLACES, SCALES.

    outliers  how many elements (or whole columns) are multiplied by `strength`
    """

    distribution: str = "normal"
    rows: int = 256
    columns: int = 512
    outliers: int = 0
    strength: float = 64.0
    place: str = "elements"
    seed: int = 0
    recipe: str = "1×128"
    fmt: str = "e4m3fnuz"
    scale: str = "float32"
    overflow: str = "nan"

    def matrix(self):
        """Return the (rows, columns) float32 matrix; the same for the same point."""
        rng = np.random.default_rng(self.seed)
        x = DISTRIBUTIONS[self.distribution](rng, (self.rows, self.columns)).astype(np.float32)
        of = x.size if self.place == "elements" else self.columns
        where = rng.choice(of, min(self.outliers, of), replace=False)
        if self.place == "elements":
            x.reshape(-1)[where] *= np.float32(self.strength)
        else:
            x[:, where] *= np.float32(self.strength)
        return x

    def measure(self):
        """Return the Measurement of this point."""
        return measure(self.matrix(), RECIPES[self.recipe], FORMATS[self.fmt], self.scale, self.overflow)

    def as_test(self):
        """Return a pytest case, as text, that holds this point to what was measured."""
        got = self.measure()
        changed = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self)
                            if getattr(self, f.name) != f.default)
        name = f"{self.recipe}_{self.fmt}_seed_{self.seed}".replace(" ", "_").replace("×", "x")
        return (
            "import pytest\n\n"
            "from fp8lab.figures.experiment import Point\n\n\n"
            f"def test_{name}():\n"
            f"    got = Point({changed}).measure()\n"
            f"    assert got.snr_db == pytest.approx({got.snr_db:.3f}, abs=0.01)    # decibel\n"
            f"    assert got.max_error == pytest.approx({got.max_error:.6g}, rel=1e-4)\n"
            f"    assert (got.nan_codes, got.saturated, got.flushed) == {(got.nan_codes, got.saturated, got.flushed)}\n"
            f"    assert (got.scale_bytes, got.code_bytes) == {(got.scale_bytes, got.code_bytes)}\n"
        )
