"""build.toml: kernel-builder's own parser accepts ours, and check() finds what that parser lets through."""

import tomllib

import pytest
from kernels._rust import Backend, Build

from fp8lab.buildtoml import check
from fp8lab.localbuild import ROOT

GOOD = """
[general]
name = "gemm"
version = 1
edition = 5
license = "apache-2.0"
backends = ["cpu", "rocm"]
[torch]
src = ["binding.cpp"]
[kernel.gemm_cpu]
backend = "cpu"
depends = ["torch"]
src = ["cpu.cpp", "cpu.h"]
[kernel.gemm_rocm]
backend = "rocm"
depends = ["torch"]
rocm-archs = ["gfx942"]
src = ["gemm.hip", "tile.h"]
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "binding.cpp").write_text('#include <torch/csrc/stable/library.h>\n#include "registration.h"\n')
    (tmp_path / "cpu.cpp").write_text('#include "cpu.h"\n')
    (tmp_path / "gemm.hip").write_text('#  include "tile.h"\n')
    (tmp_path / "cpu.h").touch(), (tmp_path / "tile.h").touch()
    write(tmp_path, GOOD)
    return tmp_path


def write(project, text):
    (project / "build.toml").write_text(text)
    Build.open(project)         # whatever check() finds, kernel-builder's parser does not


def problems(project):
    return [finding.problem for finding in check(project)]


@pytest.mark.kernels_ci
def test_ours_is_what_kernel_builder_reads():
    assert Build.open(ROOT).general.backends == [Backend.CPU, Backend.ROCm]
    assert check(ROOT) == []


def test_every_source_of_the_gpu_kernel_is_listed():
    """What Nix does not copy is missing there and only there; a header that a macro includes check() cannot see."""
    section = tomllib.loads((ROOT / "build.toml").read_text())["kernel"]["gemm_rocm"]
    assert set(section["src"]) == {f"gemm/{path.name}" for path in (ROOT / "gemm").iterdir() if path.is_file()}
    assert section["rocm-archs"] == ["gfx942"]


def test_a_good_file_has_no_findings(project):
    assert check(project) == []


def test_a_listed_file_that_does_not_exist_is_found(project):
    (project / "cpu.cpp").unlink()
    assert problems(project) == ["[kernel.gemm_cpu] lists cpu.cpp, which does not exist"]


def test_an_architecture_that_kernel_builder_would_drop_is_found(project):
    write(project, GOOD.replace('"gfx942"', '"gfx942", "gfx941"'))
    finding, = check(project)
    assert "lists gfx941 in rocm-archs" in finding.problem and "gfx942" in finding.remedy


@pytest.mark.parametrize(("backends", "problem"), [
    ('["cpu"]', "a [kernel.*] section has backend = 'rocm', which general.backends lacks"),
    ('["cpu", "rocm", "xpu"]', "general.backends has 'xpu', but no [kernel.*] section has backend = 'xpu'"),
])
def test_backends_that_disagree_with_the_sections_are_found(project, backends, problem):
    write(project, GOOD.replace('["cpu", "rocm"]', backends))
    assert problems(project) == [problem]


def test_an_included_header_that_is_not_listed_is_found(project):
    write(project, GOOD.replace(', "tile.h"', ""))
    finding, = check(project)
    assert finding.problem == "gemm.hip includes tile.h, which no src lists"
    assert str(finding).endswith('; add "tile.h" to the src of the section that needs it')


def test_a_header_included_by_a_listed_header_is_found_too(project):
    (project / "tile.h").write_text('#include "lds.h"\n')
    (project / "lds.h").touch()
    assert problems(project) == ["tile.h includes lds.h, which no src lists"]


def test_every_finding_is_reported_at_once(project):
    (project / "cpu.cpp").unlink()
    write(project, GOOD.replace('"gfx942"', '"gfx90"').replace(', "tile.h"', ""))
    assert len(check(project)) == 3
