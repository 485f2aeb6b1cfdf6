"""`fp8lab build`: build.toml -> build/<variant>/ without Nix, in the form that kernels.get_local_kernel() loads.

The same file names, ops names, generated files and metadata as kernel-builder's (huggingface/kernels,
kernel-builder/src/pyproject), with Ninja in place of CMake and Nix. Not for publishing: the result needs this
machine's glibc, kernel-builder's is manylinux_2_28.

    build-ext/<backend>/      objects, build.ninja, registration.h
    build/<variant>/          __init__.py and what else torch-ext/<name>/ has, _ops.py, _<name>_<backend>_<uid>.abi3.so,
                              metadata.json
    build-emulated/<variant>/ the same for backend "emulated": the rocm sources on the emulator, for CPU tensors
"""

import contextlib
import ctypes
import fcntl
import filecmp
import importlib.metadata
import importlib.util
import json
import os
import platform
import runpy
import secrets
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from fp8lab import ninjafile
from fp8lab.buildtoml import Finding, check
from fp8lab.ninjafile import BuildError

ROOT = Path(__file__).resolve().parent.parent
NEWEST_ROCM = "7.2"     # that kernel-builder builds for, see check.SYSTEMS

OPS_PY = """\
# Made by `fp8lab build`.
import torch

from . import {ops_name}

ops = torch.ops.{ops_name}


def add_op_namespace_prefix(op_name: str) -> str:
    \"\"\"Prefix op by namespace.\"\"\"
    return f"{ops_name}::{{op_name}}"
"""


def configure(parser):
    parser.add_argument("--backend", default="cpu", help="one of build.toml's backends, or emulated: the rocm sources "
                        "for CPU tensors, run by the gfx942 emulator, in build-emulated/ (default: cpu)")


def run(args):
    start = time.perf_counter()
    try:
        variant, changed = _build(args.backend, ROOT, sys.stderr)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    where = os.path.relpath(variant)
    print(f"{where} built in {time.perf_counter() - start:.1f} s" if changed else f"{where} is up to date")
    return 0


def build(backend="cpu", root=ROOT, progress=None):
    """Bring build/<variant>/ up to date with the sources and return its path; "emulated" has build-emulated/<variant>/.

    progress  a stream, such as a notebook's sys.stdout, to say in what is being compiled

    Raises BuildError: a finding in build.toml, no compiler, or the compiler's own message.
    """
    return _build(backend, Path(root), progress)[0]


def _build(backend, root, progress=None):
    findings = check(root)
    if findings:
        raise BuildError("\n".join(map(str, findings)))
    config = tomllib.loads((root / "build.toml").read_text())
    buildable = [each for each in ninjafile.DEFINES if ninjafile.source_backend(each) in config["general"]["backends"]]
    if backend not in buildable:
        raise BuildError(str(Finding(f"backend is {backend!r}", f"use one of {buildable}")))
    work = root / "build-ext" / backend
    try:
        work.mkdir(parents=True, exist_ok=True)
        with _lock(work / "lock"):
            return _build_locked(config, backend, root, work, progress)
    except OSError as error:
        raise BuildError(f"{error.filename or work}: {error.strerror or error}; a build writes to build-ext/ and "
                         f"build/ of {root}, which must be writable and have room") from error


def _build_locked(config, backend, root, work, progress):
    name = config["general"]["name"].replace("-", "_")
    ops_name = f"_{name}_{backend}_{_unique_id(config, root, work)}"
    library = work / f"{ops_name}.abi3.so"
    stable_abi = _stable_abi(config, backend)
    _write_if_changed(work / "registration.h", ninjafile.REGISTRATION_H)
    _write_if_changed(work / "build.ninja",
                      ninjafile.text(config, backend, root, work, ops_name, library, stable_abi))
    ninjafile.run(work, progress)

    variant = root / ("build-emulated" if backend == "emulated" else "build") / _variant_name(config, backend)
    files = {library.name: library}
    extensions = {"py", *config["torch"].get("pyext", ["py", "pyi"])}
    package = root / "torch-ext" / name
    for path in sorted(package.rglob("*")):
        if path.suffix[1:] in extensions and path.name != "_ops.py":
            files[path.relative_to(package).as_posix()] = path
    _write_if_changed(work / "_ops.py", OPS_PY.format(ops_name=ops_name))
    files["_ops.py"] = work / "_ops.py"
    metadata = _metadata(config, backend, root, ops_name)
    if _is_current(variant, files, metadata):
        return variant, False
    _assemble(variant, files, metadata)
    for old in work.glob(f"_{name}_{backend}_*.abi3.so"):
        if old != library:
            old.unlink()
    return variant, True


# --- names ---


def _unique_id(config, root, work):
    """kernel-builder's: first 7 digits of the git tree's id, "_dirty" if sources differ; random without git."""
    tree = _git(root, "rev-parse", "--short=7", "HEAD^{tree}")
    if tree:
        return tree[:7] + ("_dirty" if _is_dirty(config, root) else "")
    kept = work / "unique-id"                                       # a new one each time would rebuild each time
    if not kept.exists():
        alphabet = "abcdefghijklmnopqrstuvwxyz234567"
        kept.write_text("".join(secrets.choice(alphabet) for _ in range(13)))
    return kept.read_text()


def _is_dirty(config, root):
    """Whether tracked sources of the kernel differ from HEAD. kernel-builder looks at the whole tree; here a learner's
    saved notebook would then compile everything again."""
    sections = [config["torch"], *config["kernel"].values()]
    sources = [source for section in sections for source in section["src"]]
    return bool(_git(root, "status", "--porcelain", "--untracked-files=no", "--", "build.toml", "torch-ext", *sources))


def _git(root, *arguments):
    """Return git's answer, "" where there is no git, no repository or no commit."""
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _variant_name(config, backend):
    """kernel-builder's: torch-stable-abi<version>-<backend>-<cpu>-<os>, rocm with its version."""
    stable_abi = _stable_abi(config, backend).replace(".", "")
    cpu = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    name = {"cpu": "cpu", "emulated": "cpu", "rocm": f"rocm{_rocm_version()}"}[backend]
    return f"torch-stable-abi{stable_abi}-{name}-{cpu}-{platform.system().lower()}"


def _rocm_version():
    """As variant names have it: that of this machine's torch, "72" from 7.2.5; NEWEST_ROCM if it is built without."""
    torch = Path(importlib.util.find_spec("torch").origin).parent
    hip = runpy.run_path(torch / "version.py")["hip"] or NEWEST_ROCM
    return "".join(hip.split(".")[:2])


def _stable_abi(config, backend):
    version = config["torch"].get("stable-abi")
    return version[ninjafile.source_backend(backend)] if isinstance(version, dict) else version


# --- the variant directory ---


def _metadata(config, backend, root, ops_name):
    general = config["general"]
    metadata = {
        "name": general["name"],
        "id": ops_name,
        "version": general["version"],
        "license": general["license"],
        "kernels-minver": "0.17.0",
        "python-depends": general.get("python-depends", []),
        "kernel-depends": general.get("kernel-depends", []),
        "backend": _backend_metadata(config, backend),
        # No kernel-builder made this; its place says what did, and that this is no build to publish.
        "provenance": {"kernel-builder": {"version": f"fp8lab-{importlib.metadata.version('fp8lab')}"}},
    }
    metadata |= {key: general[key] for key in ("upstream", "source") if key in general}
    # A commit is named only where it identifies the sources. kernel-builder writes dirty = true instead, upon which
    # every load warns: right for what is published, not for someone who tries a change of the kernel in a lesson.
    commit = _git(root, "rev-parse", "HEAD")
    if commit and not _is_dirty(config, root):
        metadata["provenance"]["kernel"] = {"commit": commit, "dirty": False}
    return metadata


def _backend_metadata(config, backend):
    if backend != "rocm":
        return {"type": "cpu"}      # of "emulated" too: what the loader has to see is that the tensors are the CPU's
    archs = {arch for section in ninjafile.sections(config, backend)[1:] for arch in ninjafile.archs(section)}
    return {"type": "rocm", "archs": sorted(archs)}


def _is_current(variant, files, metadata):
    try:
        found = json.loads((variant / "metadata.json").read_text())
    except (OSError, ValueError):
        return False
    digest = found.pop("digest", {}).get("files", {})
    return (found == metadata and digest.keys() == files.keys()
            and all((variant / name).exists() and filecmp.cmp(variant / name, path, shallow=False)
                    for name, path in files.items()))


def _assemble(variant, files, metadata):
    """Write the directory beside its place, then put it there in one step: a reader sees the old or the new one."""
    from kernels._rust import Digest, DigestAlgorithm  # takes a second, so only where something changed

    fresh = variant.with_name(f".{variant.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    for name, path in files.items():
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, fresh / name)
    digest = Digest.hash_variant(DigestAlgorithm.SHA256, fresh)
    metadata = metadata | {"digest": {"algorithm": "sha256", "files": dict(sorted(digest.files.items()))}}
    (fresh / "metadata.json").write_text(json.dumps(metadata, indent=2) + "\n")
    _exchange(fresh, variant)
    shutil.rmtree(fresh, ignore_errors=True)


def _exchange(fresh, place):
    if not place.exists():
        fresh.rename(place)
        return
    AT_FDCWD, RENAME_EXCHANGE = -100, 2
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 and renameat2(AT_FDCWD, os.fsencode(fresh), AT_FDCWD, os.fsencode(place), RENAME_EXCHANGE) == 0:
        return
    old = fresh.with_name(fresh.name + ".old")      # a file system without exchange: the place is empty for a moment
    place.rename(old)
    fresh.rename(place)
    shutil.rmtree(old)


def _write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


@contextlib.contextmanager
def _lock(path):
    """One build at a time; a second one waits, and then finds everything up to date."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
