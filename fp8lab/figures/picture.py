"""Picture: a matplotlib figure that carries its own sentence, so that it is never shown without a text alternative."""

import base64
import html
import io

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from . import palette

STYLE = {
    "font.family": "DejaVu Sans",               # comes with matplotlib: the same picture on every machine
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": palette.INK,
    "axes.labelcolor": palette.INK,
    "text.color": palette.INK,
    "xtick.color": palette.INK,
    "ytick.color": palette.INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": palette.RULE,
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "axes.unicode_minus": False,
}


class Picture(Figure):
    """A figure that notebooks show with its summary as alternative text and as a line below.

    It belongs to no pyplot state: nothing is shown twice, nothing needs closing.
    """

    summary = ""

    def png(self):
        """Return the picture as PNG bytes."""
        buffer = io.BytesIO()
        with rc_context(STYLE):
            self.savefig(buffer, format="png", pil_kwargs={"compress_level": 1})    # 3x faster, twice the bytes
        return buffer.getvalue()

    def html(self):
        """Return an <img> whose alt text is the summary, and the summary below it.

        HTML because JupyterLab drops the alt text of image outputs and of the Image widget, and keeps this one.
        """
        data, alt = base64.b64encode(self.png()).decode(), html.escape(self.summary, quote=True)
        width = round(self.get_figwidth() * 100)
        return (
            f'<figure style="margin:0"><img alt="{alt}" src="data:image/png;base64,{data}" '
            f'style="background:#fff;max-width:100%;width:{width}px">'
            f'<figcaption style="max-width:{width}px;line-height:1.4">{alt}</figcaption></figure>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.html(), "text/plain": self.summary}

    def __repr__(self):
        return f"Picture: {self.summary}"


def picture(draw, *args, size=(palette.WIDTH, palette.HEIGHT), **kwargs):
    """Return a new Picture, drawn by draw(picture, *args, **kwargs), which returns the summary sentence."""
    with rc_context(STYLE):
        new = Picture(figsize=size, dpi=palette.DPI, facecolor=palette.PAPER)
        FigureCanvasAgg(new)
        new.summary = draw(new, *args, **kwargs)
    return new


def numbers(value, digits=7):
    """Return a number as people write it: 240, 0.0625, 2.4e-05, NaN."""
    value = float(value)
    if np.isnan(value):
        return "NaN"
    if value == 0:
        return "-0" if np.signbit(value) else "0"
    return f"{value:.{digits}g}"
