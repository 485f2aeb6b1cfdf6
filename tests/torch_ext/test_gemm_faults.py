"""What a fault of the kernel, a finding of the emulator or a refusal by HIP becomes: an exception that names the cause,
after which the process lives on and the next call works.

The binding is the real one; the launcher under it goes wrong as it is told to (faulty_launcher.hip).
"""

import shutil
from pathlib import Path

import pytest
import torch
from gemm_problems import problem

from fp8lab import localbuild

HERE = Path(__file__).parent
FINE, WILD_STORE, UNINITIALISED_LDS, TOO_MANY_LANES, REFUSED = range(1, 6)
BUILD_TOML = """
[general]
name = "faulty"
version = 1
edition = 5
license = "apache-2.0"
backends = ["rocm"]
[torch]
stable-abi = "2.10"
src = ["torch-ext/torch_binding.cpp", "torch-ext/torch_binding.h", "torch-ext/operands.h", "torch-ext/backend_rocm.h",
       "torch-ext/backend_cpu.h"]
[kernel.faulty]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
hip-flags = ["-O2"]
src = ["gemm/faulty_launcher.hip", "gemm/gemm_launcher.h", "gemm/cpu/gemm_cpu.h"]
"""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """gemm(m, n) of a build whose launcher does what m says."""
    from kernels import get_local_kernel

    root = tmp_path_factory.mktemp("faulty")
    (root / "gemm/cpu").mkdir(parents=True)
    shutil.copy(HERE / "faulty_launcher.hip", root / "gemm")
    for name in ("gemm/gemm_launcher.h", "gemm/cpu/gemm_cpu.h"):
        shutil.copy(localbuild.ROOT / name, root / name)
    shutil.copytree(localbuild.ROOT / "torch-ext", root / "torch-ext")
    (root / "torch-ext/gemm").rename(root / "torch-ext/faulty")
    (root / "build.toml").write_text(BUILD_TOML)
    kernel = get_local_kernel(localbuild.build("emulated", root).parent)
    return lambda m, n=40: kernel.gemm(*problem(m, n, 128))


@pytest.fixture(autouse=True)
def and_the_next_call_works(faulty):
    yield
    assert torch.equal(faulty(FINE), torch.ones(1, 40, dtype=torch.bfloat16))


def test_a_store_behind_out_names_the_instruction_that_did_it(faulty):
    with pytest.raises(RuntimeError, match=r"^global-out-of-bounds: .*; kernel wild, workgroup "
                                           r"\(0, 0, 0\), wave 0, lane 0, at 0x\w+: global_store_short "):
        faulty(WILD_STORE)


def test_a_finding_is_an_exception_where_checks_are_on(faulty, monkeypatch):
    faulty(UNINITIALISED_LDS)
    monkeypatch.setenv("FP8LAB_HIP_CHECKS", "all")
    with pytest.raises(RuntimeError, match=r"^uninitialised-lds: LDS byte \d+ is read but was never written; "
                                           r"kernel unwritten"):
        faulty(UNINITIALISED_LDS)


def test_a_launch_that_hip_refuses_names_hips_error(faulty):
    with pytest.raises(RuntimeError, match=r"^the launch on device 0 failed: hipErrorInvalidConfiguration, invalid "
                                           r"configuration argument; the tensors are as they were"):
        faulty(TOO_MANY_LANES)


def test_what_the_launcher_refuses_is_its_own_sentence(faulty):
    with pytest.raises(RuntimeError, match=r"^the launcher's own sentence$"):
        faulty(REFUSED)


def test_a_gpu_without_gfx942_code_is_named(faulty, monkeypatch):
    monkeypatch.setenv("FP8LAB_HIP_DEVICE", "gfx950")
    with pytest.raises(RuntimeError, match=r"^device 0 is gfx950, this build has code for gfx942 \(MI300X\) only, "
                                           r"whose FP8 is e4m3fnuz: move the tensors to a MI300X"):
        faulty(FINE)
    monkeypatch.delenv("FP8LAB_HIP_DEVICE")


def test_a_machine_without_a_gpu_is_named(faulty, monkeypatch):
    monkeypatch.setenv("FP8LAB_HIP_DEVICE", "none")
    with pytest.raises(RuntimeError, match=r"^HIP finds no GPU \(hipErrorNoDevice\): see that `rocminfo` lists one"):
        faulty(FINE)
    monkeypatch.delenv("FP8LAB_HIP_DEVICE")
