"""Older compilers have enough registers for every configuration too.

$FP8LAB_OLDER_CLANGS lists them, for example the zig of `pip install --target old ziglang==0.15.2` (clang 20) and of
0.16.0 (clang 21): old/ziglang/zig. Those on PATH as clang-20 or clang-21 are tried without it.
"""

import os
import shutil

import pytest
from emulated import FLAGS, SOURCE, names

from fp8lab import toolchain

OLDER = [*filter(None, os.environ.get("FP8LAB_OLDER_CLANGS", "").split(os.pathsep)),
         *filter(None, map(shutil.which, ("clang-20", "clang-21")))]  # fmt: skip
NONE = pytest.param(None, marks=pytest.mark.skip(reason="no clang-20 or clang-21 on PATH or in $FP8LAB_OLDER_CLANGS"))


@pytest.mark.parametrize("clang", OLDER or [NONE])
def test_an_older_clang_spills_nothing(clang, monkeypatch):
    monkeypatch.setenv("FP8LAB_CLANG", clang)
    need = toolchain.compile(SOURCE, flags=FLAGS, clang=toolchain.find_clang()).resources
    assert set(need) == set(names())
    for name, r in need.items():
        assert r.vgpr_spills == r.sgpr_spills == r.scratch_bytes == 0, name
        assert r.waves_per_simd >= 2, name
