"""The pictures of outliers against numbers computed another way."""

import numpy as np

from fp8lab import figures, formats
from fp8lab.figures.outliers import STRENGTHS, snr_of_others
from fp8lab.scaling import RECIPES

X = np.random.default_rng(0).standard_normal((24, 256)).astype(np.float32)
X[3, 70] = -6.0                                             # the largest


def test_columns_finds_the_largest_magnitude_of_each_column():
    picture = figures.columns(X, name="x")
    bars = picture.axes[0].patches
    assert [bar.get_height() for bar in bars[:256]] == np.abs(X).max(axis=0).tolist()
    assert bars[256].get_x() < 70 < bars[256].get_x() + bars[256].get_width()      # the outlier, drawn once more, wider
    assert "is 6, in column 70;" in picture.summary


def test_snr_of_others_leaves_out_the_largest_element_only():
    others = np.arange(X.size) != 3 * 256 + 70
    scale = np.float32(6.0 * 100 / 240)
    back = formats.decode(formats.encode(X / scale, formats.E4M3FNUZ), formats.E4M3FNUZ) * scale
    wanted, got = (values.ravel()[others].astype(float) for values in (X, back))
    wanted = 10 * np.log10(np.sum(wanted**2) / np.sum((wanted - got) ** 2))
    assert np.isclose(snr_of_others(X, 100, (None, None)), wanted, rtol=1e-6)
    assert X[3, 70] == -6.0                                 # the caller's matrix is left alone


def test_outlier_hurts_more_the_more_elements_share_its_scale():
    lines = {line.get_label(): line.get_ydata() for line in figures.outlier_cost(X).axes[0].lines}
    assert list(lines) == list(RECIPES)
    at = STRENGTHS.index(1e4)
    assert lines["per tensor"][at] < lines["per row"][at] < lines["1×128"][at]
    assert np.ptp([line[0] for line in lines.values()]) < 1.5       # without a strong outlier they are alike
