"""The second runner: what nbval passes falsely fails here, and the notebooks' files keep one form."""

import ast
import re

import nbformat
import pytest

from fp8lab import course

LESSONS = course.lessons()
each_lesson = pytest.mark.parametrize("path", LESSONS, ids=[path.stem for path in LESSONS])


def notebook_of(tmp_path, *cells, name="99_probe.ipynb"):
    """A notebook file of code cells; a cell is its source, or (source, tags)."""
    notebook = nbformat.v4.new_notebook()
    for cell in cells:
        source, tags = (cell, []) if isinstance(cell, str) else cell
        notebook.cells.append(nbformat.v4.new_code_cell(source, metadata={"tags": tags} if tags else {}))
    path = tmp_path / name
    nbformat.write(course.normalise(notebook), path)
    return path


@each_lesson
def test_every_cell_of_the_lesson_runs_clean(path):
    executed = course.execute(path)
    assert all(cell.execution_count for cell in course.code_cells(executed) if cell.source.strip())


@pytest.mark.parametrize(("source", "says"), [
    ("1 / 0", "ZeroDivisionError"),
    ("%no_such_magic", "UsageError"),
    ("%%no_such_magic\n1 + 1", "UsageError"),
    ("import sys; print('careful', file=sys.stderr)", "wrote to stderr: careful"),
    ("import warnings; warnings.warn('old')", "UserWarning"),
])
def test_runner_stops_at_what_a_learner_would_meet_as_a_failure(tmp_path, source, says):
    with pytest.raises(course.LessonError, match=says):
        course.execute(notebook_of(tmp_path, "x = 1", source, "y = 2"))


@pytest.mark.parametrize(("source", "seconds", "says"), [
    ("import time; time.sleep(600)", 1, "took over 1 s"),
    ("import os; os._exit(1)", 60, "ended the notebook's process"),
])
def test_cell_that_hangs_or_ends_its_process_is_named(tmp_path, monkeypatch, source, seconds, says):
    monkeypatch.setattr(course, "SECONDS_PER_CELL", seconds)
    with pytest.raises(course.LessonError) as raised:
        course.execute(notebook_of(tmp_path, source))
    assert str(raised.value) == f"99_probe.ipynb, code cell 1: {says}\n{source}"


def test_cell_that_is_meant_to_raise_may_raise(tmp_path):
    executed = course.execute(notebook_of(tmp_path, ("1 / 0", ["raises-exception"]), "print('on')"))
    assert executed.cells[1].outputs[0].text == "on\n"


def test_run_stops_at_the_first_failing_cell_and_shows_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(course, "NOTEBOOKS", tmp_path)
    notebook_of(tmp_path, "print('fine')", "1 / 0  # here", name="00_first.ipynb")
    notebook_of(tmp_path, "print('never reached')", name="01_second.ipynb")
    args = type("Args", (), {"action": "run", "lesson": [], "check": False})
    assert course.run(args) == 1
    said = capsys.readouterr()
    assert "1 / 0  # here" in said.err and "01_second" not in said.out


def test_lesson_that_does_not_exist_is_answered_with_those_that_do():
    with pytest.raises(course.LessonError, match="00_start_here"):
        course.lessons(["77"])
    with pytest.raises(course.LessonError, match="no lesson is called 99 or x; there are"):
        course.lessons(["01", "99", "x"])
    assert [path.name[:2] for path in course.lessons(["02", "notebooks/01_fp8_formats.ipynb", "01"])] == ["01", "02"]


@each_lesson
def test_file_is_in_the_committed_form(path):
    assert path.read_text() == course.as_committed(path), f"run: fp8lab course format {path.name[:2]}"


@each_lesson
def test_compared_cells_carry_an_output(path):
    cells = [cell for cell in course.code_cells(nbformat.read(path, 4)) if course.RECORDED in course.tags(cell)]
    assert 3 <= len(cells) <= 10, "tag the cells whose text is deterministic"
    assert all(cell.outputs for cell in cells), f"run: fp8lab course record {path.name[:2]}"


@each_lesson
def test_lesson_has_the_parts_that_every_lesson_has(path):
    notebook = nbformat.read(path, 4)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    first = notebook.cells[0].source
    assert re.match(r"# \d\d · ", first), "first cell: '# 01 · Title'"
    for word in ("**You will be able to**", "**Minutes**", "**Before this**"):
        assert word in first, f"the first cell lacks {word}"
    assert "## Summary" in prose
    code = [cell.source for cell in course.code_cells(notebook)]
    assert sum("check(" in source for source in code) >= 2, "at least two exercises"
    assert any("explorer(" in source for source in code), "at least one control to move"
    third = len(notebook.cells) // 3 + 1
    pictured = [cell for cell in notebook.cells[:third] if "figures." in cell.source or "explorer(" in cell.source]
    assert pictured, "at least one picture in the first third"


@each_lesson
def test_code_cells_are_short_and_hold_no_shell_and_no_install(path):
    for cell in course.code_cells(nbformat.read(path, 4)):
        lines = [line for line in cell.source.splitlines() if line.strip()]
        limit = 40 if "the-lesson" in course.tags(cell) else 15
        assert len(lines) <= limit, f"{len(lines)} lines:\n{cell.source}"
        assert not re.search(r"^\s*[!%]|get_ipython|os\.system|subprocess", cell.source, re.M), cell.source
        ast.parse(cell.source)


@each_lesson
def test_prose_between_cells_is_short_and_its_pictures_have_text(path):
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == "markdown":
            words = len(re.sub(r"```.*?```|\|.*\|", "", cell.source, flags=re.S).split())
            assert words <= 160, f"{words} words: {cell.source[:80]}…"
            assert not re.search(r"!\[\s*\]", cell.source), "an image without alternative text"
            assert "data:image" not in cell.source
