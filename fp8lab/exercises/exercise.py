"""What an exercise is, and how an answer is judged: against the reference and against known wrong models.

An answer is a value (number, text, list, dict, array) or a function that is called on the exercise's cases. Nothing the
learner hands over makes judge() raise: every outcome is a Verdict with a sentence.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..formats import is_torch


@dataclass(frozen=True)
class Wrong:
    """A mistake that learners make, as a model that makes it.

    name      what is wrong, in a few words; the verdict's diagnosis
    sentence  what the learner did, and why it is not what is asked
    model     what comes out: a value, or a function of the arguments of a case
    read      heading of the section to read; None means the exercise's own
    """

    name: str
    sentence: str
    model: Any
    read: str | None = None


@dataclass(frozen=True)
class Exercise:
    """A question with its reference and its known wrong models.

    id         "01.decode": the notebook, then a word
    name       the variable or function that the learner writes
    question   what is asked, one or two sentences
    minutes    how long it takes
    read       heading of the section that has what is needed
    reference  the right value, or a function of the arguments of a case
    wrong      known wrong models; each gives other results than the reference and than every other model
    cases      for a function: () -> [(label, arguments)]
    examine    where several answers are right: the answer, such as a text for some tool, or a function's results on all
               cases -> the sentence that it gets, right or wrong
    parts      names of the results, where there are several
    rtol       relative tolerance of numbers; codes and shapes are compared exactly by 0
    """

    id: str
    name: str
    question: str
    minutes: int
    read: str
    reference: Any
    wrong: tuple[Wrong, ...]
    cases: Callable[[], list[tuple[str, tuple]]] | None = None
    examine: Callable[[Any], str] | None = None
    parts: tuple[str, ...] = ()
    rtol: float = 1e-5

    @cached_property
    def inputs(self):
        return self.cases() if self.cases else []

    def outputs(self, answer):
        """Return what an answer gives: its results on copies of the inputs, or the value itself."""
        if self.cases is None:
            return [self.examine(answer) if self.examine else answer]
        results = [answer(*copy.deepcopy(arguments)) for _, arguments in self.inputs]
        return [self.examine(results)] if self.examine and not any(map(_is_open, results)) else results

    @cached_property
    def wanted(self):
        return self.outputs(self.reference)

    def matches(self, outputs, model):
        """Return whether outputs are what a model gives on every case."""
        wanted = self.outputs(model)
        return all(difference(got, want, self.rtol) is None for got, want in zip(outputs, wanted, strict=True))


@dataclass(frozen=True)
class Verdict:
    """What check() answers: shown as its text, true where the answer is right."""

    ok: bool
    text: str
    diagnosis: str | None = field(default=None)

    def __bool__(self):
        return self.ok

    def __repr__(self):
        return self.text


def judge(exercise, answer):
    """Compare an answer with the reference and the wrong models of an exercise; return a Verdict, never raise."""
    try:
        with np.errstate(all="ignore"):
            return _judge(exercise, answer)
    except Exception as error:
        return _not_yet(exercise, f"Your answer could not be compared: {type(error).__name__}: {error}.")


def _judge(exercise, answer):
    name = exercise.name
    if exercise.cases is None and callable(answer):
        return _not_yet(exercise, f"This exercise asks for a value; you gave the function {_call_name(answer)}.")
    if _is_open(answer):
        return _open(exercise)
    if exercise.cases is not None and not callable(answer):
        return _not_yet(
            exercise,
            f"This exercise asks for the function itself; you gave {_shown(answer)}. "
            f'Write check("{exercise.id}", {name}), without brackets after {name}.',
        )
    try:
        outputs = exercise.outputs(answer)
    except NotImplementedError:
        return _open(exercise)
    except (Exception, SystemExit) as error:
        if "ellipsis" in str(error):  # a stub that is filled in half
            return _open(exercise)
        return _not_yet(exercise, _what_it_raised(exercise, answer, error))
    if any(_is_open(output) for output in outputs):
        return _open(exercise)
    if all(output is None for output in outputs):
        missing = f"{name} returned None; does it end in a return?" if exercise.cases else f"{name} is None."
        return _not_yet(exercise, missing)

    differences = [difference(got, want, exercise.rtol, exercise.parts)
                   for got, want in zip(outputs, exercise.wanted, strict=True)]
    if exercise.examine and any(differences):
        differences = outputs
    if not any(differences):
        return Verdict(True, f"{exercise.id}: right.")
    for wrong in exercise.wrong:
        if exercise.matches(outputs, wrong.model):
            return _not_yet(exercise, wrong.sentence, wrong)
    return _not_yet(exercise, _first_difference(exercise, differences))


def _open(exercise):
    return Verdict(False, f"{exercise.id}: still open. Put your answer in place of the ... in {exercise.name}; "
                          f"about {exercise.minutes} minutes.\n{exercise.question}")


def _not_yet(exercise, sentence, wrong=None):
    read = (wrong and wrong.read) or exercise.read
    notebook = exercise.id.split(".")[0]
    return Verdict(False, f"{exercise.id}: not yet. {sentence}\nRead: notebook {notebook}, \"{read}\".",
                   wrong.name if wrong else None)


def _first_difference(exercise, differences):
    if exercise.cases is None or exercise.examine:
        return f"{differences[0].rstrip('.')}."
    right = sum(each is None for each in differences)
    first = next(i for i, each in enumerate(differences) if each)
    share = f"{right} of {len(differences)} cases are right. " if len(differences) > 1 else ""
    return f"{share}{exercise.name}({exercise.inputs[first][0]}): {differences[first]}."


def _what_it_raised(exercise, answer, error):
    for label, arguments in exercise.inputs:
        try:
            answer(*copy.deepcopy(arguments))
        except (Exception, SystemExit) as again:
            return f"{exercise.name}({label}) raised {type(again).__name__}: {str(again).rstrip('.')}."
    return f"{exercise.name} raised {type(error).__name__}: {str(error).rstrip('.')}."


def _is_open(value):
    """Return whether a value is, or contains, the ... of the stub."""
    if value is ...:
        return True
    if isinstance(value, dict):
        return any(_is_open(each) for each in value.values())
    return isinstance(value, list | tuple | set) and any(_is_open(each) for each in value)


def difference(got, want, rtol=0.0, parts=()):
    """Return None where got is want up to rtol, NaN being equal to NaN; else where they differ, without a full stop.

    The sentence shows values of a case, never the solution of a value exercise: `want` is shown for array elements and
    function results that are numbers, which the learner can compute; texts and dict entries only by their place.
    """
    if isinstance(want, dict):
        return _dict_difference(got, want, rtol)
    if isinstance(want, str):
        same = isinstance(got, str) and got.strip().lower() == want.lower()
        return None if same else f"you gave {_shown(got)}"
    if isinstance(want, tuple):
        return _tuple_difference(got, want, rtol, parts)
    return _array_difference(got, want, rtol)


def _dict_difference(got, want, rtol):
    if not isinstance(got, dict):
        return f"you gave {_shown(got)}, needs a dict with the keys {', '.join(map(repr, want))}"
    for key, value in want.items():
        if key not in got:
            return f"the entry {key!r} is missing"
        if isinstance(got[key], str) and not isinstance(value, str):
            return f"the entry {key!r} is the text {got[key]!r}, needs a number, without quotes"
        if difference(got[key], value, rtol) is not None:
            return f"the entry {key!r} is not {_shown(got[key])}"
    return None


def _tuple_difference(got, want, rtol, parts):
    parts = parts or tuple(f"result {i}" for i in range(len(want)))
    if not isinstance(got, tuple | list) or len(got) != len(want):
        return f"you gave {_shown(got)}, needs {len(want)} results: {', '.join(parts)}"
    for part, g, w in zip(parts, got, want, strict=True):
        where = difference(g, w, rtol)
        if where is not None:
            return f"{part}: {where}"
    return None


def _array_difference(got, want, rtol):
    try:
        got_array, want_array = as_array(got), as_array(want)
    except (TypeError, ValueError):
        return f"you gave {_shown(got)}, needs numbers"
    if got_array.shape != want_array.shape:
        return f"you gave {_kind(got_array)}, needs {_kind(want_array)}"
    with np.errstate(invalid="ignore"):
        near = np.isfinite(want_array) & (np.abs(got_array - want_array) <= rtol * np.abs(want_array))
    same = near | (got_array == want_array) | (np.isnan(got_array) & np.isnan(want_array))
    if same.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    values = f"you gave {got_array[at]:.6g}, needs {want_array[at]:.6g}"
    if not at:
        return values
    return f"element [{', '.join(map(str, at))}]: {values} ({np.count_nonzero(~same)} of {same.size} elements differ)"


def as_array(value):
    """Return numbers as float64; torch tensors too, where float8 tensors become their codes. Else raises TypeError."""
    if is_torch(value):
        import torch

        value = value.detach().cpu()
        value = value.view(torch.uint8) if value.element_size() == 1 and value.is_floating_point() else value
        value = value.double().numpy()
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{array.dtype} is not a number")
    return array.astype(np.float64)


def _kind(array):
    return f"an array of shape {array.shape}" if array.shape else "one number"


def _call_name(function):
    return getattr(function, "__name__", type(function).__name__)


def _shown(value):
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
