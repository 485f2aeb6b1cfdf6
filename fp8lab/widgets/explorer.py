"""What the explorers share: controls in rows above pictures, redrawn when a control changes.

Controls are of the kinds that a screen reader can name in JupyterLab (BoundedIntText, Dropdown, ToggleButtons, Text,
Button; sliders are not), and pictures are HTML, the only widget that keeps an alternative text.
"""

import html
from contextlib import contextmanager

import ipywidgets as widgets

LABEL = {"description_width": "initial"}    # labels in full instead of cut after 80 pixels


class Explorer(widgets.VBox):
    """Controls above pictures. `figures` holds the Pictures shown now, `message` what is shown instead of them.

    A subclass makes its controls, calls arrange(), and gives draw() -> list of Pictures. Where draw() raises ValueError
    its sentence is shown: it is written for the reader.
    """

    def __init__(self):
        super().__init__()
        self.add_class("fp8lab-explorer")       # what the browser tests look for
        self.figures, self.message, self._is_held = [], "", False

    def arrange(self, rows, controls, below=()):
        """Lay out rows of widgets, pictures under them; redraw when one of `controls` changes."""
        self.output = widgets.HTML()
        self.children = [*(widgets.HBox(row, layout=widgets.Layout(flex_flow="row wrap")) for row in rows),
                         self.output, *below]
        for control in controls:
            control.observe(self.refresh, names="value")
        self.refresh()

    @contextmanager
    def one_redraw(self):
        """Several controls change inside; draw once, at the end."""
        if self._is_held:
            yield
            return
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        self.refresh()

    def refresh(self, _change=None):
        """Draw anew from the values of the controls."""
        if self._is_held:
            return
        try:
            self.figures, self.message = self.draw(), ""
        except ValueError as error:
            self.figures, self.message = [], str(error)
        if self.message:
            self.output.value = f'<p role="status"><b>Not drawn:</b> {html.escape(self.message)}</p>'
        else:
            self.output.value = "".join(picture.html() for picture in self.figures)

    @property
    def figure(self):
        """The first Picture shown now; None while a message is shown."""
        return self.figures[0] if self.figures else None

    @property
    def summary(self):
        """What is shown, as one text."""
        return self.message or " ".join(picture.summary for picture in self.figures)


def dropdown(label, options, value):
    return widgets.Dropdown(description=label, options=options, value=value, style=LABEL,
                            layout=widgets.Layout(width="auto", margin="2px 12px 2px 0"))


def integer(label, value, low, high, step=1):
    return widgets.BoundedIntText(description=label, value=value, min=low, max=high, step=step, style=LABEL,
                                  layout=widgets.Layout(width="auto", max_width="13em", margin="2px 12px 2px 0"))


def choice(label, options, value):
    return widgets.ToggleButtons(description=label, options=options, value=value,
                                 style={**LABEL, "button_width": "auto"})
