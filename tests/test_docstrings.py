"""The examples in the docstrings of fp8lab run and give what they say."""

import doctest
import importlib

import pytest

MODULES = ["formats", "scaling", "reference", "hardware"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    results = doctest.testmod(importlib.import_module(f"fp8lab.{name}"))
    assert results.attempted > 0 and results.failed == 0
