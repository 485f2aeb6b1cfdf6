"""Side by side: contestants run in turn, medians, one table, the same rows as JSON.

A ratio of two times says something only if both were taken under the same conditions. So every round runs each
contestant once, whatever else the machine does meanwhile hits all of them, and the medians of one run are compared.
"""

import json
import math
import statistics
import time
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Row:
    """One comparison of two measures; the name says the unit.

    ratio   how many times better ours is: peer / ours, or ours / peer where more is better; None if the divisor is 0
    target  the ratio wanted, None where there is none
    """

    name: str
    ours: float
    peer: float
    peer_name: str
    ratio: float | None
    target: float | None
    met: bool | None


def medians(contestants, rounds=9):
    """Return {name: median milliseconds} of contestants {name: function}, run in turn after one round to warm up."""
    times = {name: [] for name in contestants}
    for round_ in range(rounds + 1):
        for name, function in contestants.items():
            start = time.perf_counter()
            function()
            if round_:
                times[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(values) for name, values in times.items()}


def row(name, ours, peer, peer_name, target=None, more_is_better=False):
    """Return the Row for two measures in the unit that name ends with, such as "gemm 64×64×128, ms"."""
    better, worse = (ours, peer) if more_is_better else (peer, ours)
    ratio = 1.0 if better == worse else better / worse if worse else math.inf
    met = None if target is None else ratio >= target
    return Row(name, round(ours, 3), round(peer, 3), peer_name, None if ratio == math.inf else round(ratio, 3),
               target, met)  # fmt: skip


def bar(name, ours, limit, at_least=False):
    """Return the Row for a measure that has to be `limit` at most (or at least): the bar is the peer, the target 1."""
    return row(name, ours, limit, "bar: at least" if at_least else "bar: at most", 1, at_least)


def report(target, rows, directory=ROOT / "build" / "bench"):
    """Print the rows as a table, write them to <directory>/<target>.json, return whether every target is met.

    In the file each row has a name of its own: a measure that has several peers takes the peer's name along.
    """
    header = ("", "ours", "peer", "peer is", "ratio", "target")
    cells = [(r.name, _number(r.ours), _number(r.peer), r.peer_name, "" if r.ratio is None else f"{r.ratio:.2f}×",
              "" if r.target is None else f"{r.target:g}× {'met' if r.met else 'MISSED'}") for r in rows]  # fmt: skip
    table([header, *cells])
    directory.mkdir(parents=True, exist_ok=True)
    times = Counter(r.name for r in rows)
    named = [replace(r, name=f"{r.name}, beside {r.peer_name}") if times[r.name] > 1 else r for r in rows]
    (directory / f"{target}.json").write_text(json.dumps([asdict(r) for r in named], indent=2) + "\n")
    return all(r.met is not False for r in rows)


def table(lines):
    """Print lines of texts, in columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def _number(x):
    return f"{x:.2f}" if x < 10 and x != int(x) else f"{x:.1f}" if x != int(x) else f"{x:.0f}"
