"""Pictures of FP8 numbers: a byte, its neighbours, all codes of a format, where a float lands, a histogram.

Taught in notebooks 00 to 02. Every label comes from fp8lab.formats.
"""

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, NullLocator

from .. import formats
from . import palette
from .picture import numbers, picture

PARTS = {"sign": palette.RED, "exponent": palette.BLUE, "mantissa": palette.YELLOW}


def byte(code, fmt):
    """Draw the eight bits of an FP8 code as sign, exponent and mantissa, with the value they stand for."""
    return picture(_byte, int(code), fmt, size=(8, 2.4))


def _byte(fig, code, fmt):
    ax = fig.add_axes((0.02, 0.02, 0.96, 0.96))
    return _anatomy(ax, code, fmt)


def two_formats(code, first, second):
    """Draw one byte as two formats read it, one above the other."""
    return picture(_two_formats, int(code), first, second, size=(8, 4.4))


def _two_formats(fig, code, first, second):
    summaries = [_anatomy(fig.add_axes((0.02, 0.51 - 0.5 * i, 0.96, 0.48)), code, fmt)
                 for i, fmt in enumerate((first, second))]
    one, two = (formats.fields(code, fmt).value for fmt in (first, second))
    if np.isfinite(one) and np.isfinite(two) and one:
        summaries.append(f"{second.name} reads {numbers(two / one)} times what {first.name} reads.")
    return " ".join(summaries)


def _anatomy(ax, code, fmt):
    parts = formats.fields(code, fmt)
    ax.set(xlim=(0, 13), ylim=(4.1, 0))
    ax.axis("off")
    ax.text(0, 0.35, fmt.name, fontsize=12, fontweight="bold", va="center")
    ax.text(0, 0.95, f"code 0x{code:02x} = {code}", va="center")
    names = ["sign"] + ["exponent"] * fmt.exponent_bits + ["mantissa"] * fmt.mantissa_bits
    for i, name in enumerate(names):
        colour = PARTS[name]
        ax.add_patch(Rectangle((4.2 + 1.05 * i, 0.55), 0.95, 1.0, facecolor=colour, edgecolor=palette.INK))
        ax.text(4.675 + 1.05 * i, 1.05, str(code >> (7 - i) & 1), ha="center", va="center", fontsize=15,
                color=palette.TEXT_ON[colour], family="DejaVu Sans Mono")
        ax.text(4.675 + 1.05 * i, 0.28, f"bit {7 - i}", ha="center", va="center", fontsize=7.5, color=palette.INK)
    mantissa_at = 4.2 + 1.05 * (1 + fmt.exponent_bits)
    meanings = (
        (4.2, 0.95, "sign", f"{'-' if parts.sign else '+'}"),
        (5.25, mantissa_at - 5.35, "exponent", _exponent_text(parts, fmt)),
        (mantissa_at, 12.5 - mantissa_at, "mantissa", f"{parts.mantissa}/{1 << fmt.mantissa_bits}"),
    )
    for x, width, name, meaning in meanings:
        ax.plot([x, x, x + width, x + width], [1.65, 1.75, 1.75, 1.65], color=palette.INK, linewidth=0.9)
        ax.text(x + width / 2, 2.05, name, ha="center", va="center", fontsize=8)
        ax.text(x + width / 2, 2.42, meaning, ha="center", va="center", fontsize=9, fontweight="bold")
    ax.text(4.2, 3.3, f"{parts.formula}  =  {numbers(parts.value)}" if parts.kind in ("normal", "subnormal")
            else parts.formula, fontsize=15, va="center", fontweight="bold",
            color=palette.RED if parts.kind == "nan" else palette.INK)
    ax.text(0, 3.3, parts.kind if parts.kind != "nan" else "not a number", fontsize=10.5, va="center")
    equals = f" = {numbers(parts.value)}" if parts.kind in ("normal", "subnormal") else ""
    return f"Code 0x{code:02x} in {fmt.name} is {parts.formula}{equals} ({parts.kind})."


def _exponent_text(parts, fmt):
    if parts.kind == "subnormal":
        return f"0: {1 - fmt.bias}, no hidden 1"
    if parts.kind == "normal":
        return f"{parts.exponent} - bias {fmt.bias} = {parts.exponent - fmt.bias}"
    return str(parts.exponent)


def number_line(code, fmt, reach=4):
    """Draw the numbers of a format around a code, with the code's two neighbours marked.

    reach  how many numbers to show on each side
    """
    return picture(_number_line, int(code), fmt, reach, size=(8, 2.1))


def _number_line(fig, code, fmt, reach):
    ax = fig.add_axes((0.04, 0.12, 0.92, 0.66))
    if formats.fields(code, fmt).kind == "nan":
        ax.axis("off")
        ax.text(0.5, 0.5, f"0x{code:02x} is NaN in {fmt.name}: it has no place on the number line and no neighbours",
                ha="center", va="center", color=palette.RED, transform=ax.transAxes, fontsize=11)
        return f"Code 0x{code:02x} is NaN in {fmt.name} and has no neighbours."
    below, above = _walk(code, fmt, 0, reach), _walk(code, fmt, 1, reach)
    shown = [c for c in [*below[::-1], code, *above] if np.isfinite(formats.fields(c, fmt).value)]
    values = [formats.fields(c, fmt).value for c in shown]
    near = {c for c in (*below[:1], *above[:1])}
    width = max(values) - min(values)
    for i, (c, value) in enumerate(zip(shown, values, strict=True)):
        colour = palette.BLUE if c == code else palette.YELLOW if c in near else palette.GREY
        ax.plot([value, value], [-0.16, 0.16], color=palette.INK, linewidth=0.8, zorder=2)
        ax.plot(value, 0, "o" if c != code else "D", color=colour, markersize=11, markeredgecolor=palette.INK, zorder=3)
        up = i % 2 == shown.index(code) % 2
        ax.text(value, 0.3 if up else -0.3, f"{numbers(value)}\n0x{c:02x}", ha="center", va="bottom" if up else "top",
                fontsize=8.5, fontweight="bold" if c == code else "normal", linespacing=1.2)
    ax.axhline(0, color=palette.INK, linewidth=0.9, zorder=1)
    ax.set(xlim=(min(values) - width * 0.06, max(values) + width * 0.06), ylim=(-1.15, 1.15), yticks=[], xticks=[])
    ax.spines[:].set_visible(False)
    fig.suptitle(f"{fmt.name}: the numbers around 0x{code:02x} = {numbers(formats.fields(code, fmt).value)}", x=0.04,
                 ha="left", fontweight="bold", fontsize=10.5)
    names = [f"0x{c:02x} = {numbers(formats.fields(c, fmt).value)}" if c is not None else "nothing"
             for c in formats.neighbours(code, fmt)]
    return f"The neighbours of 0x{code:02x} in {fmt.name} are {names[0]} below and {names[1]} above."


def _walk(code, fmt, side, steps):
    """Return up to `steps` codes from a code downwards (side 0) or upwards (side 1)."""
    walk = []
    for _ in range(steps):
        code = formats.neighbours(code, fmt)[side]
        if code is None:
            break
        walk.append(code)
    return walk


def spacing(*fmts):
    """Draw the distance from each positive number of a format to the next larger one, on logarithmic axes.

    fmts  the formats to compare, at most three; without any, e4m3fnuz and e4m3fn
    """
    return picture(_spacing, fmts or (formats.E4M3FNUZ, formats.E4M3FN), size=(8, 4))


def _spacing(fig, fmts):
    ax, rug = fig.subplots(2, 1, sharex=True, height_ratios=(4, 0.45 * len(fmts)), gridspec_kw={"hspace": 0.08})
    fig.subplots_adjust(left=0.11, right=0.98, top=0.92, bottom=0.13)
    colours = (palette.BLUE, palette.RED, palette.GREY)
    lines = ("-", "--", ":")
    for i, fmt in enumerate(fmts):
        values = np.unique(_positive(fmt))
        steps = np.diff(values)
        ax.step(values, np.append(steps, steps[-1]), where="post", color=colours[i], linestyle=lines[i], linewidth=2.2,
                label=f"{fmt.name}: {numbers(values[0])} to {numbers(values[-1])}")
        rug.vlines(values, -i - 0.4, -i + 0.4, color=colours[i], linewidth=0.9)
        rug.text(-0.01, -i, fmt.name, va="center", ha="right", fontsize=8, transform=rug.get_yaxis_transform())
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set(ylabel="distance to the next number", xlim=(2.0**-18, 2.0**17), ylim=(2.0**-18, 2.0**14))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator(2.0 ** np.arange(-18, 18, 4)))
        axis.set_minor_locator(NullLocator())
    ax.set_title("how far apart the numbers are: a straight stair is a constant relative step")
    ax.grid(True)
    ax.legend(loc="upper left")
    rug.set(yticks=[], ylim=(-len(fmts) + 0.4, 0.6), xlabel="value (positive codes; the negative ones mirror them)")
    rug.spines["left"].set_visible(False)
    return " ".join(f"{fmt.name} has {len(np.unique(_positive(fmt)))} positive numbers from "
                    f"{numbers(fmt.smallest_subnormal)} to {numbers(fmt.max)}; the step doubles with each power of two "
                    f"from {numbers(2 * fmt.smallest_normal)} on." for fmt in fmts)


def _positive(fmt):
    values = formats.decode(np.arange(128, dtype=np.uint8), fmt)
    return values[np.isfinite(values) & (values > 0)]


def rounding(x, fmt):
    """Draw where a number lands in a format: its two neighbours, the middle between them, the way it goes, the error.

    x    a finite Python float; past the range the picture says what becomes of it
    """
    return picture(_rounding, float(x), fmt, size=(8, 2.6))


def _rounding(fig, x, fmt):
    ax = fig.add_axes((0.04, 0.1, 0.92, 0.7))
    code = int(formats.encode(x, fmt))
    landed = float(formats.decode(code, fmt))
    fig.suptitle(f"{numbers(x)} to {fmt.name}, nearest-even", x=0.04, ha="left", fontweight="bold", fontsize=10.5)
    ax.spines[:].set_visible(False)
    if not np.isfinite(landed):
        ax.axis("off")
        saturated = int(formats.encode(x, fmt, overflow="saturate"))
        text = (f"{numbers(x)} is past the largest number of {fmt.name}, {numbers(fmt.max)}: the code is "
                f"0x{code:02x}, {formats.fields(code, fmt).formula}; with saturation 0x{saturated:02x}, "
                f"{numbers(formats.decode(saturated, fmt))}.")
        if np.isnan(x):
            text = f"NaN stays NaN: code 0x{code:02x} in {fmt.name}."
        ax.text(0.5, 0.5, text.replace(": the", ":\nthe"), ha="center", va="center", transform=ax.transAxes,
                fontsize=11, color=palette.RED)
        return text
    low, high = _between(x, code, landed, fmt)
    low_value, high_value = (float(formats.decode(c, fmt)) if c is not None else None for c in (low, high))
    inward = formats.neighbours(code, fmt)[0 if landed > 0 else 1]
    is_between = low != high and None not in (low, high)
    step = high_value - low_value if is_between else abs(landed - float(formats.decode(inward, fmt)))
    left = landed - step if low is None else landed - step / 2 if low == high else low_value
    ax.set(xlim=(left - 0.2 * step, left + 1.2 * step), ylim=(-1.2, 1.35), xticks=[], yticks=[])
    ax.axhline(0, color=palette.INK, linewidth=0.9, zorder=1)
    for c, value in ((low, low_value), (high, high_value)):
        if c is None:
            continue
        taken = value == landed
        ax.plot(value, 0, "D", markersize=12 if taken else 10, color=palette.BLUE if taken else palette.GREY,
                markeredgecolor=palette.INK, zorder=3)
        ax.text(value, -0.28, f"{numbers(value)}\n0x{c:02x}, {'even' if c % 2 == 0 else 'odd'}", ha="center", va="top",
                fontweight="bold" if taken else "normal")
    if is_between:
        middle = (low_value + high_value) / 2
        ax.plot([middle] * 2, [-0.25, 0.25], color=palette.INK, linewidth=1.2, linestyle=":")
        ax.text(middle, -0.32, f"middle {numbers(middle)}", ha="center", va="top", fontsize=8.5)
    ax.plot([x, x], [0, 0.75], color=palette.RED, linewidth=1.2)
    ax.plot(x, 0, "v", color=palette.RED, markersize=9, zorder=4)
    ax.text(x, 0.98, f"x = {numbers(x)}", ha="center", va="bottom", color=palette.RED, fontweight="bold")
    if landed != x:
        ax.annotate("", (landed, 0.7), (x, 0.7),
                    arrowprops={"arrowstyle": "-|>", "color": palette.RED, "linewidth": 1.6})
    if None in (low, high):
        edge = landed + np.sign(landed) * step / 2
        word = "past" if np.isfinite(formats.decode(formats.encode(edge, fmt), fmt)) else "from"
        ax.plot([edge] * 2, [-0.25, 0.25], color=palette.RED, linewidth=1.2, linestyle=":")
        ax.text(edge, -0.32, f"overflow {word} {numbers(edge)}", ha="center", va="top", fontsize=8.5, color=palette.RED)
    error = landed - x
    if x == 0 and np.signbit(x) and not np.signbit(landed):
        return f"-0 becomes 0x{code:02x}: {fmt.name} has one zero, without a sign."
    if error == 0:
        return f"{numbers(x)} is a number of {fmt.name}: code 0x{code:02x}, no error."
    relative = f" ({abs(error / x):.2%} of x)"
    return (f"{numbers(x)} becomes 0x{code:02x} = {numbers(landed)} in {fmt.name}, an error of "
            f"{numbers(error, 3)}{relative}.")


def _between(x, code, landed, fmt):
    """Return the codes of the numbers around x; the same twice where x is a number of the format."""
    below, above = formats.neighbours(code, fmt)
    if x > landed:
        return code, above if above is not None and np.isfinite(formats.fields(above, fmt).value) else None
    if x < landed:
        return below if below is not None and np.isfinite(formats.fields(below, fmt).value) else None, code
    return code, code


def weight_histogram(before, after, name="weight"):
    """Draw how often each value occurs in a matrix before and after FP8, on the same bins.

    before, after  arrays or torch tensors of one shape; after is dequantised, NaN is left out and counted
    """
    return picture(_weight_histogram, formats.as_floats(before).ravel(), formats.as_floats(after).ravel(), name,
                   size=(8, 3.6))


def _weight_histogram(fig, before, after, name):
    axes = fig.subplots(2, 1, sharex=True, gridspec_kw={"hspace": 0.42})
    fig.subplots_adjust(left=0.1, right=0.98, top=0.92, bottom=0.13)
    reach = float(np.quantile(np.abs(before[np.isfinite(before)]), 0.999))
    bins = np.linspace(-reach, reach, 401)
    counts = []
    for ax, values, colour, what in ((axes[0], before, palette.GREY, "float32"),
                                     (axes[1], after, palette.BLUE, "FP8, times its scale")):
        finite = values[np.isfinite(values)]
        counts.append(len(np.unique(finite)))
        ax.hist(finite, bins=bins, color=colour, histtype="stepfilled")    # one shape, not 400 bars
        ax.set(ylabel="elements", xlim=(-reach, reach))
        ax.set_title(f"{name}, {what}: {counts[-1]:,} different values")
    axes[1].set_xlabel(f"value of an element (the middle 99.9 % of {before.size:,})")
    lost = int(np.count_nonzero(~np.isfinite(after)))
    lost_text = f" and {lost} elements are no longer finite" if lost else ""
    return (f"{name} has {counts[0]:,} different values in float32 and {counts[1]:,} after FP8{lost_text}; they lie "
            f"densest around zero.")
