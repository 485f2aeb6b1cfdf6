"""Which build variant the `kernels` library would load on a machine that you describe: its own rules, asked directly.

Names decide which variant is picked; then get_kernel holds the archs that its metadata lists against the GPU.
Source: kernels 0.17.2, variants.py, with the rules as a function of the machine's properties, and archs.py.
"""

import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace
from unittest import mock

from .check import SYSTEMS, TORCHES

STABLE_ABI = "torch-stable-abi210"
_PLATFORMS = [platform for platforms in SYSTEMS.values() for platform in platforms]

ARCHS = ("gfx942",)  # of this kernel's ROCm variants, as build.toml says

# What a kernel's repository may hold: title -> names of the folders under build/.
REPOSITORIES = {
    "one a torch version": [f"{torch}-{platform}" for torch in TORCHES for platform in _PLATFORMS],
    "stable ABI": [f"{STABLE_ABI}-{platform}" for platform in _PLATFORMS],
    "Python only": ["torch-cpu", "torch-rocm"],
    "a mixture": [f"{STABLE_ABI}-cpu-x86_64-linux", f"{TORCHES[-1]}-cpu-x86_64-linux",
                  f"{TORCHES[-1]}-rocm71-x86_64-linux", f"{TORCHES[-1]}-cu130-x86_64-linux", "torch-cpu"],
}


@dataclass(frozen=True)
class System:
    """What the rules look at.

    torch    major and minor version: "2.13"
    backend  what torch was built for, as variant names write it: "cpu", "rocm72", "cu130"
    cpu, os  "x86_64" or "aarch64"; "linux"
    gpu      the arch that ROCm finds: "gfx942"; None: no GPU, and none of ROCm
    """

    torch: str = "2.13"
    backend: str = "cpu"
    cpu: str = "x86_64"
    os: str = "linux"
    gpu: str | None = None

    def __str__(self):
        gpu = [self.gpu] if self.gpu else []
        return ", ".join([f"torch {self.torch}", self.backend, *gpu, f"{self.cpu}-{self.os}"])


@dataclass(frozen=True)
class Decision:
    """One variant, and in the library's words why not.

    reason   why it is not picked; None where it would be
    refusal  why get_kernel does not load it for this GPU, though it is picked; None where it does or was not asked
    """

    name: str
    reason: str | None
    refusal: str | None = None

    @property
    def fits(self):
        return self.reason is None


def decide(names, system, archs=ARCHS):
    """Return a list of Decision: the variants that fit first, the one that is picked at the head of them.

    archs  what the metadata of compiled ROCm variants lists

    Raises ValueError for a name that is no build variant.
    """
    from kernels import variants  # takes a second, so only where asked
    from kernels.backends import parse_backend

    _, trace = variants._resolve_variant_for_system(
        variants=[variants.parse_variant(name) for name in names], selected_backend=parse_backend(system.backend),
        cpu=system.cpu, os=system.os, torch_version=variants.Version(system.torch), torch_cxx11_abi=True,
        tvm_ffi_version=None)
    decisions = [Decision(decision.variant.variant_str, getattr(decision, "reason", None)) for decision in trace]
    is_compiled = trace and isinstance(trace[0].variant, variants.ArchVariant)
    if is_compiled and decisions[0].fits and system.backend.startswith("rocm"):
        decisions[0] = replace(decisions[0], refusal=refusal(decisions[0].name, system, archs))
    return decisions


def refusal(variant, system, archs):
    """Return what get_kernel says of a ROCm variant for these archs on a machine, None if it loads it.

    The library looks at the GPU through torch; for a described GPU it is shown a torch that has just that.
    """
    from kernels._rust import Backend
    from kernels.archs import _check_arch_incompatibility

    metadata = SimpleNamespace(name="gemm", backend=SimpleNamespace(archs=list(archs), backend_type=Backend.ROCm))
    described = SimpleNamespace(
        version=SimpleNamespace(cuda=None, hip="7"),
        cuda=SimpleNamespace(is_available=lambda: system.gpu is not None, current_device=lambda: 0,
                             get_device_properties=lambda device: SimpleNamespace(gcnArchName=system.gpu)))
    try:
        with mock.patch.dict(sys.modules, torch=described):
            _check_arch_incompatibility(metadata, variant)
    except RuntimeError as error:
        return str(error)
    return None
