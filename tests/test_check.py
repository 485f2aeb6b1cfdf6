"""`fp8lab check`: a good repository passes, and each thing broken in it is found and named with its remedy."""

import json
import shutil
import subprocess
import tomllib

import kernel_repository
import pytest

from fp8lab import check, localbuild

needs_nix = pytest.mark.skipif(not shutil.which("nix"), reason="Nix is not installed (Debian: nix-bin)")


@pytest.fixture
def root(tmp_path):
    return kernel_repository.make(tmp_path / "tiny", variants=["torch-cpu", "torch-rocm"])


@pytest.fixture
def without_nix(monkeypatch):
    monkeypatch.setattr(check.shutil, "which", lambda name: None)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def only(findings):
    [finding] = findings
    return str(finding)


def test_a_good_repository_has_no_findings(root):
    assert list(check.source(root)) == list(check.built(root)) == list(check.portability(root)) == []


def test_this_repository_has_no_findings():
    assert [str(finding) for finding in check.source(kernel_repository.ROOT)] == []


@pytest.mark.parametrize(("name", "old", "new", "problem", "remedy"), [
    ("build.toml", "edition = 5", "edition = 6", "unsupported build edition 6", "correct"),
    ("build.toml", "edition = 5", "edition = 5\nuniversal = false", "universal", "correct"),
    ("build.toml", 'name = "tiny"', 'name = "tiny_gemm"', "tiny_gemm", "correct"),
    ("build.toml", "gfx942", "gfx941", "gfx941", "gfx942"),
    ("build.toml", "tiny/tiny.cpp", "tiny/gone.cpp", "tiny/gone.cpp", "src"),
    ("build.toml", 'backends = ["cpu", "rocm"]', 'backends = ["cpu"]', "rocm", "backends"),
    ("build.toml", "myorg/tiny", "tiny", "repo-id", "organisation/name"),
    ("CARD.md", "{{ version }}", "{{ author }}", "author", "repo_id"),
    ("CARD.md", "{% endfor %}", "", "CARD.md", "use some of"),
    ("torch-ext/tiny/__init__.py", '["answer"]', 'list("answer")', "__all__", "write the list out"),
    ("torch-ext/tiny/__init__.py", "__all__", 'import torch\ntorch.library.register_fake("tiny::x")\n__all__',
     "register_fake('tiny::x')", "add_op_namespace_prefix('x')"),
    ("flake.lock", '"root": "root"', '"root": "trunk"', "flake.lock is no lock file", "nix flake lock"),
    ("flake.lock", '"version": 7\n}', '"version": 7', "flake.lock is no lock file", "nix flake lock"),
    (".gitignore", "/build/", "", "build", ".gitignore"),
    (".gitattributes", "*.so", "*.bin", "*.so", "filter=lfs"),
])
def test_one_thing_broken_is_one_finding(root, without_nix, name, old, new, problem, remedy):
    edit(root / name, old, new)
    found = [*check.source(root), *check.built(root)]
    finding = only(found)
    assert problem in finding and remedy in finding


def test_python_that_cannot_be_parsed_is_found(root, without_nix):
    (root / "torch-ext/tiny/broken.py").write_text("x = 1\ndef broken(:\n")
    assert "torch-ext/tiny/broken.py:2" in only(check.source(root))


@pytest.mark.parametrize(("old", "new", "problem"), [
    ("genKernelFlakeOutputs", "genFlakeOutputs", "genFlakeOutputs, which throws"),
    ("inherit self;", "inherit self; rev = self.rev;", "rev, which throws"),
    ("github:huggingface/kernels", "github:huggingface/kernel-builder", "frozen since January 2026"),
    ("github:huggingface/kernels", "github:someone/kernels", "flake.lock does not hold kernel-builder"),
])
def test_an_outdated_flake_is_found_without_nix(root, without_nix, old, new, problem):
    edit(root / "flake.nix", old, new)
    assert any(problem in str(finding) for finding in check.source(root))


@needs_nix
@pytest.mark.parametrize(("old", "new", "problem"), [
    ("path = ./.;", "path = ./.", "cannot parse"),
    ("kernel-builder.lib.genKernelFlakeOutputs", "kernel-builder.lib.makeFlake", "cannot evaluate"),
    ("inherit self;", "", "genKernelFlakeOutputs"),
])
def test_a_broken_flake_is_found_by_nix(root, old, new, problem):
    edit(root / "flake.nix", old, new)
    assert problem in only(check.source(root))


@needs_nix
def test_a_lock_file_that_nix_would_change_is_found(root):
    lock = json.loads((root / "flake.lock").read_text())
    del lock["nodes"]["kernel-builder"]["inputs"]["nixpkgs"]
    (root / "flake.lock").write_text(json.dumps(lock))
    assert "flake.lock" in only(check.source(root))


@pytest.mark.parametrize("name", ["build.toml", "flake.nix", "flake.lock", "CARD.md", ".gitattributes"])
def test_a_missing_file_is_found(root, without_nix, name):
    (root / name).unlink()
    assert any(f"{name} does not exist" in str(finding) for finding in check.source(root))


def test_a_repository_that_is_not_in_git_is_found(root):
    shutil.rmtree(root / ".git")
    assert "git init" in only(check.source(root))


def test_a_file_outside_git_is_found(root):
    subprocess.run(["git", "rm", "-q", "--cached", "flake.lock"], cwd=root, check=True)
    assert "flake.lock is not in git" in only(check.source(root))


def test_a_file_changed_after_the_build_is_found_by_its_digest(root):
    edit(root / "build/torch-cpu/__init__.py", "42", "43")
    assert "build/torch-cpu is not what was built" in only(check.built(root))


def test_two_variants_of_one_id_are_found(root):
    for variant in ("torch-cpu", "torch213-cxx11-cpu-x86_64-linux"):
        kernel_repository.write_variant(root / "build" / variant, uid="same")
    assert "_tiny_cpu_same" in only(check.built(root))


def test_an_old_versions_build_is_found(root):
    edit(root / "build.toml", "version = 1", "version = 2")
    assert all("is tiny version 1, build.toml says tiny version 2" in str(finding) for finding in check.built(root))
    assert len(list(check.built(root))) == 2


@pytest.mark.parametrize("name", ["__pycache__", "notes.txt~", ".DS_Store", "op.o", "x.pyc"])
def test_a_leftover_is_found(root, name):
    (root / "build/torch-cpu" / name).write_text("")
    assert any("must not be published" in str(finding) for finding in check.built(root))


def test_a_variant_without_metadata_is_found(root):
    (root / "build/torch-rocm/metadata.json").unlink()
    assert "no readable metadata" in only(check.built(root))


def test_an_extension_that_needs_this_machines_libraries_is_found(root):
    from markupsafe import _speedups  # an extension for one Python version

    shutil.copy(_speedups.__file__, root / "build/torch-cpu/op.abi3.so")
    assert any("stable ABI" in str(finding) for finding in check.portability(root))


def test_the_published_variants_follow_backends_and_stable_abi(root):
    assert check.published(root) == [
        "torch212-cxx11-cpu-x86_64-linux", "torch212-cxx11-cpu-aarch64-linux",
        "torch213-cxx11-cpu-x86_64-linux", "torch213-cxx11-cpu-aarch64-linux",
        "torch212-cxx11-rocm71-x86_64-linux", "torch212-cxx11-rocm72-x86_64-linux",
        "torch213-cxx11-rocm71-x86_64-linux", "torch213-cxx11-rocm72-x86_64-linux"]
    edit(root / "build.toml", "[torch]", '[torch]\nstable-abi = "2.10"')
    assert check.published(root) == [
        "torch-stable-abi210-cpu-x86_64-linux", "torch-stable-abi210-cpu-aarch64-linux",
        "torch-stable-abi210-rocm71-x86_64-linux", "torch-stable-abi210-rocm72-x86_64-linux"]


def test_this_repository_would_publish_one_variant_a_system_and_rocm_version():
    assert check.published(kernel_repository.ROOT) == [
        "torch-stable-abi210-cpu-x86_64-linux", "torch-stable-abi210-cpu-aarch64-linux",
        "torch-stable-abi210-rocm71-x86_64-linux", "torch-stable-abi210-rocm72-x86_64-linux"]


def test_a_local_rocm_build_has_the_name_of_one_that_is_published(monkeypatch):
    config = tomllib.loads((kernel_repository.ROOT / "build.toml").read_text())
    monkeypatch.setattr(localbuild.platform, "machine", lambda: "x86_64")
    assert localbuild._variant_name(config, "rocm") in check.published(kernel_repository.ROOT)


def test_the_command_prints_findings_and_what_this_torch_picks(root, capsys):
    from fp8lab.cli import main

    assert main(["check", str(root)]) == 0
    assert "0 findings" in capsys.readouterr().out
    edit(root / "build.toml", "gfx942", "gfx941")
    assert main(["check", str(root)]) == 1
    said = capsys.readouterr().out
    assert "gfx941" in said and "torch213-cxx11-cpu-x86_64-linux compatible, preferred" in said
