"""Which variant a described machine loads: the library's rules, and this machine's own choice as the control."""

import platform
import sys
import tomllib

import pytest
import torch
from kernels.variants import parse_variant, resolve_variants

from fp8lab.localbuild import ROOT
from fp8lab.variants import ARCHS, REPOSITORIES, System, decide

MIXTURE = REPOSITORIES["a mixture"]


def test_described_as_it_is_this_machine_gets_what_the_library_gives_it():
    major, minor = torch.__version__.split(".")[:2]
    if torch.version.cuda or torch.version.hip or platform.system() != "Linux":
        pytest.skip("needs a torch without a GPU backend, on Linux")
    here = System(f"{major}.{minor}", "cpu", platform.machine())
    for names in REPOSITORIES.values():
        accepted, trace = resolve_variants([parse_variant(name) for name in names])
        decisions = decide(names, here)
        assert [d.name for d in decisions if d.fits] == [variant.variant_str for variant in accepted]
        assert [d.reason for d in decisions] == [getattr(each, "reason", None) for each in trace]


@pytest.mark.parametrize(("name", "system", "reason"), [
    ("torch213-cxx11-rocm72-x86_64-linux", System("2.13", "rocm72"), None),
    ("torch213-cxx11-rocm71-x86_64-linux", System("2.13", "rocm72"), "backend (rocm71) does not match"),
    ("torch212-cxx11-rocm72-x86_64-linux", System("2.13", "rocm72"), "Torch version (2.12) does not match"),
    ("torch213-cxx11-cpu-aarch64-linux", System(), "CPU (aarch64) does not match system CPU (x86_64)"),
    ("torch-stable-abi210-cpu-x86_64-linux", System("2.14"), None),
    ("torch-stable-abi210-cpu-x86_64-linux", System("2.9"), "is too new for environment Torch version (2.9)"),
    ("torch213-cxx11-cu126-x86_64-linux", System("2.13", "cu128"), None),
    ("torch-rocm", System(), "is not universal"),
])
def test_reason_is_the_librarys(name, system, reason):
    [decision] = decide([name], system)
    assert decision.fits == (reason is None)
    assert decision.fits or reason in decision.reason


def test_preferred_variant_comes_first_and_those_that_do_not_fit_last():
    decisions = decide(MIXTURE[::-1], System())
    assert [d.name for d in decisions if d.fits] == ["torch-stable-abi210-cpu-x86_64-linux",
                                                     "torch213-cxx11-cpu-x86_64-linux", "torch-cpu"]
    assert [d.fits for d in decisions] == [True] * 3 + [False] * 2


@pytest.mark.parametrize("gpu", ["gfx950", "gfx90a", "gfx942:sramecc+:xnack-", None])
def test_gpu_that_the_archs_do_not_name_is_refused_after_the_pick(gpu):
    decisions = decide(REPOSITORIES["stable ABI"], System(backend="rocm72", gpu=gpu))
    assert decisions[0].name == "torch-stable-abi210-rocm72-x86_64-linux" and decisions[0].fits
    if gpu in ("gfx950", "gfx90a"):
        assert f"ROCm arch {gpu} of the current device is not supported" in decisions[0].refusal
        assert "of the build: gfx942." in decisions[0].refusal
    else:
        assert decisions[0].refusal is None


def test_archs_are_looked_at_in_compiled_rocm_variants_only():
    for names, system in ((["torch-rocm"], System(backend="rocm72", gpu="gfx950")), (MIXTURE, System(gpu="gfx950"))):
        assert decide(names, system)[0].refusal is None


def test_archs_are_those_of_build_toml_and_torch_is_itself_afterwards():
    config = tomllib.loads((ROOT / "build.toml").read_text())
    [rocm] = [section for section in config["kernel"].values() if section["backend"] == "rocm"]
    assert list(ARCHS) == rocm["rocm-archs"]
    decide(MIXTURE, System(backend="rocm71", gpu="gfx950"))
    assert sys.modules["torch"] is torch


def test_name_that_is_no_variant_is_refused():
    with pytest.raises(ValueError, match="torch2x"):
        decide(["torch2x-cpu"], System())
