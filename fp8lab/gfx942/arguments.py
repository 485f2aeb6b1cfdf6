"""What a kernel is given: Python values as the bytes of its arguments, arrays as device memory."""

import ctypes
import struct
import sys

import numpy as np

from fp8lab.gfx942.program import LaunchError

FIRST_ADDRESS, PAGE, GAP = 0x10_0000_0000, 4096, 1 << 20
RANGE = np.dtype([("lo", "<u8"), ("hi", "<u8"), ("delta", "<i8"), ("id", "<u4"), ("writable", "<u4")])


def whole(value, name, least, orelse=""):
    """value as an int, if it is a whole number, `least` or more; else LaunchError. orelse: what may stand there too."""
    if isinstance(value, bool | np.bool) or not isinstance(value, int | np.integer) or value < least:
        raise LaunchError(f"{name} is {value!r}, needs a whole number, {least} or more{orelse}")
    return int(value)


def pack(kernel, argument, given, memory):
    """The bytes of one argument; arrays become device memory."""
    if argument.kind == "global_buffer":
        if given is None:
            return bytes(8)
        array = as_array(given)
        if array is None:
            raise LaunchError(
                f"{kernel.name}: argument {argument.name} is a pointer, got {type(given).__name__}; needs a "
                "numpy array, a torch tensor on the CPU, or None"
            )
        return struct.pack("<Q", memory.add(argument.name, array, writable=array.flags.writeable))
    if argument.kind != "by_value":
        raise LaunchError(
            f"{kernel.name}: argument {argument.name} is a {argument.kind}, which the emulator cannot fill"
        )
    if isinstance(given, bytes) and len(given) == argument.size:
        return given
    if isinstance(given, np.generic) and given.dtype.itemsize == argument.size:
        return given.tobytes()
    if isinstance(given, bool | int | np.integer) and argument.size in (1, 2, 4, 8):
        low, high = -(1 << 8 * argument.size - 1), 1 << 8 * argument.size
        if not low <= given < high:
            raise LaunchError(f"{kernel.name}: argument {argument.name} is {given}, does not fit {argument.size} bytes")
        return (int(given) & high - 1).to_bytes(argument.size, "little")
    if isinstance(given, float) and argument.size in (4, 8):
        return struct.pack("<f" if argument.size == 4 else "<d", given)
    raise LaunchError(
        f"{kernel.name}: argument {argument.name} takes {argument.size} bytes by value, got {type(given).__name__}; "
        "needs a number, a numpy scalar of that size, or bytes"
    )


def as_array(given):
    """A numpy view of given's memory, or None. A torch tensor is viewed as bytes of its storage: zero copy.

    Raises LaunchError for what has no memory here, or not as the kernel would read it.
    """
    if isinstance(given, np.ndarray):
        if given.dtype.hasobject:
            raise LaunchError(f"an array has dtype {given.dtype}: addresses of Python objects; needs numbers")
        if given.dtype.byteorder == ">":
            raise LaunchError(
                f"an array has dtype {given.dtype.str}, big-endian; the GPU is little-endian: "
                "array.astype(array.dtype.newbyteorder('<'))"
            )
        return given
    if type(given).__module__.startswith("torch") and hasattr(given, "untyped_storage"):
        if given.layout != _torch().strided:
            raise LaunchError(f"a tensor is {given.layout}, needs one block of memory: tensor.to_dense()")
        if given.device.type != "cpu":
            how = "which has no data" if given.device.type == "meta" else "needs the CPU: tensor.cpu()"
            raise LaunchError(f"a tensor is on {given.device}, {how}")
        given = given.detach()
        size, element = given.numel(), given.element_size()
        span = (sum((n - 1) * s for n, s in zip(given.shape, given.stride(), strict=True)) + 1) * element if size else 0
        if span and (type(given) is not _torch().Tensor or given.untyped_storage().nbytes() == 0):
            raise LaunchError(f"a {type(given).__name__} of shape {tuple(given.shape)} has no memory of its own")
        raw = (ctypes.c_uint8 * span).from_address(given.data_ptr()) if span else b""
        return np.frombuffer(raw, np.uint8)
    return None


def _torch():
    return sys.modules["torch"]  # it is there where a tensor is; importing it here would cost seconds


class Memory:
    """The launch's device memory: host arrays at device addresses of their own."""

    def __init__(self):
        self._next, self._ranges, self._keep = FIRST_ADDRESS, [], []

    def add(self, name, array, writable, address=None):
        """Map an array and return its device address."""
        low, high = byte_bounds(array)
        if address is None:
            address = self._next
            self._next += -(-(high - low) // PAGE) * PAGE + GAP
        self._ranges.append((name, address, high - low, low, writable))
        self._keep.append(array)
        return address + (array.ctypes.data - low)

    def ranges(self):
        """The RANGE records that the core searches, by address."""
        records = np.zeros(len(self._ranges), RANGE)
        for record, (_, address, size, host, writable) in zip(
            records, sorted(self._ranges, key=lambda r: r[1]), strict=True
        ):
            record["lo"], record["hi"], record["delta"], record["writable"] = (
                address,
                address + size,
                host - address,
                writable,
            )
        return records

    def named(self):
        """What messages call an address: (name, first address, bytes, whether the kernel may store there)."""
        return [(name, address, size, writable) for name, address, size, _, writable in self._ranges]


def byte_bounds(array):
    """First and one past the last byte that an array's elements take."""
    low = high = array.ctypes.data
    if array.size == 0:
        return low, low
    for n, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, (n - 1) * stride), high + max(0, (n - 1) * stride)
    return low, high + array.itemsize
