"""`fp8lab clean` on a small repository: what was generated goes, what a person wrote or linked stays."""

import subprocess

import kernel_repository
import pytest

from fp8lab.cli import main

GENERATED = ("build/torch-cpu/__init__.py", "build-emulated/torch-cpu/__init__.py", "build-ext/cpu/build.ninja",
             "torch-ext/tiny/_ops.py", "torch-ext/registration.h", "metadata-cpu.json", "metadata-rocm.json")
FOLDERS = "build/", "build-emulated/", "build-ext/"


@pytest.fixture
def root(tmp_path):
    root = kernel_repository.make(tmp_path / "repository")
    for name in (*GENERATED, ".venv/pyvenv.cfg", "notes.txt", "gemm/metadata-cpu.json", "tiny/build/mine.h"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("text")
    return root


def files(root):
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()
            and ".git" not in path.relative_to(root).parts}


def clean(root, capsys, *words):
    assert main(["clean", str(root), *words]) == 0
    return capsys.readouterr().out


def test_only_what_was_generated_goes_and_each_is_named(root, capsys):
    before = files(root)
    said = clean(root, capsys)
    gone = before - files(root)
    assert gone == {name for name in before if name.startswith(FOLDERS)} | set(GENERATED[3:])
    for name in ("build", "build-emulated", "build-ext", *GENERATED[3:]):
        assert f"removed: {name} (" in said
    assert "removed: metadata-cpu.json (4 bytes)" in said
    assert clean(root, capsys) == "nothing to remove\n"


def test_dry_run_says_the_same_and_removes_nothing(root, capsys):
    before = files(root)
    said = clean(root, capsys, "--dry-run")
    assert files(root) == before
    assert said.replace("would remove", "removed") == clean(root, capsys)


def test_what_git_tracks_stays(root, capsys):
    subprocess.run(["git", "add", "-f", "build/torch-cpu/__init__.py", "metadata-cpu.json"], cwd=root, check=True)
    said = clean(root, capsys)
    assert {"build/torch-cpu/__init__.py", "metadata-cpu.json"} <= files(root)
    assert "kept: build, as git tracks it" in said and "kept: metadata-cpu.json, as git tracks it" in said
    assert not (root / "metadata-rocm.json").exists()


def test_a_link_goes_and_what_it_points_to_stays(root, tmp_path, capsys):
    elsewhere = tmp_path / "elsewhere"
    (root / "build-ext").rename(elsewhere)
    (root / "build-ext").symlink_to(elsewhere)
    assert "removed: build-ext (a link)" in clean(root, capsys)
    assert not (root / "build-ext").is_symlink() and (elsewhere / "cpu/build.ninja").exists()


def test_a_folder_that_is_no_kernels_repository_is_left_alone(tmp_path, capsys):
    (tmp_path / "build").mkdir()
    assert main(["clean", str(tmp_path)]) == 1
    assert "has no build.toml" in capsys.readouterr().err and (tmp_path / "build").exists()
