"""What several test folders share, and how the suite is spread over processes."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """The files that run lessons are the longest: first, so that none of them runs alone on one core in the end.

    The browser's before the others. What is left for the end is many short files, which fill all processes.
    """
    items.sort(key=lambda item: (item.get_closest_marker("browser") is None,
                                 item.path.name != "test_course.py" and item.path.suffix != ".ipynb"))


@pytest.fixture(scope="session")
def gemm():
    """The kernel as a user gets it: built from the sources, loaded by the kernels library."""
    from kernels import get_local_kernel

    from fp8lab import localbuild

    return get_local_kernel(Path(localbuild.build()).parent, backend="cpu")
