"""The launcher of gemm/ as a library of its own: asked what it would launch, called without torch, given other tables.

    problem = Problem.of(a, b, a_scale, b_scale, out)    # gemm_problem of gemm_launcher.h
    real = load()                                        # the object that the emulated build of the kernel contains
    real.choice(problem)                                 # Choice(name="gemm_64x64_kk", workgroups=24, parts=1)
    real.run(problem)                                    # 0, GEMM_OK: out is written, by gfx942 machine code

    mine = load(with_rows(table(("gemm_64x64_kk",)), "typedef Tile<…> Tile64x256;", "X(gemm_64x256_kk, …)"))

Choices are made by the compiled code, nothing of the rule is repeated here.
"""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fp8lab import hipcc, localbuild, ninjafile, toolchain
from fp8lab.cache import cache_dir
from fp8lab.gfx942 import hip

ROOT = Path(__file__).resolve().parent.parent
GEMM = ROOT / "gemm"
SHIM = Path(__file__).with_suffix(".cpp")
FLAGS = ("-O3", "-std=c++17", "-fno-slp-vectorize")    # hip-flags of build.toml
FITS_ALL = "gemm_64x64_any"    # the row that reads any strides; the rule needs one row for every problem
XCDS, CUS_OF_XCD, BAND_ROWS = 8, 38, 4
PAGE = 1 << 20    # an address aligned to everything, for problems that are only asked about
A_LAYOUTS, B_LAYOUTS = ("K-contiguous", "M-contiguous"), ("K-contiguous", "N-contiguous")


class Problem(ctypes.Structure):
    """gemm_problem of gemm_launcher.h: sizes, addresses, strides in elements, and the workspace. No torch in it.

    tensors  what it was made of; {} for a problem that is only asked about
    """

    _fields_ = [
        ("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
        ("a", ctypes.c_void_p), ("a_row_stride", ctypes.c_int64), ("a_k_stride", ctypes.c_int64),
        ("b", ctypes.c_void_p), ("b_k_stride", ctypes.c_int64), ("b_column_stride", ctypes.c_int64),
        ("a_scale", ctypes.c_void_p), ("b_scale", ctypes.c_void_p),
        ("out", ctypes.c_void_p), ("out_row_stride", ctypes.c_int64),
        ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t),
    ]
    tensors = {}

    @classmethod
    def of(cls, a, b, a_scale, b_scale, out, workspace=None):
        """The problem that tensors are, as torch-ext/backend_rocm.h fills it in. Checks nothing, as the C code does."""
        problem = cls(a.shape[0], b.shape[1], a.shape[1], a.data_ptr(), *a.stride(), b.data_ptr(), *b.stride(),
                      a_scale.data_ptr(), b_scale.data_ptr(), out.data_ptr(), out.stride(0))
        problem.tensors = {"a": a, "b": b, "a_scale": a_scale, "b_scale": b_scale, "out": out}
        if workspace is not None:
            problem.workspace, problem.workspace_bytes = workspace.data_ptr(), workspace.nbytes
            problem.tensors["workspace"] = workspace
        return problem

    @classmethod
    def sized(cls, m, n, k, a_layout="K-contiguous", b_layout="K-contiguous", workspace_bytes=1 << 40):
        """A problem without memory, to ask about; by default with all the workspace that may be wanted."""
        a = (k, 1) if a_layout == A_LAYOUTS[0] else (1, m)
        b = (1, k) if b_layout == B_LAYOUTS[0] else (n, 1)
        return cls(m, n, k, PAGE, *a, PAGE, *b, PAGE, PAGE, PAGE, n, PAGE, workspace_bytes)


@dataclass(frozen=True)
class Choice:
    """What the launcher launches: a configuration by its name, how many workgroups, K split into how many parts."""

    name: str
    workgroups: int
    parts: int

    @property
    def tile(self):
        """(m, n) of a workgroup's tile, which a row of gemm/gemm_configs.h has in its name."""
        return tuple(map(int, re.search(r"_(\d+)x(\d+)_", self.name).groups()))


class Launcher:
    """A compiled launcher; see load()."""

    def __init__(self, library):
        self._library = ctypes.CDLL(str(library))
        self._library.launcher_workspace_bytes.restype = ctypes.c_size_t
        self._library.launcher_status_string.restype = ctypes.c_char_p

    def sentence(self, status):
        """What a gemm_status means, as the launcher says it."""
        return self._library.launcher_status_string(status).decode()

    def choice(self, problem):
        """Return the Choice for a problem. Raises ValueError, with the launcher's sentence, where it has none."""
        text = ctypes.create_string_buffer(200)
        if status := self._library.launcher_describe(ctypes.byref(problem), text, len(text)):
            raise ValueError(f"M, N, K = {problem.m}, {problem.n}, {problem.k}: {self.sentence(status)}")
        name, groups, parts = re.fullmatch(r"(\w+), (\d+) workgroups, K in (\d+) parts", text.value.decode()).groups()
        return Choice(name, int(groups), int(parts))

    def workspace_bytes(self, problem):
        """Return how much memory the launcher wants beside the operands, to sum the parts of K in."""
        return self._library.launcher_workspace_bytes(ctypes.byref(problem))

    def run(self, problem):
        """Start the kernel on the emulator and return the gemm_status, 0 if all went well.

        Raises ValueError for a problem without tensors, RuntimeError with the emulator's findings if it has any.
        """
        if not problem.tensors:
            raise ValueError("the problem has no memory, needs Problem.of(a, b, a_scale, b_scale, out)")
        edges = [edge for x in problem.tensors.values() for edge in _words(x)]
        said = ctypes.create_string_buffer(8192)
        status = self._library.launcher_run(ctypes.byref(problem), (ctypes.c_void_p * len(edges))(*edges),
                                            len(edges) // 2, said, len(said))
        if said.value:
            raise RuntimeError(said.value.decode())
        return status


def _words(x):
    """The first byte of a tensor, or of the word it begins inside of (torch-ext/operands.h), and the one behind it."""
    last = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True)) if x.numel() else -1
    return x.data_ptr() // 4 * 4, x.data_ptr() + (last + 1) * x.element_size()


# --- the table of configurations, and copies of it ---


def table(rows=None):
    """Return gemm/gemm_configs.h as text; with names of rows, a practice copy that has only these and FITS_ALL."""
    text = (GEMM / "gemm_configs.h").read_text()
    if rows is None:
        return text
    keep, row = {*rows, FITS_ALL}, re.compile(r"    X\((\w+), (\w+),.*\n")
    tiles = {tile for name, tile in row.findall(text) if name in keep}
    text = row.sub(lambda found: found[0] if found[1] in keep else "", text)
    return re.sub(r"typedef Tile<.*> (\w+);\n", lambda found: found[0] if found[1] in tiles else "", text)


def rows_of(text):
    """The names of a table's rows."""
    return re.findall(r"^\s*X\((\w+),", text, re.MULTILINE)


def with_rows(text, typedefs, rows):
    """Return a table with more tiles and rows, the new rows first.

    typedefs, rows  lines, as they would be written into gemm/gemm_configs.h, without the backslashes
    """
    head = "#define GEMM_CONFIGS(X)"
    start, _, end = text.partition(head)
    rest, _, end = end.partition("\n")
    start = re.sub(r"(?s)(.*typedef Tile<[^\n]*\n)", lambda found: f"{found[0]}{typedefs.strip()}\n", start, count=1)
    new = "".join(f"    {row.strip():<79} \\\n" for row in rows.strip().splitlines())
    return f"{start}{head}{rest}\n{new}{end}"


# --- compiling ---


def load(configs=None, with_kernels=True):
    """Return the Launcher with gemm/'s own table, or with another one.

    configs       text of a gemm_configs.h. A second or two for each of its rows, cached
    with_kernels  False compiles the host's half only, which is quick: the launcher can be asked, not run

    The launcher itself is always gemm/gemm_launcher.hip. Raises ValueError for a table without FITS_ALL,
    toolchain.CompileError with the compiler's message, ninjafile.BuildError if there is no C++ compiler.
    """
    if configs is None:
        localbuild.build("emulated")
        return Launcher(_linked(ROOT / "build-ext" / "emulated" / "gemm" / "gemm_launcher.hip.o"))
    if FITS_ALL not in rows_of(configs):
        raise ValueError(f"the table lacks {FITS_ALL}, needs it for problems that no other row can read")
    clang = toolchain.find_clang()
    made, archs = _sources(configs), ["gfx942"] if with_kernels else []
    key = hashlib.sha256(repr((made, archs, clang.version, FLAGS, ninjafile.compiler())).encode()).hexdigest()[:16]
    target = cache_dir() / f"launcher-{key}.o"
    if not target.exists():
        with tempfile.TemporaryDirectory(prefix="fp8lab-") as folder:
            for name, text in made.items():
                Path(folder, name).write_text(text)
            output = Path(folder, "launcher.o")
            hipcc.compile_object(Path(folder, "gemm_launcher.hip"), output, archs, FLAGS, clang=clang,
                                 cxx=tuple(ninjafile.compiler()))
            _keep(output, target)
    return Launcher(_linked(target))


def compile_row(configs, name):
    """Return the toolchain.Compiled of one row of a table alone, for running it on a Device with all checks on.

    Raises KeyError if the table has no such row, CompileError with the compiler's message.
    """
    row = re.search(rf"^\s*X\(({name}\b.*?)\)\s*\\?$", configs, re.MULTILINE)
    if not row:
        raise KeyError(f"no row {name!r}; there are {', '.join(rows_of(configs))}")
    text = f'#include "gemm_configs.h"\nGEMM_KERNEL({row[1]})\n'
    with tempfile.TemporaryDirectory(prefix="fp8lab-") as folder:
        Path(folder, "gemm_configs.h").write_text(configs)
        return toolchain.compile(text, flags=(*FLAGS, f"-I{folder}", f"-I{GEMM}"))


def _sources(configs):
    """{file: text} of gemm/ with another table; one folder, as the launcher looks beside itself first."""
    return {path.name: path.read_text() for path in sorted(GEMM.glob("*.h*"))} | {"gemm_configs.h": configs}


def _linked(launcher):
    """Return the path of a library made of a launcher's object file and SHIM, linked to the emulator's libamdhip64."""
    emulator, cxx = hip.build(), ninjafile.compiler()
    key = hashlib.sha256(launcher.read_bytes() + SHIM.read_bytes() + repr((str(emulator), cxx)).encode())
    library = cache_dir() / f"launcher-{key.hexdigest()[:16]}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(prefix="fp8lab-") as folder:
            output = Path(folder, "launcher.so")
            done = subprocess.run(
                [*cxx, "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-Wl,-Bsymbolic",
                 f"-I{GEMM}", "-isystem", hipcc.HIP_INCLUDE, SHIM, launcher, "-o", output,
                 f"-L{emulator.parent}", "-lamdhip64", f"-Wl,-rpath,{emulator.parent}"], capture_output=True, text=True)
            if done.returncode:
                raise ninjafile.BuildError(done.stderr.strip())
            _keep(output, library)
    return library


def _keep(made, target):
    """Put a finished file into the cache in one step."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(made, staged)
    staged.replace(target)


# --- where workgroups go ---


@dataclass(frozen=True)
class Workgroups:
    """Where the workgroups of a launch work, an entry each, in the order of their numbers.

    xcd          the die that gets it: workgroups go round robin over the XCDs (CDNA3 ISA guide; AMD's ROCm blog)
    row, column  of its tile in the grid of tiles of C
    part         of K
    """

    xcd: np.ndarray
    row: np.ndarray
    column: np.ndarray
    part: np.ndarray


def workgroups(choice, m, n):
    """Return the Workgroups of a choice for C (m, n): what place() in gemm/tile.h computes on the device."""
    tile_m, tile_n = choice.tile
    rows, columns = -(-m // tile_m), -(-n // tile_n)
    tiles, number = rows * columns, np.arange(choice.workgroups)
    xcd = number % XCDS
    at = xcd * (choice.workgroups // XCDS) + np.minimum(xcd, choice.workgroups % XCDS) + number // XCDS
    part, at = at // tiles, at % tiles
    band, at = at // (BAND_ROWS * columns), at % (BAND_ROWS * columns)
    height = np.minimum(BAND_ROWS, rows - band * BAND_ROWS)
    return Workgroups(xcd, band * BAND_ROWS + at % height, at // height, part)


def load_of_cus(choice):
    """Return (XCDS, CUS_OF_XCD) how many workgroups each compute unit gets in all, if an XCD deals them out evenly."""
    of_xcd = np.bincount(np.arange(choice.workgroups) % XCDS, minlength=XCDS)
    return of_xcd[:, None] // CUS_OF_XCD + (np.arange(CUS_OF_XCD) < of_xcd[:, None] % CUS_OF_XCD)
