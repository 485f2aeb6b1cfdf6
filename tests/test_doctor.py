"""The doctor's findings: each trap is found where it is set, and each comes with what to do."""

import shutil
import subprocess
import sys

import pytest

from fp8lab import doctor, ninjafile


def test_report_is_text_that_can_be_pasted_and_names_every_subject():
    text = str(doctor.examine())
    for subject in ("Python", "torch", "GPU", "C++ compiler", "kernels", "telemetry switch", "notebook"):
        assert subject in text
    assert "<" not in text.replace("<kernel", "")


@pytest.mark.parametrize("variable", doctor.TELEMETRY_SWITCHES)
def test_telemetry_switch_is_found_and_its_error_named(monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    finding = doctor.telemetry_trap()
    assert variable in finding.remedy and "Illegal header value" in finding.remedy


def test_telemetry_switch_set_to_off_is_no_finding(monkeypatch):
    for variable in doctor.TELEMETRY_SWITCHES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("DO_NOT_TRACK", "0")
    assert not doctor.telemetry_trap().remedy


@pytest.mark.parametrize(("version", "mark"), [("1.1.0", "opt"), (None, "ok")])
def test_package_that_slows_jupyterlab_is_found(monkeypatch, version, mark):
    monkeypatch.setattr(doctor, "installed", {"rfc3987-syntax": version}.get)
    finding = doctor.slow_import()
    assert finding.mark == mark and ("pip uninstall rfc3987-syntax" in finding.remedy) == bool(version)


def test_missing_compiler_is_needed_and_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    finding = doctor.cxx_compiler()
    assert finding.mark == "FIX" and "g++" in finding.remedy


@pytest.mark.parametrize("command", ["/nonexistent/g++", "env {cxx}", " ", "{cxx}"])
def test_compiler_is_the_one_that_the_build_takes(monkeypatch, command):
    cxx = shutil.which("c++") or shutil.which("g++")
    monkeypatch.setenv("CXX", command.format(cxx=cxx))
    finding = doctor.cxx_compiler()
    if "nonexistent" in command:
        assert finding.mark == "FIX" and "CXX is /nonexistent/g++" in finding.remedy
        with pytest.raises(ninjafile.BuildError):
            ninjafile.compiler()
    else:
        assert finding.mark == "ok" and finding.found == doctor.first_line(*ninjafile.compiler(), "--version")


@pytest.mark.parametrize(("variant", "mark"), [
    ("torch-stable-abi210-cpu-x86_64-linux", "ok"), ("torch-stable-abi210-rocm72-x86_64-linux", "FIX"), (None, "FIX")])
def test_kernel_is_built_only_where_there_is_a_variant_for_the_cpu(monkeypatch, tmp_path, variant, mark):
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    if variant:
        (tmp_path / "build" / variant).mkdir(parents=True)
        (tmp_path / "build" / variant / "metadata.json").write_text("{}")
    finding = doctor.built_kernel()
    assert finding.mark == mark and (variant or "no") in finding.found


@pytest.mark.parametrize(("says", "remedy"), [
    ("made by fp8lab, lock 0", "rm -r '{prefix}' && make lab VENV='{prefix}'"),
    ("found by fp8lab, lock 0", "rm '{prefix}/.fp8lab-ready' && make lab VENV='{prefix}'"),
    (None, "make lab"),
])
def test_remedy_for_a_missing_package_makes_make_look_again(monkeypatch, tmp_path, says, remedy):
    prefix = tmp_path / "my env"
    prefix.mkdir()
    if says:
        (prefix / ".fp8lab-ready").write_text(says)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(doctor, "installed", {}.get)
    for finding in (doctor.kernels_library(), doctor.notebook_front_end()):
        assert finding.remedy.startswith(remedy.format(prefix=prefix) + " installs")


def test_torch_that_cannot_be_imported_is_a_finding_not_a_traceback(tmp_path):
    (tmp_path / "torch.py").write_text("raise OSError('libamdhip64.so.7: cannot open shared object file')")
    code = "from fp8lab import doctor; print(doctor.torch_build()); print(doctor.examine())"
    out = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)},
                         capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert "libamdhip64.so.7" in out.stdout and "FIX  torch" in out.stdout


@pytest.mark.parametrize(("hip", "arch", "says"), [
    ("7.2", "gfx942:sramecc+:xnack-", "runs the published kernel"),
    ("7.2", "gfx1100", "is for gfx942"),
    (None, "", "is for gfx942"),
])
def test_gpu_is_named_with_what_runs_on_it(monkeypatch, hip, arch, says):
    import torch

    properties = type("Properties", (), {"name": "A GPU", "gcnArchName": arch})
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    monkeypatch.setattr(torch.version, "hip", hip)
    finding = doctor.gpu()
    assert says in finding.found + finding.remedy


def test_command_exits_with_1_where_something_needed_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "CHECKS", [lambda: doctor.Finding("x", "no", "do this", needed=True)])
    assert doctor.run(None) == 1
    assert "do this" in capsys.readouterr().out
