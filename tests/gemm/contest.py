"""The shapes of gpu-mode's amd-fp8-mm, leaderboard 399, run on the emulator with what the launcher chooses for them."""

import itertools

import numpy as np
from emulated import Problem, assert_close, launch, place, tile, workgroup
from host import launched, problem


def run(m, n, k, tiles=None):
    """Compute a shape in the contest's layout, M- and N-contiguous, with all checks, and compare it with float64.

    tiles  None for the whole of it; a number for the tiles at its four corners and so many others: all parts of each
           are run, at the places in the launch where they belong, and nothing but these tiles may be written
    """
    data, choice = Problem.random(m, n, k), launched(problem(m, n, k))
    operands = {"a": place(data.a, "m"), "b": place(data.b, "n")}
    (_, a_row, a_k), (_, b_row, b_k) = operands.values()
    assert list(choice.sizes) == [m, n, k, a_row, a_k, b_row, b_k, n, choice.parts]
    if tiles is None:
        out, done = launch(choice.name, data, choice.parts, **operands)
        assert done.findings == []
        return assert_close(out, data)

    height, width = tile(choice.name)
    places = sample(-(-m // height), -(-n // width), tiles)
    some = [workgroup(choice.name, m, n, choice.parts, *at, part) for at in places for part in range(choice.parts)]
    out, done = launch(choice.name, data, choice.parts, workgroups=some, **operands)
    assert done.findings == []
    written = np.full((m, n), False)
    for row, column in places:
        area = slice(row * height, (row + 1) * height), slice(column * width, (column + 1) * width)
        written[area] = True
        assert_close(out, data, *area)
    np.testing.assert_array_equal(out != 0x7FC1, written)


def sample(rows, columns, others):
    """Tiles of a grid: its four corners, and others at random."""
    corners = set(itertools.product((0, rows - 1), (0, columns - 1)))
    rest = sorted(set(itertools.product(range(rows), range(columns))) - corners)
    chosen = np.random.default_rng([rows, columns]).choice(len(rest), min(others, len(rest)), replace=False)
    return sorted(corners) + [rest[i] for i in chosen]
