"""The kernel and its launcher through HIP itself: memory from hipMalloc, modules, streams, graphs. Without torch.

Every configuration is forced by its name, on the emulator and, with `-m rocm`, on a MI300X.
"""

import ctypes
import subprocess
import threading

import numpy as np
import pytest
from emulated import CALL, SOURCES, Problem, assert_close, compiled, garbage, kernels, layouts, names, place, tile
from hip import RELAXED, TO_DEVICE, open_hip
from host import STATUS, GemmProblem
from test_edges import PAIRS, for_layout

from fp8lab import localbuild, ninjafile


@pytest.fixture(params=["emulated", pytest.param("rocm", marks=pytest.mark.rocm)])
def hip(request, monkeypatch):
    monkeypatch.setenv("FP8LAB_HIP_CHECKS", "all")
    hip = open_hip(request.param)
    yield hip
    hip.close()


# --- every configuration, by name ---


def forced(hip, name, data, parts):
    """What a configuration computes, launched as the launcher would launch it."""
    (m, k), n, (tile_m, tile_n) = data.a.shape, len(data.b), tile(name)
    operands = [place(x, axis) for x, axis in zip((data.a, data.b), layouts(name), strict=True)]
    tiles = -(-m // tile_m) * -(-n // tile_n)
    out = np.full((m, n), 0x7FC1, np.uint16)
    at = [hip.memory(x) for x in (operands[0][0], operands[1][0], data.a_scale, data.b_scale, out,
                                  *garbage(name, tiles, parts))]  # fmt: skip
    sizes = [m, n, k, *operands[0][1:], *operands[1][1:], n, parts]
    arguments = [*map(ctypes.c_void_p, at[:5]), *map(ctypes.c_int, sizes), *map(ctypes.c_void_p, at[5:]),
                 ctypes.c_uint64(CALL)]  # fmt: skip
    hip.launch(hip.kernel(compiled().path, name), tiles * parts, kernels()[name].resources.workgroup_size, arguments)
    return hip.read(at[4], out)


@pytest.mark.parametrize("name", names())
def test_a_configuration_is_right_when_it_is_forced(hip, name):
    shapes = [(150, 200, 384, 2)]
    if not hip.is_emulated:  # there: test_edges.py and test_kernel.py
        shapes += [(m, n, k, 1) for m, n in PAIRS for k in (0, 128, 256, 7168)]
        shapes += [(m, n, 640, parts) for m, n in PAIRS[::3] for parts in (2, 3, 4)]
    for *size, k, parts in shapes:
        m, n = (for_layout(x, axis, name) for x, axis in zip(size, layouts(name), strict=True))
        data = Problem.random(m, n, k)
        out = forced(hip, name, data, parts)
        assert hip.said() == ""
        assert_close(out, data) if k else np.testing.assert_array_equal(out, 0)
        hip.close()


# --- gemm_run and run on streams, in the emulator's runtime; a MI300X gets them through torch, tests/torch_ext ---


EXPORTS = """
#include "gemm_launcher.h"
#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT int exported_gemm_run(const gemm_problem* problem, hipStream_t stream) { return gemm_run(problem, stream); }
EXPORT size_t exported_workspace_bytes(const gemm_problem* problem) { return gemm_workspace_bytes(problem); }
EXPORT int exported_run(void* a, void* b, void* a_scale, void* b_scale, void* out, int m, int n, int k, void* metrics,
                        hipStream_t stream) {
    return run(a, b, a_scale, b_scale, out, m, n, k, metrics, stream);
}
"""


@pytest.fixture(scope="module")
def launcher(tmp_path_factory):
    """The launcher of the emulated build as a library; its HIP is that of open_hip("emulated")."""
    localbuild.build("emulated")
    runtime = open_hip("emulated").path
    folder = tmp_path_factory.mktemp("launcher")
    (folder / "exports.cpp").write_text(EXPORTS)
    subprocess.run([*ninjafile.compiler(), "-shared", "-fPIC", f"-I{SOURCES}", folder / "exports.cpp",
                    localbuild.ROOT / "build-ext/emulated/gemm/gemm_launcher.hip.o", runtime,
                    f"-Wl,-rpath,{runtime.parent}", "-o", folder / "launcher.so"], check=True)  # fmt: skip
    library = ctypes.CDLL(str(folder / "launcher.so"))
    library.exported_workspace_bytes.restype = ctypes.c_size_t
    return library


class Call:
    """A product on the device, its workspace included: M-contiguous a, N-contiguous b, as the contest gives them."""

    def __init__(self, hip, launcher, m, n, k, seed, stream):
        self.data, self.stream, self.shape = Problem.random(m, n, k, seed), stream, (m, n, k)
        (a, *a_strides), (b, *b_strides) = place(self.data.a, "m"), place(self.data.b, "n")
        self.like = np.full((m, n), 0x7FC1, np.uint16)
        self.at = [hip.memory(x) for x in (a, b, self.data.a_scale, self.data.b_scale, self.like)]
        p = GemmProblem(m, n, k, self.at[0], *a_strides, self.at[1], *b_strides[::-1], *self.at[2:], n, None, 0)
        p.workspace_bytes = launcher.exported_workspace_bytes(ctypes.byref(p))
        p.workspace = hip.memory(np.full(p.workspace_bytes, 0xFF, np.uint8))
        self.problem, self._launcher = p, launcher

    def run(self):
        assert STATUS[self._launcher.exported_gemm_run(ctypes.byref(self.problem), self.stream)] == "OK"


@pytest.fixture
def emulated(monkeypatch):
    monkeypatch.setenv("FP8LAB_HIP_CHECKS", "all")
    hip = open_hip("emulated")
    yield hip
    hip.close()


def test_calls_on_two_streams_are_right(emulated, launcher):
    calls = [Call(emulated, launcher, 36, 68 + 4 * i, 3584, i, emulated.stream()) for i in range(2)]
    assert all(call.problem.workspace_bytes for call in calls)
    threads = [threading.Thread(target=lambda call=call: [call.run() for _ in range(3)]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for call in calls:
        emulated.call("hipStreamSynchronize", call.stream)
        assert_close(emulated.read(call.at[4], call.like), call.data)
    assert emulated.said() == ""


def test_a_captured_call_can_be_repeated(emulated, launcher):
    """K is split, so each repetition finds the counters of the one before it."""
    call = Call(emulated, launcher, 36, 68, 3584, 5, emulated.stream())
    graph, instance = ctypes.c_void_p(), ctypes.c_void_p()
    emulated.call("hipStreamBeginCapture", call.stream, RELAXED)
    call.run()
    emulated.call("hipStreamEndCapture", call.stream, ctypes.byref(graph))
    np.testing.assert_array_equal(emulated.read(call.at[4], call.like), call.like)  # nothing has run
    emulated.call("hipGraphInstantiate", ctypes.byref(instance), graph, None, None, 0)
    for _ in range(3):
        nan = call.like.ctypes.data_as(ctypes.c_void_p)
        emulated.call("hipMemcpy", ctypes.c_void_p(call.at[4]), nan, ctypes.c_size_t(call.like.nbytes), TO_DEVICE)
        emulated.call("hipGraphLaunch", instance, call.stream)
        assert_close(emulated.read(call.at[4], call.like), call.data)
    assert emulated.said() == ""


def test_the_entry_point_of_other_kernels_computes_the_product(emulated, launcher):
    call = Call(emulated, launcher, 100, 132, 384, 6, emulated.stream())
    assert launcher.exported_run(*map(ctypes.c_void_p, call.at), *call.shape, None, call.stream) == 0
    assert_close(emulated.read(call.at[4], call.like), call.data)
    assert emulated.said() == ""
