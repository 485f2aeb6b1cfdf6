"""What this machine can do for the course, and what to do about the rest: `fp8lab doctor`, and a cell of lesson 00.

Each check is one small function that returns a Finding. None of them needs torch to be importable, as a broken torch
is one of the things to find out.
"""

import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fp8lab import ninjafile, toolchain
from fp8lab.environment import MARKER, ROOT

TESTED_TORCH = (2, 13, 0)
GFX942 = "gfx942"           # MI300A, MI300X and MI325X: the GPUs whose FP8 is e4m3fnuz
# huggingface_hub drops the user agent's last field under these, and httpx refuses the header that is left:
# "Illegal header value b'kernels/0.17.2; …; '". Seen with kernels 0.17.2 and huggingface_hub 2.4.0.
TELEMETRY_SWITCHES = ("HF_HUB_DISABLE_TELEMETRY", "DISABLE_TELEMETRY", "DO_NOT_TRACK")
ON = {"1", "ON", "YES", "TRUE"}


@dataclass(frozen=True)
class Finding:
    """One line of the report: what was looked at, what was found, and what to do where that is not enough."""

    subject: str
    found: str
    remedy: str = ""
    needed: bool = False        # the course cannot run without it; otherwise it only adds something

    @property
    def mark(self):
        return "ok" if not self.remedy else "FIX" if self.needed else "opt"


class Report(list):
    """The findings; printing it gives plain text that can be pasted into an issue as it stands."""

    @property
    def can_run(self):
        return not any(finding.needed and finding.remedy for finding in self)

    def __str__(self):
        width = max(len(finding.subject) for finding in self)
        lines = []
        for finding in self:
            lines.append(f"{finding.mark:>3}  {finding.subject:<{width}}  {finding.found}")
            if finding.remedy:
                lines.append(f"{'':3}  {'':<{width}}  → {finding.remedy}")
        lines.append("everything the course needs is here" if self.can_run else "what is marked FIX is needed first")
        return "\n".join(lines)

    __repr__ = __str__


def examine():
    """Look at everything once. Returns a Report; takes about as long as importing torch."""
    return Report(check() for check in CHECKS)


def python():
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    too_old = sys.version_info < (3, 11)
    return Finding("Python", found, "make lab PYTHON=python3.11, or newer" if too_old else "", needed=True)


def import_torch():
    """(torch, None), or (None, the error): an import can fail in any way, such as a library or half a wheel missing."""
    try:
        import torch

        return torch, None
    except Exception as error:
        return None, error


def torch_build():
    torch, error = import_torch()
    if error:
        return Finding("torch", f"not importable ({error})", f"{set_up_again()} installs the tested one", needed=True)
    backends = {"ROCm": torch.version.hip, "CUDA": torch.version.cuda}
    kind = next((f"{name} {number}" for name, number in backends.items() if number), "CPU")
    capability = torch.backends.cpu.get_cpu_capability()
    found = f"{torch.__version__} ({kind}), {torch.get_num_threads()} threads, {capability}"
    too_old = tuple(map(int, torch.__version__.split(".")[:2])) < TESTED_TORCH[:2]
    tested = ".".join(map(str, TESTED_TORCH))
    return Finding("torch", found, f"install {tested}, the tested one, or newer" if too_old else "", needed=True)


def gpu():
    """The GPU that torch sees. No GPU is fine: every cell runs without one."""
    torch, error = import_torch()
    if error:
        return Finding("GPU", "unknown without torch")
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        arch = getattr(properties, "gcnArchName", "").split(":")[0]
        found = f"{properties.name} {arch}".strip()
        if arch == GFX942:
            return Finding("GPU", f"{found}: runs the published kernel")
        return Finding("GPU", found, f"the HIP kernel is for {GFX942}; here the CPU variant and the emulator run")
    if Path("/dev/kfd").exists() and not torch.version.hip:
        return Finding("GPU", "an AMD GPU, but this torch is not a ROCm build",
                       "make lab VENV=<your environment with a ROCm torch>; it is never replaced")
    if Path("/dev/kfd").exists() and not os.access("/dev/kfd", os.R_OK | os.W_OK):
        return Finding("GPU", "an AMD GPU that this user may not open",
                       "sudo usermod -aG render,video $USER, then log in again")
    return Finding("GPU", "none; nothing in the course needs one")


def cxx_compiler():
    """The one that the build takes."""
    try:
        return Finding("C++ compiler", first_line(*ninjafile.compiler(), "--version"))
    except ninjafile.BuildError as error:
        return Finding("C++ compiler", "none", str(error), needed=True)


def gfx942_compiler():
    try:
        clang = toolchain.find_clang()
    except toolchain.ClangNotFound:
        return Finding("gfx942 compiler", "none", "pip install ziglang: a clang that makes MI300X code, no GPU needed")
    return Finding("gfx942 compiler", f"clang {clang.version}, {clang.name}")


def kernels_library():
    found = installed("kernels")
    hub = installed("huggingface_hub")
    if not (found and hub):
        return Finding("kernels", "not installed", f"{set_up_again()} installs it", needed=True)
    return Finding("kernels", f"{found}, huggingface_hub {hub}")


def telemetry_trap():
    on = [name for name in TELEMETRY_SWITCHES if os.environ.get(name, "").upper() in ON]
    if on:
        return Finding("telemetry switch", f"{on[0]}={os.environ[on[0]]}",
                       f"unset {' '.join(on)}: with it every get_kernel() from a Hub fails with “Illegal header value”")
    return Finding("telemetry switch", "not set")


def built_kernel():
    variants = sorted(path.parent.name for path in ROOT.glob("build/*/metadata.json"))
    if not any("-cpu-" in variant for variant in variants):     # the lessons load it wherever there is no MI300X
        return Finding("gemm, built here", f"for the CPU no; {', '.join(variants) or 'nothing else'}", "make build",
                       needed=True)
    emulated = " (and for the emulator)" if list(ROOT.glob("build-emulated/*/metadata.json")) else ""
    return Finding("gemm, built here", ", ".join(variants) + emulated)


def notebook_front_end():
    lab, widgets, manager = installed("jupyterlab"), installed("ipywidgets"), installed("jupyterlab_widgets")
    if not (lab and widgets and manager):
        return Finding("notebook", "JupyterLab or ipywidgets is missing", f"{set_up_again()} installs both",
                       needed=True)
    signs = {"VS Code": "VSCODE_PID", "Colab": "COLAB_RELEASE_TAG", "Binder": "BINDER_SERVICE_HOST"}
    where = next((name for name, variable in signs.items() if variable in os.environ), "JupyterLab or a terminal")
    found = f"{where}; jupyterlab {lab}, ipywidgets {widgets}, jupyterlab_widgets {manager}"
    # jupyterlab_widgets 3 is the browser's half of ipywidgets 8; with another one, controls say "model not found".
    fits = widgets.startswith("8.") and manager.startswith("3.")
    remedy = "" if fits else "pip install 'ipywidgets>=8,<9' 'jupyterlab_widgets>=3,<4'"
    return Finding("notebook", found, remedy, needed=True)


def slow_import():
    """What pip adds to an environment of one's own, and requirements.lock leaves out: see the Makefile."""
    if installed("rfc3987-syntax"):
        return Finding("JupyterLab's start", "3 s longer, as rfc3987-syntax is installed",
                       "pip uninstall rfc3987-syntax: JSON Schema's check of international addresses is all it is for")
    return Finding("JupyterLab's start", "nothing slows it")


def chromium():
    path = find_chromium()
    return Finding("Chromium", path or "none", "" if path else "apt install chromium: only the browser tests use it")


def find_chromium():
    """Path of a Chromium or Chrome that is installed already, or None; nothing is ever downloaded."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def nix():
    if shutil.which("nix"):
        return Finding("Nix", first_line("nix", "--version"))
    return Finding("Nix", "none", "only lesson 07's last section uses it; nixos.org/download")


def set_up_again():
    """The command that puts back what an environment lacks; `make lab` alone takes one with a MARKER for complete."""
    marker = Path(sys.prefix, MARKER)
    if not marker.exists():
        return "make lab"
    made_by_us = marker.read_text().startswith("made")
    remove = f"rm -r {shlex.quote(sys.prefix)}" if made_by_us else f"rm {shlex.quote(str(marker))}"
    which = "" if Path(sys.prefix) == ROOT / ".venv" else f" VENV={shlex.quote(sys.prefix)}"
    return f"{remove} && make lab{which}"


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def first_line(*command):
    out = subprocess.run(command, capture_output=True, text=True).stdout
    return out.splitlines()[0] if out else command[0]


CHECKS = (python, torch_build, gpu, cxx_compiler, gfx942_compiler, kernels_library, telemetry_trap, built_kernel,
          notebook_front_end, slow_import, chromium, nix)


def configure(parser):
    pass


def run(args):
    report = examine()
    print(report)
    return 0 if report.can_run else 1
