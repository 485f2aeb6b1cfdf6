"""libamdhip64 for the emulator: programs with host and device code run unmodified, on a machine without a GPU.

    library = build()                      # …/libamdhip64.so, compiled once
    clang++ -x hip --offload-arch=gfx942 … -c prog.hip; clang++ prog.o -L<folder> -lamdhip64 -Wl,-rpath,<folder>

The C files here are the HIP API over the emulator's core; a launch runs at once, so streams and events are in order by
nature. The one thing they do not do is decoding: module.c starts Python once a code object (prepare.py) and reads the
records. A call that is not there (missing.txt lists them) returns hipErrorNotSupported and says so.

$FP8LAB_HIP_CHECKS=all switches the checks on; findings and faults go to stderr. $FP8LAB_HIP_DEVICE=none, or the name of
another GPU, is a machine without a MI300X, for trying what a program does there.
"""

import hashlib
import sys
from pathlib import Path

from fp8lab.cache import cache_dir
from fp8lab.gfx942.core import build as core

HERE = Path(__file__).parent
PACKAGE = HERE.parents[2]  # the folder that holds fp8lab


def build():
    """Return the path of libamdhip64.so, compiling it first if needed. Raises CoreBuildError."""
    emulator, failures = str(core.library()), []  # its path says what it was made of, and for which CPU
    sources = {path.name: _configured(path.read_text()) for path in sorted(HERE.glob("*.[ch]"))}
    sources["missing.c"] = '#include "hip.h"\n' + "".join(map(_missing, (HERE / "missing.txt").read_text().split()))
    sources["state.h"] = (Path(core.__file__).parent / "state.h").read_text()
    for name, command in core.compilers():
        key = hashlib.sha256(repr((sources, name, command, emulator, core.FLAGS)).encode()).hexdigest()[:16]
        library = cache_dir() / f"hip-{key}" / "libamdhip64.so"
        failed = None if library.exists() else core.compile_library(command, sources, library, emulator)
        if not failed:
            return library
        failures.append(f"{name}: {failed}")
    raise core.CoreBuildError("libamdhip64 needs a C compiler, once: " + ("; ".join(failures) or "none was found"))


def _missing(name):
    """A call that the emulator does not have: textures, arrays, other devices and processes, graphs built by hand.

    A program that names one links and runs.
    """
    return (
        f"API hipError_t {name}(void) {{\n"
        f'    say("{name} is not in the emulator\'s HIP; it returns hipErrorNotSupported");\n'
        "    return fail(hipErrorNotSupported);\n}\n"
    )


def _configured(text):
    """With the Python to start and the folder to import from, for module.c."""
    return f'#define PYTHON "{sys.executable}"\n#define PACKAGE "{PACKAGE}"\n' + text

