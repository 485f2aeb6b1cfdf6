"""What a build makes and what it is made from: build variants with the loader's reasons, and the graph of flake.lock.

Taught in notebook 07.
"""

import json
import textwrap
from datetime import UTC, datetime
from pathlib import Path

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from ..variants import decide
from . import palette
from .picture import picture

ROW = 0.27      # inches


def variants(names, system):
    """Draw the variants of a repository: which one a machine loads, which would also fit, why the others do not.

    Of a variant that is picked but not for this GPU, the library's refusal stands below.

    names   folders under build/, such as "torch213-cxx11-rocm72-x86_64-linux"; 13 fill a cell
    system  variants.System

    Raises ValueError for a name that is no build variant.
    """
    decisions = decide(names, system)
    refusal = textwrap.wrap(decisions[0].refusal or "", 150) if decisions else []
    size = palette.WIDTH, 0.75 + ROW * (len(decisions) + 0.7 * len(refusal))
    return picture(_variants, decisions, system, refusal, size=size)


def _variants(fig, decisions, system, refusal):
    ax = fig.add_axes((0.01, 0.02, 0.98, 1 - 0.55 / fig.get_figheight()))
    ax.set(xlim=(0, 100), ylim=(len(decisions) + 0.7 * len(refusal), 0))
    ax.axis("off")
    for row, decision in enumerate(decisions):
        is_picked = row == 0 and decision.fits
        fill = palette.YELLOW if is_picked else palette.SKY if decision.fits else palette.PAPER
        ax.add_patch(Rectangle((0, row + 0.08), 39, 0.84, facecolor=fill, edgecolor=palette.LINE))
        ax.text(1, row + 0.5, decision.name, va="center", fontsize=8, fontweight="bold" if is_picked else "normal")
        picked = "picked, then refused for this GPU" if decision.refusal else "loaded"
        said = picked if is_picked else "would fit, is not preferred" if decision.fits else decision.reason
        ax.text(40.5, row + 0.5, said, va="center", fontsize=7.2, fontweight="bold" if is_picked else "normal",
                color=palette.INK if decision.fits and not decision.refusal else palette.RED)
    for line, text in enumerate(refusal):
        ax.text(1, len(decisions) + 0.7 * line + 0.4, text, va="center", fontsize=7.2, color=palette.RED)
    fits = [decision for decision in decisions if decision.fits]
    is_refused = bool(fits and fits[0].refusal)
    loaded = "loads nothing" if not fits else f"{'picks and refuses' if is_refused else 'loads'} {fits[0].name}"
    outcome = "nothing loads" if not fits else "one is picked and refused" if is_refused else "one loads"
    ax.set_title(f"{system}: {outcome}")
    also = f", {len(fits) - 1} more would fit" if len(fits) > 1 else ""
    return f"A machine with {system} {loaded}{also}; {len(decisions) - len(fits)} of {len(decisions)} do not fit."


def lock_graph(lock):
    """Draw what a flake.lock pins: an arrow from each flake to its inputs, dashed where it borrows another's.

    lock  path of a flake.lock; version 7 of its form
    """
    content = json.loads(Path(lock).read_text())
    return picture(_lock_graph, content["nodes"], content["root"], size=(palette.WIDTH, 4.2))


def _lock_graph(fig, nodes, root):
    columns = _columns(nodes, root)
    ax = fig.add_axes((0.01, 0.01, 0.98, 0.9))
    tallest = max(map(len, columns))
    ax.set(xlim=(0, len(columns)), ylim=(tallest, 0))
    ax.axis("off")
    places = {name: (x + 0.48, tallest * (y + 0.5) / len(column))
              for x, column in enumerate(columns) for y, name in enumerate(column)}
    for name, (x, y) in places.items():
        fill = palette.YELLOW if name == root else palette.SKY
        ax.add_patch(FancyBboxPatch((x - 0.38, y - 0.28), 0.76, 0.56, boxstyle="round,pad=0,rounding_size=0.05",
                                    facecolor=fill, edgecolor=palette.INK, linewidth=0.8, mutation_aspect=tallest / 2))
        ax.text(x, y, _label(name, nodes[name], root), ha="center", va="center", fontsize=7.6, linespacing=1.35)
    borrowed = ""
    for name in places:
        for used, owner in _inputs(nodes, name, root):
            _arrow(ax, places[name], places[used], is_borrowed=owner is not None)
            borrowed += f"; {name} uses the {used} of {owner}" if owner else ""
    ax.set_title("flake.lock: what this repository is built with, each at one commit")
    direct = [used for used, _ in _inputs(nodes, root, root)]
    return (f"flake.lock pins {len(nodes) - 1} flakes; this repository names {', '.join(direct)}, the others come with "
            f"{'it' if len(direct) == 1 else 'them'}{borrowed}.")


def _columns(nodes, root):
    """Names by their distance from the root."""
    columns, seen = [[root]], {root}
    while columns[-1]:
        after = []
        for name in columns[-1]:
            for used, _ in _inputs(nodes, name, root):
                if used not in seen:
                    seen.add(used)
                    after.append(used)
        columns.append(after)
    return columns[:-1]


def _inputs(nodes, name, root):
    """Yield (node, None), or (node, whose it is) where the input is a path of input names from the root: borrowed."""
    for target in nodes[name].get("inputs", {}).values():
        if isinstance(target, str):
            yield target, None
            continue
        at = [root]
        for step in target:
            at.append(nodes[at[-1]]["inputs"][step])
        yield at[-1], at[-2]


def _label(name, node, root):
    if name == root:
        return "this repository"
    locked = node["locked"]
    day = datetime.fromtimestamp(locked["lastModified"], UTC).date()
    return f"{name}\n{locked['owner']}/{locked['repo']}\n{locked['rev'][:8]} of {day}"


def _arrow(ax, start, end, is_borrowed):
    same_column = start[0] == end[0]
    up = 0.28 if end[1] > start[1] else -0.28
    tail = (start[0], start[1] + up) if same_column else (start[0] + 0.38, start[1])
    head = (end[0], end[1] - up) if same_column else (end[0] - 0.38, end[1])
    ax.add_patch(FancyArrowPatch(tail, head, arrowstyle="-|>", mutation_scale=10, color=palette.INK, linewidth=0.9,
                                 linestyle="--" if is_borrowed else "-", shrinkA=0, shrinkB=0))
