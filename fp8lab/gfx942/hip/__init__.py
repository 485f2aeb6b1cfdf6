"""libamdhip64 for the emulator: programs with host and device code run unmodified, on a machine without a GPU.

    library = build()                      # …/libamdhip64.so, compiled once
    clang++ -x hip --offload-arch=gfx942 … -c prog.hip; clang++ prog.o -L<folder> -lamdhip64 -Wl,-rpath,<folder>

runtime.c is the HIP API over the emulator's core; a launch runs at once, so streams and events are in order by nature.
The one thing it does not do itself is decoding: it starts Python once a code object (prepare.py) and reads the records.
$FP8LAB_HIP_CHECKS chooses the checks ("none" unless set); findings and faults go to stderr.
"""

import hashlib
import platform
import sys
from pathlib import Path

from fp8lab.cache import cache_dir
from fp8lab.gfx942.core import build as core

HERE = Path(__file__).parent
PACKAGE = HERE.parents[2]  # the folder that holds fp8lab


def build():
    """Return the path of libamdhip64.so, compiling it first if needed. Raises CoreBuildError."""
    sources = core.sources() | {"runtime.c": _configured((HERE / "runtime.c").read_text())}
    failures = []
    for name, command in core.compilers():
        key = hashlib.sha256(repr((sources, name, command, platform.machine(), core.FLAGS)).encode()).hexdigest()[:16]
        library = cache_dir() / f"hip-{key}" / "libamdhip64.so"
        failed = None if library.exists() else core.compile_library(command, sources, library)
        if not failed:
            return library
        failures.append(f"{name}: {failed}")
    raise core.CoreBuildError("libamdhip64 needs a C compiler, once: " + ("; ".join(failures) or "none was found"))


def _configured(text):
    """runtime.c with the Python to start and the folder to import from."""
    return f'#define PYTHON "{sys.executable}"\n#define PACKAGE "{PACKAGE}"\n' + text

