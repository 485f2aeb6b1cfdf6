"""The format explorer: flip the bits of an FP8 byte, or type a number and see its byte."""

from contextlib import suppress

import ipywidgets as widgets

from .. import formats
from ..figures import byte, number_line, rounding, two_formats
from .explorer import LABEL, Explorer, dropdown, integer

NO_OTHER = "none"


class FormatExplorer(Explorer):
    """One byte as one or two formats read it, and its neighbours.

    Controls: bits (8 ToggleButton, bit 7 first), code, fmt, other, number (a text, "" for none), notable (Buttons by
    name).
    The picture functions behind it: figures.byte, two_formats, number_line, rounding.
    """

    def __init__(self, code=0x40, fmt="e4m3fnuz", other="e4m3fn"):
        super().__init__()
        self.bits = [widgets.ToggleButton(tooltip=f"bit {bit}", layout=widgets.Layout(width="6.2em"))
                     for bit in range(7, -1, -1)]
        self.code = integer("code, 0 to 255", code, 0, 255)
        self.fmt = dropdown("format", list(formats.FORMATS), fmt)
        self.other = dropdown("beside it", [NO_OTHER, *formats.FORMATS], other)
        self.number = widgets.Text(description="a number to encode", placeholder="such as 1.07, 248, -0.0 or nan",
                                   style=LABEL, layout=widgets.Layout(width="27em"), continuous_update=False)
        self.notable = {name: widgets.Button(description=name, layout=widgets.Layout(width="auto"))
                        for name in ("0x80", "0x7f", "largest", "smallest normal", "smallest", "one")}
        for name, button in self.notable.items():
            button.on_click(lambda _, name=name: self._from_name(name))
        self._show_bits()
        for bit in self.bits:
            bit.observe(self._from_bits, names="value")
        self.code.observe(self._from_code, names="value")
        self.number.observe(self._from_number, names="value")
        self.fmt.observe(self._from_number, names="value")
        self.arrange([self.bits, [self.fmt, self.other, self.code], [self.number, *self.notable.values()]],
                     [self.other])

    def draw(self):
        fmt = formats.FORMATS[self.fmt.value]
        beside = formats.FORMATS.get(self.other.value)
        bytes_drawn = two_formats(self.code.value, fmt, beside) if beside else byte(self.code.value, fmt)
        pictures = [bytes_drawn, number_line(self.code.value, fmt)]
        if self.number.value.strip():
            pictures.insert(0, rounding(_number(self.number.value), fmt))
        return pictures

    def _show_bits(self):
        for bit, button in zip(range(7, -1, -1), self.bits, strict=True):
            button.value = bool(self.code.value >> bit & 1)
            button.description = f"bit {bit}: {int(button.value)}"

    def _from_bits(self, _change):
        if not self._is_held:
            self.code.value = sum(bit.value << place for bit, place in zip(self.bits, range(7, -1, -1), strict=True))

    def _from_code(self, _change):
        is_own = not self._is_held      # else the code came from the number, which stays
        with self.one_redraw():
            self._show_bits()
            if is_own:
                self.number.value = ""

    def _from_number(self, _change):
        with self.one_redraw(), suppress(ValueError):      # empty, or no number, which draw() says
            self.code.value = int(formats.encode(_number(self.number.value), formats.FORMATS[self.fmt.value]))

    def _from_name(self, name):
        with self.one_redraw():
            self.number.value = ""
            self.code.value = self._notable_code(name)

    def _notable_code(self, name):
        fmt = formats.FORMATS[self.fmt.value]
        if name.startswith("0x"):
            return int(name, 16)
        values = {"largest": fmt.max, "smallest normal": fmt.smallest_normal, "smallest": fmt.smallest_subnormal,
                  "one": 1.0}
        return int(formats.encode(values[name], fmt))


def _number(text):
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number; type one as Python does: 1.07, 2e-4, -0.0 or nan") from None


def format_explorer(code=0x40, fmt="e4m3fnuz", other="e4m3fn"):
    """Return a FormatExplorer; code 0 to 255, fmt and other keys of formats.FORMATS (other may be "none")."""
    return FormatExplorer(code, fmt, other)
