"""The command line: list, disassemble, run with .npy files."""

import numpy as np
from gfx942_kernels import BUILT, compile_hip, needs_clang
from gfx942_sources import CORPUS

from fp8lab.cli import main

pytestmark = needs_clang


def code_object():
    compile_hip(CORPUS["vadd"], name="vadd")
    return str(BUILT / "vadd.co")


def test_list_and_disassemble(capsys):
    assert main(["gfx942", "list", code_object()]) == 0
    assert "vadd(" in capsys.readouterr().out
    assert main(["gfx942", "disassemble", code_object(), "vadd"]) == 0
    assert "v_add_f32_e32" in capsys.readouterr().out


def test_run_reads_and_writes_npy_files(tmp_path, capsys):
    a, b = np.arange(300, dtype=np.float32), np.ones(300, np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    files = [f"{tmp_path}/a.npy", f"{tmp_path}/b.npy", f"zeros:float32:300:{tmp_path}/c.npy", "300"]
    options = ["--grid", "2", "--block", "256", "--counts", "--trace"]
    assert main(["gfx942", "run", *options, code_object(), "vadd", *files]) == 0
    assert np.array_equal(np.load(tmp_path / "c.npy"), a + b)
    out = capsys.readouterr().out
    assert "0 findings" in out and "v_add_f32" in out and "sectors" in out


def test_findings_change_the_exit_code_and_mistakes_are_explained(tmp_path, capsys):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.zeros(256, np.float32))
    args = [f"{tmp_path}/a.npy", f"{tmp_path}/b.npy", f"zeros:float32:255:{tmp_path}/c.npy", "256"]
    assert main(["gfx942", "run", "--block", "256", code_object(), "vadd", *args]) == 2
    assert "global-out-of-bounds" in capsys.readouterr().out
    for bad, message in (
        (["run", code_object(), "nothing"], "has no kernel nothing; it has vadd"),
        (["run", code_object(), "vadd", "1"], "takes 4 arguments"),
        (["run", code_object(), "vadd", "x"], "neither a .npy file nor a number"),
        (["list", str(tmp_path / "a.npy")], "not a 64-bit little-endian ELF"),
    ):
        assert main(["gfx942", *bad]) == 1
        assert message in capsys.readouterr().err
