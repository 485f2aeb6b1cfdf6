"""libamdhip64 for the emulator: host and device programs that clang compiled run unmodified."""

import ctypes
import os
import struct
import subprocess
from pathlib import Path

import pytest
from gfx942_kernels import BUILT, CLANG, HIP, compile_hip, needs_clang
from gfx942_sources import CORPUS, HEAD

from fp8lab import hardware, toolchain
from fp8lab.environment import ROOT
from fp8lab.gfx942 import hip

pytestmark = needs_clang
GEMM = ROOT / "gemm"
PROGRAMS = Path(__file__).parent / "programs"
INCLUDE = Path(hip.__file__).parent / "include"
COUNT = HEAD + """
__device__ unsigned counter;
extern "C" __global__ LANES(64) void count() { __atomic_fetch_add(&counter, 1u, __ATOMIC_RELAXED); }
"""


def clang(*arguments):
    done = subprocess.run([CLANG, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def link(name, *objects):
    """Link a program to the emulator's libamdhip64."""
    library = hip.build()
    clang(*objects, "-o", BUILT / name, f"-L{library.parent}", "-lamdhip64", f"-Wl,-rpath,{library.parent}", "-lstdc++")


def start(name, *arguments, checks="none"):
    """Run a program; return (its lines, what it said on stderr)."""
    done = subprocess.run([BUILT / name, *arguments], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"FP8LAB_HIP_CHECKS": checks})
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout.splitlines(), done.stderr


def run(name, *arguments):
    """Compile programs/name.hip, host and device, and run it."""
    clang("-x", "hip", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib", "-O2", "-std=c++17", f"-I{INCLUDE}", "-c",
          PROGRAMS / f"{name}.hip", "-o", BUILT / f"{name}.o")
    link(name, BUILT / f"{name}.o")
    return start(name, *arguments)


def test_a_host_and_device_program_runs_unmodified():
    compile_hip(CORPUS["vadd"], name="vadd")
    lines, said = run("saxpy", BUILT / "vadd.co")
    assert lines == [
        "devices 1, AMD Instinct MI300X (fp8lab emulator), gfx942:sramecc+:xnack-",
        "saxpy right",
        "too many lanes: hipErrorInvalidConfiguration",
        "no workgroups: hipErrorInvalidConfiguration",
        "too much LDS: hipErrorInvalidValue",
        "copy past the end: hipErrorInvalidValue",
        "the last error: hipErrorInvalidValue",
        "asked again: hipSuccess",
        "module right",
        "no such kernel: hipErrorNotFound",
        "no such file: hipErrorFileNotFound",
        "a fault, at the next synchronisation: hipErrorLaunchFailure",
        "and after it: hipSuccess",
        "freed twice: hipErrorInvalidValue",
    ]
    assert "global-out-of-bounds" in said and "wild" in said and "global_store_dword" in said


def code_objects():
    """The same kernel as every kind of file, then one that is damaged and one for another GPU."""
    source, made = BUILT / "count.hip", [BUILT / f"count{end}" for end in (".co", ".bundle", ".zst", ".bad", ".other")]
    source.write_text(COUNT)
    flags = [flag for flag in HIP if flag not in ("--no-gpu-bundle-output", "--offload-arch=gfx942")]
    here, bundle = "--offload-arch=gfx942", "--gpu-bundle-output"
    for options, path in zip(([here, "--no-gpu-bundle-output"], [here, bundle], [here, bundle, "--offload-compress"]),
                             made, strict=False):
        clang(*flags, *options, "-O2", source, "-o", path)
    clang(*flags, "--offload-arch=gfx90a", bundle, "-O2", source, "-o", made[4])
    assert made[2].read_bytes()[:4] == b"CCOB"
    damaged = bytearray(made[0].read_bytes())
    damaged[24:32] = damaged[32:40] = b"\xff" * 8  # the program headers lie nowhere
    made[3].write_bytes(damaged)
    return made


def test_device_variables_code_objects_in_memory_and_what_is_not_there():
    lines, said = run("symbols", *code_objects())
    assert lines == [
        "as initialised: 8.5 3 3.5 0",
        "as copied: 10 20 40 1260",
        "copied back from byte 4: 10 20",
        "256 bytes cleared: 0 0",
        "past its end: hipErrorInvalidValue",
        "no symbol: hipErrorInvalidSymbol",
        "heavy: 256 lanes, 20480 bytes of LDS and 45056 more, 0 of scratch",
        "fit on a compute unit: 3, with 20 KiB more 1",
        "912 workgroups of 256 lanes fill the device",
        "304 * 3 workgroups together: hipSuccess",
        "one more: 720",
        *["loaded from memory: hipSuccess", "counted to 232"] * 3,
        "loaded from memory: hipErrorInvalidImage",
        "loaded from memory: hipErrorNoBinaryForGpu",
        "an attribute: hipSuccess",
        "compute units 304",
        "an unknown attribute: hipErrorInvalidValue",
        "another device: hipErrorInvalidDevice",
        "an array: hipErrorNotSupported",
        "a graph by hand: hipErrorNotSupported",
    ]
    for sentence in (
        "damaged code object",
        "needs one for gfx942: compile with --offload-arch=gfx942",
        "does not know attribute 9000",
        "hipMallocArray is not in the emulator's HIP; it returns hipErrorNotSupported",
        "hipGraphAddKernelNode is not in the emulator's HIP; it returns hipErrorNotSupported",
    ):
        assert sentence in said
    assert "Traceback" not in said and len(said.splitlines()) == 5


def test_captured_streams_become_graphs():
    lines, said = run("graph")
    assert lines == [
        "capturing 1, 5 nodes, nothing has run: 0 0",
        "launched: 1100 1163, called 1",
        "again: 1107 1163, called 2",
        "a graph in a graph, 6 nodes: 1108",
        "begun twice: hipErrorStreamCaptureUnsupported",
        "allocating: hipErrorStreamCaptureUnsupported",
        "waiting: hipErrorStreamCaptureUnsupported",
        "and its work then: hipErrorStreamCaptureInvalidated",
        "end: hipErrorStreamCaptureInvalidated",
        "the legacy stream: hipErrorStreamCaptureImplicit",
        "end: hipErrorStreamCaptureInvalidated",
        "asking a captured event: hipErrorCapturedEvent",
        "ended by the other: hipErrorStreamCaptureUnmatched",
        "not joined: hipErrorStreamCaptureUnjoined",
        "ended twice: hipErrorInvalidValue",
        "the null stream: hipErrorStreamCaptureUnsupported",
        "a fault in a graph: hipErrorLaunchFailure",
        "at the next synchronisation: hipErrorLaunchFailure",
    ]
    assert "wild" in said


def test_the_gemm_launcher_can_be_captured_in_a_graph():
    """A graph repeats a launch with the number of the captured call; the parts of K are summed right all the same."""
    flags = ("-O3", "-std=c++17", "-fno-slp-vectorize", f"-I{GEMM}")  # as in tests/gemm: compiled once, cached
    compiled = toolchain.compile('#include "gemm_configs.h"\nGEMM_CONFIGS(GEMM_KERNEL)\n', flags=flags)
    made = BUILT / "gemm-graph"
    made.with_suffix(".fatbin").write_bytes(bundle_of(compiled.path.read_bytes()))
    made.with_suffix(".s").write_text(
        '.section .hip_fatbin, "a"\n.globl __hip_fatbin\n.p2align 12\n__hip_fatbin:\n.incbin "gemm-graph.fatbin"\n'
        '.section .note.GNU-stack, ""\n')
    common = ("-std=c++17", "-O1", f"-I{INCLUDE}", f"-I{GEMM}", "-c")
    clang("-x", "hip", "--offload-host-only", "-fuse-cuid=none", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib",
          *common, GEMM / "gemm_launcher.hip", "-o", f"{made}-launcher.o")
    clang(*common, PROGRAMS / "gemm_graph.cpp", "-o", f"{made}-main.o")
    clang("-c", f"-Wa,-I{BUILT}", made.with_suffix(".s"), "-o", f"{made}-fatbin.o")
    link("gemm-graph", *[f"{made}-{part}.o" for part in ("main", "launcher", "fatbin")])
    lines, said = start("gemm-graph", "64", "64", "2048", checks="all")
    parts = int(lines[0].split()[2])
    assert parts > 1 and lines[1:] == [
        "captured: done",
        "round 0: written 1, launched as called 1, and again 1",
        "round 1: written 1, launched as called 1, and again 1",
    ]
    assert said == ""


def bundle_of(code_object):
    """A clang offload bundle with one entry, at byte 4096."""
    target = b"hipv4-amdgcn-amd-amdhsa--gfx942"
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1, 4096, len(code_object), len(target)) + target
    return head.ljust(4096, b"\0") + code_object


@pytest.fixture(scope="module")
def library():
    return ctypes.CDLL(str(hip.build()))


def test_properties_and_attributes_are_a_mi300x(library):
    properties = (ctypes.c_uint8 * 1472)()
    assert library.hipGetDevicePropertiesR0600(properties, 0) == 0
    assert library.hipGetDevicePropertiesR0600(properties, 1) == 101

    def attribute(number):
        value = ctypes.c_int()
        assert library.hipDeviceGetAttribute(ctypes.byref(value), number, 0) == 0
        return value.value

    def at(offset, size=4):
        return int.from_bytes(bytes(properties[offset : offset + size]), "little")

    gpu = hardware.MI300X
    assert at(388) == attribute(63) == gpu.compute_units
    assert at(308) == attribute(87) == 64
    assert at(296, 8) == attribute(74) == 65536
    assert at(348) == attribute(5) == hardware.MI300X_CU["peak clock in Hz"] / 1000
    assert (at(360), at(364)) == (attribute(23), attribute(61)) == (9, 4)
    assert at(288, 8) == 192 << 30
    assert bytes(properties[1160:1182]) == b"gfx942:sramecc+:xnack-"


def test_every_error_has_a_name_and_a_sentence(library):
    for f in (library.hipGetErrorName, library.hipGetErrorString):
        f.restype = ctypes.c_char_p
    codes = [code for code in range(1000) if library.hipGetErrorName(code) != b"hipErrorUnknown"]
    assert {0, 1, 2, 98, 101, 200, 209, 301, 400, 500, 600, 719, 801, 900, 901} <= set(codes)
    assert len({library.hipGetErrorString(code) for code in codes}) == len(codes)
    assert library.hipGetErrorString(54321) == b"unknown error"
