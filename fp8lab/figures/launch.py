"""One call on its way to the GPU: the layers it goes through, what crosses the C interface, where its workgroups go.

Taught in notebook 06.
"""

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch, Rectangle

from .. import hardware
from ..launcher import CUS_OF_XCD, XCDS, load_of_cus, workgroups
from . import palette
from .picture import picture

# The layers: who, where it is written, what it does, what it hands on. The colour says the language.
LAYERS = (
    ("Python", "torch-ext/gemm/__init__.py", "checks the arguments, makes out", "5 tensors", palette.SKY),
    ("dispatcher", "torch", "looks up which code this device has", "5 tensors", palette.GREY),
    ("binding", "torch-ext/torch_binding.cpp, backend_rocm.h", "stream, workspace, status → exception",
     "gemm_problem, a stream", palette.YELLOW),
    ("launcher", "gemm/gemm_launcher.hip", "chooses a configuration, starts it", "17 kernel arguments, a grid",
     palette.YELLOW),
    ("kernel", "gemm/gemm_kernel.h", "gfx942 machine code, on every compute unit", "", palette.BLUE),
)


def call_layers():
    """Draw the layers that a call of gemm goes through, with their files and what each hands to the next."""
    return picture(_call_layers, size=(palette.WIDTH, 3.5))


def _call_layers(fig):
    ax = fig.add_axes((0.01, 0.01, 0.98, 0.9))
    ax.set(xlim=(0, 100), ylim=(len(LAYERS), 0))
    ax.axis("off")
    for row, (name, file, does, hands, fill) in enumerate(LAYERS):
        ax.add_patch(Rectangle((1, row + 0.08), 15, 0.6, facecolor=fill, edgecolor=palette.INK, linewidth=0.9))
        ax.text(8.5, row + 0.38, name, ha="center", va="center", fontweight="bold", color=palette.TEXT_ON[fill])
        ax.text(18.5, row + 0.24, does, va="center", fontsize=9.5)
        ax.text(18.5, row + 0.55, file, va="center", fontsize=8, family="DejaVu Sans Mono")
        if hands:
            ax.annotate("", (8.5, row + 1.07), (8.5, row + 0.69), arrowprops={"arrowstyle": "-|>", "lw": 1.2,
                                                                               "color": palette.INK})
            ax.text(10.2, row + 0.87, hands, va="center", fontsize=8, fontstyle="italic")
    names = [Patch(facecolor=colour, edgecolor=palette.INK, linewidth=0.5, label=label) for colour, label in
             ((palette.SKY, "Python"), (palette.GREY, "torch"), (palette.YELLOW, "C++"), (palette.BLUE, "GPU"))]
    fig.legend(handles=names, loc="upper right", bbox_to_anchor=(0.99, 1.0), ncols=4, fontsize=8, handlelength=1.1)
    ax.set_title("One call of gemm, from Python to the GPU")
    return ("A call goes " + ", then ".join(f"through {name} ({does})" for name, _, does, _, _ in LAYERS[:-1])
            + f", and ends in the {LAYERS[-1][0]}: {LAYERS[-1][2]}.")


def gemm_problem(problem):
    """Draw a launcher.Problem as the table that crosses the C interface: field, value, what it says of which tensor."""
    rows = _fields(problem)
    return picture(_gemm_problem, rows, size=(palette.WIDTH, 0.55 + 0.235 * len(rows)))


def _fields(problem):
    """(field, value, meaning, tensor) a row."""
    def contiguous(k_stride, other):
        return "K-contiguous" if k_stride == 1 else f"{other}-contiguous"

    m, n, k = problem.m, problem.n, problem.k
    pointer = "address of its first element"
    return [
        ("m, n, k", f"{m:,}, {n:,}, {k:,}", f"the sizes; {k // 128:,} blocks of K", ""),
        ("a", _address(problem.a), pointer, "a"),
        ("a_row_stride, a_k_stride", f"{problem.a_row_stride:,}, {problem.a_k_stride:,}",
         f"bytes from m to m + 1, and from k to k + 1: {contiguous(problem.a_k_stride, 'M')}", "a"),
        ("b", _address(problem.b), pointer, "b"),
        ("b_k_stride, b_column_stride", f"{problem.b_k_stride:,}, {problem.b_column_stride:,}",
         f"bytes from k to k + 1, and from n to n + 1: {contiguous(problem.b_k_stride, 'N')}", "b"),
        ("a_scale", _address(problem.a_scale), f"({k // 128:,}, {m:,}) float32, contiguous", "a_scale"),
        ("b_scale", _address(problem.b_scale), f"({k // 128:,}, {-(-n // 128):,}) float32, contiguous", "b_scale"),
        ("out", _address(problem.out), f"({m:,}, {n:,}) bfloat16, to be written", "out"),
        ("out_row_stride", f"{problem.out_row_stride:,}", "elements from one row to the next", "out"),
        ("workspace", _address(problem.workspace), "memory to sum the parts of K in, or none", ""),
        ("workspace_bytes", f"{problem.workspace_bytes:,}", "how much of it", ""),
    ]


def _address(value):
    return f"{value:#x}" if value else "null"


def _gemm_problem(fig, rows):
    fills = {"a": palette.SKY, "b": palette.YELLOW, "out": palette.GREY}
    ax = fig.add_axes((0.01, 0.02, 0.98, 1 - 0.42 / fig.get_figheight()))
    ax.set(xlim=(0, 100), ylim=(len(rows), 0))
    ax.axis("off")
    for row, (field, value, meaning, tensor) in enumerate(rows):
        fill = fills.get(tensor.partition("_")[0], palette.PAPER)
        ax.add_patch(Rectangle((0, row + 0.06), 27, 0.88, facecolor=fill, edgecolor=palette.LINE))
        ax.add_patch(Rectangle((27, row + 0.06), 19, 0.88, facecolor=palette.PAPER, edgecolor=palette.LINE))
        for x, text, size in ((1, field, 7.8), (28, value, 7.8)):
            ax.text(x, row + 0.5, text, va="center", fontsize=size, family="DejaVu Sans Mono")
        ax.text(47.5, row + 0.5, meaning, va="center", fontsize=8.2)
    ax.set_title("gemm_problem: all that the launcher is told")
    shown = {field: value for field, value, _, _ in rows}
    return (f"gemm_problem: m, n, k are {shown['m, n, k']}; strides of a {shown['a_row_stride, a_k_stride']}, of b "
            f"{shown['b_k_stride, b_column_stride']}, of out {shown['out_row_stride']}; five addresses; "
            f"{shown['workspace_bytes']} bytes of workspace.")


def workgroup_map(choice, m, n, k, given=""):
    """Draw a launch: tiles of C, coloured by the XCD that computes them, a map a part of K; and the load of all CUs.

    choice  launcher.Choice for C (m, n) with k
    given   what else the launcher was told, for the title: layouts, workspace
    """
    return picture(_workgroup_map, choice, m, n, k, given, size=(palette.WIDTH, 3.7))


def _workgroup_map(fig, choice, m, n, k, given):
    tile_m, tile_n = choice.tile
    where = workgroups(choice, m, n)
    rows, columns = -(-m // tile_m), -(-n // tile_n)
    maps = np.zeros((choice.parts, rows, columns), int)
    maps[where.part, where.row, where.column] = where.xcd
    norm = BoundaryNorm(np.arange(XCDS + 1) - 0.5, 256)
    grid = fig.add_gridspec(1, choice.parts, left=0.055, right=0.53, top=0.74, bottom=0.19, wspace=0.12)
    for part in range(choice.parts):
        ax = fig.add_subplot(grid[part])
        drawn = ax.imshow(maps[part], cmap=palette.SCALE, norm=norm, aspect="auto", interpolation="nearest",
                          extent=(0, columns, rows, 0))
        ax.set(xticks=[0, columns], yticks=[0, rows] if part == 0 else [])
        ax.tick_params(labelsize=7.5)
        ax.spines[:].set_visible(True)
        if choice.parts > 1:
            ax.set_title(f"part {part + 1} of K", fontsize=8.5, fontweight="normal")
        for edge in range(1, rows) if rows <= 64 else ():
            ax.axhline(edge, color=palette.PAPER, linewidth=0.4)
        for edge in range(1, columns) if columns * choice.parts <= 64 else ():
            ax.axvline(edge, color=palette.PAPER, linewidth=0.4)
    fig.text(0.2925, 0.095, f"tiles of C, {tile_m} × {tile_n} each", ha="center", fontsize=8.5)
    bar = fig.colorbar(drawn, cax=fig.add_axes((0.055, 0.055, 0.475, 0.025)), orientation="horizontal",
                       ticks=range(XCDS))
    bar.ax.tick_params(labelsize=7, length=0, pad=1)
    fig.text(0.025, 0.066, "XCD", ha="center", va="center", fontsize=7.5)

    load, ax = load_of_cus(choice), fig.add_axes((0.585, 0.19, 0.40, 0.55))
    most = int(load.max())
    fills = _shades(most)
    ax.pcolormesh(load, cmap=ListedColormap(fills), norm=BoundaryNorm(np.arange(len(fills) + 1) - 0.5, len(fills)),
                  edgecolor=palette.LINE, linewidth=0.5)
    ax.set(xlim=(0, CUS_OF_XCD), ylim=(XCDS, 0), xticks=[], yticks=np.arange(XCDS) + 0.5)
    ax.set_yticklabels(range(XCDS))
    ax.tick_params(labelsize=7.5, length=0)
    ax.spines[:].set_visible(False)
    ax.set_title("compute units, a row an XCD", fontsize=8.5, fontweight="normal")
    busy, all_cus = int(np.count_nonzero(load)), hardware.MI300X.compute_units
    levels = sorted(set(load.ravel().tolist()))
    names = [Patch(facecolor=fills[level], edgecolor=palette.LINE, label=f"{level:,}") for level in levels]
    fig.legend(handles=names, loc="lower center", bbox_to_anchor=(0.785, 0.02), ncols=len(names), fontsize=8,
               title="workgroups a compute unit", title_fontsize=8, handlelength=1.1)
    split = f", K in {choice.parts} parts" if choice.parts > 1 else ""
    fig.text(0.01, 0.945, f"{choice.name}: {choice.workgroups:,} workgroups{split}", fontsize=10.5, fontweight="bold")
    fig.text(0.01, 0.885, f"M, N, K = {m:,}, {n:,}, {k:,}{f'; {given}' if given else ''}", fontsize=9)
    also = f" ({given})" if given else ""
    return (f"For M, N, K = {m:,}, {n:,}, {k:,}{also} the launcher takes {choice.name}: {rows:,} × {columns:,} tiles "
            f"of {tile_m} × {tile_n}, K in {choice.parts} part{'s' if choice.parts > 1 else ''}, {choice.workgroups:,} "
            f"workgroups. {busy} of {all_cus} compute units have work, the busiest {most:,}, if each XCD deals its "
            f"workgroups out evenly.")


def _shades(most):
    """A fill for 0, 1, 2 … workgroups: white, pale, then darker."""
    if most <= 2:
        return [palette.PAPER, palette.SKY, palette.BLUE]
    light, dark = (np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255 for colour in
                   (palette.SKY, palette.BLUE))
    return [palette.PAPER, *(tuple(light + (dark - light) * i / (most - 1)) for i in range(most))]
