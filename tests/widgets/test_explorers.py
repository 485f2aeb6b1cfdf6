"""The explorers without a browser: move a control, and what is drawn changes as the picture functions say."""

import re

import ipywidgets as widgets
import numpy as np
import pytest

from fp8lab import figures, formats, hardware, scaling
from fp8lab.figures.experiment import Point
from fp8lab.widgets import format_explorer, scale_explorer, shape_explorer

ACCESSIBLE = (widgets.BoundedIntText, widgets.Dropdown, widgets.ToggleButtons, widgets.ToggleButton, widgets.Checkbox,
              widgets.Text, widgets.Textarea, widgets.Button)
EXPLORERS = {"format": format_explorer, "scale": scale_explorer, "shape": shape_explorer}


@pytest.fixture(autouse=True)
def no_rendering(request, monkeypatch):
    """Pictures are drawn but not rendered, which takes most of the time; tests/figures renders each kind."""
    monkeypatch.setattr(figures.Picture, "png", lambda self: b"")


@pytest.fixture(scope="module")
def small_scale_explorer():
    return scale_explorer(rows=128, columns=256)


def controls(widget):
    """Every leaf of a widget tree that a person can move."""
    for child in getattr(widget, "children", ()):
        yield from controls(child)
    if not isinstance(widget, widgets.Box | widgets.HTML):
        yield widget


@pytest.mark.parametrize("name", EXPLORERS)
def test_controls_are_of_kinds_that_screen_readers_name(name):
    found = list(controls(EXPLORERS[name]()))
    assert len(found) >= 6
    for control in found:
        assert isinstance(control, ACCESSIBLE) and control.description, type(control)


@pytest.mark.parametrize("name", EXPLORERS)
def test_picture_is_html_with_its_summary_as_alternative_text(name):
    explorer = EXPLORERS[name]()
    alts = re.findall(r'<img alt="([^"]+)" src="data:image/png;base64,"', explorer.output.value)
    assert len(alts) == len(explorer.figures) >= 1
    assert explorer.figure is explorer.figures[0] and explorer.figure.summary in explorer.summary


ONE_MOVE = {
    "bit": ("format", lambda e: setattr(e.bits[0], "value", True)),
    "code": ("format", lambda e: setattr(e.code, "value", 3)),
    "number": ("format", lambda e: setattr(e.number, "value", "1.07")),
    "format": ("format", lambda e: setattr(e.fmt, "value", "e5m2")),
    "notable": ("format", lambda e: e.notable["largest"].click()),
    "seed": ("scale", lambda e: setattr(e.seed, "value", 3)),
    "scale": ("scale", lambda e: setattr(e.scale, "value", "none")),
    "m": ("shape", lambda e: setattr(e.m, "value", 3)),
    "named shape": ("shape", lambda e: setattr(e.named, "value", list(e.shapes)[4])),
}


@pytest.mark.parametrize("move", ONE_MOVE)
def test_one_move_draws_once(move, monkeypatch):
    name, change = ONE_MOVE[move]
    explorer, drawn = EXPLORERS[name](), []
    draw = explorer.draw
    monkeypatch.setattr(type(explorer), "draw", lambda self: drawn.append(1) or draw())
    change(explorer)
    assert len(drawn) == 1


def test_bits_code_and_value_agree():
    explorer = format_explorer(code=0x40)
    for place, bit in zip((7, 4, 0), (explorer.bits[i] for i in (0, 3, 7)), strict=True):
        before = explorer.code.value
        bit.value = not bit.value
        assert explorer.code.value == before ^ (1 << place)
        assert bit.description == f"bit {place}: {int(bit.value)}"
        assert f"Code 0x{explorer.code.value:02x} in e4m3fnuz" in explorer.summary
    explorer.code.value = 0x5B
    assert [bit.value for bit in explorer.bits] == [c == "1" for c in f"{0x5B:08b}"]
    assert "+1.375 × 2^3 = 11" in explorer.summary and "+1.375 × 2^4 = 22" in explorer.summary


def test_second_format_comes_and_goes():
    explorer = format_explorer(code=0x5B, other="none")
    assert explorer.figure.summary == figures.byte(0x5B, formats.E4M3FNUZ).summary
    explorer.other.value = "e5m2"
    assert explorer.figure.summary == figures.two_formats(0x5B, formats.E4M3FNUZ, formats.E5M2).summary


def test_number_shows_its_code_in_the_chosen_format():
    explorer = format_explorer()
    explorer.number.value = "1.07"
    assert explorer.code.value == formats.encode(1.07, formats.E4M3FNUZ)
    assert explorer.figure.summary == figures.rounding(1.07, formats.E4M3FNUZ).summary
    explorer.fmt.value = "e5m2"
    assert explorer.code.value == formats.encode(1.07, formats.E5M2)
    explorer.number.value = "248"
    explorer.fmt.value = "e4m3fnuz"
    assert explorer.code.value == 0x80 and "the code is 0x80, NaN" in explorer.summary
    explorer.bits[7].value = True                          # another byte: the number no longer belongs to it
    assert explorer.number.value == "" and explorer.code.value == 0x81


@pytest.mark.parametrize("text", ["nan", "-0.0", "-1e99"])
def test_any_python_number_can_be_typed(text):
    explorer = format_explorer()
    explorer.number.value = text
    assert explorer.figure and explorer.code.value == formats.encode(float(text), formats.E4M3FNUZ)


def test_what_is_no_number_gets_a_sentence_and_the_next_one_a_picture():
    explorer = format_explorer()
    explorer.number.value = "<b>one"
    assert explorer.figure is None and "type one as Python does" in explorer.message
    assert "<b>one" not in explorer.output.value and "&lt;b&gt;one" in explorer.output.value
    explorer.number.value = "1"
    assert explorer.figure and explorer.code.value == 0x40


@pytest.mark.parametrize("fmt", ["e4m3fnuz", "e5m2"])
def test_notable_codes(fmt):
    explorer, row = format_explorer(fmt=fmt), formats.FORMATS[fmt]
    for name, value in {"largest": row.max, "smallest normal": row.smallest_normal, "smallest": row.smallest_subnormal,
                        "one": 1.0}.items():
        explorer.notable[name].click()
        assert formats.decode(explorer.code.value, row) == value
    for code in (0x80, 0x7F):
        explorer.notable[f"0x{code:02x}"].click()
        assert explorer.code.value == code


MOVES = {
    "distribution": "heavy tails", "size": (300, 576), "seed": 7, "outliers": 9, "recipe": "128×128", "fmt": "e5m2fnuz",
    "scale": "power-of-two", "strength": 1024.0, "place": "columns",
}


@pytest.mark.parametrize("control", MOVES)
def test_moving_a_scale_control_moves_the_point_and_the_picture(control):
    explorer = scale_explorer(rows=128, columns=256, outliers=3)
    before = explorer.figure.axes[0].images[0].get_array()
    getattr(explorer, control).value = MOVES[control]
    after = explorer.figure.axes[0].images[0].get_array()
    assert before.shape != after.shape or not np.array_equal(before, after)
    assert explorer.figure.summary == figures.scale_point(explorer.point).summary


def test_overflow_shows_where_there_is_no_scale():
    explorer = scale_explorer(rows=128, columns=256, outliers=8, strength=1024.0, scale="none")
    assert re.search(r"[1-9]\d* NaN codes", explorer.summary)
    explorer.overflow.value = "saturate"
    assert " 0 NaN codes" in explorer.summary and re.search(r"[1-9]\d* saturated", explorer.summary)


def test_overflow_is_offered_only_where_something_can_overflow():
    explorer = scale_explorer(rows=128, columns=256)
    assert explorer.overflow.disabled
    explorer.scale.value = "none"
    assert not explorer.overflow.disabled


def test_point_can_be_copied_as_a_test_that_passes(small_scale_explorer):
    explorer = small_scale_explorer
    explorer.outliers.value = 5
    explorer.copy.click()
    assert explorer.test_text.layout.display == "flex"
    assert "Point(rows=128, columns=256, outliers=5)" in explorer.test_text.value
    namespace = {}
    exec(explorer.test_text.value, namespace)
    next(value for name, value in namespace.items() if name.startswith("test_"))()
    explorer.outliers.value = 0
    assert explorer.test_text.layout.display == "none"     # it would belong to another point


def test_own_matrix_is_shown_first_and_generated_ones_stay_in_reach():
    own = Point("uniform", rows=40, columns=256, seed=9).matrix()
    explorer = scale_explorer(own)
    assert explorer.distribution.value == "your matrix" and explorer.seed.disabled
    assert explorer.summary == figures.scale_point(Point(), own).summary
    explorer.copy.click()
    assert explorer.test_text.value.startswith("# Only a generated matrix")
    explorer.distribution.value = "normal"
    assert not explorer.seed.disabled and explorer.summary == figures.scale_point(Point()).summary


def test_scale_explorer_offers_every_recipe_and_format(small_scale_explorer):
    assert list(small_scale_explorer.recipe.options) == list(scaling.RECIPES)
    assert list(small_scale_explorer.fmt.options) == list(formats.FORMATS)


@pytest.mark.parametrize(("control", "value"), [("m", 96), ("n", 576), ("k", 256), ("a_layout", "M-contiguous"),
                                                ("b_layout", "N-contiguous")])
def test_moving_a_shape_control_redraws_layouts_and_roofline(control, value):
    explorer = shape_explorer()
    getattr(explorer, control).value = value
    m, n, k = explorer.m.value, explorer.n.value, explorer.k.value
    layouts = figures.gemm_layout(m, n, k, explorer.a_layout.value, explorer.b_layout.value)
    assert [p.summary for p in explorer.figures] == [layouts.summary, figures.roofline((m, n, k)).summary]
    cost = hardware.gemm_cost(m, n, k)
    assert f"{cost.flops:,} operations on {cost.bytes:,} bytes" in explorer.cost.value


def test_named_shape_fills_the_sizes():
    explorer = shape_explorer()
    for name in (f"contest {', '.join(map(str, hardware.CONTEST_SHAPES[5]))}", "DeepSeek-V3 o_proj, 4096 tokens"):
        explorer.named.value = name
        assert (explorer.m.value, explorer.n.value, explorer.k.value) == explorer.shapes[name]
    assert set(hardware.CONTEST_SHAPES) <= set(explorer.shapes.values())


def test_shape_that_the_op_refuses_shows_its_sentence_and_recovers():
    explorer = shape_explorer()
    explorer.k.value = 100
    assert explorer.figure is None and explorer.message.startswith("K is 100, needs a multiple of 128")
    assert "<img" not in explorer.output.value and explorer.cost.value == ""
    explorer.k.value = 256
    assert len(explorer.figures) == 2 and not explorer.message


def test_a_size_typed_after_a_named_shape_takes_its_name_away():
    explorer = shape_explorer()
    name = list(explorer.shapes)[3]
    explorer.named.value = name
    explorer.m.value = 7
    assert explorer.named.value == "your own"
    explorer.named.value = name
    assert (explorer.m.value, explorer.n.value, explorer.k.value) == explorer.shapes[name]


@pytest.mark.parametrize("start", [{"rows": 100, "columns": 100}, {"strength": 5.0}, {"recipe": "1x128"},
                                   {"outliers": 100}, {"fmt": "e4m3"}])  # fmt: skip
def test_scale_explorer_says_which_start_it_cannot_show_and_what_it_can(start):
    with pytest.raises(ValueError, match=f"{list(start)[-1]} is .*, needs one of "):
        scale_explorer(**start)
