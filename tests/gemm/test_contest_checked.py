"""The 11 contest shapes that are only checked, computed whole with all checks of the emulator."""

import contest
import pytest


@pytest.mark.parametrize(("m", "n", "k"), contest.CHECKED)
def test_a_contest_shape_is_right_and_clean(m, n, k):
    contest.run(m, n, k)
