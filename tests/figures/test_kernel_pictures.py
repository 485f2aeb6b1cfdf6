"""The pictures of lesson 05: registers against the layouts, banks against their clocks, counts against the outcomes."""

import re
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text

from fp8lab import banks, figures, steps
from fp8lab.figures import kernel, palette
from fp8lab.figures.code import ADDED, REMOVED
from fp8lab.figures.wave import runs
from fp8lab.gfx942 import layouts
from fp8lab.gfx942.trace import class_of

FP8 = "v_mfma_f32_16x16x32_fp8_fp8"


@pytest.fixture(scope="module")
def outcomes():
    problem = steps.Problem.random(128, 128, 512)
    return [steps.run(name, problem) for name in ("5_swizzle", "7_double_buffer")]


@pytest.fixture(scope="module")
def pictures(outcomes):
    return {
        "compute_unit": figures.compute_unit(),
        "register_map": figures.register_map("v_mfma_f32_32x32x16_fp8_fp8", "D", 37, 2),
        "lds_banks": figures.lds_banks(banks.fragment_read(banks.SCHEMES["row after row"]), 16, "read", "a read"),
        "step_counts": figures.step_counts([outcomes[0]] * 8),
        "loop_order": figures.loop_order([*outcomes, outcomes[0]]),
    }


def words(picture):
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


@pytest.mark.parametrize("name", ["compute_unit", "register_map", "lds_banks", "step_counts", "loop_order"])
def test_picture_fits_a_cell_keeps_its_text_inside_and_says_what_it_shows(pictures, name):
    picture = pictures[name]
    assert picture.get_figwidth() <= palette.WIDTH and picture.get_figheight() <= palette.HEIGHT
    assert 30 < len(picture.summary) < 450 and picture.summary.endswith(".")
    picture.canvas.draw()
    width, height = picture.bbox.size
    for text in picture.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible() and artist.get_text()):
        box = text.get_window_extent()
        if box.width and not text.get_clip_on():
            assert box.x0 >= -1 and box.x1 <= width + 1, text.get_text()
            assert box.y0 >= -1 and box.y1 <= height + 1, text.get_text()


@pytest.mark.parametrize(("instruction", "operand", "place"), [
    (FP8, "D", (37, 2, 0)), (FP8, "A", (37, 1, 1)), (FP8, "B", (63, 1, 3)),
    ("v_mfma_f32_32x32x16_fp8_fp8", "A", (5, 0, 2)),
    ("v_mfma_f32_32x32x8_bf16", "B", (40, 1, 1)), ("v_mfma_f64_16x16x4_f64", "D", (17, 6, 0)),
])  # fmt: skip
def test_register_map_names_the_owner_of_every_element_and_marks_one(instruction, operand, place):
    picture = figures.register_map(instruction, operand, *place)
    element = layouts.element(instruction, operand, *place)
    matrix, registers = picture.axes
    _, rows, columns = layouts.layout(instruction, operand).shape
    owner = np.array([[layouts.location(instruction, operand, row, column).lane for column in range(columns)]
                      for row in range(rows)])
    labels = {text.get_position(): int(text.get_text()) for text in matrix.texts}
    assert labels == {(c + 0.5, r + 0.5): owner[r, c] for r, c, _, _ in runs(owner)}
    marks = [ax.patches[0].get_xy() for ax in (matrix, registers)]
    places = layouts.layout(instruction, operand).places
    assert marks == [(element.column, element.row), (place[1] * places + place[2], place[0])]
    assert f"lane {place[0]}, register {place[1]}" in picture.summary
    assert re.search(rf"{operand}\[(row|k) {element.row}, (column|k) {element.column}\]", picture.summary)


def test_runs_cover_each_cell_once_and_hold_one_number():
    numbers = np.array([[1, 1, 2], [1, 1, 2], [3, 1, 2]])
    assert runs(numbers) == [(0, 0, 2, 2), (0, 2, 3, 1), (2, 0, 1, 1), (2, 1, 1, 1)]
    covered = np.zeros((3, 3), int)
    for row, column, high, wide in runs(numbers):
        covered[row : row + high, column : column + wide] += 1
    assert np.all(covered == 1)


def test_register_map_refuses_what_the_operand_has_not():
    with pytest.raises(ValueError, match="register is 4, needs 0 to 3"):
        figures.register_map(FP8, "D", 0, 4)


@pytest.mark.parametrize("scheme", banks.SCHEMES)
def test_lds_banks_shows_how_many_dwords_each_bank_gives_and_the_clocks(scheme):
    addresses = banks.fragment_read(banks.SCHEMES[scheme])
    picture = figures.lds_banks(addresses, 16, "read", "a read")
    needed = banks.dwords(addresses, 16, "read")
    counts = {(bank, group): len(dwords) for group, each in enumerate(needed) for bank, dwords in enumerate(each)}
    shown = {(int(t.get_position()[0]), int(t.get_position()[1])): int(t.get_text())
             for t in picture.axes[0].texts if t.get_text().isdigit()}
    assert shown == {at: count for at, count in counts.items() if count}
    assert f"take {banks.clocks(addresses, 16, 'read')} clocks" in picture.summary
    assert "lanes 0–3, 20–23" in words(picture)


def test_step_counts_has_a_row_a_kernel_with_its_numbers(outcomes):
    picture = figures.step_counts(outcomes)
    shown = words(picture)
    for outcome in outcomes:
        assert {outcome.name, f"{sum(outcome.instructions.values()):,.0f}", f"{outcome.matrix_share:.0%}"} <= set(shown)
    mix = [bar for bar in picture.axes[0].patches if bar.get_height() == pytest.approx(0.42)]
    assert sum(bar.get_width() for bar in mix) == pytest.approx(len(outcomes))      # the kinds are all of them
    assert set().union(*(outcome.instructions for outcome in outcomes)) <= {
        name for classes, _, _ in kernel.KINDS.values() for name in classes}
    assert f"{outcomes[-1].lds_clocks:,.0f} clocks of the LDS, none for conflicts" in picture.summary


def test_loop_order_shows_one_block_from_its_first_load_on(outcomes):
    for outcome in outcomes:
        block = kernel.one_block(outcome)
        assert sum(each.name.startswith("v_mfma") for each in block) == 64
        assert class_of(block[0]) == "vmem"
    summary = figures.loop_order(outcomes).summary
    assert summary.startswith("5_swizzle: 0 MFMAs run while a load is on its way, 2 barriers; 7_double_buffer: ")
    with pytest.raises(ValueError, match="ran 2 blocks of K, needs 3"):
        figures.loop_order([steps.run("5_swizzle", steps.Problem.random(128, 128, 256))])


def test_diff_gives_each_line_its_sign_and_counts_them():
    diff = figures.code_diff("// head\nint a;\nint b;\nint c;\n", "// other head\nint a;\nint x < 1;\nint c;\n")
    assert str(diff).splitlines() == ["  int a;", "- int b;", "+ int x < 1;", "  int c;"]
    assert diff.summary == "1 line new (+), 1 line gone (-), of 3."
    shown = diff.html()
    assert re.search(r"<del [^>]*><span [^>]*>-</span>int b;</del>", shown)
    assert re.search(r"<ins [^>]*><span [^>]*>\+</span>int x &lt; 1;</ins>", shown)
    assert f'aria-label="{diff.summary}"' in shown


@pytest.mark.parametrize(("old", "new"), list(pairwise(steps.NAMES)))
def test_diff_of_two_steps_makes_one_from_the_other(old, new):
    diff = figures.code_diff(steps.source(old), steps.source(new), context=1000)
    for name, signs in ((old, " -"), (new, " +")):
        body = steps.source(name).partition('#include "words.h"')
        assert "\n".join(text for sign, text in diff.lines if sign in signs) == "".join(body[1:]).rstrip()


def test_sources_that_do_not_differ_are_refused():
    with pytest.raises(ValueError, match="do not differ"):
        figures.code_diff("// one\nint a;", "// two\nint a;")


@pytest.mark.parametrize("fill", [ADDED, REMOVED])
def test_changed_lines_are_readable(fill):
    def luminance(colour):
        rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    assert (luminance(fill) + 0.05) / (luminance(palette.INK) + 0.05) >= 7
