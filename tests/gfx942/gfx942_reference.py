"""C that says what a result should be, compiled by the host's compiler: a library that tests call through ctypes."""

import ctypes
import functools
import hashlib

import numpy as np
from gfx942_kernels import BUILT

from fp8lab.gfx942.core import build


@functools.cache
def compile_reference(text):
    """text as a ctypes library, made once a session by the first compiler that the emulator's core would try."""
    made = BUILT / f"reference-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
    failures = []
    for name, command in build.compilers():
        failed = build.compile_library(command, {"reference.c": text}, made)
        if not failed:
            return ctypes.CDLL(str(made))
        failures.append(f"{name}: {failed}")
    raise AssertionError("; ".join(failures))


def call(function, inputs, outputs=1):
    """function(const u64* inputs, u64* outputs, u32 n) of a reference, on (any, n) uint64: (outputs, n) uint64."""
    inputs = np.ascontiguousarray(inputs, np.uint64)
    out = np.zeros((outputs, inputs.shape[1]), np.uint64)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (inputs, out))
    function(*pointers, ctypes.c_uint32(inputs.shape[1]))
    return out
