"""Compile the core with the C compiler at hand, once, and keep it: a few seconds at first use, none later.

Plain C11 with pthreads and no library, so that any compiler does: $CC, cc, gcc, clang, or the one that the PyPI package
ziglang carries. The result is kept under the user's cache folder by the content of its sources, the compiler and the
kind of CPU, as it is built for this CPU (-march=native).
"""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
from pathlib import Path

from fp8lab.cache import cache_dir
from fp8lab.gfx942.core import generate

HERE = Path(__file__).parent
# -ffp-contract=off: a * b + c rounds twice, as two GPU instructions do. -fno-math-errno lets sqrtf be an instruction.
# -frounding-math is not needed: no arithmetic is folded across a change of rounding, each instruction is a function.
FLAGS = (
    "-std=gnu11",
    "-O2",
    "-ftree-vectorize",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-w",
    "-fPIC",
    "-pthread",
)
# In fp8.h every product and sum is exact, so fusing them changes nothing there.
FASTER = {
    "handlers_matrix.c": ("-O3", "-ffp-contract=fast")
    + (("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ())
}


class CoreBuildError(RuntimeError):
    """No C compiler was found, or none could compile the core: the message has the compiler's own words."""


@functools.cache
def load():
    """Return the core as a ctypes library, compiling it first if it is not in the cache. Raises CoreBuildError."""
    made = library()
    try:
        return ctypes.CDLL(str(made))
    except OSError:  # a full disk or an interrupted copy left a damaged file
        made.unlink()
        return ctypes.CDLL(str(library()))


def library():
    """Return the path of the core, compiled. Raises CoreBuildError."""
    files = sources()
    cpu = platform.machine() + _cpu_features()
    failures = []
    for name, command in compilers():
        key = hashlib.sha256(repr((files, name, command, cpu, FLAGS, FASTER)).encode()).hexdigest()[:16]
        made = cache_dir() / f"gfx942-{key}.so"
        failed = None if made.exists() else compile_library(command, files, made)
        if not failed:
            return made
        failures.append(f"{name}: {failed}")
    raise CoreBuildError(
        "the emulator's core needs a C compiler, once: "
        + ("; ".join(failures) or "none was found")
        + ". Install one (Debian: apt-get install gcc; any system: pip install ziglang) or set CC"
    )


def sources():
    """{file name: C text} of the core: what is in this folder, and the handlers made from the table."""
    return {path.name: path.read_text() for path in sorted(HERE.glob("*.[ch]"))} | generate.sources()


def compilers():
    """Yield (name, command) of the C compilers to try, best first."""
    wishes = [os.environ["CC"]] if os.environ.get("CC") else ["clang-22", "clang", "cc", "gcc"]
    for wish in wishes:
        found = shutil.which(wish.split()[0])
        if found:
            yield wish, (found, *wish.split()[1:])
    try:
        import ziglang

        yield "ziglang", (str(Path(ziglang.__file__).parent / "zig"), "cc")
    except ImportError:
        pass


def _cpu_features():
    """What tells one CPU's instruction set from another's, so that a cache shared between machines stays right."""
    try:
        return next(
            line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("flags", "Features"))
        )
    except (OSError, StopIteration):
        return platform.processor()


def compile_library(command, sources, library, *linked):
    """Compile into library, the files side by side, linked to others; return None, or what the compiler said."""
    import subprocess  # these three take longer to import than all of this package; only the first use needs them
    import tempfile
    from concurrent.futures import ThreadPoolExecutor

    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text)

        def run(*arguments):
            return subprocess.run([*command, *FLAGS, *arguments], cwd=folder, capture_output=True, text=True)

        units = [name for name in sources if name.endswith(".c")]
        results = list(pool.map(lambda name: run(*FASTER.get(name, ()), "-c", name), units))
        results.append(run("-shared", *[name.replace(".c", ".o") for name in units], *linked, "-o", "made.so", "-lm"))
        for result in results:
            if result.returncode:
                return result.stderr.strip()[:2000] or f"exit code {result.returncode}"
        (Path(folder) / "made.so").replace(library)  # atomic: another process sees the whole file or none
    return None
