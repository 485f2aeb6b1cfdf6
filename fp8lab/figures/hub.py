"""What lies on a Hub, and what a client asks of it. Taught in notebook 08."""

import re
import textwrap
from dataclasses import dataclass

from matplotlib.patches import Rectangle

from . import palette
from .picture import picture

ROW = 0.235          # inches
MOST_ROWS = 25       # that can be read
COMMIT = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{33}\b")


def hub_tree(branches, name="the repository"):
    """Draw a kernel repository: its branches, the folders in each, the files in each folder.

    branches  {branch: {path: bytes}}; of more than 25 files, only how many there are in each folder is shown
    """
    rows = _tree_rows(branches, whole=sum(map(len, branches.values())) <= MOST_ROWS)
    height = min(0.8 + ROW * len(rows), palette.HEIGHT)
    return picture(_hub_tree, rows, branches, name, size=(palette.WIDTH, height))


@dataclass(frozen=True)
class _Row:
    """A line of the tree: a file, or a folder's files together. `branch` and `folder` only where they begin, with the
    number of lines they span."""

    branch: tuple | None
    folder: tuple | None
    what: str
    size: int


def _tree_rows(branches, whole):
    rows = []
    for branch, files in branches.items():
        folders = {}
        for path, size in sorted(files.items()):
            folder, _, file = path.rpartition("/")
            folders.setdefault(folder, []).append((file, size))
        if not whole:
            folders = {folder: [(_count(len(inside), "file"), sum(size for _, size in inside))]
                       for folder, inside in folders.items()}
        begins = branch, sum(map(len, folders.values()))
        for folder, inside in folders.items():
            for index, (what, size) in enumerate(inside):
                rows.append(_Row(begins, (folder, len(inside)) if index == 0 else None, what, size))
                begins = None
    return rows


def _hub_tree(fig, rows, branches, name):
    ax = fig.add_axes((0.01, 0.01, 0.98, 1 - 0.55 / fig.get_figheight()))
    ax.set(xlim=(0, 100), ylim=(len(rows), -1))
    ax.axis("off")
    for x, title in ((0, "branch"), (13, "folder"), (60, "file")):
        ax.text(x + 0.8, -0.45, title, va="center", fontsize=8, color=palette.GREY)
    for y, row in enumerate(rows):
        if row.branch:
            branch, lines = row.branch
            fill = palette.GREY if branch == "main" else palette.BLUE
            ax.add_patch(Rectangle((0, y + 0.08), 11, lines - 0.16, facecolor=fill))
            ax.text(5.5, y + lines / 2, branch, ha="center", va="center", fontweight="bold",
                    color=palette.TEXT_ON[fill])
        if row.folder and row.folder[0]:
            folder, lines = row.folder
            fill = palette.SKY if folder.startswith("build/") else palette.RULE
            ax.add_patch(Rectangle((13, y + 0.08), 45, lines - 0.16, facecolor=fill, edgecolor=palette.LINE))
            ax.text(14, y + lines / 2, folder + "/", va="center", fontsize=8.2)
        ax.text(60.8, y + 0.5, row.what, va="center", fontsize=8.2)
        ax.text(99, y + 0.5, f"{row.size:,} bytes", va="center", ha="right", fontsize=8.2)
    ax.set_title(name)
    contents = ", ".join(f"{branch} with {_count(len(files), 'file')}" for branch, files in branches.items())
    folders = {path.split("/")[1] for files in branches.values() for path in files if path.startswith("build/")}
    return f"{name}: branches {contents}; build variants: {', '.join(sorted(folders)) or 'none'}."


def hub_requests(requests, said, title, is_ok=True):
    """Draw the calls that a client made of a Hub, in order, what each asks, and what the client said in the end.

    requests  hub.requests.Request, in order; HEAD and GET of one file share a row
    said      what the program printed or raised
    is_ok     whether it got what it wanted
    """
    rows = merged(requests)
    lines = [line for part in shortened(said).splitlines() if part.strip() for line in textwrap.wrap(part, 112)]
    lines = [*lines[:5], "…"] if len(lines) > 6 else lines
    height = min(0.75 + ROW * (max(len(rows), 1) + len(lines) * 0.8), palette.HEIGHT)
    return picture(_hub_requests, rows, lines, title, is_ok, len(requests), size=(palette.WIDTH, height))


def merged(requests):
    """Return [methods, path, status, purpose] a row: a GET joins the HEAD of its path, also across others."""
    rows = []
    for request in requests:
        head = ["HEAD", request.path, request.status, request.purpose]
        if request.method == "GET" and head in rows:
            rows[rows.index(head)][0] = "HEAD GET"
        else:
            rows.append([request.method, *head[1:]])
    return rows


def shortened(text):
    """Commit ids to seven digits, and addresses without the port, which is another one each time."""
    return re.sub(r"http://127\.0\.0\.1:\d+", "", COMMIT.sub(r"\1…", text))


def _hub_requests(fig, rows, lines, title, is_ok, count):
    ax = fig.add_axes((0.01, 0.02, 0.98, 1 - 0.5 / fig.get_figheight()))
    top = max(len(rows), 1)
    bottom = top + 0.35 + 0.8 * len(lines)
    ax.set(xlim=(0, 100), ylim=(bottom, 0))
    ax.axis("off")
    if not rows:
        ax.text(1, 0.5, "no request: refused before the Hub is asked", va="center", fontsize=8.2, color=palette.GREY)
    for y, (methods, path, status, purpose) in enumerate(rows):
        fill = palette.SKY if status < 400 else palette.RED
        ax.add_patch(Rectangle((0, y + 0.1), 4.6, 0.8, facecolor=fill))
        ax.text(2.3, y + 0.5, status, ha="center", va="center", fontsize=7.8, color=palette.TEXT_ON[fill])
        ax.text(5.6, y + 0.5, purpose, va="center", fontsize=8.2, fontweight="bold")
        ax.text(33, y + 0.5, methods, va="center", fontsize=7)
        ax.text(41, y + 0.5, _fitted(shortened(path)), va="center", fontsize=7)
    bar, ink = (palette.BLUE, palette.INK) if is_ok else (palette.RED, palette.RED)
    ax.add_patch(Rectangle((0, top + 0.2), 0.8, bottom - top - 0.2, facecolor=bar))
    for index, line in enumerate(lines):
        ax.text(2, top + 0.6 + 0.8 * index, line, va="center", fontsize=7.6, color=ink)
    ax.set_title(title)
    last = textwrap.shorten(" ".join(lines), 260, placeholder=" …")
    return f"{title}: {_count(count, 'request')}; then: {last}".rstrip(".") + "."


def _count(number, word):
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _fitted(path, letters=88):
    """A path that is too long loses its beginning: the files of a variant differ at the end."""
    return path if len(path) <= letters else "…" + path[-letters + 1:]
