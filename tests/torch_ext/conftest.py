"""The kernel in each of its builds, for tests that hold for all of them."""

from pathlib import Path

import pytest
import torch


def mi300x():
    """Whether torch can use a MI300X here."""
    if not torch.version.hip or not torch.cuda.is_available():
        return False
    return torch.cuda.get_device_properties(0).gcnArchName.split(":")[0] == "gfx942"


def loaded(backend):
    """The kernel of one backend, built from the sources, loaded by the kernels library."""
    from kernels import get_local_kernel

    from fp8lab import localbuild

    if backend == "rocm" and not mi300x():
        pytest.skip("needs a MI300X and a torch that is built for ROCm")
    folder = Path(localbuild.build(backend)).parent
    return get_local_kernel(folder, backend="cpu") if backend != "rocm" else get_local_kernel(folder)


ON_A_GPU = ["emulated", pytest.param("rocm", marks=pytest.mark.rocm)]


@pytest.fixture(scope="session", params=["cpu", *ON_A_GPU])
def any_gemm(request):
    """Each build in turn."""
    return loaded(request.param)


@pytest.fixture(scope="session", params=ON_A_GPU)
def gpu_gemm(request):
    """The builds that run gfx942 machine code."""
    return loaded(request.param)


@pytest.fixture
def device(request):
    """Where the tensors of a test lie: where the build under test wants them."""
    for name in ("any_gemm", "gpu_gemm"):
        if name in request.fixturenames and request.getfixturevalue(name).BACKEND == "rocm":
            return "cuda"
    return "cpu"
