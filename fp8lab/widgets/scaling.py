"""The scale explorer: what a recipe does to a matrix, with outliers as strong as you like."""

from dataclasses import replace

import ipywidgets as widgets

from ..figures import scale_point
from ..figures.experiment import DISTRIBUTIONS, PLACES, SCALES, Point
from ..formats import FORMATS, OVERFLOWS, as_floats
from ..scaling import RECIPES
from .explorer import Explorer, choice, dropdown, integer

SIZES = {"128 x 256": (128, 256), "256 x 512": (256, 512), "300 x 576 (tails)": (300, 576), "512 x 1024": (512, 1024)}
STRENGTHS = [2.0**power for power in (2, 4, 6, 8, 10, 12, 16)]
MOST_OUTLIERS = 64
YOURS = "your matrix"


def _check(point):
    """Raise ValueError for a point that the controls cannot show."""
    offered = {"rows, columns": ((point.rows, point.columns), list(SIZES.values())),
               "strength": (point.strength, STRENGTHS), "recipe": (point.recipe, list(RECIPES)),
               "distribution": (point.distribution, list(DISTRIBUTIONS)), "place": (point.place, list(PLACES)),
               "fmt": (point.fmt, list(FORMATS)), "scale": (point.scale, list(SCALES)),
               "overflow": (point.overflow, list(OVERFLOWS)),
               "outliers": (point.outliers, range(MOST_OUTLIERS + 1))}  # fmt: skip
    for name, (value, values) in offered.items():
        if value not in values:
            listed = f"0 to {MOST_OUTLIERS}" if name == "outliers" else ", ".join(map(repr, values))
            raise ValueError(f"{name} is {value!r}, needs one of {listed}")


class ScaleExplorer(Explorer):
    """An experiment.Point as controls; `point` is the one shown now.

    Controls: distribution, size, outliers, strength, place, seed, recipe, fmt, scale, overflow, copy (a Button) and
    test_text (the Textarea it fills). The picture function behind it: figures.scale_point.
    """

    def __init__(self, point, matrix=None):
        super().__init__()
        _check(point)
        self.matrix = None if matrix is None else as_floats(matrix)
        yours = [] if matrix is None else [YOURS]
        self.distribution = dropdown("values", [*yours, *DISTRIBUTIONS], (yours or [point.distribution])[0])
        self.size = dropdown("matrix", SIZES, (point.rows, point.columns))
        self.seed = integer("seed", point.seed, 0, 9999)
        self.outliers = integer("outliers", point.outliers, 0, MOST_OUTLIERS)
        self.place = dropdown("which are", PLACES, point.place)
        self.strength = dropdown("times", [(f"{s:g}", s) for s in STRENGTHS], point.strength)
        self.recipe = dropdown("block", list(RECIPES), point.recipe)
        self.fmt = dropdown("format", list(FORMATS), point.fmt)
        self.scale = choice("scale", SCALES, point.scale)
        self.overflow = dropdown("overflow to", OVERFLOWS, point.overflow)
        self.copy = widgets.Button(description="Copy as a test", layout=widgets.Layout(width="auto"),
                                   tooltip="show this point as a pytest case")
        self.test_text = widgets.Textarea(description="pytest case", rows=12, style={"description_width": "initial"},
                                          layout=widgets.Layout(width="100%", display="none"))
        self.copy.on_click(self._show_test)
        self.arrange(
            [[self.distribution, self.size, self.seed, self.outliers, self.place, self.strength],
             [self.recipe, self.fmt, self.overflow, self.scale, self.copy]],
            [self.distribution, self.size, self.seed, self.outliers, self.place, self.strength, self.recipe, self.fmt,
             self.scale, self.overflow],
            below=[self.test_text])

    @property
    def is_yours(self):
        return self.distribution.value == YOURS

    @property
    def point(self):
        rows, columns = self.size.value
        point = Point(rows=rows, columns=columns, outliers=self.outliers.value, strength=self.strength.value,
                      place=self.place.value, seed=self.seed.value, recipe=self.recipe.value, fmt=self.fmt.value,
                      scale=self.scale.value, overflow=self.overflow.value)
        return point if self.is_yours else replace(point, distribution=self.distribution.value)

    def draw(self):
        for control in (self.size, self.seed, self.outliers, self.place, self.strength):
            control.disabled = self.is_yours    # they describe the generated matrix
        self.overflow.disabled = self.scale.value != "none"    # with a scale nothing overflows
        self.test_text.layout.display = "none"  # it would show another point
        return [scale_point(self.point, self.matrix if self.is_yours else None)]

    def _show_test(self, _button):
        self.test_text.layout.display = "flex"
        self.test_text.value = ("# Only a generated matrix can be copied: its seed makes it again. Choose other values."
                                if self.is_yours else self.point.as_test())


def scale_explorer(matrix=None, **start):
    """Return a ScaleExplorer.

    matrix  (M, N) floating point, numpy or torch: offered beside the generated ones and shown first
    start   fields of experiment.Point for the first picture: recipe="128×128", outliers=8, strength=1024.0 …
    """
    return ScaleExplorer(Point(**start), matrix)
