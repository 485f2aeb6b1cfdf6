"""The launch explorer without a browser: what the launcher answers is what is drawn, refusals included."""

from types import SimpleNamespace

import ipywidgets as widgets
import pytest

from fp8lab import launcher
from fp8lab.launcher import Problem
from fp8lab.widgets import launch_explorer
from fp8lab.widgets.launch import WORKSPACE

NAMED = (widgets.BoundedIntText, widgets.Dropdown, widgets.ToggleButtons)    # kinds that a screen reader can name


@pytest.fixture
def explorer(monkeypatch):
    """It notes what it asks to be drawn: tests/figures looks at the pictures."""
    asked = []

    def workgroup_map(*arguments):
        asked.append(arguments)
        return SimpleNamespace(summary=str(arguments), html=lambda: str(arguments))

    monkeypatch.setattr("fp8lab.widgets.launch.workgroup_map", workgroup_map)
    explorer = launch_explorer(1024, 1536, 7168)
    explorer.asked = asked
    return explorer


def test_it_draws_the_launchers_choice_for_the_layouts_shown(explorer):
    explorer.b_layout.value = "K-contiguous"
    choice, *sizes, given = explorer.asked[-1]
    assert sizes == [1024, 1536, 7168]
    assert choice == launcher.load().choice(Problem.sized(*sizes, "M-contiguous", "K-contiguous"))
    assert "a M-contiguous, b K-contiguous" in given


def test_without_a_workspace_k_is_in_one_part(explorer):
    assert explorer.asked[-1][0].parts > 1 and "bytes of workspace" in explorer.asked[-1][4]
    explorer.workspace.value = WORKSPACE[1]
    assert explorer.asked[-1][0].parts == 1 and "no workspace" in explorer.asked[-1][4]


def test_a_named_shape_fills_the_sizes_for_one_drawing(explorer):
    before = len(explorer.asked)
    explorer.named.value = "contest 6144, 4608, 7168"
    assert (explorer.m.value, explorer.n.value, explorer.k.value) == (6144, 4608, 7168)
    assert len(explorer.asked) == before + 1


def test_what_the_launcher_refuses_is_shown_in_its_words(explorer):
    explorer.k.value = 7169
    assert explorer.message.startswith("M, N, K = 1024, 1536, 7169: k is not a multiple of 128")


def test_controls_are_of_the_kinds_that_a_screen_reader_can_name(explorer):
    rows = [row for row in explorer.children if isinstance(row, widgets.HBox)]
    assert rows and all(isinstance(control, NAMED) and control.description for row in rows for control in row.children)
