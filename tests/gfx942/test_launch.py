"""What a launch refuses before anything runs, in words; and what it takes besides."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from gfx942_kernels import compile_hip, needs_clang
from gfx942_sources import CORPUS, HEAD
from torch._subclasses import FakeTensorMode

from fp8lab.gfx942 import CodeObject, CodeObjectError, Device, LaunchError

pytestmark = needs_clang


def floats(n=256):
    return np.arange(n, dtype=np.float32)


def vadd():
    return compile_hip(CORPUS["vadd"], name="vadd").kernels["vadd"]


def launch(kernel=None, grid=1, block=64, args=None, **options):
    args = [floats(), floats(), floats(), 64] if args is None else args
    return Device().launch(kernel or vadd(), grid, block, args, **options)


def fake():
    with FakeTensorMode():
        return torch.zeros(256)


def freed():
    tensor = torch.zeros(256)
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "vadd"}, "kernel is a str, needs a Kernel: CodeObject.load"),
        ({"grid": None}, "grid is None, needs one to three whole numbers, 0 or more"),
        ({"grid": 2.0}, "grid is 2.0, needs"),
        ({"grid": ()}, r"grid is \(\), needs"),
        ({"grid": (1, 1, 1, 1)}, "needs one to three"),
        ({"grid": -1}, "grid is -1"),
        ({"grid": (1 << 20, 1 << 20)}, "too large"),
        ({"block": 0}, "block is 0, needs one to three whole numbers, 1 or more"),
        ({"block": (32, 64)}, "at most 1024 lanes"),
        ({"args": floats()}, "args is a ndarray, needs a list"),
        ({"dynamic_lds": None}, "dynamic_lds is None, needs a whole number, 0 or more"),
        ({"dynamic_lds": 1 << 17}, "a compute unit has 65536"),
        ({"workgroups": 1}, "workgroups is 1, needs a list"),
        ({"workgroups": [1.5]}, "workgroups is 1.5"),
        ({"workgroups": [1]}, "has workgroups 0 to 0, not 1"),
        ({"grid": 0, "workgroups": [0]}, "has no workgroup, not 0"),
        ({"shuffle_seed": "a"}, "shuffle_seed is 'a'"),
    ],
)
def test_a_launch_that_cannot_be_says_what_was_given_and_what_is_needed(options, message):
    with pytest.raises(LaunchError, match=message):
        launch(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": -1}, "threads is -1, needs a whole number, 1 or more, or None"),
        ({"hang_after": 0}, "hang_after is 0"),
        ({"step_limit": -5}, "step_limit is -5"),
        ({"checks": None}, "checks has None, needs 'all', 'none' or some of lds, waits"),
        ({"mfma": None}, "mfma is None"),
    ],
)
def test_a_device_that_cannot_be_says_so(options, message):
    with pytest.raises(ValueError, match=message):
        Device(**options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.array([1] * 256, object), "addresses of Python objects"),
        (floats().astype(">f4"), "big-endian"),
        (torch.zeros(256, device="meta"), "has no data"),
        (torch.eye(16).to_sparse(), "needs one block of memory: tensor.to_dense()"),
        (fake, "a FakeTensor of shape .256,. has no memory of its own"),
        (freed, "a Tensor of shape .256,. has no memory of its own"),
        ([1.0], "argument a is a pointer, got list"),
    ],
)
def test_what_has_no_memory_for_a_pointer_is_refused(given, message):
    with pytest.raises(LaunchError, match=message):
        launch(args=[given() if callable(given) else given, floats(), floats(), 64])


@pytest.mark.parametrize("given", [floats(), torch.zeros(256), torch.zeros(256, requires_grad=True),
                                   torch.nn.Parameter(torch.zeros(256)), floats(512)[::2]])  # fmt: skip
def test_arrays_tensors_and_parameters_are_memory(given):
    assert launch(args=[given, floats(), floats(), 64]).findings == []


def test_parameters_have_the_names_of_the_source():
    assert [a.name for a in vadd().arguments if not a.is_hidden] == ["a", "b", "c", "n"]


def test_findings_call_null_read_only_and_nowhere_by_name():
    constant = floats()
    constant.flags.writeable = False
    source = (
        HEAD
        + """
extern "C" __global__ LANES(64) void far(int* a) { a[(i64)TID - (1 << 28)] = 1; }
extern "C" __global__ LANES(64) void behind(int* a) { a[(i64)TID - 64] = 1; }
"""
    )
    far, behind = (compile_hip(source, name="far").kernels[name] for name in ("far", "behind"))
    for kernel, args, message in (
        (None, [None, floats(), floats(), 64], "read of 4 bytes at 0x0, a null pointer;"),
        (behind, [None], "write of 4 bytes at 0xf+[0-9a-f]+, a null pointer -256 bytes;"),
        (None, [floats(), floats(), constant, 64], "write of 4 bytes at 0x[0-9a-f]+, in c, which is read-only;"),
        (None, [floats(), floats(), floats(60), 64], r"0 bytes past the end of c \(240 bytes\)"),
        (far, [floats()], "where the launch has no buffer"),
    ):
        assert re.search(message, str(launch(kernel, args=args).findings[0]))


def test_a_kernel_that_ran_can_be_pickled_and_runs_in_another_process(tmp_path):
    kernel = vadd()
    launch(kernel)
    (tmp_path / "kernel").write_bytes(pickle.dumps(kernel))
    script = (
        "import pickle, sys, numpy as np; from fp8lab.gfx942 import Device; a = np.ones(64, np.float32); c = 0 * a;"
        "Device().launch(pickle.load(open(sys.argv[1], 'rb')), 1, 64, [a, a, c, 64]); print(c.sum())"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "kernel")], capture_output=True, text=True)
    assert done.stdout == "128.0\n", done.stderr


def test_a_kernel_without_instructions_does_not_spoil_the_others():
    source = CORPUS["vadd"] + 'extern "C" __global__ void never(int* a) { a[0] = 1; __builtin_unreachable(); }\n'
    assert launch(compile_hip(source, name="never").kernels["vadd"]).findings == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "an empty file, needs a code object"),
        (b"BC\xc0\xde" + bytes(60), "LLVM bitcode"),
        (b"text", "neither an ELF"),
    ],
)
def test_a_file_that_is_something_else_is_called_by_its_name(data, message):
    with pytest.raises(CodeObjectError, match=message):
        CodeObject(data)


def test_another_gpus_code_object_is_called_by_its_name():
    data = bytearray(Path(compile_hip(CORPUS["vadd"], name="vadd").origin).read_bytes())
    data[48] = 0x3F
    with pytest.raises(CodeObjectError, match="made for gfx90a, needs gfx942: compile with --offload-arch=gfx942"):
        CodeObject(bytes(data))
