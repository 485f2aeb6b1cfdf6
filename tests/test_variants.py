"""Which variant a described machine loads: the library's rules, and this machine's own choice as the control."""

import platform

import pytest
import torch
from kernels.variants import parse_variant, resolve_variants

from fp8lab.variants import REPOSITORIES, System, decide

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


def test_name_that_is_no_variant_is_refused():
    with pytest.raises(ValueError, match="torch2x"):
        decide(["torch2x-cpu"], System())
