"""Compile HIP for gfx942 on any laptop: find a clang, make a code object, read what it costs.

Compiling takes no AMD GPU, no ROCm and no root: the PyPI package ziglang carries a whole clang and lld with the amdgcn
target. Sources use clang's builtins instead of <hip/hip_runtime.h>, so no header and no device library is needed.

    made = compile(source)                  # text or a Path
    made.path, made.assembly                # the code object, and the listing it was assembled from
    made.resources["gemm"].vgpr             # what the hardware must give each wave
"""

import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fp8lab.cache import cache_dir
from fp8lab.gfx942 import CodeObject

OLDEST = 19  # the first clang with gfx942's buffer descriptor builtins and address space fences
DEFAULT_FLAGS = ("-O3", "-std=c++17")
# no headers, no device library, no random identifier of the compilation unit (the same source gives the same bytes);
# the names of a kernel's parameters stay in the metadata, for messages
DEVICE_ONLY = ("-x", "hip", "--offload-device-only", "-nogpuinc", "-nogpulib", "-fuse-cuid=none",
               "-fno-discard-value-names")  # fmt: skip
HOW_TO_INSTALL = (
    "pip install 'ziglang==0.17.1' (clang 22 and lld, 100 MB, no root), or on Debian: apt-get install clang-22 lld-22, "
    "or set FP8LAB_CLANG to a clang of version 19 or newer that has the amdgcn target"
)


class ClangNotFound(RuntimeError):
    """No usable clang or lld: the message names what was tried and what to install."""


class CompileError(RuntimeError):
    """The compiler's own message, source line and caret included."""


@dataclass(frozen=True)
class Clang:
    """A clang with the amdgcn target and an lld, ready to run.

    name     where it was found, for people: "clang-22 on PATH", "ziglang"
    command  the words that start it; arguments follow
    linker   the words that start its ELF linker
    version  "22.1.8"
    """

    name: str
    command: tuple[str, ...]
    linker: tuple[str, ...]
    version: str

    def run(self, *arguments, cwd=None):
        return _run([*self.command, *arguments], cwd)


@dataclass(frozen=True)
class Compiled:
    """A code object on disk with the listing it was assembled from.

    path         ELF file in the cache; stays there
    assembly     text of the same code, with the compiler's comments
    code_object  the file read: a fp8lab.gfx942.CodeObject
    resources    kernel name -> Resources, from the metadata in the file
    """

    path: Path
    assembly: str

    @cached_property
    def code_object(self):
        return CodeObject.load(self.path)

    @property
    def resources(self):
        return {name: kernel.resources for name, kernel in self.code_object.kernels.items()}


def compile(source, arch="gfx942", flags=DEFAULT_FLAGS, clang=None):
    """Return the Compiled code object of HIP source for one GPU.

    source  text, or a Path (its folder is then searched for includes too)
    arch    the GPU: "gfx942" is the MI300X
    flags   what else clang gets, for example ("-O3", "-fno-slp-vectorize"); replaces DEFAULT_FLAGS
    clang   a Clang; find_clang() if None

    The result is cached under cache_dir() by compiler, arch, flags and preprocessed text, headers included.
    Raises CompileError with the compiler's message, ClangNotFound if there is none; TypeError for flags in one string.
    """
    if isinstance(flags, str):
        raise TypeError(f"flags is {flags!r}, needs a list of words: {flags.split()}")
    if isinstance(source, str) and source.endswith(".hip"):
        raise CompileError(f"source is the text {source!r}; to compile a file: Path({source!r})")
    clang = clang or find_clang()
    options = (*DEVICE_ONLY, f"--offload-arch={arch}", *flags)
    with tempfile.TemporaryDirectory(prefix="fp8lab-") as folder:
        if isinstance(source, Path):
            if not source.is_file():
                raise CompileError(f"there is no file {source}")
            file, cwd = str(source.resolve()), None
        else:
            file, cwd = "kernel.hip", folder  # a short name, as it stands in every message
            Path(folder, file).write_text(source)
        preprocessed = _checked(clang.run(*options, "-E", "-P", file, "-o", "-", cwd=cwd))
        text = "\0".join([*clang.command, clang.version, *options, preprocessed])
        entry = cache_dir() / "code_objects" / hashlib.sha256(text.encode()).hexdigest()[:32]
        with _one_process(entry):
            if not entry.is_dir():
                made = Path(folder, "made")
                made.mkdir()
                _build(clang, arch, options, file, cwd, made)
                _publish(made, entry)
    return Compiled(entry / "kernel.co", (entry / "kernel.s").read_text())


def find_clang():
    """Return the first usable Clang: $FP8LAB_CLANG, ROCm's, clang-22 … clang-19 on PATH, PyPI's ziglang.

    Raises ClangNotFound if there is none; also if $FP8LAB_CLANG is set and does not work, as a wish is not ignored.
    """
    refused = []
    for name, command in _candidates(os.environ.get("FP8LAB_CLANG"), os.environ.get("ROCM_PATH", "/opt/rocm")):
        found = _probe(name, command)
        if isinstance(found, Clang):
            return found
        refused.append(f"{name}: {found}")
        if name == "FP8LAB_CLANG":
            break
    tried = "; ".join(refused) or "neither ROCm, clang-22 … clang-19 on PATH, nor the Python package ziglang is here"
    raise ClangNotFound(f"no clang that can compile for gfx942 ({tried}). Install one: {HOW_TO_INSTALL}")


def _candidates(wish, rocm):
    """Yield (name, command) in order of preference, of those that exist."""
    if wish:
        yield "FP8LAB_CLANG", (wish, "clang") if Path(wish).stem == "zig" else (wish,)
    hipcc = shutil.which("hipcc")
    for root in (Path(rocm), *([Path(hipcc).resolve().parent.parent] if hipcc else [])):
        for place in ("llvm/bin/clang", "lib/llvm/bin/clang"):
            if (root / place).exists():
                yield f"ROCm in {root}", (str(root / place),)
    for version in range(22, OLDEST - 1, -1):
        if path := shutil.which(f"clang-{version}"):
            yield f"clang-{version} on PATH", (path,)
    if spec := importlib.util.find_spec("ziglang"):
        yield "ziglang", (str(Path(spec.origin).parent / "zig"), "clang")


@functools.cache
def _probe(name, command):
    """Return a Clang, or the reason why this command is none."""
    try:
        banner = _run([*command, "--version"]).stdout
        targets = _run([*command, "--print-targets"]).stdout
    except OSError as error:
        return f"{command[0]} does not run: {error.strerror}"
    version = re.search(r"clang version (\d+)[.\d]*", banner)
    if not version:
        return f"{' '.join(command)} --version does not name a clang"
    if int(version[1]) < OLDEST:
        return f"clang {version[1]} is too old for gfx942, needs {OLDEST} or newer"
    if "amdgcn" not in targets:
        return "it has no amdgcn target"
    if command[-1] == "clang":  # zig's: lld is a word of the same program
        linker = (command[0], "ld.lld")
    else:
        lld = shutil.which(_run([*command, "--print-prog-name=ld.lld"]).stdout.strip())
        if not lld:
            return f"it has no ld.lld beside it; on Debian: apt-get install lld-{version[1]}"
        linker = (lld,)
    return Clang(name, command, linker, version[0].split()[-1])


def _build(clang, arch, options, file, cwd, made):
    """Source -> listing -> object -> code object, so that the listing is what was assembled."""
    listing, object_file = str(made / "kernel.s"), str(made / "kernel.o")
    _checked(clang.run(*options, "-S", file, "-o", listing, cwd=cwd))
    _checked(clang.run("-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c", listing, "-o", object_file))
    _checked(_run([*clang.linker, "-shared", object_file, "-o", str(made / "kernel.co")]))
    os.unlink(object_file)


@contextlib.contextmanager
def _one_process(entry):
    """Hold an entry's lock where it has to be made: whoever wants the same waits for it and does not compile it too."""
    if entry.is_dir():
        yield
        return
    entry.parent.mkdir(parents=True, exist_ok=True)
    with open(entry.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _publish(made, entry):
    """Put a finished folder into the cache in one step: another process sees all of it or nothing."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(dir=entry.parent))
    shutil.copytree(made, staged, dirs_exist_ok=True)
    try:
        staged.rename(entry)
    except OSError:  # somebody else finished first, with the same content
        shutil.rmtree(staged)


def _run(command, cwd=None):
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, encoding="utf-8", errors="replace")


def _checked(result):
    if result.returncode:
        raise CompileError(result.stderr.strip() or f"{' '.join(result.args)} ended with {result.returncode}")
    return result.stdout
