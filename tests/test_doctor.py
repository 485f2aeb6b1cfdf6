"""The doctor's findings: each trap is found where it is set, and each comes with what to do."""

import subprocess
import sys

import pytest

from fp8lab import doctor


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
