"""The step kernels of notebook 05: where they run, what each costs, and in which order a wave runs its instructions."""

import numpy as np
from matplotlib.patches import Patch, Rectangle

from .. import hardware
from ..gfx942.trace import class_of
from ..steps import MATRIX_CLOCKS
from . import palette
from .picture import picture

# What an instruction keeps busy, for the pictures: classes of fp8lab.gfx942.trace in the order in which they are drawn.
KINDS = {
    "matrix": (("mfma",), palette.YELLOW, None),
    "vector": (("valu",), palette.BLUE, None),
    "LDS": (("lds",), palette.SKY, None),
    "global memory": (("vmem", "smem"), palette.RED, None),
    "scalar, waits, jumps": (("salu", "control"), palette.GREY, "////"),
}


def compute_unit():
    """Draw what a workgroup runs on: a compute unit of MI300X with its four SIMDs, registers, matrix cores and LDS."""
    return picture(_compute_unit, size=(palette.WIDTH, 3.6))


def _compute_unit(fig):
    chip, unit = hardware.MI300X, hardware.MI300X_CU
    ax = fig.add_axes((0.01, 0.02, 0.98, 0.9))
    ax.set(xlim=(0, 100), ylim=(36, 0))
    ax.axis("off")

    def box(x, y, width, height, fill, text, size=8.5, bold=False):
        ax.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=palette.INK, linewidth=0.9))
        ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size, linespacing=1.4,
                color=palette.TEXT_ON.get(fill, palette.INK), fontweight="bold" if bold else "normal")

    simds, lanes, kib = unit["SIMDs"], unit["lanes a wave"], unit["LDS bytes"] // 1024
    ax.add_patch(Rectangle((1, 1), 70, 33, fill=False, edgecolor=palette.INK, linewidth=1.4))
    for simd in range(simds):
        x = 2.5 + 17 * simd
        ax.add_patch(Rectangle((x, 2.5), 16, 20.5, fill=False, edgecolor=palette.LINE))
        ax.text(x + 8, 4.4, f"SIMD {simd}: waves", ha="center", va="center", fontsize=8.5, fontweight="bold")
        box(x + 1, 6.5, 14, 5.2, palette.PAPER, f"registers, {lanes} lanes\n× {unit['VGPRs a lane']} of 4 bytes", 7.6)
        box(x + 1, 12.3, 14, 4.4, palette.BLUE, "vector unit")
        box(x + 1, 17.3, 14, 4.6, palette.YELLOW, "matrix core", bold=True)
    box(2.5, 25, 67, 7, palette.SKY,
        f"LDS: {kib} KiB in {unit['LDS banks']} banks of 4 bytes; all waves of a workgroup share it")
    box(79, 8, 19, 19, palette.PAPER, "L2 cache,\nthen\nglobal memory:\n"
        f"{chip.bandwidth / 1e12:g} TB/s for\nall {chip.compute_units} units")
    ax.annotate("", (71.2, 17.5), (78.8, 17.5), arrowprops={"arrowstyle": "<|-|>", "color": palette.INK})
    ax.set_title(f"One of the {chip.compute_units} compute units of {chip.name}")
    return (f"A compute unit has {simds} SIMDs, each with the registers of its waves, a vector unit and a matrix core, "
            f"and one LDS of {kib} KiB. {chip.name} has {chip.compute_units} of them in front of one global memory.")


def step_counts(outcomes):
    """Draw what kernels cost for 128 × 128 × 128 multiply-adds, a row each: instructions, clocks, bytes, matrix share.

    outcomes  [steps.Outcome, …]
    """
    return picture(_step_counts, outcomes, size=(palette.WIDTH, 1.3 + 0.4 * len(outcomes)))


def _step_counts(fig, outcomes):
    rows, high = len(outcomes), fig.get_figheight()
    mix, clocks, moved, share = fig.subplots(1, 4, sharey=True, width_ratios=(2.1, 2.1, 1.5, 1.1))
    fig.subplots_adjust(left=0.155, right=0.96, top=1 - 0.5 / high, bottom=0.75 / high, wspace=0.12)
    for row, outcome in enumerate(outcomes):
        counts, total, left = outcome.instructions, sum(outcome.instructions.values()), 0.0
        for classes, colour, hatch in KINDS.values():
            part = sum(counts.get(name, 0) for name in classes) / total
            mix.barh(row, part, left=left, height=0.42, color=colour, edgecolor=palette.INK, linewidth=0.5, hatch=hatch)
            left += part
        mix.text(0, row - 0.24, f"{total:,.0f}", fontsize=7.5, va="bottom")
        clocks.barh(row - 0.16, outcome.issue_clocks, height=0.26, color=palette.GREY, edgecolor=palette.INK,
                    linewidth=0.5)
        clocks.barh(row + 0.16, outcome.lds_clocks, height=0.26, color=palette.SKY, edgecolor=palette.INK,
                    linewidth=0.5)
        if outcome.lds_conflicts:
            ideal = outcome.lds_clocks - outcome.lds_conflicts
            clocks.barh(row + 0.16, outcome.lds_conflicts, left=ideal, height=0.26, color=palette.RED,
                        edgecolor="white", linewidth=0, hatch="////")
        moved.barh(row, outcome.global_bytes, height=0.42, color=palette.BLUE, edgecolor=palette.INK, linewidth=0.5)
        moved.text(outcome.global_bytes, row - 0.24, _bytes(outcome.global_bytes), fontsize=7.5, va="bottom",
                   ha="right" if outcome.global_bytes > 1e6 else "center")
        share.barh(row, outcome.matrix_share, height=0.42, color=palette.YELLOW, edgecolor=palette.INK, linewidth=0.5)
        share.text(0.02, row - 0.24, f"{outcome.matrix_share:.0%}", fontsize=7.5, va="bottom")
    clocks.axvline(MATRIX_CLOCKS, color=palette.INK, linewidth=1.2, linestyle="--")
    mix.set(xlim=(0, 1), ylim=(rows - 0.5, -0.6), xticks=[], yticks=range(rows), xlabel="kinds of instruction")
    mix.set_yticklabels([outcome.name for outcome in outcomes])
    clocks.set(xscale="log", xlim=(200, 3e6), xlabel="clocks")
    moved.set(xscale="log", xlim=(1e4, 1e8), xlabel="bytes")
    share.set(xlim=(0, 1), xticks=[1], xlabel="busy, at most")
    share.set_xticklabels(["100 %"])
    for ax, title in zip((mix, clocks, moved, share), ("instructions", "clocks of a unit", "global memory",
                                                       "matrix cores"), strict=True):
        ax.set_title(title, fontsize=9.5)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="x", labelsize=7.5)
        ax.xaxis.label.set_fontsize(8)
    names = [Patch(facecolor=colour, edgecolor=palette.INK, linewidth=0.5, hatch=hatch, label=kind)
             for kind, (_, colour, hatch) in KINDS.items()]
    fig.legend(handles=names, loc="lower left", bbox_to_anchor=(0.0, 0.0), ncols=5, fontsize=7, handlelength=1.1,
               columnspacing=0.9, handletextpad=0.4)
    limits = [Patch(facecolor=palette.GREY, label="issuing"), Patch(facecolor=palette.SKY, label="LDS"),
              Patch(facecolor=palette.RED, hatch="////", edgecolor="white", label="bank conflicts")]
    fig.legend(handles=limits, loc="lower right", bbox_to_anchor=(1.0, 0.0), ncols=3, fontsize=7, handlelength=1.1,
               columnspacing=0.9, handletextpad=0.4)
    last = outcomes[-1]
    conflicts = f"{last.lds_conflicts:,.0f} of them for bank conflicts" if last.lds_conflicts else "none for conflicts"
    return (f"{last.name}, for 128 × 128 × 128 multiply-adds: {sum(last.instructions.values()):,.0f} instructions, "
            f"{last.lds_clocks:,.0f} clocks of the LDS, {conflicts}, {_bytes(last.global_bytes)} of global memory; the "
            f"matrix cores, whose work takes {MATRIX_CLOCKS:,} clocks (dashed), are busy for at most "
            f"{last.matrix_share:.0%} of the time.")


def _bytes(count):
    for unit, size in (("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:,.0f} {unit}" if count >= 10 * size else f"{count / size:,.1f} {unit}"
    return f"{count:,.0f} bytes"


def loop_order(outcomes):
    """Draw the instructions of one block of K in the order in which a wave runs them, a strip for each kernel.

    outcomes  [steps.Outcome, …] of kernels with MFMAs, at least 3 blocks of K

    A block is what lies between two runs of the same MFMA, turned so that it begins with its loads.
    """
    return picture(_loop_order, outcomes, size=(palette.WIDTH, 1.15 + 0.85 * len(outcomes)))


def _loop_order(fig, outcomes):
    strips = fig.subplots(len(outcomes), 1, squeeze=False)[:, 0]
    high = fig.get_figheight()
    fig.subplots_adjust(left=0.155, right=0.985, top=1 - 0.6 / high, bottom=0.55 / high, hspace=0.75)
    blocks = [one_block(outcome) for outcome in outcomes]
    longest, said = max(map(len, blocks)), []
    for ax, outcome, block in zip(strips, outcomes, blocks, strict=True):
        for x, instruction in enumerate(block):
            kind = class_of(instruction)
            colour = next(colour for classes, colour, _ in KINDS.values() if kind in classes)
            low, tall = (0, 1) if kind in ("mfma", "vmem", "smem", "lds") else (0.32, 0.36)
            ax.add_patch(Rectangle((x, low), 1, tall, facecolor=colour, linewidth=0))
        waits = [x for x, each in enumerate(block) if _waits_for_memory(each)]
        barriers = [x for x, each in enumerate(block) if each.name == "s_barrier"]
        ax.plot(np.array(waits) + 0.5, [1.18] * len(waits), "v", color=palette.INK, markersize=4, clip_on=False)
        for x in barriers:
            ax.axvline(x + 0.5, ymin=0, ymax=1, color=palette.INK, linewidth=2.2)
        ax.set(xlim=(0, longest), ylim=(0, 1), yticks=[])
        ax.set_ylabel(outcome.name, rotation=0, ha="right", va="center", fontsize=9)
        ax.spines[:].set_visible(False)
        ax.tick_params(labelsize=7)
        said.append(f"{outcome.name}: {outcome.hidden:.0f} MFMAs run while a load is on its way, "
                    f"{len(barriers)} barrier{'' if len(barriers) == 1 else 's'}")
    strips[0].set_title("One block of K in a wave, in order; ▼ waits for memory, ┃ barrier", pad=14)
    names = [Patch(facecolor=colour, label=kind) for kind, (_, colour, _) in KINDS.items()]
    fig.legend(handles=names, loc="lower left", bbox_to_anchor=(0.14, 0.0), ncols=5, fontsize=7.5, handlelength=1.1)
    return "; ".join(said) + "."


def _waits_for_memory(instruction):
    return instruction.name == "s_waitcnt" and "vmcnt" in str(instruction)


def one_block(outcome):
    """The instructions that a wave runs for one block of K in the middle of its work, from its first load on."""
    order = outcome.wave["instruction"]
    code = outcome.kernel.instructions
    first = next(i for i in order if code[i].name.startswith("v_mfma"))
    runs = np.flatnonzero(order == first)
    if len(runs) < 3:
        raise ValueError(f"{outcome.name} ran {len(runs)} blocks of K, needs 3 to show one from the middle")
    middle = len(runs) // 2
    block = [code[i] for i in order[runs[middle - 1] : runs[middle]]]
    loads = [x for x, each in enumerate(block) if class_of(each) == "vmem"]
    # the first load after the longest stretch without any
    gaps = [(load - loads[n - 1]) % len(block) for n, load in enumerate(loads)]
    start = loads[int(np.argmax(gaps))] if loads else 0
    return block[start:] + block[:start]
