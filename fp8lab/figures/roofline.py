"""Where the shapes of the op lie under the roof of a device. Taught in notebooks 04 and 09."""

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from .. import hardware
from . import palette
from .picture import picture

INTENSITY = (0.5, 20_000)      # operations a byte; the same axes for every shape and device, so that pictures compare
TFLOPS = (2, 8_000)


def roofline(shapes, device=hardware.MI300X, others=hardware.CONTEST_SHAPES):
    """Draw the roof of a device and, on it, the most that each shape can reach.

    shapes  {name: (m, n, k)} or one (m, n, k): drawn large and named
    others  (m, n, k) drawn small, without names; by default the contest's shapes
    """
    if isinstance(shapes, tuple):
        shapes = {"M, N, K = " + ", ".join(map(str, shapes)): shapes}
    return picture(_roofline, dict(shapes), device, tuple(others), size=(8, 4))


def _roofline(fig, shapes, device, others):
    ax = fig.add_axes((0.085, 0.13, 0.895, 0.76))
    intensity = np.geomspace(*INTENSITY, 200)
    roof = np.minimum(device.fp8_flops, intensity * device.bandwidth) / 1e12
    ax.fill_between(intensity, roof, TFLOPS[0], color=palette.RULE, alpha=0.45, linewidth=0)
    ax.plot(intensity, roof, color=palette.INK, linewidth=2)
    ax.axvline(device.ridge, color=palette.GREY, linestyle=":", linewidth=1.2)
    ax.text(device.ridge * 0.94, TFLOPS[0] * 1.25, f"memory bound  ◂ {device.ridge:.0f}", ha="right", fontsize=8.5)
    ax.text(device.ridge * 1.06, TFLOPS[0] * 1.25, "▸  compute bound", ha="left", fontsize=8.5)
    ax.text(INTENSITY[0] * 1.5, INTENSITY[0] * 1.5 * device.bandwidth / 1e12 * 1.35,
            f"memory: {device.bandwidth / 1e12:.1f} TB/s", fontsize=8.5, rotation=_slope(ax, fig),
            rotation_mode="anchor")
    ax.text(INTENSITY[1] * 0.9, device.fp8_flops / 1e12 * 1.45, f"FP8 peak: {device.fp8_flops / 1e12:,.0f} TFLOP/s",
            ha="right", fontsize=8.5)
    if others:
        places = [hardware.roofline(*shape, device) for shape in others]
        kind = "contest" if others == hardware.CONTEST_SHAPES else "other"
        ax.plot([p.intensity for p in places], [p.attainable / 1e12 for p in places], "o", color=palette.SKY,
                markersize=6, markeredgecolor=palette.INK, markeredgewidth=0.7, label=f"{len(others)} {kind} shapes")
    sentences = []
    markers = "Dsv^Pp*X"
    colours = (palette.RED, palette.YELLOW, palette.BLUE, palette.GREY)
    for i, (name, shape) in enumerate(shapes.items()):
        place = hardware.roofline(*shape, device)
        ax.plot(place.intensity, place.attainable / 1e12, markers[i % len(markers)], color=colours[i % len(colours)],
                markersize=11, markeredgecolor=palette.INK, linestyle="none",
                label=f"{name}: {place.intensity:,.0f} FLOP/byte, {place.bound} bound")
        sentences.append(f"{name}: {place.intensity:,.0f} operations a byte, {place.bound} bound on {device.name}, at "
                         f"most {place.attainable / 1e12:,.0f} TFLOP/s, at least {place.time_us:.3g} µs.")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set(xlim=INTENSITY, ylim=TFLOPS, xlabel="arithmetic intensity (FP8 operations per byte of memory traffic)",
           ylabel="TFLOP/s at most")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator([1, 10, 100, 1_000, 10_000]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.set_minor_locator(NullLocator())    # half of the drawing time
    ax.grid(True, which="major")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 0.1))
    ax.set_title(f"{device.name} roofline: paper peaks, not measurements")
    return " ".join(sentences) or f"The roof of {device.name}: the ridge is at {device.ridge:.0f} operations a byte."


def _slope(ax, fig):
    """Return the angle, in degrees, at which a line of slope 1 appears on these log-log axes."""
    box, (width, height) = ax.get_position(), fig.get_size_inches()
    decade_x = box.width * width / np.log10(INTENSITY[1] / INTENSITY[0])
    decade_y = box.height * height / np.log10(TFLOPS[1] / TFLOPS[0])
    return float(np.degrees(np.arctan2(decade_y, decade_x)))
