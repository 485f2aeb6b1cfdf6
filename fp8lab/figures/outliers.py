"""Pictures of outliers: which columns of a matrix hold them, and what one of them costs all the others.

Taught in notebook 02.
"""

import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator

from ..formats import E4M3FNUZ, as_floats
from ..reference import compare
from ..scaling import RECIPES, quantize
from . import palette
from .picture import numbers, picture

STRENGTHS = tuple(10.0 ** np.arange(0, 6.5, 0.5))


def columns(x, name="x"):
    """Draw the largest magnitude in each column of a matrix, and how large half of the columns are.

    x  (M, N), numpy or torch
    """
    return picture(_columns, np.abs(as_floats(x)).max(axis=0), name, size=(8, 2.8))


def _columns(fig, amax, name):
    ax = fig.add_axes((0.08, 0.19, 0.9, 0.68))
    at, middle = int(np.argmax(amax)), float(np.median(amax))
    ax.bar(range(len(amax)), amax, width=1.0, color=palette.BLUE)
    ax.bar(at, amax[at], width=max(1.0, len(amax) / 160), color=palette.RED)
    ax.axhline(middle, color=palette.YELLOW, linewidth=2, label=f"half of the columns stay below {middle:.2f}")
    to_the_left = at > len(amax) / 2
    ax.text(at + len(amax) / (-100 if to_the_left else 100), amax[at], f"column {at}: {numbers(amax[at], 4)}", va="top",
            ha="right" if to_the_left else "left", fontweight="bold", color=palette.RED)
    ax.set(xlabel="column (element)", ylabel="largest magnitude", xlim=(-1, len(amax)), ylim=(0, amax[at] * 1.05))
    ax.legend(loc="upper left" if to_the_left else "upper right")
    ax.set_title(f"{name}: the largest magnitude in each of {len(amax)} columns")
    return (f"The largest magnitude of {name} is {numbers(amax[at], 4)}, in column {at}; in half of the {len(amax)} "
            f"columns it is below {middle:.2f}.")


def outlier_cost(x, fmt=E4M3FNUZ, name="x"):
    """Draw the SNR of all elements but the largest, while the largest is multiplied by 1 … 10^6, for each recipe.

    x  (M, N) float32, numpy or torch
    """
    x = as_floats(x).astype(np.float32, copy=False)
    return picture(_outlier_cost, {recipe: [snr_of_others(x, factor, block, fmt) for factor in STRENGTHS]
                                   for recipe, block in RECIPES.items()}, fmt, name, size=(8, 3.6))


def snr_of_others(x, factor, block, fmt=E4M3FNUZ):
    """Return the SNR in dB of all elements of x but the largest, quantised while that one is multiplied by factor."""
    x, at = x.copy(), np.unravel_index(np.argmax(np.abs(x)), x.shape)
    x[at] *= np.float32(factor)
    others = np.ones(x.shape, bool)
    others[at] = False
    return compare(quantize(x, fmt, block).dequantize()[others], x[others]).snr_db


def _outlier_cost(fig, results, fmt, name):
    ax = fig.add_axes((0.08, 0.15, 0.74, 0.75))
    looks = ((palette.RED, "-", "o"), (palette.BLUE, "-", "s"), (palette.BLUE, "--", "D"), (palette.GREY, "-.", "^"))
    for (recipe, snr), (colour, line, marker) in zip(results.items(), looks, strict=True):
        ax.plot(STRENGTHS, snr, color=colour, linestyle=line, marker=marker, markersize=4.5, label=recipe)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(STRENGTHS[::2]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set(xlabel="the largest element, times", ylabel="SNR of all the others (dB)", ylim=(0, 40))
    ax.grid(True)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), title="share a scale")
    ax.set_title(f"{name} in {fmt.name}: what one growing outlier costs the other elements")
    last = STRENGTHS.index(1e4)
    return (f"With the largest element of {name} 10,000 times as large, the others keep "
            + ", ".join(f"{snr[last]:.1f} dB {recipe}" for recipe, snr in results.items())
            + f"; before, {', '.join(f'{snr[0]:.1f}' for snr in results.values())} dB.")
