"""The palette stays apart for every kind of colour vision, and text on it is readable."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb

from fp8lab.figures import palette

# Linear RGB as dichromats see it (severity 1.0). Source: Machado, Oliveira, Fernandes, "A Physiologically-based Model
# for Simulation of Color Vision Deficiency", IEEE TVCG 2009, Table 1.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
CLEARLY_APART = 25      # CIE76; 2.3 is just noticeable


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* (D65) of linear sRGB."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.array(to_xyz) @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, two):
    """WCAG 2 contrast ratio."""
    light, dark = sorted((LUMINANCE @ linear(colour) for colour in (one, two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("vision", VISION)
def test_categories_stay_apart(vision):
    seen = {name: lab(np.array(VISION[vision]) @ linear(colour)) for name, colour in palette.CATEGORIES.items()}
    for one, two in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[two]) >= CLEARLY_APART, (one, two)


@pytest.mark.parametrize(("one", "two"), palette.SIDE_BY_SIDE)
def test_fills_that_meet_stay_apart_in_grey(one, two):
    light, dark = (lab(np.full(3, LUMINANCE @ linear(colour)))[0] for colour in (one, two))
    assert abs(light - dark) >= 15


def test_text_is_readable_on_every_category():
    assert contrast(palette.INK, palette.PAPER) >= 7
    assert contrast(palette.RED, palette.PAPER) >= 4.5
    for colour, text in palette.TEXT_ON.items():
        assert contrast(colour, text) >= 4.5, colour


def test_scale_grows_steadily_in_lightness_for_every_vision():
    colours = [linear(c[:3]) for c in colormaps[palette.SCALE](np.linspace(0, 1, 32))]
    for matrix in VISION.values():
        lightness = [lab(np.array(matrix) @ colour)[0] for colour in colours]
        assert np.all(np.diff(lightness) > 0)
