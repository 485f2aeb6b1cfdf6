"""`fp8lab build`: names, incremental work, replacement, messages. Most tests build a kernel of ten lines."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from kernels._rust import Digest, DigestAlgorithm, Metadata

from fp8lab import cli, localbuild, ninjafile

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
    """In a folder with what Make, Ninja and the shell take for something else."""
    root = tmp_path / "my $HOME #1"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


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


# --- backends with a .hip source ---


@pytest.fixture
def hip_project(project):
    """The same op for rocm: answer() is what a kernel writes, and 42 more."""
    (project / "build.toml").write_text(BUILD_TOML.replace('["cpu"]', '["cpu", "rocm"]') + HIP_SECTION)
    (project / "tiny/tiny.hip").write_text(HIP)
    return project


HIP_SECTION = """
[kernel.tiny_rocm]
backend = "rocm"
rocm-archs = ["gfx942", "gfx90a"]
depends = ["torch"]
hip-flags = ["-O2", "-DANSWER=42"]
src = ["tiny/tiny.hip", "tiny/tiny.h"]
"""
HIP = """
#include <hip/hip_runtime.h>
#include "tiny.h"
__global__ void fill(int* out) { *out = PLUS; }
int number() {
    int *device, host = -1;
    if (hipMalloc(reinterpret_cast<void**>(&device), sizeof host)) return -2;
    fill<<<1, 1>>>(device);
    if (hipMemcpy(&host, device, sizeof host, hipMemcpyDeviceToHost) || hipFree(device)) return -3;
    return host + ANSWER;
}
"""


def needed(library):
    """The libraries that a shared object names."""
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.check_output(["readelf", "-d", library], text=True)))


def undefined(library):
    lines = subprocess.check_output(["nm", "-D", "--undefined-only", library], text=True).splitlines()
    return {line.split()[-1].partition("@")[0] for line in lines if line.split()[-2] == "U"}


def test_emulated_runs_the_rocm_sources_in_a_folder_of_its_own(hip_project):
    variant = localbuild.build("emulated", hip_project)
    assert variant.parent == hip_project / "build-emulated"
    assert re.fullmatch(r"torch-stable-abi210-cpu-(x86_64|aarch64)-linux", variant.name)    # loads on a CPU torch
    metadata = Metadata.read_from_file(variant / "metadata.json")
    assert str(metadata.backend.backend_type) == "cpu" and metadata.id.startswith("_tiny_op_emulated_")
    library, = variant.glob("*.so")
    assert "libamdhip64.so" in needed(library)
    assert ctypes.CDLL(library).answer() == 42
    assert not (hip_project / "build").exists()


def test_a_changed_header_recompiles_the_device_code(hip_project):
    localbuild.build("emulated", hip_project)
    (hip_project / "tiny/tiny.h").write_text("#define PLUS 8\n")
    library, = localbuild.build("emulated", hip_project).glob("*.so")
    code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).answer())"      # a fresh process: the path is the same
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "50\n"


def test_rocm_has_the_names_of_kernel_builder_and_code_for_each_arch(hip_project):
    variant = localbuild.build("rocm", hip_project)
    assert variant.parent == hip_project / "build"
    assert re.fullmatch(r"torch-stable-abi210-rocm7\d+-(x86_64|aarch64)-linux", variant.name)
    metadata = Metadata.read_from_file(variant / "metadata.json")
    assert str(metadata.backend.backend_type) == "rocm" and metadata.id.startswith("_tiny_op_rocm_")
    assert json.loads((variant / "metadata.json").read_text())["backend"]["archs"] == ["gfx90a", "gfx942"]
    library, = variant.glob("*.so")
    assert {"libamdhip64.so.7", "libtorch.so"} <= needed(library)
    content = library.read_bytes()
    assert b"hipv4-amdgcn-amd-amdhsa--gfx942" in content and b"hipv4-amdgcn-amd-amdhsa--gfx90a" in content


def test_both_link_the_same_object_with_the_kernel(hip_project):
    localbuild.build("emulated", hip_project), localbuild.build("rocm", hip_project)
    made = [(hip_project / "build-ext" / backend / "tiny/tiny.hip.o").read_bytes() for backend in ("rocm", "emulated")]
    assert made[0] == made[1]


def test_an_error_in_a_hip_source_is_shown_as_clang_says_it(hip_project):
    (hip_project / "tiny/tiny.hip").write_text(HIP.replace("*out = PLUS;", "*out = PLUS"))
    with pytest.raises(localbuild.BuildError, match=r"tiny\.hip:4:\d+: error: expected ';'"):
        localbuild.build("emulated", hip_project)


def test_backends_are_those_of_build_toml_and_the_emulator(hip_project):
    with pytest.raises(localbuild.BuildError, match=r"use one of \['cpu', 'rocm', 'emulated'\]$"):
        localbuild.build("cuda", hip_project)


def test_a_build_that_takes_long_says_so(hip_project, monkeypatch, capsys):
    monkeypatch.setattr(localbuild, "ROOT", hip_project)
    assert cli.main(["build", "--backend", "emulated"]) == 0
    assert "compiling tiny/tiny.hip for the GPU" in capsys.readouterr().err
    assert cli.main(["build", "--backend", "emulated"]) == 0
    assert capsys.readouterr().err == ""


def test_on_a_terminal_a_bar_says_what_is_still_to_do():
    progress = ninjafile.Progress(["a.cpp", "b.hip"], None)
    assert progress.line(0) == "░" * 20 + " 0 of 2, 0 s: a.cpp, b.hip"
    progress.finished("a.cpp")
    assert progress.line(7.4) == "█" * 10 + "░" * 10 + " 1 of 2, 7 s: b.hip"


@pytest.fixture(scope="module")
def rocm_library(tmp_path_factory):
    """The gemm itself, built for rocm away from this repository's build/, which other tests publish."""
    root = tmp_path_factory.mktemp("rocm")
    for name in ("torch-ext", "gemm"):
        shutil.copytree(localbuild.ROOT / name, root / name)
    shutil.copy(localbuild.ROOT / "build.toml", root)
    library, = localbuild.build("rocm", root).glob("*.so")
    return library


def test_the_rocm_build_asks_for_nothing_but_torch_and_hip(rocm_library):
    torch_library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    exported = {line.split()[-1] for line in
                subprocess.check_output(["nm", "-D", "--defined-only", torch_library], text=True).splitlines()}
    wanted = {name for name in undefined(rocm_library) if re.match(r"_*hip|aoti_|torch_", name)}
    assert {name for name in wanted if "hip" not in name} - exported == {"aoti_torch_get_current_cuda_stream"}
    from fp8lab.gfx942 import hip

    offered = subprocess.check_output(["nm", "-D", "--defined-only", hip.build()], text=True)
    assert {name for name in wanted if "hip" in name} <= {line.split()[-1] for line in offered.splitlines()}


def test_the_rocm_build_loads_where_its_libraries_are(rocm_library, tmp_path):
    """In a CPU torch, with the emulator under the name of ROCm's library and a stand-in for libtorch_hip's stream."""
    from fp8lab.gfx942 import hip

    (tmp_path / "libamdhip64.so.7").symlink_to(hip.build())
    stream = tmp_path / "stream.so"
    subprocess.run([*ninjafile.compiler(), "-shared", "-fPIC", "-x", "c", "-", "-o", stream], check=True, text=True,
                   input="int aoti_torch_get_current_cuda_stream(int i, void** s) { return *s = 0, 0; }")
    name = rocm_library.name.removesuffix(".abi3.so")
    code = (f"import ctypes, torch; ctypes.CDLL({str(stream)!r}, ctypes.RTLD_GLOBAL)\n"
            f"torch.ops.load_library({str(rocm_library)!r}); ops = torch.ops.{name}\n"
            f"print(ops.backend(), ops.gemm.default._schema)\n"
            f"print(torch._C._dispatch_has_kernel_for_dispatch_key('{name}::gemm', 'CUDA'))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.stdout.splitlines() == [
        f"rocm {name}::gemm(Tensor a, Tensor b, Tensor a_scale, Tensor b_scale, Tensor(a!) out) -> ()", "True"], done


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


def test_what_ninja_itself_has_against_a_build_is_shown(project):
    build(project)
    work = project / "build-ext" / "cpu"
    with open(work / "build.ninja", "a") as file:
        file.write("build never: compile no-such-source.cpp\ndefault never\n")
    with pytest.raises(localbuild.BuildError, match=r"ninja: error: .*no-such-source.cpp.* missing"):
        ninjafile.run(work)


def test_a_place_that_cannot_be_written_to_is_named(project, monkeypatch, capsys):
    (project / "build-ext").touch()         # in the way of a folder: as for a read-only disk, the system says no
    monkeypatch.setattr(localbuild, "ROOT", project)
    assert cli.main(["build"]) == 1
    assert re.match(r".*build-ext/cpu: Not a directory; a build writes to build-ext/ and build/ of ",
                    capsys.readouterr().err)


def test_ctrl_c_is_answered_in_one_line(monkeypatch, capsys):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(localbuild, "_build", interrupted)
    assert cli.main(["build"]) == 130
    assert capsys.readouterr().err == "\nfp8lab build: stopped\n"


def test_findings_in_build_toml_stop_the_build(project):
    (project / "tiny/tiny.cpp").unlink()
    with pytest.raises(localbuild.BuildError, match=r"\[kernel.tiny\] lists tiny/tiny.cpp, which does not exist; "):
        build(project)


def test_an_unknown_backend_names_those_there_are(project):
    with pytest.raises(localbuild.BuildError, match=r"backend is 'cuda'; use one of \['cpu'\]$"):
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
