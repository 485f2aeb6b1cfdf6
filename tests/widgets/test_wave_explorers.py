"""The wave microscope and the bank explorer without a browser: each side moves the other, as the layouts say."""

from types import SimpleNamespace

import ipywidgets as widgets
import pytest

from fp8lab import banks, figures
from fp8lab.gfx942 import layouts
from fp8lab.widgets import bank_explorer, wave_explorer
from fp8lab.widgets.wave import INSTRUCTIONS

NAMED = (widgets.BoundedIntText, widgets.Dropdown, widgets.ToggleButtons)    # kinds that a screen reader can name


@pytest.fixture(autouse=True)
def no_rendering(monkeypatch):
    monkeypatch.setattr(figures.Picture, "png", lambda self: b"")


@pytest.fixture
def drawn(monkeypatch):
    """What the microscope asks to be drawn, instead of drawing it: tests/figures looks at the pictures."""
    asked = []

    def register_map(*at):
        asked.append(at)
        return SimpleNamespace(summary=str(at), html=lambda: str(at))

    monkeypatch.setattr("fp8lab.widgets.wave.register_map", register_map)
    return asked


def test_microscope_begins_where_it_is_told():
    explorer = wave_explorer("v_mfma_f32_16x16x32_fp8_fp8", "D", lane=37, register=2)
    assert (explorer.row.value, explorer.column.value) == (10, 5)
    assert explorer.summary == figures.register_map("v_mfma_f32_16x16x32_fp8_fp8", "D", 37, 2).summary
    with pytest.raises(ValueError, match="lane is 64, needs 0 to 63"):
        wave_explorer(lane=64)


@pytest.mark.parametrize("name", ["lane", "register", "place"])
def test_moving_in_the_wave_moves_in_the_matrix(drawn, name):
    explorer = wave_explorer(operand="A", lane=5, register=0, place=1)
    getattr(explorer, name).value += 1
    at = explorer.lane.value, explorer.register.value, explorer.place.value
    want = layouts.element(*explorer.operand_shown, *at)
    assert (explorer.row.value, explorer.column.value) == (want.row, want.column)
    assert drawn[-1] == (*explorer.operand_shown, *at)


@pytest.mark.parametrize("name", ["row", "column"])
@pytest.mark.parametrize("operand", ["A", "B", "C", "D"])
def test_moving_in_the_matrix_moves_in_the_wave(drawn, operand, name):
    explorer = wave_explorer(operand=operand, lane=0, register=0)
    for _ in range(3):
        control = getattr(explorer, name)
        control.value += 1
        at = explorer.lane.value, explorer.register.value, explorer.place.value
        assert at == layouts.location(*explorer.operand_shown, explorer.row.value, explorer.column.value)
        assert drawn[-1] == (*explorer.operand_shown, *at)


@pytest.mark.parametrize("operand", ["A", "B", "C", "D"])
def test_every_instruction_can_be_chosen_and_gives_a_picture_of_its_own(drawn, operand):
    explorer, shown = wave_explorer(operand=operand, lane=63, register=1), set()
    for instruction in INSTRUCTIONS:
        explorer.instruction.value = instruction
        assert drawn[-1][:2] == (instruction, operand) and not explorer.message
        at = layouts.layout(instruction, operand)
        assert (explorer.row.max + 1, explorer.column.max + 1) == at.shape[1:]
        assert list(explorer.register.options) == list(range(at.registers))
        assert explorer.place.disabled == (at.places == 1)
        shown.add(explorer.output.value)
    assert len(shown) == len(INSTRUCTIONS) > 10


def test_one_move_draws_once(drawn):
    explorer = wave_explorer(lane=37)
    drawn.clear()
    explorer.row.value = 0
    explorer.lane.value = 1
    explorer.operand.value = "A"
    assert len(drawn) == 3


@pytest.mark.parametrize("control", ["scheme", "access"])
def test_every_option_of_the_bank_explorer_gives_another_picture(control):
    explorer, shown = bank_explorer(), set()
    options = getattr(explorer, control).options
    for value in options:
        getattr(explorer, control).value = value
        shown.add(explorer.output.value)
    assert len(shown) == len(options) > 1


def test_bank_explorer_shows_the_clocks_of_the_scheme():
    explorer = bank_explorer("chunk ^ row % 4")
    clocks = banks.clocks(banks.fragment_read(banks.SCHEMES["chunk ^ row % 4"]), 16, "read")
    assert f"take {clocks} clocks" in explorer.summary


@pytest.mark.parametrize("make", [wave_explorer, bank_explorer])
def test_controls_are_of_kinds_that_screen_readers_name(make):
    def controls(widget):
        for child in getattr(widget, "children", ()):
            yield from controls(child)
        if not isinstance(widget, widgets.Box | widgets.HTML):
            yield widget

    found = list(controls(make()))
    assert len(found) >= 2 and all(isinstance(each, NAMED) and each.description for each in found)
