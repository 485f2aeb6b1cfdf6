"""The 18 contest shapes that are timed, with all checks of the emulator.

All but the two largest are computed whole. Those two, 304e9 of all 657e9 multiplications, are sampled: the four corner
tiles and two more, with all parts of K. That all tiles cover the result: test_cover.py.
"""

import contest
import pytest
from contest_oracle import SAMPLED, TIMED_WHOLE


@pytest.mark.parametrize(("m", "n", "k"), TIMED_WHOLE)
def test_a_contest_shape_is_right_and_clean(m, n, k):
    contest.run(m, n, k)


@pytest.mark.parametrize(("m", "n", "k"), SAMPLED)
def test_tiles_of_a_large_contest_shape_are_right_and_clean(m, n, k):
    contest.run(m, n, k, tiles=2)
