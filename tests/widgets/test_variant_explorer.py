"""The variant explorer without a browser: each control is a property of the machine or the repository."""

import pytest

from fp8lab import figures
from fp8lab.variants import REPOSITORIES, System
from fp8lab.widgets import variant_explorer


@pytest.fixture(autouse=True)
def no_rendering(monkeypatch):
    monkeypatch.setattr(figures.Picture, "png", lambda self: b"")


def test_starts_where_it_is_told():
    explorer = variant_explorer("stable ABI", torch="2.12", backend="rocm72", cpu="aarch64", gpu="gfx950")
    assert explorer.system == System("2.12", "rocm72", "aarch64", gpu="gfx950")
    assert explorer.figure.summary == figures.variants(REPOSITORIES["stable ABI"], explorer.system).summary


@pytest.mark.parametrize("control", ["torch", "backend", "cpu", "repository"])
def test_every_option_of_a_control_gives_another_picture(control):
    explorer = variant_explorer()
    dropdown, shown = getattr(explorer, control), set()
    assert dropdown.description
    options = dropdown.options
    values = list(options.values() if isinstance(options, dict) else options)
    for value in values:
        dropdown.value = value
        shown.add(explorer.output.value)
    assert len(shown) == len(values) > 1
