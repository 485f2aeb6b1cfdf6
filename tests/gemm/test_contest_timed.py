"""The 18 contest shapes that are timed, with all checks of the emulator.

Those of up to 2.5e9 multiplications are computed whole. The others would take from half a minute to ten: of them the
four corner tiles and two more are computed, with all parts of K. That all tiles cover the result: test_cover.py.
"""

import contest
import numpy as np
import pytest

WHOLE = [shape for shape in contest.TIMED if np.prod(shape) <= 2.5e9]
SAMPLED = [shape for shape in contest.TIMED if shape not in WHOLE]


@pytest.mark.parametrize(("m", "n", "k"), WHOLE)
def test_a_contest_shape_is_right_and_clean(m, n, k):
    contest.run(m, n, k)


@pytest.mark.parametrize(("m", "n", "k"), SAMPLED)
def test_tiles_of_a_large_contest_shape_are_right_and_clean(m, n, k):
    contest.run(m, n, k, tiles=2)
