"""`fp8lab build`: names, incremental work, replacement, messages. Most tests build a kernel of ten lines."""

import ctypes
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from kernels._rust import Digest, DigestAlgorithm, Metadata

from fp8lab import cli, localbuild

BUILD_TOML = """
[general]
name = "tiny-op"
version = 3
edition = 5
license = "apache-2.0"
backends = ["cpu"]
[torch]
stable-abi = "2.10"
src = ["torch-ext/torch_binding.cpp"]
[kernel.tiny]
backend = "cpu"
depends = ["torch"]
cxx-flags = ["-DANSWER=42"]
src = ["tiny/tiny.cpp", "tiny/tiny.h"]
"""
BINDING = """
#include "registration.h"
#define STRING_(A) #A
#define STRING(A) STRING_(A)
int number();
extern "C" __attribute__((visibility("default"))) int answer() { return number(); }
extern "C" __attribute__((visibility("default"))) const char* ops_name() { return STRING(TORCH_EXTENSION_NAME); }
REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
"""
FILES = {
    "build.toml": BUILD_TOML,
    "torch-ext/torch_binding.cpp": BINDING,
    "torch-ext/tiny_op/__init__.py": "from ._ops import ops\nfrom .sub import more\n__all__ = ['ops']\n",
    "torch-ext/tiny_op/sub/more.py": "",
    "tiny/tiny.h": "#define PLUS 0\n",
    "tiny/tiny.cpp": '#include "tiny.h"\nint number() { return ANSWER + PLUS; }\n',
}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def repository(project):
    """The same under git, everything committed."""
    (project / ".gitignore").write_text("build/\nbuild-ext/\n")
    git(project, "init", "--quiet")
    commit(project)
    return project


def git(project, *arguments):
    done = subprocess.run(["git", "-C", project, "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(project):
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--message", "state")


def build(project):
    return localbuild.build(root=project)


def ops_name(variant):
    return json.loads((variant / "metadata.json").read_text())["id"]


def objects(project):
    return {path.name: path.stat().st_mtime_ns for path in (project / "build-ext").rglob("*.o")}


def answer(project):
    """What the library that lies in build/ computes."""
    library, = (project / "build").glob("*/*.so")
    return ctypes.CDLL(library).answer()


# --- what is built ---


def test_the_variant_has_the_names_and_files_of_kernel_builder(repository):
    variant = build(repository)
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    assert variant.parent == repository / "build"
    assert re.fullmatch(r"torch-stable-abi210-cpu-(x86_64|aarch64)-linux", variant.name)
    name = f"_tiny_op_cpu_{tree[:7]}"
    files = {path.relative_to(variant).as_posix() for path in variant.rglob("*") if path.is_file()}
    assert files == {"__init__.py", "_ops.py", "sub/more.py", f"{name}.abi3.so", "metadata.json"}
    assert answer(repository) == 42


def test_metadata_says_what_was_built_from_what(repository):
    metadata = Metadata.read_from_file(build(repository) / "metadata.json")
    assert (str(metadata.name), metadata.version, metadata.license) == ("tiny-op", 3, "apache-2.0")
    assert str(metadata.backend.backend_type) == "cpu"
    assert metadata.provenance.kernel.commit == git(repository, "rev-parse", "HEAD")
    assert not metadata.provenance.kernel.dirty


def test_the_digest_is_that_of_the_files(project):
    variant = build(project)
    found = Digest.hash_variant(DigestAlgorithm.SHA256, variant)
    Metadata.read_from_file(variant / "metadata.json").digest.validate(found)


def test_uncommitted_changes_make_the_name_dirty_and_name_no_commit(repository):
    (repository / "tiny/tiny.h").write_text("#define PLUS 1\n")
    variant = build(repository)
    assert ops_name(variant).endswith("_dirty")
    assert Metadata.read_from_file(variant / "metadata.json").provenance.kernel is None
    assert answer(repository) == 43


def test_without_git_the_name_is_random_and_stays(project):
    name = ops_name(build(project))
    assert re.fullmatch(r"_tiny_op_cpu_[a-z2-7]{13}", name)
    (project / "tiny/tiny.h").write_text("#define PLUS 2\n")
    assert ops_name(build(project)) == name


def test_the_kernel_itself_loads_in_a_fresh_process(gemm):
    build_directory = str(localbuild.ROOT / "build")
    code = ("import pathlib, kernels, torch\n"
            f"kernel = kernels.get_local_kernel(pathlib.Path({build_directory!r}), backend='cpu')\n"
            "print(kernel.__name__, kernel.quantize_weight(torch.ones(1, 128))[1].item())")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == f"{gemm.__name__} {torch.tensor(1 / 240).item()}\n", done.stderr


# --- only what is stale ---


def test_a_second_build_changes_nothing(project):
    variant = build(project)
    before, inode = objects(project), variant.stat().st_ino
    assert build(project) == variant
    assert objects(project) == before and variant.stat().st_ino == inode


def test_a_second_build_imports_neither_torch_nor_kernels(project):
    build(project)
    code = (f"import sys; from fp8lab import localbuild; localbuild.build(root={str(project)!r})\n"
            "print(sorted({'torch', 'kernels', 'numpy'} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_changed_header_recompiles_what_includes_it(project):
    build(project)
    before = objects(project)
    (project / "tiny/tiny.h").write_text("#define PLUS 3\n")
    build(project)
    after = objects(project)
    assert {name for name in after if after[name] != before[name]} == {"tiny.cpp.o"}
    assert answer(project) == 45


def test_changed_flags_recompile(project):
    build(project)
    (project / "build.toml").write_text(BUILD_TOML.replace("=42", "=7"))
    build(project)
    assert answer(project) == 7


def test_changed_python_compiles_nothing(project):
    variant = build(project)
    before = objects(project)
    (project / "torch-ext/tiny_op/__init__.py").write_text("new = 1\n")
    (project / "torch-ext/tiny_op/sub/more.py").unlink()
    build(project)
    assert objects(project) == before
    assert (variant / "__init__.py").read_text() == "new = 1\n" and not (variant / "sub").exists()


def test_a_new_commit_replaces_the_old_library(repository):
    first = ops_name(build(repository))
    before = objects(repository)["tiny.cpp.o"]
    (repository / "README").write_text("more\n")
    commit(repository)
    variant = build(repository)
    assert ops_name(variant) != first
    assert [path.name for path in variant.glob("*.so")] == [f"{ops_name(variant)}.abi3.so"]
    assert objects(repository)["tiny.cpp.o"] == before                  # only the binding knows the name
    assert not list((repository / "build-ext").rglob(f"{first}*"))


def test_a_reader_sees_the_old_or_the_new_variant_never_half_of_one(project):
    variant = build(project)
    stop, wrong, seen = threading.Event(), [], set()

    def read():
        while not stop.is_set():
            directory = os.open(variant, os.O_RDONLY)      # follows this one directory, whatever takes its name
            try:
                names, inode = set(os.listdir(directory)), os.stat(directory).st_ino
                is_current = os.stat(variant).st_ino == inode       # no longer so: the old one, being removed
                if is_current and not {"__init__.py", "_ops.py", "metadata.json"} <= names:
                    wrong.append(names)
                seen.add(inode)
            except FileNotFoundError:
                pass
            finally:
                os.close(directory)

    files = {name: variant / name for name in ("__init__.py", "_ops.py")}
    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(50):
        localbuild._assemble(variant, {name: _copied(path, project) for name, path in files.items()}, {"name": "x"})
    stop.set()
    reader.join()
    assert not wrong and len(seen) > 1
    assert [path.name for path in variant.parent.iterdir()] == [variant.name]


def _copied(path, project):
    copy = project / path.name
    copy.write_bytes(path.read_bytes())
    return copy


def test_two_builds_at_once_give_one_right_result(project):
    code = f"from fp8lab import localbuild; print(localbuild.build(root={str(project)!r}))"
    builds = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = {process.communicate()[0].strip() for process in builds}
    assert [process.returncode for process in builds] == [0, 0] and len(answers) == 1
    assert answer(project) == 42


# --- what goes wrong ---


def test_a_compiler_error_is_shown_as_the_compiler_says_it_and_leaves_the_old_variant(project):
    build(project)
    (project / "tiny/tiny.cpp").write_text("int number() { return 1 }\n")
    with pytest.raises(localbuild.BuildError, match=r"tiny\.cpp:1:\d+: error: "):
        build(project)
    assert answer(project) == 42


def test_a_missing_compiler_names_the_package(project, monkeypatch):
    monkeypatch.setenv("PATH", str(project))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(localbuild.BuildError, match=r"no C\+\+ compiler: .* not found; .*`apt install g\+\+`"):
        build(project)


def test_a_wrong_cxx_is_named(project, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(localbuild.BuildError, match="CXX is no-such-compiler not found"):
        build(project)


def test_findings_in_build_toml_stop_the_build(project):
    (project / "tiny/tiny.cpp").unlink()
    with pytest.raises(localbuild.BuildError, match=r"\[kernel.tiny\] lists tiny/tiny.cpp, which does not exist; "):
        build(project)


def test_an_unknown_backend_names_those_there_are(project):
    with pytest.raises(localbuild.BuildError, match=r"backend is 'cuda'; use one of \['cpu'\]"):
        localbuild.build("cuda", root=project)


def test_the_command_prints_where_it_is_and_whether_it_had_to_work(project, monkeypatch, capsys):
    monkeypatch.setattr(localbuild, "ROOT", project)
    monkeypatch.chdir(project)
    assert cli.main(["build"]) == 0
    assert re.match(r"build/torch-stable-abi210-cpu-\w+-linux built in \d+\.\d s\n", capsys.readouterr().out)
    assert cli.main(["build", "--backend", "cpu"]) == 0
    assert capsys.readouterr().out.endswith(" is up to date\n")
    Path("tiny/tiny.cpp").write_text("nonsense\n")
    assert cli.main(["build"]) == 1
    assert "error: " in capsys.readouterr().err
