"""Every exercise: its solution passes, its stub does not, and every known mistake gets its own diagnosis only."""

import base64
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from fp8lab import formats, hardware
from fp8lab.exercises import EXERCISES, check, lesson07, solution, stub
from fp8lab.exercises.exercise import difference

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
MISTAKES = [(exercise, wrong) for exercise in EXERCISES.values() for wrong in exercise.wrong]
IDS = [f"{exercise.id}: {wrong.name}" for exercise, wrong in MISTAKES]
FUNCTIONS = [exercise for exercise in EXERCISES.values() if exercise.cases]
VALUES = [exercise for exercise in EXERCISES.values() if isinstance(exercise.reference, dict) and not exercise.examine]


def answer_of(text, name):
    """Run the text of a stub or a solution as a notebook would, and return what it defines under the name."""
    namespace = {"np": np, "torch": torch, "formats": formats, "hardware": hardware, "base64": base64,
                 "hashlib": hashlib}
    exec(text, namespace)
    return namespace[name]


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_is_right(name):
    verdict = check(name, answer_of(solution(name), EXERCISES[name].name))
    assert verdict.ok and bool(verdict), verdict
    assert repr(verdict) == f"{name}: right."


@pytest.mark.parametrize("name", EXERCISES)
def test_untouched_stub_is_still_open(name):
    verdict = check(name, answer_of(stub(name), EXERCISES[name].name))
    assert not verdict and verdict.diagnosis is None
    assert "still open" in verdict.text and EXERCISES[name].question in verdict.text


@pytest.mark.parametrize("name", EXERCISES)
def test_stub_and_solution_define_the_same_name(name):
    kinds = [callable(answer_of(text(name), EXERCISES[name].name)) for text in (stub, solution)]
    assert kinds == [EXERCISES[name].cases is not None] * 2


@pytest.mark.parametrize(("exercise", "wrong"), MISTAKES, ids=IDS)
def test_mistake_gets_its_own_diagnosis(exercise, wrong):
    verdict = check(exercise.id, wrong.model)
    assert not verdict and verdict.diagnosis == wrong.name
    assert wrong.sentence in verdict.text and (wrong.read or exercise.read) in verdict.text


@pytest.mark.parametrize(("exercise", "wrong"), MISTAKES, ids=IDS)
def test_mistake_matches_no_other_model(exercise, wrong):
    outputs = exercise.outputs(wrong.model)
    assert not exercise.matches(outputs, exercise.reference)
    assert [other.name for other in exercise.wrong if exercise.matches(outputs, other.model)] == [wrong.name]


@pytest.mark.parametrize("name", EXERCISES)
def test_every_notebook_has_two_exercises_of_a_few_minutes(name):
    same_notebook = [each for each in EXERCISES if each[:2] == name[:2]]
    assert len(same_notebook) >= 2 and 3 <= EXERCISES[name].minutes <= 10


def boom(*_):
    raise RuntimeError("boom")


def leaves(*_):
    raise SystemExit


BAD_ANSWERS = {
    "None": None, "text": "hello", "empty": [], "wrong shape": np.zeros((3, 3, 3)), "object": object(),
    "NaN": float("nan"), "ragged": [[1], [2, 3]], "tensor": torch.zeros(2),
    "raises": boom, "exits": leaves, "returns None": lambda *_: None,
    "takes nothing": lambda: 0, "returns text": lambda *_: "hello", "returns itself": lambda *_: boom,
    "returns a wrong shape": lambda *_: np.zeros((7, 7)), "returns half": lambda *_: (1,), "complex": 1j, "type": int,
    "returns a float8 tensor": lambda *_: torch.zeros(4, dtype=torch.float8_e4m3fnuz), "dict": {1: 2},
}


@pytest.mark.parametrize("bad", BAD_ANSWERS)
@pytest.mark.parametrize("name", EXERCISES)
def test_bad_answers_get_a_sentence_and_no_exception(name, bad):
    verdict = check(name, BAD_ANSWERS[bad])
    assert not verdict and verdict.text.startswith(f"{name}: ") and len(verdict.text) < 700
    assert "Traceback" not in verdict.text


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda exercise: exercise.id)
def test_exception_in_the_learners_function_is_shown_with_its_case(exercise):
    text = check(exercise.id, boom).text
    assert f"{exercise.name}({exercise.inputs[0][0]}) raised RuntimeError: boom." in text


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda exercise: exercise.id)
def test_called_function_is_asked_for_uncalled(exercise):
    assert f'check("{exercise.id}", {exercise.name})' in check(exercise.id, 3.0).text


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda exercise: exercise.id)
def test_learner_may_overwrite_the_arguments(exercise):
    def overwrites(*arguments):
        result = exercise.reference(*arguments)
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                argument[...] = 0
        return result

    assert check(exercise.id, overwrites) and check(exercise.id, overwrites)


@pytest.mark.parametrize("exercise", VALUES, ids=lambda exercise: exercise.id)
def test_wrong_entry_is_named_and_the_right_one_not_told(exercise):
    for key, right in exercise.reference.items():
        other = "something else" if isinstance(right, str) else 0x33
        text = check(exercise.id, {**exercise.reference, key: other}).text
        assert f"the entry {key!r} is not {other!r}" in text and "needs" not in text


@pytest.mark.parametrize(("old", "new", "says"), [
    ('backend = "rocm"', 'backend = "vulkan"', "The parser says: Unknown variant vulkan. Expected one of cpu, cuda"),
    ('["torch"]', "torch", "TOML parse error at line 5"),
    ("[kernel.gemm_rocm]", "[kernel.gemm_cpu]", "The parser says: TOML parse error at line"),
    ('"gemm/mfma.h"', '"gemm/lds.h"', "[kernel.gemm_rocm] lists gemm/lds.h, which does not exist"),
    ("[kernel.gemm_rocm]", "[kernel.mine]", "right"),
    ("gfx942", "gfx90a", "It is built for gfx90a, needs gfx942 and no other"),
    ('"gfx942"', "", "It is built for no GPU"),
])
def test_section_gets_the_real_parsers_answer(old, new, says):
    text = EXERCISES["07.section"].reference
    assert old in text and says in check("07.section", text.replace(old, new)).text


def test_picks_are_those_of_the_kernels_library():
    assert lesson07.picked_by_the_library() == EXERCISES["07.pick"].reference


def test_partly_right_function_says_how_much_and_what_first():
    def nearly(code):
        return 1000.0 if code in (3, 4) else float(formats.decode(code, formats.E4M3FNUZ))

    text = check("01.decode", nearly).text
    assert "254 of 256 cases are right" in text and "decode_e4m3fnuz(0x03): you gave 1000, needs 0.00292969" in text


def test_torch_and_numpy_answers_count_alike():
    reference = EXERCISES["03.weight"].reference
    assert check("03.weight", lambda w: torch.from_numpy(reference(w)))
    codes = EXERCISES["02.scale"].reference
    assert check("02.scale", lambda x: (formats.to_torch(codes(x)[0], formats.E4M3FNUZ), codes(x)[1]))


def test_unknown_exercise_names_the_nearest():
    for unknown in ("01.decod", None, 7):
        verdict = check(unknown, 1)
        assert not verdict and 'Did you mean check("' in verdict.text
    assert "01.decode" in check("01.decod", 1).text
    with pytest.raises(KeyError, match=r"01\.decode"):
        solution("01.decod")


def test_solution_prints_as_code():
    assert repr(solution("00.snr")).startswith("def relative_error(snr_db):\n")


@pytest.mark.parametrize(("got", "want", "is_same"), [
    (float("nan"), float("nan"), True), (float("inf"), float("inf"), True), (float("inf"), float("-inf"), False),
    (0.0, -0.0, True), (1.0, 1.0 + 1e-7, True), (1.0, 1.01, False), (np.float32(2), 2, True), ([1], [1, 2], False),
    ("Memory ", "memory", True), (1, "memory", False), ((1.0, "a"), (1.0, "a"), True), (1.0, (1.0, "a"), False),
])
def test_difference(got, want, is_same):
    assert (difference(got, want, 1e-5) is None) == is_same


@pytest.mark.parametrize("notebook", sorted({name[:2] for name in EXERCISES}))
def test_sections_to_read_are_headings_of_the_notebook(notebook):
    """A verdict sends the learner to a heading; where this fails, rename `read` in fp8lab/exercises or the heading."""
    path = next(NOTEBOOKS.glob(f"{notebook}_*.ipynb"), None)
    if path is None:
        pytest.skip(f"notebook {notebook} is not there")
    cells = json.loads(path.read_text())["cells"]
    headings = {line.lstrip("#").strip() for cell in cells if cell["cell_type"] == "markdown"
                for line in "".join(cell["source"]).splitlines() if line.startswith("#")}
    wanted = {section for exercise in EXERCISES.values() if exercise.id.startswith(notebook)
              for section in [exercise.read, *(wrong.read for wrong in exercise.wrong if wrong.read)]}
    assert wanted <= headings, f"not headings of {path.name}: {sorted(wanted - headings)}"


def test_a_stub_filled_in_half_is_still_open():
    assert "still open" in check("01.decode", lambda code: 1 + ... / 8).text


def test_a_number_typed_as_text_is_told_to_lose_its_quotes():
    answer = dict.fromkeys(map(str, (1.0, 241.0, 248.0, -0.0, float("nan"), -0.0001)), 0) | {"1.0": "0x40"}
    assert "the entry '1.0' is the text '0x40', needs a number, without quotes" in check("01.predict", answer).text
