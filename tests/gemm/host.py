"""The launcher's host code as it is, with a HIP runtime that records each launch instead of running it.

choice = launched(problem(1024, 1536, 7168))       # what the launcher would start: kernel, grid, arguments
"""

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path

import pytest
from emulated import SOURCES

from fp8lab import toolchain

STUB = Path(__file__).parent / "hip_stub"
STATUS = ["OK", "NULL_POINTER", "NEGATIVE_SIZE", "K_NOT_MULTIPLE_OF_128", "STRIDES", "STEP_TOO_LARGE",
          "SCALES_TOO_LARGE", "GRID_TOO_LARGE", "WRONG_DEVICE", "LAUNCH_FAILED"]  # fmt: skip
PAGE = 1 << 20  # an address that is aligned to everything; nothing is read from it


class GemmProblem(ctypes.Structure):
    """struct gemm_problem of gemm_launcher.h."""

    _fields_ = [(name, ctypes.c_int64) for name in ("m", "n", "k")] + [
        ("a", ctypes.c_void_p), ("a_row_stride", ctypes.c_int64), ("a_k_stride", ctypes.c_int64),
        ("b", ctypes.c_void_p), ("b_k_stride", ctypes.c_int64), ("b_column_stride", ctypes.c_int64),
        ("a_scale", ctypes.c_void_p), ("b_scale", ctypes.c_void_p),
        ("out", ctypes.c_void_p), ("out_row_stride", ctypes.c_int64),
        ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t)]  # fmt: skip


class Recorded(ctypes.Structure):
    """struct Recorded of recorder.cpp."""

    _fields_ = [("kernel", ctypes.c_char_p), ("grid", ctypes.c_uint), ("block", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("sizes", ctypes.c_int * 9), ("partial", ctypes.c_void_p),
                ("arrived", ctypes.c_void_p), ("call", ctypes.c_ulong)]  # fmt: skip

    @property
    def name(self):
        return self.kernel.decode()

    @property
    def parts(self):
        return self.sizes[8]


def problem(m, n, k, axes="mn", /, **changes):
    """A problem with operands contiguous along the axes named, and a workspace of any size."""
    a_strides, b_strides = (1, m) if axes[0] == "m" else (k, 1), (n, 1) if axes[1] == "n" else (1, k)
    p = GemmProblem(m, n, k, PAGE, *a_strides, PAGE, *b_strides, PAGE, PAGE, PAGE, n, PAGE, 1 << 40)
    for name, value in changes.items():
        setattr(p, name, value)
    return p


@functools.cache
def library():
    """The launcher's host code, linked to the recorder; compiled once in a process."""
    clang = toolchain.find_clang()
    if clang.name == "ziglang":
        pytest.skip("needs a clang that finds the C library's headers; ziglang's bare clang does not")
    flags = ["-x", "hip", "--offload-host-only", "-fuse-cuid=none", "-nogpuinc", "-nogpulib", "-std=c++17", "-O1",
             "-fPIC", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "--offload-arch=gfx942",
             f"-I{STUB}"]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        done = clang.run(*flags, "-c", str(SOURCES / "gemm_launcher.hip"), "-o", str(folder / "launcher.o"))
        assert done.returncode == 0, done.stderr
        subprocess.run(["c++", "-shared", "-fPIC", "-std=c++17", f"-I{STUB}", STUB / "recorder.cpp",
                        folder / "launcher.o", "-o", folder / "launcher.so"], check=True)  # fmt: skip
        lib = ctypes.CDLL(str(folder / "launcher.so"))
    lib.gemm_workspace_bytes.restype = ctypes.c_size_t
    lib.gemm_status_string.restype = ctypes.c_char_p
    lib.last_launch.restype = ctypes.POINTER(Recorded)
    return lib


def last_launch():
    """A copy of what this thread has launched last."""
    return Recorded.from_buffer_copy(library().last_launch().contents)


def launches():
    """How many launches there have been."""
    return ctypes.c_uint.in_dll(library(), "launches").value


def run(problem, stream=0):
    """Call gemm_run; return the name of its status."""
    return STATUS[library().gemm_run(ctypes.byref(problem), ctypes.c_void_p(stream))]


def launched(problem, stream=0):
    """What gemm_run launches for a problem."""
    assert run(problem, stream) == "OK"
    return last_launch()


def workspace_bytes(problem):
    return library().gemm_workspace_bytes(ctypes.byref(problem))


def describe(problem):
    text = ctypes.create_string_buffer(200)
    assert library().gemm_describe(ctypes.byref(problem), text, 200) == 0
    return text.value.decode()
