"""Lesson 05: answers that are right in more than one way, and what the emulator and the banks say to wrong ones."""

import pytest

from fp8lab.exercises import check
from fp8lab.exercises.lesson05 import BARE


@pytest.mark.parametrize("after", [[15, 22], [22, 15], (16, 21), [11, 15]])
def test_barriers_may_stand_anywhere_between_writing_and_reading(after):
    assert check("05.barrier", after)


@pytest.mark.parametrize(("after", "says"), [
    ([], "findings. The first is"),
    ([22], "uninitialised-lds"),
    ([15], "lds-race"),
    ([15, 22, 22], "a wave meets 3 barriers for each block of K, and 2 are enough"),
    ([17, 22], "With barriers there it does not compile: "),
    ([99], "a list of line numbers from 1 to 25"),
    (15, "a list of line numbers"),
])  # fmt: skip
def test_barriers_elsewhere_get_what_the_compiler_or_the_emulator_says(after, says):
    verdict = check("05.barrier", after)
    assert not verdict
    assert says in verdict.text or verdict.diagnosis


def test_lines_that_the_exercise_speaks_of_are_those_of_the_listing():
    lines = [None, *BARE.splitlines()]
    assert lines[11].strip().startswith("for (int kb") and "b_lds[i] =" in lines[14] and lines[15].strip() == "}"
    assert lines[17] == "#pragma unroll 1" and "sum += part" in lines[22]


@pytest.mark.parametrize("answer", [lambda row, chunk: chunk ^ row & 7, lambda row, chunk: chunk ^ 7 - row % 8,
                                    lambda row, chunk: chunk ^ row % 8 ^ row // 8 % 8])
def test_more_than_one_swizzle_is_right(answer):
    assert check("05.swizzle", answer)


@pytest.mark.parametrize(("answer", "says"), [
    (lambda row, chunk: chunk / 2, "swizzle(0, 0) gives 0.0, needs a whole number from 0 to 7"),
    (lambda row, chunk: 3, "In row 0, chunks 0 and 1 both lie at place 3"),
    (lambda row, chunk: chunk ^ row // 8 % 8, "Rows that follow each other have a chunk in the same place"),
    # lanes 0-3 want chunk 0 of rows 0-3 and lanes 20-23 chunk 1 of rows 4-7: all of them at place 0, eight times
    (lambda row, chunk: chunk ^ row % 8 // 4, "takes 64 clocks, a write of the tile 8; 8 are possible; rows 0 and 1"),
])  # fmt: skip
def test_other_swizzles_are_told_what_they_do(answer, says):
    assert says in check("05.swizzle", answer).text
