"""Where things lie: the memory order of a matrix, its blocks, and the operands of the op with their scales.

Taught in notebooks 03 and 04. Drawn from the same shapes and strides that the op takes.
"""

from math import ceil

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from ..scaling import K_BLOCK
from . import palette
from .picture import picture

CLOSEST_LINES = 0.35         # block borders closer than this (1 = 1 % of the width) blur: then the count is written


def memory_order(shape, strides, name="a[m, k]"):
    """Draw a small matrix with the memory offset in each cell, and below it the same bytes as they lie in memory.

    shape    (rows, columns), at most 12 x 16 to stay readable
    strides  (row stride, column stride) in elements, as torch's tensor.stride(); gaps are drawn as padding
    name     the matrix with its two index names, "b[k, n]"

    Raises ValueError for a matrix too large to draw.
    """
    rows, cols = shape
    if rows > 12 or cols > 16 or rows * cols == 0:
        raise ValueError(f"memory_order: the matrix is {rows} x {cols}, needs 1 x 1 to 12 x 16 to stay readable; "
                         f"draw a corner of it, with the strides of the whole")
    return picture(_memory_order, (rows, cols), tuple(strides), name, size=(8, 3.9))


def _memory_order(fig, shape, strides, name):
    offsets = np.arange(shape[0])[:, None] * strides[0] + np.arange(shape[1])[None, :] * strides[1]
    first, second = name.partition("[")[2].rstrip("]").split(", ")
    fast = second if strides[1] == 1 else first if strides[0] == 1 else None
    ax, strip = fig.subplots(2, 1, height_ratios=(3.2, 1), gridspec_kw={"hspace": 0.6})
    fig.subplots_adjust(left=0.07, right=0.98, top=0.92, bottom=0.12)
    line = max(strides)      # what one step of the slow index jumps over
    colours = {int(o): _shade(o // line, max(1, offsets.max() // line)) for o in offsets.flat}

    for (row, col), offset in np.ndenumerate(offsets):
        _cell(ax, col, row, str(offset), colours[int(offset)])
    ax.set(xlim=(-0.05, shape[1] + 0.05), ylim=(shape[0] + 0.05, -0.05), xticks=np.arange(shape[1]) + 0.5,
           yticks=np.arange(shape[0]) + 0.5, xlabel=f"{second} (column)", ylabel=f"{first} (row)")
    ax.set_xticklabels(range(shape[1]))
    ax.set_yticklabels(range(shape[0]))
    order = f"{fast.upper()}-contiguous" if fast else "no contiguous direction"
    ax.set_title(f"{name}: {shape[0]} x {shape[1]}, strides {strides}: {order}; the number is the offset in elements")

    shown = min(int(offsets.max()) + 1, 40)
    for offset in range(shown):
        where = np.argwhere(offsets == offset)
        text = f"{where[0][0]},{where[0][1]}" if len(where) else ""
        _cell(strip, offset, 0, text, colours.get(offset), size=7)
    strip.set(xlim=(-0.1, shown + 0.1), ylim=(1.05, -0.05), yticks=[], xlabel="offset in memory (elements)")
    more = f"; the first {shown} of {offsets.max() + 1}" if shown <= offsets.max() else ""
    strip.set_title(f"the same elements in memory, as {first},{second}{more}", fontweight="normal")
    for each in (ax, strip):
        each.tick_params(length=0)
        each.spines[:].set_visible(False)
    gaps = int(offsets.max()) + 1 - offsets.size
    padding = f"; {gaps} elements of padding lie between the lines" if gaps > 0 else ""
    return (f"{name} is {order}: a step in {second} moves {strides[1]} in memory, a step in {first} moves {strides[0]}"
            f"{padding}.")


def _shade(step, steps):
    """Return a pale colour that changes from one memory line to the next."""
    blue, paper = np.array(to_rgb(palette.SKY)), np.array(to_rgb(palette.PAPER))
    yellow = np.array(to_rgb(palette.YELLOW))
    strong = yellow if step % 2 else blue
    return tuple(paper + (strong - paper) * (0.85 - 0.35 * step / steps))


def _cell(ax, x, y, text, colour, size=9):
    padding = colour is None
    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=palette.PAPER if padding else colour, linewidth=0.8,
                           edgecolor=palette.RULE if padding else palette.INK, hatch="////" if padding else None))
    ax.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=size)


def block_grid(shape, block, names=("k", "n"), title="b"):
    """Draw a matrix to scale with its blocks, each with the index of its scale; blocks cut by the edge are hatched.

    shape  (rows, columns); block  (rows, columns) of a block, larger ones are the whole axis
    """
    return picture(_block_grid, shape, block, names, title, size=(8, 3.6))


def _block_grid(fig, shape, block, names, title):
    (rows, cols), (high, wide) = shape, (min(block[0], shape[0]), min(block[1], shape[1]))
    down, across = ceil(rows / high), ceil(cols / wide)
    ax = fig.subplots()
    fig.subplots_adjust(left=0.09, right=0.98, top=0.88, bottom=0.14)
    tails = 0
    for i in range(down if down * across <= 1024 else 0):
        for j in range(across):
            height, width = min(high, rows - i * high), min(wide, cols - j * wide)
            cut = height < high or width < wide
            tails += cut
            ax.add_patch(Rectangle((j * wide, i * high), width, height, edgecolor=palette.INK, linewidth=0.8,
                                   facecolor=palette.YELLOW if cut else _shade(0, 1), hatch="///" if cut else None))
            if down <= 10 and across <= 14:
                ax.text(j * wide + width / 2, i * high + height / 2, f"[{i}, {j}]", ha="center", va="center",
                        fontsize=8.5, bbox={"facecolor": palette.PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 1.5})
    ax.set(xlim=(0, cols), ylim=(rows, 0), xlabel=f"{names[1]} (element)", ylabel=f"{names[0]} (element)",
           xticks=_block_ticks(cols, wide), yticks=_block_ticks(rows, high))
    cut_text = f", {tails} of them cut by the edge" if tails else ""
    ax.set_title(f"{title}: {rows} x {cols} in blocks of {high} x {wide}: scales {down} x {across}")
    return (f"{title} of {rows} x {cols} elements has {down} x {across} = {down * across} blocks of {high} x {wide}"
            f"{cut_text}; each block has one scale.")


def _block_ticks(size, block):
    ticks = list(range(0, size, block))
    while len(ticks) > 9:
        ticks = ticks[::2]
    return [*ticks, size] if size - ticks[-1] > size / 30 else [*ticks[:-1], size]


def gemm_layout(m, n, k, a_layout="K-contiguous", b_layout="K-contiguous", row=None, col=None):
    """Draw the operands of C = A·B with their scales, and mark everything that one element of C needs.

    m, n, k    sizes, at least 1; k a multiple of 128
    a_layout   "K-contiguous" (stride (K, 1)) or "M-contiguous" (stride (1, M))
    b_layout   "K-contiguous" (stride (1, K), the usual weight.T) or "N-contiguous" (stride (N, 1))
    row, col   the element of C; by default one past the middle

    Boxes are not to scale: their sides grow with the logarithm of the size, so that every shape fits.
    Raises ValueError for sizes that the op does not take, an unknown layout or an element outside C.
    """
    row, col = (m // 2 if row is None else row), (n // 2 if col is None else col)
    _check_gemm(m, n, k, a_layout, b_layout, row, col)
    return picture(_gemm_layout, m, n, k, a_layout, b_layout, row, col)


def _check_gemm(m, n, k, a_layout, b_layout, row, col):
    if min(m, n, k) < 1:
        raise ValueError(f"M, N, K = {m}, {n}, {k}: there is nothing to draw below 1")
    if k % K_BLOCK:
        raise ValueError(f"K is {k}, needs a multiple of {K_BLOCK}: pad a and b with zeros along k, which changes no "
                         f"result, up to {ceil(k / K_BLOCK) * K_BLOCK}")
    for name, layout, known in (("a", a_layout, ("K-contiguous", "M-contiguous")),
                                ("b", b_layout, ("K-contiguous", "N-contiguous"))):
        if layout not in known:
            raise ValueError(f"{name}_layout is {layout!r}, needs {known[0]!r} or {known[1]!r}")
    if not (0 <= row < m and 0 <= col < n):
        raise ValueError(f"element [{row}, {col}] is outside C, which is {m} x {n}")


def _gemm_layout(fig, m, n, k, a_layout, b_layout, row, col):
    ax = fig.add_axes((0.01, 0.02, 0.98, 0.9))
    ax.set(xlim=(0, 100), ylim=(59, 0))
    ax.axis("off")
    kb, nb = k // K_BLOCK, ceil(n / K_BLOCK)
    long_m, long_n, long_k = (_side(size) for size in (m, n, k))
    short_k, short_n = 3 + 5 * (long_k / 26), 3 + 9 * (long_n / 26)
    left, top = 6 + long_k, 8 + long_k * 0.86       # where C begins; a is left of it, b above
    pair = (palette.BLUE, palette.SKY)

    def box(x, y, width, height, colour, label, grid=(1, 1), tail=0.0):
        ax.add_patch(Rectangle((x, y), width, height, facecolor=palette.PAPER, edgecolor=colour, linewidth=1.6))
        whole = grid[1] - 1 + tail if tail else grid[1]
        if tail:    # the share of the last column of blocks that exists
            last = width / whole * tail
            ax.add_patch(Rectangle((x + width - last, y), last, height, facecolor="none", edgecolor=palette.GREY,
                                   hatch="////", linewidth=0))
        whole = grid[1] - 1 + tail if tail else grid[1]
        if min(height / grid[0], width / whole) < CLOSEST_LINES:
            ax.text(x, y + height + 0.5, f"{grid[0]} x {grid[1]} blocks", fontsize=7, va="top")
        if height / grid[0] >= CLOSEST_LINES:
            ax.hlines(y + height / grid[0] * np.arange(1, grid[0]), x, x + width, color=palette.LINE, linewidth=0.5)
        if width / whole >= CLOSEST_LINES:
            ax.vlines(x + width / whole * np.arange(1, grid[1]), y, y + height, color=palette.LINE, linewidth=0.5)
        ax.text(x, y - 0.7, label, fontsize=8.5, va="bottom", fontweight="bold", color=colour)

    def mark(x, y, width, height):
        ax.add_patch(Rectangle((x, y), width, height, facecolor=palette.YELLOW, edgecolor=palette.INK, linewidth=0.9,
                               zorder=3))

    def memory(x, y, width, height, along_x):
        start, end = ((x + width * 0.1, y + height * 0.82), (x + width * 0.9, y + height * 0.82)) if along_x else (
            (x + width * 0.14, y + height * 0.1), (x + width * 0.14, y + height * 0.9))
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": palette.RED, "linewidth": 1.8}, zorder=4)

    thin = 1.0
    high_b = top - 8
    tail_n = (n % K_BLOCK) / K_BLOCK
    at_row, at_col = (row + 0.5) / m, (col + 0.5) / n

    box(left, 5, long_n, high_b, pair[0], f"b ({k}, {n})", (kb, nb), tail_n)
    mark(left + at_col * (long_n - thin), 5, thin, high_b)
    memory(left, 5, long_n, high_b, along_x=b_layout == "N-contiguous")

    box(2, top + 2, long_k, long_m, pair[0], f"a ({m}, {k})", (1, kb))
    mark(2, top + 2 + at_row * (long_m - thin), long_k, thin)
    memory(2, top + 2, long_k, long_m, along_x=a_layout == "K-contiguous")

    box(left, top + 2, long_n, long_m, palette.INK, f"C ({m}, {n}) bfloat16", (1, nb), tail_n)
    mark(left + at_col * (long_n - thin), top + 2 + at_row * (long_m - thin), thin, thin)

    right = 60
    wide_s = long_m * 1.4
    box(right, 5, wide_s, short_k, palette.RED, f"a_scale ({kb}, {m}) float32", (kb, 1))
    mark(right + at_row * (wide_s - thin), 5, thin, short_k)
    low = 5 + short_k + 7
    box(right, low, short_n, short_k, palette.RED, f"b_scale ({kb}, {nb}) float32", (kb, nb), tail_n)
    column = short_n / (n / K_BLOCK)
    wide = max(0.5, min(column, short_n - (col // K_BLOCK) * column))
    mark(right + min((col // K_BLOCK) * column, short_n - wide), low, wide, short_k)
    _legend(ax, right, low + short_k + 5, row, col, kb, a_layout, b_layout, n % K_BLOCK)
    fig.suptitle(f"C = A·B with block scales: M, N, K = {m}, {n}, {k}; {kb} blocks along k", x=0.02, ha="left",
                 fontsize=10.5, fontweight="bold", y=0.985)
    tail_text = f"; the last column of blocks of b holds {n % K_BLOCK} of {K_BLOCK} columns" if tail_n else ""
    return (f"Element C[{row}, {col}] needs row {row} of a ({a_layout}), column {col} of b ({b_layout}), column {row} "
            f"of a_scale and column {col // K_BLOCK} of b_scale, {kb} scales of each{tail_text}.")


def _legend(ax, x, y, row, col, kb, a_layout, b_layout, tail):
    ax.add_patch(Rectangle((x, y), 2.2, 1.8, facecolor=palette.YELLOW, edgecolor=palette.INK, linewidth=0.8))
    text = (f"C[{row}, {col}] needs, for each of {kb} blocks kb,\n"
            f"a_scale[kb, {row}] · b_scale[kb, {col // K_BLOCK}]\n"
            f"· Σ a[{row}, k] · b[k, {col}] over its {K_BLOCK} k")
    ax.text(x + 3.2, y, text, fontsize=8.2, va="top", linespacing=1.5)
    y += 8.6
    ax.annotate("", (x + 2.4, y + 1.0), (x, y + 1.0),
                arrowprops={"arrowstyle": "-|>", "color": palette.RED, "linewidth": 1.6})
    ax.text(x + 3.2, y, f"neighbours in memory:\na {a_layout}, b {b_layout}", fontsize=8.2, va="top", linespacing=1.5)
    if tail:
        ax.add_patch(Rectangle((x, y + 6), 2.2, 1.8, facecolor="none", edgecolor=palette.GREY, hatch="////"))
        ax.text(x + 3.2, y + 6, f"last column of blocks: {tail} of {K_BLOCK} columns", fontsize=8.2, va="top")


def _side(size):
    """Return the length of a box side for a size from 1 to 16384 and more: 6 to 26, growing with the logarithm."""
    return float(np.clip(6 + 20 * np.log2(size) / 14, 6, 26))
