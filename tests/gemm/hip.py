"""HIP by ctypes, without torch: memory, streams, graphs and launches, on the emulator or on a MI300X."""

import ctypes

import numpy as np
import pytest

from fp8lab.gfx942 import hip as emulator

REAL = "libamdhip64.so.7"
TO_DEVICE, TO_HOST, RELAXED = 1, 2, 2  # hipMemcpyKind, hipStreamCaptureModeRelaxed
ARCH_AT, PROPERTIES = 1160, 1472  # gcnArchName in hipDeviceProp_tR0600, and the size of that


class Hip:
    """A HIP runtime. Every call that fails raises; memory lives until close()."""

    def __init__(self, library):
        self.path = library
        self._library, self._memory = ctypes.CDLL(str(library)), []
        self.is_emulated = hasattr(self._library, "fp8lab_hip_said")

    def call(self, name, *arguments):
        if error := getattr(self._library, name)(*arguments):
            raise RuntimeError(f"{name} returned {error}")

    def arch(self):
        properties = ctypes.create_string_buffer(PROPERTIES)
        self.call("hipGetDevicePropertiesR0600", properties, 0)
        return properties.raw[ARCH_AT:].split(b"\0")[0].split(b":")[0].decode()

    def memory(self, array):
        """Copy an array to the device; return its address there, None if there is nothing to copy."""
        if array is None or not array.nbytes:
            return None
        address = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(address), ctypes.c_size_t(array.nbytes))
        self._memory.append(address)
        array = np.ascontiguousarray(array)
        self.call("hipMemcpy", address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), TO_DEVICE)
        return address.value

    def read(self, address, like):
        """Wait for the device; return what lies at an address as an array like another one."""
        result = np.empty_like(like)
        self.call("hipDeviceSynchronize")
        self.call("hipMemcpy", result.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(address),
                  ctypes.c_size_t(result.nbytes), TO_HOST)  # fmt: skip
        return result

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("hipStreamCreateWithFlags", ctypes.byref(stream), 1)  # hipStreamNonBlocking
        return stream

    def kernel(self, code_object, name):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("hipModuleLoad", ctypes.byref(module), str(code_object).encode())
        self.call("hipModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def launch(self, kernel, workgroups, lanes, arguments, stream=None):
        """Launch with ctypes numbers and addresses."""
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(x) for x in arguments))
        self.call("hipModuleLaunchKernel", kernel, workgroups, 1, 1, lanes, 1, 1, 0, stream, pointers, None)

    def said(self):
        """What the emulator has found since the last time; "" on a MI300X, which tells nothing."""
        if not self.is_emulated:
            return ""
        self._library.fp8lab_hip_said.restype = ctypes.c_char_p
        return self._library.fp8lab_hip_said().decode()

    def close(self):
        for address in self._memory:
            self.call("hipFree", address)
        self._memory = []


def open_hip(where):
    """Return Hip on the emulator ("emulated") or on a MI300X ("rocm"); skip the test where there is none."""
    if where == "emulated":
        return Hip(emulator.build())
    try:
        real = Hip(REAL)
        found = real.arch()
    except (OSError, RuntimeError) as error:
        pytest.skip(f"needs a MI300X: {error}")
    if found != "gfx942":
        pytest.skip(f"needs a MI300X, here is a {found}")
    return real
