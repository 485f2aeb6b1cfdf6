"""The exercises as they stand in the lessons: the stub word for word, its check, and all that a solution needs."""

import ast
import builtins

import nbformat
import pytest

from fp8lab import course
from fp8lab.exercises import EXERCISES, solution, stub

LESSONS = {path.name[:2]: path for path in course.lessons()}
here = pytest.mark.parametrize("name", [name for name in EXERCISES if name[:2] in LESSONS])


def cells_up_to(name):
    """Sources of the code cells of the exercise's lesson, up to the one that checks it."""
    sources = [cell.source for cell in course.code_cells(nbformat.read(LESSONS[name[:2]], 4))]
    at = [index for index, source in enumerate(sources) if f'check("{name}"' in source]
    assert len(at) == 1, f"{len(at)} cells check {name}"
    return sources[:at[0] + 1]


@here
def test_lesson_gives_the_stub_word_for_word_and_checks_it_in_the_same_cell(name):
    cell = cells_up_to(name)[-1]
    assert stub(name) in cell
    assert cell.rstrip().endswith(f'check("{name}", {EXERCISES[name].name})')


@here
def test_solution_uses_only_names_that_the_lesson_has_by_then(name):
    known = set(dir(builtins)).union(*(bound_names(ast.parse(source)) for source in cells_up_to(name)))
    tree = ast.parse(solution(name))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    assert used - bound_names(tree) <= known


@here
def test_lesson_says_how_to_see_the_solution(name):
    prose = [cell.source for cell in nbformat.read(LESSONS[name[:2]], 4).cells if cell.cell_type == "markdown"]
    assert any(f'solution("{name}")' in text for text in prose)


@pytest.mark.parametrize("lesson", LESSONS)
def test_lesson_checks_only_exercises_that_exist(lesson):
    trees = [ast.parse(cell.source) for cell in course.code_cells(nbformat.read(LESSONS[lesson], 4))]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    checked = {call.args[0].value for call in calls if getattr(call.func, "id", "") == "check"}
    assert checked == {name for name in EXERCISES if name.startswith(lesson)}


def bound_names(tree):
    """Names that a piece of code defines: imports, assignments, functions and their arguments, loop variables."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names
