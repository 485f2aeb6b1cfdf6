"""A wave's registers: which lane and register hold which element of an MFMA's operands, and the banks an access hits.

Taught in notebook 05. The layouts are those of fp8lab.gfx942.layouts, which the emulator's tests use.
"""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from .. import banks
from ..gfx942 import layouts
from . import palette
from .picture import picture

AXES = {"A": ("row", "k"), "B": ("k", "column"), "C": ("row", "column"), "D": ("row", "column")}


def register_map(instruction, operand, lane, register, place=0):
    """Draw an operand of an MFMA twice, as the matrix and as the wave's registers, with one element marked in both.

    instruction  mnemonic, "v_mfma_f32_16x16x32_fp8_fp8"; operand "A", "B", "C" or "D"
    lane, register, place   as in layouts.element(): place counts the elements within a register, from its low bits

    Raises ValueError for what the operand has not.
    """
    marked = layouts.element(instruction, operand, lane, register, place)
    size = palette.WIDTH, palette.HEIGHT
    return picture(_register_map, instruction, operand, lane, register, place, marked, size=size)


def _register_map(fig, instruction, operand, lane, register, place, marked):
    at, table = layouts.layout(instruction, operand), layouts.table(instruction, operand)
    _, rows, columns = at.shape
    matrix = fig.add_axes((0.06, 0.12, 0.56, 0.76))
    owner = np.zeros((rows, columns), int)
    inside = table[..., 2] == marked.block
    lanes = np.broadcast_to(np.arange(layouts.LANES)[:, None, None], inside.shape)
    owner[table[..., 0][inside], table[..., 1][inside]] = lanes[inside]
    _grid(matrix, owner == lane, marked.row, marked.column)
    pieces = runs(owner)
    matrix.add_collection(LineCollection([_outline(*piece) for piece in pieces], colors=palette.GREY, linewidths=0.6))
    for r, c, _, _ in pieces:
        number = owner[r, c]
        matrix.text(c + 0.5, r + 0.5, number, ha="center", va="center", zorder=4,
                    fontsize=8 if max(rows, columns) <= 16 else 6.5, fontweight="bold" if number == lane else "normal")
    first, second = AXES[operand]
    block = f", block {marked.block}" if at.shape[0] > 1 else ""
    matrix.set(xlabel=second, ylabel=first)
    matrix.set_title(f"{operand}{block}: {rows} × {columns}; the number is the lane that holds these")

    held = fig.add_axes((0.72, 0.12, 0.26, 0.76))
    chosen = np.zeros((layouts.LANES, at.registers * at.places), bool)
    chosen[lane] = True
    _grid(held, chosen, lane, register * at.places + place)
    held.set(xlabel=f"register; {at.places} elements each" if at.places > 1 else "register", ylabel="lane",
             xticks=(np.arange(at.registers) + 0.5) * at.places, yticks=np.arange(0, 64, 8) + 0.5)
    held.set_xticklabels(range(at.registers), fontsize=8 if at.registers <= 8 else 6.5)
    held.set_yticklabels(range(0, 64, 8))
    for edge in range(at.places, at.places * at.registers, at.places):
        held.axvline(edge, color=palette.INK, linewidth=1)
    held.set_title("the wave's registers")

    part = f", bits {place * at.bits} to {place * at.bits + at.bits - 1}" if at.places > 1 else ""
    element = f"{operand}[{first} {marked.row}, {second} {marked.column}]{block}"
    return (f"{instruction}: lane {lane}, register {register}{part} holds {element} (yellow). The lane's other "
            f"elements of {operand} are blue; it holds {int((owner == lane).sum())} of {rows * columns}.")


def runs(owner):
    """Return the rectangles of equal numbers in a matrix: [(row, column, height, width), …], row after row."""
    taken, found = np.zeros(owner.shape, bool), []
    for row, column in np.ndindex(owner.shape):
        if taken[row, column]:
            continue
        number, wide, high = owner[row, column], 1, 1
        while column + wide < owner.shape[1] and owner[row, column + wide] == number:
            wide += 1
        while row + high < owner.shape[0] and np.all(owner[row + high, column : column + wide] == number):
            high += 1
        taken[row : row + high, column : column + wide] = True
        found.append((row, column, high, wide))
    return found


def _outline(row, column, high, wide):
    right, low = column + wide, row + high
    return [(column, row), (right, row), (right, low), (column, low), (column, row)]


def _grid(ax, is_chosen, row, column):
    """Cells of a matrix: chosen ones blue, one of them yellow with a strong border."""
    rows, columns = is_chosen.shape
    colours = np.array([_rgb(palette.PAPER), _rgb(palette.SKY), _rgb(palette.YELLOW)])
    kind = is_chosen.astype(int)
    kind[row, column] = 2
    ax.imshow(colours[kind], extent=(0, columns, rows, 0), aspect="auto", interpolation="nearest")
    lines = [[(x, 0), (x, rows)] for x in range(columns + 1)] + [[(0, y), (columns, y)] for y in range(rows + 1)]
    ax.add_collection(LineCollection(lines, colors=palette.RULE, linewidths=0.4))
    ax.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=palette.INK, linewidth=1.6, zorder=3))
    ax.set(xlim=(0, columns), ylim=(rows, 0), xticks=np.arange(0, columns, 4) + 0.5, yticks=np.arange(0, rows, 4) + 0.5)
    ax.set_xticklabels(range(0, columns, 4))
    ax.set_yticklabels(range(0, rows, 4))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _rgb(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def lds_banks(addresses, size, intent, title="LDS access"):
    """Draw what one LDS access of a wave needs from each bank, group of lanes after group of lanes.

    addresses  (64,) bytes, one a lane; size bytes a lane; intent "read" or "write"; as in banks.clocks()
    """
    needed = banks.dwords(addresses, size, intent)
    return picture(_lds_banks, needed, banks.groups(size, intent), title, size=(palette.WIDTH, 1.5 + 0.3 * len(needed)))


def _lds_banks(fig, needed, groups, title):
    ax = fig.subplots()
    fig.subplots_adjust(left=0.2, right=0.9, top=1 - 0.4 / fig.get_figheight(), bottom=0.55 / fig.get_figheight())
    counts = np.array([[len(dwords) for dwords in group] for group in needed])
    for (group, bank), count in np.ndenumerate(counts):
        fill = palette.PAPER if count == 0 else palette.SKY if count == 1 else palette.RED
        ax.add_patch(Rectangle((bank, group), 1, 1, facecolor=fill, edgecolor=palette.LINE, linewidth=0.7))
        if count:
            ax.text(bank + 0.5, group + 0.5, count, ha="center", va="center", fontsize=7.5,
                    color=palette.TEXT_ON.get(fill, palette.INK))
    for group, busiest in enumerate(counts.max(axis=1)):
        ax.text(32.4, group + 0.5, f"{busiest} clock{'' if busiest == 1 else 's'}", va="center", fontsize=8)
    ax.set(xlim=(0, 32), ylim=(len(groups), 0), xticks=np.arange(0, 32, 4) + 0.5, yticks=np.arange(len(groups)) + 0.5,
           xlabel="bank; the number is how many different dwords are wanted from it")
    ax.set_xticklabels(range(0, 32, 4))
    ax.set_yticklabels([f"lanes {_ranges(group)}" for group in groups], fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    total, ideal = int(counts.max(axis=1).sum()), len(groups)
    ax.set_title(f"{title}: {total} clocks" + (f", {ideal} without conflicts" if total > ideal else ", no conflict"))
    worst = f"; the busiest bank has to give {counts.max()} dwords to one group" if total > ideal else ""
    idle = int((counts.max(axis=0) == 0).sum())
    used = f"{idle} of {banks.BANKS} banks are never used" if idle else f"All {banks.BANKS} banks are used"
    return f"{title}: {ideal} groups of lanes take {total} clocks{worst}. {used}."


def _ranges(lanes):
    """0-3, 20-23 for [0, 1, 2, 3, 20, 21, 22, 23]."""
    runs = []
    for lane in lanes:
        if runs and runs[-1][1] == lane - 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    return ", ".join(f"{first}–{last}" for first, last in runs)
