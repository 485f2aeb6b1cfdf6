"""Pictures of block scaling: where the error of a matrix sits, what each recipe costs, and sentences before and after.

Taught in notebooks 00, 02, 03 and 10.
"""

from math import ceil
from textwrap import wrap

import numpy as np
from matplotlib import colormaps

from ..formats import E4M3FNUZ, FORMATS, as_floats
from ..scaling import RECIPES
from . import palette
from .experiment import measure
from .picture import numbers, picture

SNR_LIMITS = (0, 70)            # decibel; the same for every picture, so that pictures compare
ERROR_LIMITS = (-2, 0)          # log10 of the relative error: 1 % to 100 %
MOST_CELLS = (64, 128)          # of the map; a cell is the mean of the elements below it, so that blocks stand out
MOST_BORDERS = 40               # block borders drawn along one axis


def error_map(x, block=(1, 128), fmt=E4M3FNUZ, scale="float32", overflow="nan", name="x"):
    """Draw the relative error of every element of a quantised matrix, with the borders of its blocks.

    x  (M, N) float32, numpy or torch; the rest as experiment.measure()
    """
    x = as_floats(x).astype(np.float32, copy=False)
    got = measure(x, block, fmt, scale, overflow)
    return picture(_error_map, x, got, (None, None) if scale == "none" else block, fmt, name)


def _error_map(fig, x, got, block, fmt, name):
    ax = fig.add_axes((0.09, 0.13, 0.78, 0.74))
    _draw_map(fig, ax, (0.89, 0.13, 0.02, 0.74), got, block)
    blocks = f"blocks {_block_name(block, x.shape)}" if got.scale_bytes else "no scale"
    ax.set_title(f"{name} in {fmt.name}, {blocks}: {_snr(got)}")
    return _sentence(name, got, block, x.shape, fmt)


def recipes(x, fmt=E4M3FNUZ, scale="float32", name="x"):
    """Draw the SNR of a matrix for each recipe of scaling.RECIPES, with the bytes of the scales."""
    x = as_floats(x).astype(np.float32, copy=False)
    return picture(_recipes, _measure_recipes(x, fmt, scale), fmt, name, size=(8, 2.8))


def _recipes(fig, results, fmt, name):
    ax = fig.add_axes((0.13, 0.19, 0.84, 0.68))
    _draw_bars(ax, results)
    ax.set_title(f"{name} in {fmt.name}: signal to noise, and bytes of scales")
    best = max(results, key=lambda recipe: results[recipe].snr_db)
    return (f"{name} in {fmt.name}: "
            + ", ".join(f"{recipe} {_snr(got)}" for recipe, got in results.items())
            + f"; {best} is best and adds {_overhead(results[best])} of scales.")


def scale_point(point, x=None):
    """Draw one point of the scale explorer: the error map of its recipe, and every recipe on the same matrix.

    point  an experiment.Point; x another matrix than the point's own, (M, N) float32
    """
    name = point.distribution if x is None else "your matrix"
    x = point.matrix() if x is None else as_floats(x).astype(np.float32, copy=False)
    return picture(_scale_point, point, x, name)


def _scale_point(fig, point, x, name):
    fmt, block = FORMATS[point.fmt], RECIPES[point.recipe]
    got = measure(x, block, fmt, point.scale, point.overflow)
    ax = fig.add_axes((0.075, 0.13, 0.46, 0.7))
    _draw_map(fig, ax, (0.545, 0.13, 0.014, 0.7), got, block if point.scale != "none" else (None, None))
    ax.set_title(f"relative error, {fmt.name}\n{point.recipe}, scale {point.scale}", fontsize=9.5)
    bars = fig.add_axes((0.735, 0.36, 0.25, 0.47))
    results = {recipe: got if recipe == point.recipe else measure(x, each, fmt, point.scale, point.overflow)
               for recipe, each in RECIPES.items()}
    _draw_bars(bars, results, point.recipe, short=True)
    bars.set_title("every recipe", fontsize=9.5)
    table = (("signal to noise", _snr(got)), ("median relative error", f"{got.median_error:.2%}"),
             ("largest error", numbers(got.max_error, 3)),
             ("NaN codes", f"{got.nan_codes:,}"), ("saturated", f"{got.saturated:,}"),
             ("became 0", f"{got.flushed:,}"), ("scales / codes", f"{got.scale_bytes:,} / {got.code_bytes:,} B"))
    for i, (what, value) in enumerate(table):
        fig.text(0.64, 0.243 - 0.036 * i, what, fontsize=8.5, va="center")
        bad = what in ("NaN codes", "saturated") and value != "0"
        fig.text(0.985, 0.243 - 0.036 * i, value, fontsize=8.5, va="center", ha="right", fontweight="bold",
                 color=palette.RED if bad else palette.INK)
    fig.suptitle(f"{name}, {x.shape[0]} x {x.shape[1]}" + (_outlier_text(point) if name == point.distribution else ""),
                 x=0.02, y=0.985, ha="left", fontsize=10.5, fontweight="bold")
    return _sentence(name, got, block, x.shape, fmt)


def _outlier_text(point):
    if not point.outliers:
        return ", no outliers"
    return f", {point.outliers} {point.place} times {numbers(point.strength)}"


def similarity(before, after, labels, names=("float32", "FP8")):
    """Draw two matrices of cosine similarities side by side, values written in, on one colour scale.

    before, after  (n, n), n at most 8; labels n short texts
    """
    return picture(_similarity, as_floats(before), as_floats(after), list(labels), names, size=(8, 4))


def _similarity(fig, before, after, labels, names):
    n = len(labels)
    wrapped = ["\n".join(wrap(label, 22)[:2]) for label in labels]
    for i, (matrix, name) in enumerate(zip((before, after), names, strict=True)):
        ax = fig.add_axes((0.225 + 0.395 * i, 0.06, 0.37, 0.77))
        ax.imshow(matrix, cmap=palette.SCALE, vmin=0, vmax=1)
        for (row, col), value in np.ndenumerate(matrix):
            ax.text(col, row, f"{value:.2f}", ha="center", va="center", fontsize=min(9, 60 / n),
                    color=palette.INK if value > 0.55 else "white")
        ax.set(xticks=range(n), yticks=range(n))
        ax.set_xticklabels([chr(ord("A") + j) for j in range(n)])
        ax.set_yticklabels([f"{text}  {chr(ord('A') + j)}" for j, text in enumerate(wrapped)] if i == 0 else [])
        ax.tick_params(length=0, labelsize=8.5, top=True, labeltop=True, bottom=False, labelbottom=False)
        ax.spines[:].set_visible(False)
        ax.set_title(name, pad=18)
    change = float(np.nanmax(np.abs(after - before)))
    pairs = ~np.eye(n, dtype=bool)
    same = np.array_equal(np.argmax(np.where(pairs, before, -2), 1), np.argmax(np.where(pairs, after, -2), 1))
    kept = "every sentence keeps" if same else "not every sentence keeps"
    return (f"Cosine similarity of {n} sentences in {names[0]} and {names[1]}: the largest change is {change:.4f}, and "
            f"{kept} its nearest neighbour.")


def _measure_recipes(x, fmt, scale):
    return {name: measure(x, block, fmt, scale) for name, block in RECIPES.items()}


def _draw_map(fig, ax, colorbar_at, got, block):
    rows, cols = got.relative_error.shape
    error = np.ma.masked_invalid(np.log10(np.clip(_cell_means(got.relative_error), 10.0 ** ERROR_LIMITS[0], 1)))
    image = ax.imshow(error, cmap=colormaps[palette.SCALE].with_extremes(bad=palette.RED), vmin=ERROR_LIMITS[0],
                      vmax=ERROR_LIMITS[1], aspect="auto", extent=(0, cols, rows, 0), interpolation="nearest")
    for size, step, draw, limit in ((rows, block[0], ax.hlines, cols), (cols, block[1], ax.vlines, rows)):
        borders = np.arange(step or size, size, step or size)
        if len(borders) <= MOST_BORDERS:
            draw(borders, 0, limit, color="white", linewidth=0.9)
    ax.set(xlabel="column (element)", ylabel="row (element)", xlim=(0, cols), ylim=(rows, 0))
    bar = fig.colorbar(image, cax=fig.add_axes(colorbar_at), ticks=[-2, -1, 0])
    bar.ax.set_yticklabels(["1 %", "10 %", "100 %"], fontsize=8)


def _cell_means(error):
    """Return the (at most MOST_CELLS) means of equal pieces of a matrix; a piece with a NaN is NaN."""
    for axis, most in enumerate(MOST_CELLS):
        starts = np.arange(0, error.shape[axis], ceil(error.shape[axis] / most))
        lengths = np.diff(np.append(starts, error.shape[axis]))
        error = np.add.reduceat(error, starts, axis) / np.expand_dims(lengths, 1 - axis)
    return error


def _draw_bars(ax, results, current=None, short=False):
    for i, (recipe, got) in enumerate(results.items()):
        colour = palette.YELLOW if recipe == current else palette.BLUE
        ax.barh(i, np.clip(got.snr_db, *SNR_LIMITS), color=colour, edgecolor=palette.INK, linewidth=0.8, height=0.62)
        text = f"{got.snr_db:.1f}" if short else f"{_snr(got)}, scales {got.scale_bytes:,} bytes ({_overhead(got)})"
        inside = got.snr_db > (25 if not short else 15)
        ax.text(np.clip(got.snr_db, *SNR_LIMITS) + (-0.8 if inside else 0.8), i, text + _lost(got, short), fontsize=8.5,
                va="center", ha="right" if inside else "left", color=palette.TEXT_ON[colour] if inside else palette.INK)
    ax.set(yticks=range(len(results)), xlim=SNR_LIMITS, ylim=(len(results) - 0.5, -0.5), xlabel="signal to noise (dB)")
    ax.set_yticklabels(results)
    ax.tick_params(axis="y", length=0)


def _lost(got, short):
    if not got.nan_codes:
        return ""
    return " NaN!" if short else f", {got.nan_codes:,} NaN"


def _snr(got):
    return f"{got.snr_db:.1f} dB"


def _overhead(got):
    return f"{got.scale_bytes / got.code_bytes:.2%}"


def _block_name(block, shape):
    rows, cols = (size or whole for size, whole in zip(block, shape, strict=True))
    return f"{rows} x {cols}"


def _sentence(name, got, block, shape, fmt):
    rows, cols = (min(size or whole, whole) for size, whole in zip(block, shape, strict=True))
    count = ceil(shape[0] / rows) * ceil(shape[1] / cols)
    blocks = f"{count:,} blocks" if count > 1 else "one block"
    scales = f"{blocks} of {rows} x {cols}" if got.scale_bytes else "no scales"
    return (f"{name} in {fmt.name} with {scales}: {_snr(got)} signal to noise, {got.nan_codes:,} NaN codes, "
            f"{got.saturated:,} saturated elements, {got.flushed:,} became 0; {got.scale_bytes:,} bytes of scales for "
            f"{got.code_bytes:,} bytes of codes.")
