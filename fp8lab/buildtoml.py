"""What kernel-builder's parser accepts in a build.toml and then fails on, later and elsewhere.

kernels._rust.Build.open() checks keys and types. It does not look at the files, and takes any architecture name: one
that kernel-builder does not know is dropped without a word as long as another one is left.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

# huggingface/kernels: kernel-builder/src/pyproject/templates/torch/preamble.cmake, HIP_SUPPORTED_ARCHS.
HIP_ARCHS = ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1200", "gfx1201")
HEADERS = (".h", ".hpp", ".cuh", ".inc")


@dataclass(frozen=True)
class Finding:
    """Something wrong, and what to do about it."""

    problem: str
    remedy: str

    def __str__(self):
        return f"{self.problem}; {self.remedy}"


def check(root):
    """Return a list of Finding for root/build.toml: files that do not exist, architectures that kernel-builder does
    not know, backends that do not agree with the [kernel.*] sections, included headers that `src` does not list."""
    root = Path(root)
    config = tomllib.loads((root / "build.toml").read_text())
    sections = {"torch": config.get("torch", {})}
    sections |= {f"kernel.{name}": section for name, section in config.get("kernel", {}).items()}
    return [*_missing_files(root, sections), *_unknown_archs(sections), *_backends(config, sections),
            *_unlisted_headers(root, sections)]


def _missing_files(root, sections):
    for name, section in sections.items():
        for source in section.get("src", []):
            if not (root / source).is_file():
                yield Finding(f"[{name}] lists {source}, which does not exist", "correct the path or drop it from src")


def _unknown_archs(sections):
    for name, section in sections.items():
        for arch in section.get("rocm-archs", []):
            if arch not in HIP_ARCHS:
                yield Finding(f"[{name}] lists {arch} in rocm-archs, which kernel-builder does not know and drops",
                              f"use some of {', '.join(HIP_ARCHS)}")


def _backends(config, sections):
    declared = config["general"].get("backends", [])
    built = {section["backend"] for section in sections.values() if "backend" in section}
    for backend in declared:
        if backend not in built:
            yield Finding(f"general.backends has {backend!r}, but no [kernel.*] section has backend = {backend!r}",
                          "add the section or drop the backend")
    for backend in sorted(built - set(declared)):
        yield Finding(f"a [kernel.*] section has backend = {backend!r}, which general.backends lacks",
                      f"add {backend!r} to general.backends")


def _unlisted_headers(root, sections):
    """Nix copies listed files only, so a header that is included but not listed is missing there and only there."""
    listed = {(root / source).resolve() for section in sections.values() for source in section.get("src", [])}
    for path in sorted(listed):
        if not path.is_file():
            continue
        for include in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE):
            header = (path.parent / include).resolve()
            if header.is_file() and header not in listed:
                relative = header.relative_to(root.resolve()) if header.is_relative_to(root.resolve()) else header
                yield Finding(f"{path.relative_to(root.resolve())} includes {relative}, which no src lists",
                              f'add "{relative}" to the src of the section that needs it')
