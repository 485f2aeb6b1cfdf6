"""Exercises of the course: check() says whether an answer is right, and if not, which mistake it equals.

An exercise is one entry of a lesson module (lesson00.py …): question, reference, wrong models. stubs.py holds what the
notebook shows, solutions.py one solution each.
"""

import difflib
from importlib import resources

from . import lesson00, lesson01, lesson02, lesson03, lesson04, lesson05, lesson06, lesson07, lesson08
from .exercise import Exercise, Verdict, Wrong, judge

LESSONS = (lesson00, lesson01, lesson02, lesson03, lesson04, lesson05, lesson06, lesson07, lesson08)
EXERCISES = {exercise.id: exercise for lesson in LESSONS for exercise in lesson.EXERCISES}

__all__ = ["EXERCISES", "Exercise", "Verdict", "Wrong", "check", "solution", "stub"]


def check(exercise, answer=...):
    """Return the Verdict on an answer, with its diagnosis: right, still open, or which known mistake it equals.

    exercise  its id, such as "01.decode"
    answer    what the exercise asks for: a value, an array (NumPy or torch), or the function itself

    Raises nothing: whatever is wrong with the answer is in the Verdict.
    """
    if not isinstance(exercise, str) or exercise not in EXERCISES:
        near = difflib.get_close_matches(str(exercise), EXERCISES, n=1) or list(EXERCISES)[:1]
        return Verdict(False, f'No exercise is called {exercise!r}. Did you mean check("{near[0]}", answer)?')
    return judge(EXERCISES[exercise], answer)


def stub(exercise):
    """Return the text that the notebook gives to the learner, with ... where the answer goes. KeyError if unknown."""
    return _part("stubs.py", exercise)


def solution(exercise):
    """Return one solution as text that prints as code. KeyError if there is no such exercise."""
    return _part("solutions.py", exercise)


class _Code(str):
    """Text that a notebook shows as it is, not quoted."""

    def __repr__(self):
        return str(self)


def _part(file, exercise):
    """Return the part of a file below the line `# exercise: <id>`, up to the next such line."""
    for part in resources.files(__package__).joinpath(file).read_text().split("# exercise: ")[1:]:
        name, _, text = part.partition("\n")
        if name.strip() == exercise:
            return _Code(text.strip())
    raise KeyError(f"no exercise {exercise!r}; there are {', '.join(EXERCISES)}")
