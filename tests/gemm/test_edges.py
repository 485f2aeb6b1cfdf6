"""Sizes around the edge of every tile, on the emulator with all its checks."""

import pytest
from emulated import Problem, assert_close, launch, layouts, names, place
from host import launched, problem

SIZES = (1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 575, 576)
PAIRS = [*zip(SIZES, SIZES[::-1], strict=True), (576, 575)]


def for_layout(size, contiguous, name):
    """The size, or the next that a layout can be given: rows of the fast row-contiguous one end at words."""
    return size if contiguous == "k" or "odd" in name or "any" in name else -(-size // 4) * 4


@pytest.mark.parametrize("name", names())
def test_every_configuration_is_right_at_every_edge(name):
    """Each size once as M and once as N, whatever the launcher would choose for it."""
    for m, n in PAIRS:
        m, n = (for_layout(size, axis, name) for size, axis in zip((m, n), layouts(name), strict=True))
        data = Problem.random(m, n, 256)
        out, run = launch(name, data)
        assert run.findings == [], (m, n)
        assert_close(out, data)


@pytest.mark.parametrize("pair", ["mn", "mk", "kn", "kk"])
def test_every_edge_gets_a_configuration_that_is_right(pair):
    """The launcher's own choice, with K split as it likes; contiguous operands, so also odd rows."""
    for m, n in PAIRS:
        data, choice = Problem.random(m, n, 640), launched(problem(m, n, 640, pair))
        a, b = place(data.a, pair[0]), place(data.b, pair[1])
        assert choice.sizes[3:7] == [*a[1:], *b[1:]] or 1 in (m, n)
        out, run = launch(choice.name, data, choice.parts, a=a, b=b)
        assert run.findings == [], (choice.name, m, n)
        assert_close(out, data)
