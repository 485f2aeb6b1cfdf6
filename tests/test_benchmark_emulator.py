"""benchmarks/emulator.py: right results before times, and a row only for what is there. Nothing here judges a time."""

import re
import sys

import numpy as np
import pytest

from benchmarks import emulator

# One block of K, so both scales come last.
NAIVE = """
typedef unsigned char u8;
typedef unsigned u32;
#define VALUE(byte) __builtin_amdgcn_cvt_f32_fp8(a4, byte) * __builtin_amdgcn_cvt_f32_fp8(b4, byte)
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256, 256)))
void gemm128(const u8* a, const u8* b, const float* as, const float* bs, __bf16* c, int m, int n, int k) {
    int row = __builtin_amdgcn_workitem_id_x() % 128;
    for (int column = __builtin_amdgcn_workitem_id_x() / 128; column < 128; column += 2) {
        float sum = 0;
        for (int x = 0; x < 128; x += 4) {
            u32 a4 = *(const u32*)(a + row * 128 + x), b4 = *(const u32*)(b + column * 128 + x);
            sum += VALUE(0) + VALUE(1) + VALUE(2) + VALUE(3);
        }
        c[row * 128 + column] = (__bf16)(sum * as[row] * bs[0]);
    }
}
"""
PROTOTYPE = """
from fp8lab.gfx942 import CodeObject, Device

class Module:
    def __init__(self, path):
        self.kernels = CodeObject.load(path).kernels

    def launch(self, name, grid, block, args, race, wait, threads):
        Device(threads, checks="all" if race or wait else "none").launch(self.kernels[name], grid, block, args)
        args[4][0, 0] += WRONG
"""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in dict(M=128, N=128, K=128, GRID=(1, 1, 1), ROUNDS=1).items():
        monkeypatch.setattr(emulator, name, value)


@pytest.fixture
def prototype(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "gfx942emu", raising=False)
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "gemm.hip").write_text(NAIVE)
    yield tmp_path
    sys.modules.pop("gfx942emu", None)


def test_threads_and_checks_are_timed_on_a_kernel_that_is_right():
    rows = list(emulator.launch_rows())
    assert all(row.ours > 0 and row.peer > 0 and row.target for row in rows)
    assert {re.sub(r".*128, ", "", row.name) for row in rows} <= {"2 threads, ms", 'checks="all", ms'}


def test_a_wrong_result_is_no_time():
    out, expected = np.zeros((128, 128), np.uint16), np.ones((128, 128))
    with pytest.raises(ArithmeticError, match="the result is wrong"):
        emulator.see_that_it_is_right(lambda: None, out, [None] * 4 + [expected])


def test_the_proof_of_concept_runs_a_copy_of_its_folder(prototype):
    (prototype / "gfx942emu.py").write_text(PROTOTYPE.replace("WRONG", "0"))
    before = sorted(prototype.rglob("*"))
    plain, checked = emulator.prototype_rows(prototype)
    assert plain.target == checked.target == 1.5 and min(plain.ours, plain.peer, checked.ours, checked.peer) > 0
    assert sorted(prototype.rglob("*")) == before


def test_a_proof_of_concept_that_is_wrong_is_no_peer(prototype):
    (prototype / "gfx942emu.py").write_text(PROTOTYPE.replace("WRONG", "9999"))
    with pytest.raises(ArithmeticError):
        list(emulator.prototype_rows(prototype))


def test_the_import_is_timed_in_a_python_of_its_own():
    assert emulator.import_seconds(runs=1) > 0
