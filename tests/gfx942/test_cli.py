"""The command line: list, disassemble, run with .npy files; and all of it with nothing but what pip installs."""

import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from gfx942_kernels import BUILT, compile_hip, needs_clang
from gfx942_sources import CORPUS

from fp8lab.cli import main

pytestmark = needs_clang
ROOT = Path(__file__).resolve().parents[2]


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


def test_source_is_compiled_first_and_its_mistakes_are_the_compilers(tmp_path, capsys):
    (tmp_path / "vadd.hip").write_text(CORPUS["vadd"])
    assert main(["gfx942", "list", f"{tmp_path}/vadd.hip"]) == 0
    assert "vadd(" in capsys.readouterr().out
    (tmp_path / "bad.hip").write_text("nonsense here;\n")
    assert main(["gfx942", "list", f"{tmp_path}/bad.hip"]) == 1
    assert "bad.hip:1:1: error: unknown type name 'nonsense'" in capsys.readouterr().err
    assert main(["gfx942", "list", f"{tmp_path}/none.hip"]) == 1
    assert "there is no file" in capsys.readouterr().err


def test_findings_change_the_exit_code_and_mistakes_are_explained(tmp_path, capsys):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.zeros(256, np.float32))
    args = [f"{tmp_path}/a.npy", f"{tmp_path}/b.npy", f"zeros:float32:255:{tmp_path}/c.npy", "256"]
    assert main(["gfx942", "run", "--block", "256", code_object(), "vadd", *args]) == 2
    assert "global-out-of-bounds" in capsys.readouterr().out
    (tmp_path / "text.npy").write_text("text")
    (tmp_path / "no_kernel.hip").write_text("int x;\n")
    for bad, message in (
        (["run", code_object(), "nothing"], "has no kernel nothing; it has vadd"),
        (["run", code_object(), "vadd", "1"], "takes 4 arguments"),
        (["run", code_object(), "vadd", "x"], "neither a .npy file nor a number"),
        (["run", code_object(), "vadd", f"zeros:float32:{10**15}:{tmp_path}/c.npy"], "Unable to allocate"),
        (["run", code_object(), "vadd", f"zeros:fp8:8:{tmp_path}/c.npy"], "FP8 is uint8, bfloat16 uint16"),
        (["run", code_object(), "vadd", "zeros:float32:8:/nowhere/c.npy"], "/nowhere/c.npy cannot be written"),
        (["run", code_object(), "vadd", f"zeros:float32:8:{tmp_path}/c"], "needs a name that ends in .npy"),
        (["run", code_object(), "vadd", f"{tmp_path}/text.npy"], "text.npy: not an array of numbers"),
        (["list", str(tmp_path / "a.npy")], "a NumPy array, needs a code object"),
        (["list", str(tmp_path / "no_kernel.hip")], "no_kernel.hip has no kernel"),
    ):
        assert main(["gfx942", *bad]) == 1
        assert message in capsys.readouterr().err


def test_a_size_that_is_none_is_refused_with_the_form(capsys):
    with pytest.raises(SystemExit):
        main(["gfx942", "run", "--block", "256x1", code_object(), "vadd"])
    assert "'256x1', needs whole numbers: 8 or 8,12 or 8,12,1" in capsys.readouterr().err


def test_output_may_go_to_a_reader_that_stops_early():
    command = f"{sys.executable} -m fp8lab.cli gfx942 disassemble {code_object()} vadd | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert "s_load" in done.stdout and done.stderr == ""


def test_a_gemm_is_right_where_pip_is_all_there_is(tmp_path):
    """No compiler on PATH and none by name: ziglang, a dependency, compiles both the kernel and the emulator's core."""
    clean = {key: value for key, value in os.environ.items() if key not in ("CC", "FP8LAB_CLANG", "ROCM_PATH")}
    clean["PATH"] = str(tmp_path)

    def python(*arguments):
        done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\n")

    (tmp_path / "gemm.hip").write_text(CORPUS["gemm"])
    script = "from fp8lab import toolchain; from fp8lab.gfx942.core import build;"
    script += "print(toolchain.find_clang().name, *(name for name, _ in build.compilers()))"
    assert python("-c", script)[0] == "ziglang ziglang"

    rng, (m, n, k) = np.random.default_rng(0), (100, 70, 192)
    a, b = (rng.standard_normal((rows, k)).astype(ml_dtypes.float8_e4m3fnuz) for rows in (m, n))
    np.save(tmp_path / "a.npy", a.view(np.uint8))
    np.save(tmp_path / "b.npy", b.view(np.uint8))
    files = ["a.npy", "b.npy", f"zeros:float32:{m}x{n}:c.npy"]
    run = ["gfx942", "run", "--grid", "2,2", "--block", "256", "gemm.hip", "gemm"]
    said = python("-m", "fp8lab.cli", *run, *files, str(m), str(n), str(k))
    assert "0 findings" in said[0]
    want = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.allclose(np.load(tmp_path / "c.npy"), want, rtol=1e-5, atol=1e-4)
