"""Damaged files, random bytes and random instructions: always one of the project's own errors, never a crash or a hang.

Seeds are fixed, so that a failure repeats. What runs random machine code does so in a process of its own.
"""

import random
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from gfx942_kernels import BUILT, compile_hip, needs_clang
from gfx942_sources import CORPUS

from fp8lab.gfx942 import CodeObject, CodeObjectError, DecodeError, Device, KernelFault, LaunchError
from fp8lab.gfx942.codeobject import DAMAGE, unpack_msgpack
from fp8lab.gfx942.decode import decode_one
from fp8lab.gfx942.program import load_program

HERE = Path(__file__).parent
OURS = (CodeObjectError, DecodeError, LaunchError)
SEEDS = [path.read_bytes() for path in sorted((HERE / "triton_objects").glob("*.hsaco"))[::4]]


def outcome(data):
    """Read data as far as a launch would; the class of the error, or "read"."""
    try:
        for kernel in CodeObject(data).kernels.values():
            assert repr(kernel) and kernel.resources.waves_per_simd >= 0
            load_program(kernel)
    except OURS as error:
        assert str(error)
        return type(error).__name__
    return "read"


def damaged(rng, data, reach):
    """data with some bytes of its first `reach` changed: random ones, or those that mean much as sizes and types."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(min(len(data), reach))
        data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xDC, 0xDF, 0xFF)) if rng.random() < 0.4 else rng.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("part, reach", [("header", 64), ("segments", 600), ("metadata", 1500), ("all", 1 << 20)])
def test_flipped_bytes_in_a_code_object(part, reach):
    rng = random.Random(part)
    seen = {outcome(damaged(rng, rng.choice(SEEDS), reach)) for _ in range(60)}
    assert "CodeObjectError" in seen or part == "all"


def test_a_code_object_cut_anywhere():
    data = SEEDS[0]
    assert outcome(data) == "read"
    for length in [*range(0, 200, 7), *range(200, len(data) - 1, 211)]:
        assert outcome(data[:length]) == "CodeObjectError", length


def test_random_bytes_behind_an_elf_header():
    rng = random.Random(1)
    for _ in range(100):
        assert outcome(SEEDS[0][:64] + rng.randbytes(rng.randrange(1000))) == "CodeObjectError"


def test_random_bytes_as_metadata():
    rng = random.Random(2)
    for _ in range(3000):
        try:
            unpack_msgpack(rng.randbytes(rng.randrange(40)))
        except Exception as error:
            assert isinstance(error, (CodeObjectError, *DAMAGE)), error


def test_damaged_bundles():
    rng, inner, target = random.Random(3), SEEDS[0], b"hipv4-amdgcn-amd-amdhsa--gfx942"
    entry = b"".join(n.to_bytes(8, "little") for n in (1, 4096, len(inner), len(target))) + target
    bundle = (b"__CLANG_OFFLOAD_BUNDLE__" + entry).ljust(4096, b"\0") + inner
    packed = b"CCOB\x02\0\0\0" + (0).to_bytes(4, "little") + len(bundle).to_bytes(4, "little") + bytes(8)
    packed += zlib.compress(bundle)
    assert outcome(bundle) == outcome(packed) == "read"
    for data, reach in ((bundle, 100), (packed, 40)):
        seen = {outcome(damaged(rng, data, reach)) for _ in range(60)}
        assert "CodeObjectError" in seen
        assert outcome(data[:90]) == "CodeObjectError"


def test_a_compressed_bundle_that_lies_about_its_size_is_not_unpacked_further():
    bomb = zlib.compress(bytes(50_000_000))
    head = b"CCOB\x02\0\0\0" + (0).to_bytes(4, "little") + (1000).to_bytes(4, "little") + bytes(8)
    assert outcome(head + bomb) == "CodeObjectError"  # 1000 zeros are no code object
    huge = b"CCOB\x03\0\0\0" + bytes(8) + (1 << 60).to_bytes(8, "little") + bytes(8)
    with pytest.raises(CodeObjectError, match="more than 256 MiB"):
        CodeObject(huge + bomb)


def test_random_bytes_decode_or_are_refused_with_their_address():
    rng = random.Random(4)
    decoded = 0
    for _ in range(5000):
        code = rng.randbytes(rng.choice((0, 1, 3, 4, 8, 12)))
        try:
            instruction = decode_one(code, 0, 0x1234)
            assert str(instruction) and 4 <= instruction.size <= len(code)
            decoded += 1
        except DecodeError as error:
            assert "0x1234" in str(error)
    assert decoded > 500


@needs_clang
def test_random_instructions_run_to_an_end_or_to_an_error():
    """Wild addresses are findings, loops end at the step limit, and nothing outside the launch is touched."""
    compile_hip(CORPUS["gemm"], "-O1", name="fuzzed")
    command = [sys.executable, HERE / "fuzz_execution.py", "7", "250", BUILT / "fuzzed.co"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"program {done.stdout.splitlines()[-1:]}\n{done.stderr[-3000:]}"
    summary = done.stdout.splitlines()[-1]
    assert int(summary.split()[1]) > 400 and "global-out-of-bounds" in summary


@needs_clang
def test_the_step_limit_names_the_waves_that_still_run():
    kernel = compile_hip(CORPUS["spin"], name="spin").kernels["forever"]
    with pytest.raises(KernelFault, match="the step limit is reached") as caught:
        Device(threads=1, step_limit=30_000).launch(kernel, 1, 64, [np.zeros(1, np.int32)])
    assert "workgroup (0, 0, 0), wave 0 still runs" in str(caught.value)
