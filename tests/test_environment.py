"""The set-up: an environment of somebody's own keeps its torch, and all lists of packages agree."""

import re
import runpy
import shutil
import site
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fp8lab import environment

ROOT = environment.ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASKED = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]


def bare(line):
    return re.sub(r"\s", "", line.split("#")[0]).strip("\"'-")


def test_environment_yml_asks_for_the_same_packages_and_ranges():
    text = (ROOT / "environment.yml").read_text()
    pip_section = text.split("- pip:")[1].splitlines()
    listed = {bare(line) for line in pip_section if line.strip().startswith("- ") and "index-url" not in line}
    without_dependencies = {bare(line) for line in ASKED if line.startswith(environment.WITHOUT_DEPENDENCIES)}
    assert len(without_dependencies) == len(environment.WITHOUT_DEPENDENCIES)
    assert listed == {bare(line) for line in ASKED} - without_dependencies      # make lab adds them, as tested below


def test_lock_holds_one_exact_version_of_everything_asked_for():
    locked = dict(line.split("==") for line in environment.requirements())
    canonical = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in locked.items()}
    for line in ASKED:
        assert re.sub(r"[-_.]+", "-", environment.name_of(line)).lower() in canonical, line
    assert canonical["torch"] == "2.13.0"
    assert "sentence-transformers" not in canonical     # the MiniLM package's own wish, not ours
    assert "rfc3987-syntax" not in canonical            # 3 s at each start of JupyterLab: see the Makefile


@pytest.fixture
def own_environment(tmp_path):
    """Somebody's environment: it holds a torch of its own (metadata is all pip looks at) and all that is asked for."""
    venv = tmp_path / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    packages = next((venv / "lib").glob("python*/site-packages"))
    for name, version in (("torch", "2.13.0+rocm7.2"), ("rfc3987-syntax", "1.1.0")):   # the second: not in our lock
        info = packages / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text("")
        (info / "INSTALLER").write_text("pip\n")
    (packages / "rest.pth").write_text("\n".join(site.getsitepackages()))
    return venv


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_with_an_existing_environment_keeps_its_torch(own_environment):
    ready = own_environment / environment.MARKER
    made = subprocess.run(["make", "-C", ROOT, f"VENV={own_environment}", ready], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "torch 2.13.0+rocm7.2" in made.stdout
    assert environment.installed_torch(own_environment / "bin" / "python") == "2.13.0+rocm7.2"
    assert ready.read_text().startswith("found")
    assert (own_environment / "bin" / "fp8lab").exists()


def test_torch_of_an_existing_environment_is_pinned_for_everything_pip_adds(own_environment, monkeypatch):
    calls = []

    def pip(venv, what, *arguments):
        pinned = [Path(arguments[1]).read_text()] if arguments[0] == "--constraint" else []
        calls.append((*pinned, *arguments))

    monkeypatch.setattr(environment, "pip", pip)
    environment.main(str(own_environment))
    assert calls[0][0] == "torch===2.13.0+rocm7.2\n"
    assert not any(environment.name_of(argument) == "torch" for call in calls for argument in call[3:])
    assert all("--no-deps" in call for call in calls[1:])


def test_a_path_that_is_no_environment_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no bin/python"):
        environment.main(str(tmp_path))


def test_a_package_that_cannot_be_installed_ends_with_pips_own_words(tmp_path, own_environment):
    with pytest.raises(SystemExit, match="No matching distribution found for fp8lab-there-is-no-such-package"):
        environment.pip(own_environment, "nothing", "--no-index", "fp8lab-there-is-no-such-package")


@pytest.mark.parametrize("stage", ["venv", "torch", "requirements.lock", "this package"])
def test_an_interrupted_set_up_goes_on_with_the_lock(tmp_path, monkeypatch, stage):
    venv, installed, interruptions = tmp_path / "half", [], [stage]
    python, marker = venv / "bin" / "python", venv / environment.MARKER

    def reach(what):
        if interruptions and what.startswith(interruptions[0]):
            interruptions.clear()
            raise KeyboardInterrupt

    def make_venv(command, **options):
        python.parent.mkdir()       # as venv does it: first the links, then pip
        python.touch()
        reach("venv")
        return subprocess.CompletedProcess(command, 0, "", "")

    def pip(venv, what, *arguments):
        reach(what)
        installed.extend(arguments)

    monkeypatch.setattr(environment.subprocess, "run", make_venv)
    monkeypatch.setattr(environment, "pip", pip)
    with pytest.raises(KeyboardInterrupt):
        environment.main(str(venv))
    assert marker.stat().st_mtime < environment.LOCK.stat().st_mtime, "make takes it for complete"
    environment.main(str(venv))
    assert str(environment.LOCK) in installed and environment.CPU_WHEELS in installed
    assert marker.read_text().startswith("made") and marker.stat().st_mtime >= environment.LOCK.stat().st_mtime


def test_ctrl_c_is_answered_in_one_line(tmp_path, monkeypatch):
    def interrupted(*command, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupted)
    monkeypatch.setattr(sys, "argv", ["environment.py", str(tmp_path / "new")])
    with pytest.raises(SystemExit, match="stopped; the same command goes on from here"):
        runpy.run_path(environment.__file__, run_name="__main__")


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match=r"/file/venv cannot be made: Not a directory; make … VENV=DIR takes a place"):
        environment.main(str(tmp_path / "file" / "venv"))


def test_only_a_missing_venv_module_is_answered_with_its_package(tmp_path, monkeypatch):
    for said, is_answer in (("The virtual environment was not created … ensurepip is not available", True),
                            ("No space left on device", False)):
        monkeypatch.setattr(environment.subprocess, "run",
                            lambda command, said=said, **options: subprocess.CompletedProcess(command, 1, said, ""))
        with pytest.raises(SystemExit) as raised:
            environment.main(str(tmp_path / "new"))
        assert said in str(raised.value) and ("apt install python3-venv" in str(raised.value)) == is_answer


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_refuses_an_environment_whose_path_it_would_split():
    made = subprocess.run(["make", "-C", ROOT, "VENV=my env", "doctor"], capture_output=True, text=True)
    assert made.returncode and 'VENV is "my env", needs one path without a space' in made.stderr
