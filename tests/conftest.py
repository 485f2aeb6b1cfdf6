"""What several test folders share."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """The browser's file is the longest by far: first, so that it does not run alone on one core in the end."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)


@pytest.fixture(scope="session")
def gemm():
    """The kernel as a user gets it: built from the sources, loaded by the kernels library."""
    from kernels import get_local_kernel

    from fp8lab import localbuild

    return get_local_kernel(Path(localbuild.build()).parent, backend="cpu")
