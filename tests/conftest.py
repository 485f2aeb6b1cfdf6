"""What several test folders share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def gemm():
    """The kernel as a user gets it: built from the sources, loaded by the kernels library."""
    from kernels import get_local_kernel

    from fp8lab import localbuild

    return get_local_kernel(Path(localbuild.build()).parent, backend="cpu")
