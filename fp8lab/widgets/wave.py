"""The wave microscope and the bank explorer: where a matrix element is kept, and what an LDS access costs."""

import ipywidgets as widgets

from .. import banks
from ..figures import lds_banks, register_map
from ..gfx942 import layouts
from .explorer import Explorer, choice, dropdown, integer

# Dense ones with one matrix each; the others, sparse or several small ones side by side, are for other kernels.
INSTRUCTIONS = [name for name in layouts.instructions()
                if name.startswith("v_mfma") and layouts.layout(name, "D").shape[0] == 1]


class WaveMicroscope(Explorer):
    """An element of an MFMA's operand, chosen from either side: by lane, register and place, or by row and column.

    Controls: instruction, operand; lane, register, place; row, column. Moving one side moves the other.
    The picture function behind it: figures.register_map.
    """

    def __init__(self, instruction, operand, lane, register, place):
        super().__init__()
        self.instruction = dropdown("instruction", INSTRUCTIONS, instruction)
        self.operand = choice("operand", ["A", "B", "C", "D"], operand)
        self.lane = integer("lane, 0 to 63", lane, 0, layouts.LANES - 1)
        self.register, self.place = dropdown("register", [register], register), dropdown("element", [place], place)
        self.row, self.column = integer("row", 0, 0, 0), integer("column", 0, 0, 0)
        self._fit()
        self._show_element()
        for control in (self.instruction, self.operand):
            control.observe(self._other_operand, names="value")
        for control in (self.lane, self.register, self.place):
            control.observe(self._from_registers, names="value")
        for control in (self.row, self.column):
            control.observe(self._from_element, names="value")
        named = [widgets.HTML(f"<b>{text}</b>", layout=widgets.Layout(width="7.5em")) for text in ("in the wave",
                                                                                             "in the matrix")]
        self.arrange([[self.instruction, self.operand], [named[0], self.lane, self.register, self.place],
                      [named[1], self.row, self.column]], [])

    @property
    def operand_shown(self):
        return self.instruction.value, self.operand.value

    def draw(self):
        return [register_map(*self.operand_shown, self.lane.value, self.register.value, self.place.value)]

    def _other_operand(self, _change):
        with self.one_redraw():
            self._fit()
            self._show_element()

    def _from_registers(self, _change):
        if not self._is_held:
            with self.one_redraw():
                self._show_element()

    def _from_element(self, _change):
        if not self._is_held:
            with self.one_redraw():
                at = layouts.location(*self.operand_shown, self.row.value, self.column.value)
                self.lane.value, self.register.value, self.place.value = at

    def _fit(self):
        """Give the controls the ranges of the operand, keeping what still fits."""
        at = layouts.layout(*self.operand_shown)
        for control, count in ((self.register, at.registers), (self.place, at.places)):
            kept = min(control.value, count - 1)
            control.options = range(count)
            control.value, control.disabled = kept, count == 1
        _, rows, columns = at.shape
        for control, name, size in ((self.row, "row" if self.operand.value != "B" else "k", rows),
                                    (self.column, "column" if self.operand.value != "A" else "k", columns)):
            control.max, control.description = size - 1, f"{name}, 0 to {size - 1}"

    def _show_element(self):
        at = layouts.element(*self.operand_shown, self.lane.value, self.register.value, self.place.value)
        self.row.value, self.column.value = at.row, at.column


def wave_explorer(instruction="v_mfma_f32_16x16x32_fp8_fp8", operand="D", lane=37, register=2, place=0):
    """Return a WaveMicroscope that begins with this element; ValueError for one that the operand has not."""
    layouts.element(instruction, operand, lane, register, place)
    return WaveMicroscope(instruction, operand, lane, register, place)


ACCESSES = {"reads its MFMA operand": ("read", banks.fragment_read), "writes the tile": ("write", banks.tile_write)}


class BankExplorer(Explorer):
    """An arrangement of a tile in LDS and an access of a wave as controls: scheme, access.

    The picture function behind it: figures.lds_banks.
    """

    def __init__(self, scheme):
        super().__init__()
        self.scheme = dropdown("rows of 128 bytes lie", list(banks.SCHEMES), scheme)
        self.access = choice("the wave", list(ACCESSES), next(iter(ACCESSES)))
        self.arrange([[self.scheme], [self.access]], [self.scheme, self.access])

    def draw(self):
        intent, addresses = ACCESSES[self.access.value]
        scheme = self.scheme.value
        return [lds_banks(addresses(banks.SCHEMES[scheme]), 16, intent, f"{scheme}, {intent} of 16 bytes a lane")]


def bank_explorer(scheme="row after row"):
    """Return a BankExplorer; scheme: a key of banks.SCHEMES."""
    return BankExplorer(scheme)
