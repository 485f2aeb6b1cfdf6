"""Colours and sizes of every figure, once: they stay apart for colour-blind eyes, and those side by side also in grey.

tests/figures/test_palette.py measures the distance of each pair under protanopia, deuteranopia, tritanopia and in grey.
Data on a scale use the colour map of the same family, cividis (made for this purpose: arXiv 1712.01662).
"""

INK = "#1b2433"       # text, outlines
PAPER = "#ffffff"     # behind every figure, so that dark notebook themes show them unchanged
RULE = "#d5d9e0"      # grid lines of axes
LINE = "#a9afba"      # block borders

BLUE = "#0f3a75"      # the subject: our format, our layout, the exponent
SKY = "#9ccbf0"       # its companion: the scales, the second format
YELLOW = "#f6d743"    # highlight: what to look at first, the mantissa
RED = "#b8391f"       # wrong or lost: NaN, overflow, error, the sign
GREY = "#8f939b"      # context: everything else

CATEGORIES = {"blue": BLUE, "sky": SKY, "yellow": YELLOW, "red": RED, "grey": GREY}
SIDE_BY_SIDE = ((BLUE, YELLOW), (RED, BLUE), (GREY, YELLOW), (BLUE, SKY), (GREY, BLUE))    # fills that meet unlabelled
TEXT_ON = {BLUE: "white", SKY: INK, YELLOW: INK, RED: "white", GREY: INK}
SCALE = "cividis"     # the colour map for data on a scale

WIDTH, HEIGHT = 8.0, 4.5    # inches: the largest figure; at DPI it is as wide as a notebook cell
DPI = 105
