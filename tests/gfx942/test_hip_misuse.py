"""What a program does wrong with the emulator's HIP is an error code and a sentence, never a crash of the process.

All calls go to one library in this process: one crash would end the tests.
"""

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p

import pytest
from gfx942_kernels import BUILT, compile_hip, needs_clang
from gfx942_sources import HEAD

from fp8lab.gfx942 import hip

pytestmark = needs_clang
INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION, INVALID_IMAGE = 1, 2, 9, 200
FILE_NOT_FOUND, INVALID_HANDLE, NOT_FOUND, DESTROYED, LAUNCH_FAILURE, NOT_SUPPORTED = 301, 400, 500, 709, 719, 801
TO_DEVICE, TO_HOST, DEFAULT = 1, 2, 4
GIB, ALL = 1 << 30, (1 << 64) - 1
KERNELS = (
    HEAD
    + """
extern "C" __global__ LANES(64) void set(int* a, int n) { a[TID] = n; }
extern "C" __global__ LANES(64) void behind(int* a, int n) { a[-1] = n; }
extern "C" __global__ LANES(64) void stop(int* a, int n) { if (n) __builtin_trap(); }
"""
)


@pytest.fixture(scope="module")
def lib():
    library = ctypes.CDLL(str(hip.build()))
    library.fp8lab_hip_said.restype = c_char_p
    return library


@pytest.fixture(scope="module")
def code_object():
    compile_hip(KERNELS, name="misuse")
    return str(BUILT / "misuse.co").encode()


@pytest.fixture
def buffer(lib):
    """256 bytes of the device."""
    p = c_void_p()
    assert lib.hipMalloc(byref(p), c_size_t(256)) == 0
    yield p
    lib.hipFree(p)


def function(lib, module, name):
    found = c_void_p()
    assert lib.hipModuleGetFunction(byref(found), module, name) == 0
    return found


def module_of(lib, code_object):
    module = c_void_p()
    assert lib.hipModuleLoad(byref(module), code_object) == 0
    return module


def launch(lib, kernel, pointer, number, grid=1, stream=None):
    a, n = c_void_p(pointer), c_int(number)
    values = (c_void_p * 2)(ctypes.addressof(a), ctypes.addressof(n))
    ones = [c_uint32(x) for x in (grid, 1, 1, 64, 1, 1, 0)]
    return lib.hipModuleLaunchKernel(kernel, *ones, stream, values, None)


def test_copies_and_fills_past_an_allocation_are_refused_whatever_their_size(lib, buffer):
    host = (ctypes.c_uint8 * 512)()
    for size in (257, 512, GIB, ALL - 4095, ALL):
        for kind in (TO_DEVICE, DEFAULT):
            assert lib.hipMemcpy(buffer, host, c_size_t(size), kind) == INVALID_VALUE
        for kind in (TO_HOST, DEFAULT):
            assert lib.hipMemcpy(host, buffer, c_size_t(size), kind) == INVALID_VALUE
        assert lib.hipMemset(buffer, 0, c_size_t(size)) == INVALID_VALUE
        assert lib.hipMemsetD32(buffer, 0, c_size_t(size // 4 + 1)) == INVALID_VALUE
    pitch, rows = c_size_t(1 << 40), c_size_t(1 << 40)
    assert lib.hipMemcpy2D(buffer, pitch, host, pitch, c_size_t(1), rows, TO_DEVICE) == INVALID_VALUE
    assert lib.hipMemset2D(buffer, pitch, 0, c_size_t(1), rows) == INVALID_VALUE
    assert lib.hipMemcpy(buffer, host, c_size_t(256), DEFAULT) == 0
    assert lib.hipMemset(buffer, 0, c_size_t(256)) == 0


def test_the_device_has_192_gib_and_the_hosts_memory_is_not_of_it(lib):
    free, total, p, q, host = c_size_t(), c_size_t(), c_void_p(), c_void_p(), c_void_p()
    assert lib.hipMemGetInfo(byref(free), byref(total)) == 0
    assert total.value == 192 * GIB
    before = free.value
    assert lib.hipMalloc(byref(p), c_size_t(100 * GIB)) == 0
    assert lib.hipHostMalloc(byref(host), c_size_t(GIB), 0) == 0
    assert lib.hipMemGetInfo(byref(free), None) == 0
    assert free.value == before - 100 * GIB
    assert lib.hipMalloc(byref(q), c_size_t(100 * GIB)) == OUT_OF_MEMORY
    assert (q.value, lib.hipFree(p), lib.hipHostFree(host)) == (None, 0, 0)
    assert lib.hipMallocPitch(byref(p), byref(total), c_size_t(1 << 40), c_size_t(1 << 40)) == OUT_OF_MEMORY


def test_streams_and_events_that_are_gone_or_never_were_are_refused(lib, code_object, buffer):
    stream, event, out, ms = c_void_p(), c_void_p(), c_int(), ctypes.c_float()
    module = module_of(lib, code_object)
    kernel = function(lib, module, b"set")
    assert lib.hipStreamCreate(byref(stream)) == lib.hipEventCreate(byref(event)) == 0
    assert launch(lib, kernel, buffer.value, 1, stream=stream) == 0
    assert lib.hipStreamDestroy(stream) == lib.hipEventDestroy(event) == 0
    for gone in (stream, c_void_p(0x1234)):
        assert lib.hipStreamDestroy(gone) == DESTROYED
        assert lib.hipStreamSynchronize(gone) == lib.hipStreamQuery(gone) == DESTROYED
        assert lib.hipStreamGetFlags(gone, byref(out)) == lib.hipStreamIsCapturing(gone, byref(out)) == DESTROYED
        assert lib.hipStreamBeginCapture(gone, 0) == lib.hipStreamEndCapture(gone, byref(c_void_p())) == DESTROYED
        assert lib.hipMemsetAsync(buffer, 0, c_size_t(4), gone) == DESTROYED
        assert launch(lib, kernel, buffer.value, 1, stream=gone) == DESTROYED
    for gone in (event, c_void_p(0x1234), None):
        assert lib.hipEventRecord(gone, None) == lib.hipEventSynchronize(gone) == lib.hipEventQuery(gone)
        assert lib.hipEventQuery(gone) == lib.hipStreamWaitEvent(None, gone, 0) == INVALID_HANDLE
        assert lib.hipEventElapsedTime(byref(ms), gone, gone) == INVALID_HANDLE
        assert lib.hipEventDestroy(gone) == (DESTROYED if gone else INVALID_HANDLE)
    assert lib.hipModuleUnload(module) == 0


def test_modules_functions_and_graphs_that_are_gone_are_refused(lib, code_object, buffer):
    module, blocks = module_of(lib, code_object), c_int()
    kernel = function(lib, module, b"set")
    assert lib.hipModuleUnload(module) == 0
    assert lib.hipModuleUnload(module) == NOT_FOUND
    assert lib.hipModuleGetFunction(byref(c_void_p()), module, b"set") == INVALID_HANDLE
    assert launch(lib, kernel, buffer.value, 1) == INVALID_HANDLE
    occupancy = lib.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor
    assert occupancy(byref(blocks), kernel, 64, c_size_t(0)) == INVALID_VALUE
    for gone in (c_void_p(0x1234), None):
        assert lib.hipGraphDestroy(gone) == lib.hipGraphExecDestroy(gone) == INVALID_VALUE
        assert lib.hipGraphLaunch(gone, None) == lib.hipGraphInstantiate(byref(c_void_p()), gone, 0, 0, 0)
        assert lib.hipGraphLaunch(gone, None) == INVALID_VALUE


def test_no_place_for_an_answer_is_refused(lib):
    for call in (lib.hipGetDeviceFlags, lib.hipGetDeviceCount, lib.hipGetDevice, lib.hipDeviceGetCacheConfig,
                 lib.hipRuntimeGetVersion):  # fmt: skip
        assert call(None) == INVALID_VALUE
    assert lib.hipDeviceTotalMem(None, 0) == lib.hipDeviceGet(None, 0) == INVALID_VALUE
    assert lib.hipDeviceComputeCapability(None, None, 0) == lib.hipDeviceCanAccessPeer(None, 0, 0) == INVALID_VALUE
    assert lib.hipMalloc(None, c_size_t(4)) == lib.hipStreamGetFlags(None, None) == INVALID_VALUE
    assert lib.hipMemGetInfo(None, None) == 0  # both answers may be left out


def test_files_that_are_no_code_object_are_named(lib, tmp_path):
    (tmp_path / "empty.co").touch()
    lib.fp8lab_hip_said()
    for path, code, sentence in (
        (tmp_path / "empty.co", INVALID_IMAGE, b"empty.co is an empty file, so no code object"),
        (tmp_path, INVALID_IMAGE, b"is a folder, so no code object"),
        (tmp_path / "none.co", FILE_NOT_FOUND, b""),
    ):
        assert lib.hipModuleLoad(byref(c_void_p()), str(path).encode()) == code
        assert sentence in lib.fp8lab_hip_said()


def test_a_launch_larger_than_the_device_counts_is_refused(lib, code_object, buffer):
    kernel = function(lib, module_of(lib, code_object), b"set")
    assert launch(lib, kernel, buffer.value, 1, grid=0) == INVALID_CONFIGURATION
    assert launch(lib, kernel, buffer.value, 1, grid=1 << 31) == INVALID_CONFIGURATION  # 2^37 lanes


def test_a_fault_says_what_python_says_and_the_next_launch_is_right(lib, code_object, buffer):
    module, result = module_of(lib, code_object), (c_int * 64)()
    for name, pointer, sentence in (
        (b"behind", buffer.value, "write of 4 bytes at 0x[0-9a-f]+, 4 bytes before the buffer at 0x"),
        (b"behind", 0, "write of 4 bytes at 0xf+c, a null pointer -4 bytes; kernel behind, workgroup"),
        (b"stop", buffer.value, "trap: s_trap 2: the kernel gave up"),
    ):
        lib.fp8lab_hip_said()
        assert launch(lib, function(lib, module, name), pointer, 1) == LAUNCH_FAILURE
        assert lib.hipDeviceSynchronize() == LAUNCH_FAILURE
        assert_matches(sentence, lib.fp8lab_hip_said().decode())
        assert launch(lib, function(lib, module, b"set"), buffer.value, 5) == lib.hipDeviceSynchronize() == 0
        assert lib.hipMemcpy(result, buffer, c_size_t(256), TO_HOST) == 0
        assert list(result) == [5] * 64


def assert_matches(pattern, text):
    with pytest.raises(ValueError, match=pattern):
        raise ValueError(text)


def test_every_call_of_the_api_is_there_and_one_that_does_nothing_says_so(lib):
    missing = (hip.HERE / "missing.txt").read_text().split()
    for name in [*missing, "hipDeviceGetPCIBusId", "hipMemGetAddressRange", "hipProfilerStart", "hipHostGetFlags"]:
        assert hasattr(lib, name)
    lib.fp8lab_hip_said()
    assert lib.hipGetProcAddress() == NOT_SUPPORTED
    assert lib.fp8lab_hip_said() == b"hipGetProcAddress is not in the emulator's HIP; it returns hipErrorNotSupported"
    assert lib.hipProfilerStart() == 0
