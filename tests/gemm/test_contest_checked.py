"""The 11 contest shapes that are only checked, computed whole with all checks of the emulator."""

import contest
import pytest

from fp8lab.hardware import CONTEST_TEST_SHAPES


@pytest.mark.parametrize(("m", "n", "k"), CONTEST_TEST_SHAPES)
def test_a_contest_shape_is_right_and_clean(m, n, k):
    contest.run(m, n, k)
