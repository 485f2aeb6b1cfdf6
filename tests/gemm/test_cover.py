"""Every element of the large contest shapes is computed by some workgroup: whole launches, but without any K."""

import contest
import pytest
from emulated import Problem, launch
from host import launched, problem

SHAPES = {(m, n): k for m, n, k in contest.TIMED}


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_the_tiles_of_a_contest_shape_cover_it(m, n):
    choice = launched(problem(m, n, SHAPES[m, n]))
    out, _ = launch(choice.name, Problem.random(m, n, 0), choice.parts)
    assert not out.any()
