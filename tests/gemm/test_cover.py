"""Every element of the large contest shapes is computed by some workgroup: whole launches, but without any K."""

import pytest
from emulated import Problem, launch
from host import launched, problem

from fp8lab.hardware import CONTEST_BENCHMARK_SHAPES

SHAPES = {(m, n): k for m, n, k in CONTEST_BENCHMARK_SHAPES}


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_the_tiles_of_a_contest_shape_cover_it(m, n):
    choice = launched(problem(m, n, SHAPES[m, n]))
    out, _ = launch(choice.name, Problem.random(m, n, 0), choice.parts)
    assert not out.any()
