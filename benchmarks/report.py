"""Side-by-side timing: contestants run in turn, medians, one table, the same rows as JSON.

A ratio of two times says something only if both were taken under the same conditions. So every round runs each
contestant once, whatever else the machine does meanwhile hits all of them, and the medians of one run are compared.
"""

import json
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Row:
    """One comparison of two measures of which less is better; the name says the unit.

    ratio   peer / ours: above 1, ours is better
    target  the ratio wanted, None where there is none
    """

    name: str
    ours: float
    peer: float
    peer_name: str
    ratio: float
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


def row(name, ours, peer, peer_name, target=None):
    """Return the Row for two measures in the unit that name ends with, such as "gemm 64×64×128, ms"."""
    ratio = peer / ours
    return Row(name, round(ours, 3), round(peer, 3), peer_name, round(ratio, 3), target,
               None if target is None else ratio >= target)


def report(target, rows, directory=ROOT / "build" / "bench"):
    """Print the rows as a table, write them to <directory>/<target>.json, return whether every target is met."""
    header = ("", "ours", "peer", "peer is", "ratio", "target")
    cells = [(r.name, f"{r.ours:.1f}", f"{r.peer:.1f}", r.peer_name, f"{r.ratio:.2f}×",
              "" if r.target is None else f"{r.target:g}× {'met' if r.met else 'MISSED'}") for r in rows]
    widths = [max(len(line[i]) for line in [header, *cells]) for i in range(len(header))]
    for line in [header, *cells]:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{target}.json").write_text(json.dumps([asdict(r) for r in rows], indent=2) + "\n")
    return all(r.met is not False for r in rows)
