"""Which build variant the `kernels` library would load on a machine that you describe: its own rules, asked directly.

Source: kernels 0.17.2, variants.py; it has the rules as a function of the machine's properties.
"""

from dataclasses import dataclass

from .check import SYSTEMS, TORCHES

STABLE_ABI = "torch-stable-abi210"
_PLATFORMS = [platform for platforms in SYSTEMS.values() for platform in platforms]

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
    """

    torch: str = "2.13"
    backend: str = "cpu"
    cpu: str = "x86_64"
    os: str = "linux"

    def __str__(self):
        return f"torch {self.torch}, {self.backend}, {self.cpu}-{self.os}"


@dataclass(frozen=True)
class Decision:
    """One variant, and in the library's words why it does not load; `reason` is None where it would."""

    name: str
    reason: str | None

    @property
    def fits(self):
        return self.reason is None


def decide(names, system):
    """Return a list of Decision: the variants that fit first, the one that is loaded at the head of them.

    Raises ValueError for a name that is no build variant.
    """
    from kernels import variants  # takes a second, so only where asked
    from kernels.backends import parse_backend

    _, trace = variants._resolve_variant_for_system(
        variants=[variants.parse_variant(name) for name in names], selected_backend=parse_backend(system.backend),
        cpu=system.cpu, os=system.os, torch_version=variants.Version(system.torch), torch_cxx11_abi=True,
        tvm_ffi_version=None)
    return [Decision(decision.variant.variant_str, getattr(decision, "reason", None)) for decision in trace]
