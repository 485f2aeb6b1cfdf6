"""Run the lessons and keep their files in one form: `fp8lab course run | format | record`.

nbval passes two things that a learner would meet as a failure: a cell with an unknown magic, and a cell that never
ran (nbval 0.11, tried). execute() is the second runner: nbclient stops at the first error, and what it leaves is
looked through again.
"""

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets.config import Config

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
RECORDED = "nbval-check-output"         # tag of a cell whose output is kept in the file and compared by nbval
SECONDS_PER_CELL = 300    # lesson 06 builds 22 GPU kernels: a minute of processor time, on a machine that may be busy


class LessonError(Exception):
    """A cell that failed, or that ran in a way a learner should not see."""


def lessons(paths=()):
    """The notebooks in teaching order, or the ones named (a path, or the start of a name such as 01)."""
    found = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
    if not paths:
        return found
    named = {name: [path for path in found if path.name.startswith(Path(name).name)] for name in paths}
    unknown = [name for name, those in named.items() if not those]
    if unknown:
        raise LessonError(f"no lesson is called {' or '.join(unknown)}; there are {', '.join(p.stem for p in found)}")
    return [path for path in found if any(path in those for those in named.values())]


def execute(path, on_cell=None):
    """Run every cell of a lesson as a learner would, in notebooks/. Returns the notebook with its outputs.

    Raises LessonError, which shows the cell and what it said, at the first cell that raises, takes longer than
    SECONDS_PER_CELL, ends its process, never ran, wrote to stderr or asked for a magic that does not exist.
    """
    notebook = nbformat.read(path, as_version=4)
    started = []

    def on_start(cell, cell_index):
        started.extend([cell] if cell.cell_type == "code" else [])
        if on_cell:
            on_cell(cell=cell, cell_index=cell_index)

    # Encrypted, as the notebook's kernel otherwise warns that others could listen.
    client = NotebookClient(notebook, timeout=SECONDS_PER_CELL, resources={"metadata": {"path": str(NOTEBOOKS)}},
                            on_cell_start=on_start, config=Config(KernelManager={"transport_encryption": "auto"}))
    try:
        client.execute()
    except CellExecutionError as error:
        raise LessonError(f"{path.name}: {error}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        took_long = isinstance(error, CellTimeoutError)
        what = f"took over {SECONDS_PER_CELL} s" if took_long else "ended the notebook's process"
        raise LessonError(f"{path.name}, code cell {len(started)}: {what}\n{started[-1].source}") from None
    for index, cell in enumerate(code_cells(notebook)):
        problem = what_went_wrong(cell)
        if problem:
            raise LessonError(f"{path.name}, code cell {index + 1}: {problem}\n{cell.source}")
    return notebook


def what_went_wrong(cell):
    """Why an executed cell is not what a learner should see, or None."""
    if cell.source.strip() and cell.execution_count is None:
        return "the cell never ran"
    stderr = "".join(out.text for out in cell.outputs if out.output_type == "stream" and out.name == "stderr")
    if "UsageError" in stderr:
        return stderr.strip()
    if stderr and "raises-exception" not in tags(cell):
        return f"wrote to stderr: {stderr.strip()}"
    return None


def normalise(notebook):
    """The form that is committed: outputs only where they are compared, no counts elsewhere, no editor's metadata."""
    for cell in notebook.cells:
        cell.metadata = {key: cell.metadata[key] for key in ("tags", "slideshow") if cell.metadata.get(key)}
        if cell.cell_type == "code" and RECORDED not in tags(cell):
            cell.outputs, cell.execution_count = [], None
        for output in cell.get("outputs", ()):
            output.pop("metadata", None) if output.output_type == "stream" else output.update(metadata={})
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def as_committed(path):
    """The text that a lesson's file should hold."""
    return nbformat.writes(normalise(nbformat.read(path, as_version=4)), version=4) + "\n"


def record(path):
    """Run a lesson and keep the outputs of the cells tagged RECORDED in its file."""
    notebook = normalise(execute(path))
    path.write_text(nbformat.writes(notebook, version=4) + "\n")


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", ())


def run_course(paths):
    """Execute the lessons, one progress line each; copies with outputs and as HTML go to build/course/."""
    from nbconvert import HTMLExporter

    out = ROOT / "build" / "course"
    out.mkdir(parents=True, exist_ok=True)
    for path in paths:
        began, total = time.perf_counter(), len(code_cells(nbformat.read(path, as_version=4)))
        progress = Progress(path.stem, total)
        notebook = execute(path, on_cell=progress.cell)
        nbformat.write(notebook, out / path.name)
        (out / f"{path.stem}.html").write_text(HTMLExporter().from_notebook_node(notebook)[0])
        progress.done(f"{total} cells, {time.perf_counter() - began:.1f} s")
    print(f"executed copies and HTML: {out.relative_to(ROOT)}/")


class Progress:
    """One line a lesson: on a terminal it counts the cells, in a log it is written once."""

    def __init__(self, name, total):
        self.name, self.total, self.count = name, total, 0

    def cell(self, cell, cell_index):
        self.count += cell.cell_type == "code"
        if sys.stdout.isatty():
            print(f"\r{self.name:<28} cell {self.count} of {self.total}", end="", flush=True)

    def done(self, text):
        print(("\r\033[K" if sys.stdout.isatty() else "") + f"{self.name:<28} {text}", flush=True)


def configure(parser):
    parser.add_argument("action", choices=("run", "format", "record"), help=(
        "run: execute every lesson, HTML under build/course/; format: strip what is not committed; "
        "record: run, then keep the outputs that the tests compare"))
    parser.add_argument("lesson", nargs="*", help="lessons to take, such as 01; all of them if none is named")
    parser.add_argument("--check", action=argparse.BooleanOptionalAction, default=False,
                        help="with format: change nothing, exit 1 where a file differs")


def run(args):
    try:
        paths = lessons(args.lesson)
        if args.action == "run":
            run_course(paths)
        elif args.action == "record":
            for path in paths:
                record(path)
        else:
            stale = [path for path in paths if path.read_text() != as_committed(path)]
            for path in stale:
                print(f"{path.relative_to(ROOT)}: {'is not in' if args.check else 'put into'} the committed form")
                if not args.check:
                    path.write_text(as_committed(path))
            return 1 if args.check and stale else 0
    except LessonError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0
