"""`fp8lab check`: whether kernel-builder, Nix, the Hub and the loader will take this repository, before they say no.

source()       the files a person writes: build.toml, flake.nix, flake.lock, CARD.md, the Python package
built()        the variants under build/: metadata, digest, leftovers
portability()  whether their extensions load on other machines than this one

Each yields Finding(problem, remedy). Nix is asked where it is installed (Debian: nix-bin); its network is not needed.
Source: huggingface/kernels at 8ac69fc5, nix-builder/lib and kernel-builder/src, read; kernels 0.17.2, run.
"""

import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from fp8lab import buildtoml, card
from fp8lab.buildtoml import Finding
from fp8lab.localbuild import ROOT

# What kernel-builder bundles for an x86-64 Linux kernel (nix-builder/build-variants.json, 2026-08); since then torch
# 2.14 has been announced to take the place of 2.12.
TORCHES = ("torch212-cxx11", "torch213-cxx11")
SYSTEMS = {"cpu": ["cpu-x86_64-linux", "cpu-aarch64-linux"], "rocm": ["rocm71-x86_64-linux", "rocm72-x86_64-linux"]}

PYTHON_ABI, MANYLINUX = "3.9", "manylinux_2_28"  # of kernel-builder's check-abi hook
REGISTRATIONS = ("register_fake", "custom_op", "triton_op", "register_kernel", "register_vmap",
                 "register_torch_dispatch", "impl", "define")
LEFTOVERS = ("__pycache__", "*.pyc", "*.pyo", "*.o", "*.d", ".*", "*~", "*.orig", "*.rej", "*.log", "*.tmp")
NIX_STUB = """
(import ./flake.nix).outputs {
  self = "self";
  kernel-builder.lib.genKernelFlakeOutputs = arguments: builtins.attrNames arguments;
}"""


def configure(parser):
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the kernel's repository (default: this one)")


def run(args):
    stops = [*source(args.root), *built(args.root)]
    for finding in stops:
        print(finding)
    for finding in portability(args.root):
        print(f"for this machine only: {finding}")
    names = [variant.name for variant in variants(args.root)]
    print(f"{len(stops)} findings; built here: {', '.join(names) or 'nothing yet, see `fp8lab build`'}")
    print_published(args.root)
    return 1 if stops else 0


def variants(root):
    """Return the folders under build/ whose names kernels reads as build variants, sorted."""
    from kernels.variants import get_variants_local

    return [root / "build" / variant.variant_str for variant in
            sorted(get_variants_local(root / "build"), key=lambda variant: variant.variant_str)]


# --- the files a person writes ---


def source(root):
    """Yield what is wrong with the written files of a kernel's repository."""
    root = Path(root)
    missing = [name for name in ("build.toml", "flake.nix", "flake.lock", "CARD.md", ".gitattributes")
               if not (root / name).is_file()]
    for name in missing:
        yield Finding(f"{name} does not exist in {root}", "see docs/architecture.md for what each file is")
    unreadable = _parser_error(root) if "build.toml" not in missing else None
    if unreadable:
        yield Finding(f"kernel-builder cannot read build.toml: {unreadable}", "correct that")
    elif "build.toml" not in missing:
        yield from _build_toml(root)
        if "CARD.md" not in missing:
            yield from _card(root)
    if not {"flake.nix", "flake.lock"} & set(missing):
        yield from _flake(root)
    yield from _ops_literals(root)
    yield from _git(root)


def _parser_error(root):
    from kernels._rust import Build

    try:
        Build.open(root)
    except ValueError as error:
        return str(error)


def _build_toml(root):
    yield from buildtoml.check(root)
    hub = _config(root)["general"].get("hub", {})
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", hub.get("repo-id", "")):
        yield Finding(f"[general.hub] repo-id is {hub.get('repo-id')!r}", 'write repo-id = "organisation/name"')


def _config(root):
    return tomllib.loads((root / "build.toml").read_text())


def _flake(root):
    text = re.sub(r"#.*", "", (root / "flake.nix").read_text())
    if re.search(r"\bgenFlakeOutputs\b", text):
        yield Finding("flake.nix calls genFlakeOutputs, which throws today", "call genKernelFlakeOutputs")
    if re.search(r"\brev\s*=", text):
        yield Finding("flake.nix passes rev, which throws today", "pass self: `inherit self;`")
    urls = dict(re.findall(r'([\w-]+)\.url\s*=\s*"([^"]+)"', text))
    if urls.get("kernel-builder", "").startswith("github:huggingface/kernel-builder"):
        yield Finding("flake.nix takes kernel-builder from github:huggingface/kernel-builder, frozen since January "
                      "2026 with torch 2.8 to 2.10", 'use "github:huggingface/kernels"')
    try:
        lock = json.loads((root / "flake.lock").read_text())
        locked = lock["nodes"][lock["root"]].get("inputs", {})
    except (ValueError, KeyError, TypeError) as error:
        yield Finding(f"flake.lock is no lock file: {type(error).__name__} {error}", "run `nix flake lock`")
        return
    for name, url in urls.items():
        original = lock["nodes"].get(locked.get(name), {}).get("original", {})
        if "github:{owner}/{repo}".format(**{"owner": "", "repo": ""} | original) != url:
            yield Finding(f"flake.lock does not hold {name} from {url}", "run `nix flake lock` and commit flake.lock")
    if shutil.which("nix"):
        yield from _nix(root, lock)


def _nix(root, lock):
    """Ask Nix itself, in a folder of its own, so that the rest of the repository need not be copied to its store."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("flake.nix", "flake.lock"):
            shutil.copy(root / name, folder)
        done = _run("nix-instantiate", "--parse", "flake.nix", cwd=folder)
        if done.returncode:
            yield Finding(f"Nix cannot parse flake.nix: {_last_line(done)}", "correct that line")
            return
        done = _run("nix-instantiate", "--eval", "--strict", "--json", "-E", NIX_STUB, cwd=folder)
        if done.returncode:
            yield Finding(f"Nix cannot evaluate flake.nix's outputs: {_last_line(done)}",
                          "call kernel-builder.lib.genKernelFlakeOutputs { inherit self; path = ./.; }")
        elif not {"self", "path"} <= set(json.loads(done.stdout)):
            yield Finding(f"flake.nix passes {json.loads(done.stdout)} to genKernelFlakeOutputs", "pass self and path")
        done = _run("nix", "--extra-experimental-features", "nix-command flakes", "flake", "metadata", "--offline",
                    "--no-write-lock-file", "--json", f"path:{folder}", cwd=folder)
        if done.returncode or json.loads(done.stdout)["locks"] != lock:
            yield Finding(f"Nix would change flake.lock: {_last_line(done) or 'it does not fit flake.nix'}",
                          "run `nix flake lock` and commit flake.lock")


def _run(*words, cwd):
    return subprocess.run(words, cwd=cwd, text=True, capture_output=True)


def _last_line(done):
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("error:") and line != "error:"), lines[-1] if lines else "")


def _card(root):
    from jinja2 import TemplateError

    try:
        card.fill(root)
    except (TemplateError, KeyError) as error:
        yield Finding(f"CARD.md cannot be filled in: {error}", f"use some of {', '.join(sorted(card.VARIABLES))}")
        return
    if not card.functions(root):
        yield Finding("the card cannot list the kernel's functions: its package has no literal `__all__ = [...]`",
                      "write the list out in __init__.py")


def _ops_literals(root):
    """A registration under a literal name clashes with the next build of the kernel in the same process."""
    for path in sorted((root / "torch-ext").rglob("*.py")):
        try:
            tree = ast.parse(path.read_text())
        except SyntaxError as error:
            yield Finding(f"{path.relative_to(root)}:{error.lineno}: {error.msg}", "correct that line")
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant | ast.JoinedStr):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                name = node.args[0]
                text = name.value if isinstance(name, ast.Constant) else ast.unparse(name)
                if called in REGISTRATIONS and isinstance(text, str) and "::" in text:
                    where = f"{path.relative_to(root)}:{node.lineno}"
                    yield Finding(f"{where}: {called}({text!r}) names the op's namespace, which each build has its own",
                                  f"write {called}(add_op_namespace_prefix({text.rpartition('::')[2]!r}))")


def _git(root):
    if _run("git", "rev-parse", "HEAD", cwd=root).returncode:
        yield Finding(f"{root} is no git repository with a commit, without which the flake throws",
                      "run `git init`, `git add` and `git commit`")
        return
    for name in ("flake.nix", "flake.lock", "build.toml"):
        if (root / name).is_file() and _run("git", "ls-files", "--error-unmatch", name, cwd=root).returncode:
            yield Finding(f"{name} is not in git, so Nix does not see it", f"run `git add {name}`")
    for name in ("build/x", "torch-ext/registration.h"):
        if _run("git", "check-ignore", "--quiet", name, cwd=root).returncode:
            yield Finding(f".gitignore does not cover {name.removesuffix('/x')}, which a build makes",
                          "add it to .gitignore")
    if "lfs" not in _run("git", "check-attr", "filter", "build/x.so", cwd=root).stdout:
        yield Finding(".gitattributes does not send *.so to LFS",
                      "add the line `*.so filter=lfs diff=lfs merge=lfs -text`")


# --- what was built ---


def built(root):
    """Yield what the Hub or the loader would trip over in the variants under build/."""
    from kernels._rust import Digest, DigestAlgorithm, DigestValidationError, Metadata

    root = Path(root)
    if not (root / "build.toml").is_file() or _parser_error(root):
        return  # source() says so
    general, ids = _config(root)["general"], {}
    for variant in variants(root):
        try:
            metadata = Metadata.read_from_file(variant / "metadata.json")
        except (OSError, ValueError) as error:
            yield Finding(f"build/{variant.name} has no readable metadata: {error}", "build it again")
            continue
        if (str(metadata.name), metadata.version) != (general["name"], general["version"]):
            yield Finding(f"build/{variant.name} is {metadata.name} version {metadata.version}, build.toml says "
                          f"{general['name']} version {general['version']}", "build it again")
        if metadata.id in ids:
            yield Finding(f"build/{variant.name} and build/{ids[metadata.id]} have one id, {metadata.id}, so a process "
                          "that loads both gets one of them twice", "build them again, under ids of their own")
        ids[metadata.id] = variant.name
        yield from _leftovers(variant)
        if metadata.digest is None:
            yield Finding(f"build/{variant.name}/metadata.json has no digest", "build it again")
            continue
        try:
            metadata.digest.validate(Digest.hash_variant(DigestAlgorithm.SHA256, variant))
        except DigestValidationError as error:
            for violation in error.violations:
                yield Finding(f"build/{variant.name} is not what was built: {violation}", "build it again")


def _leftovers(variant):
    for path in sorted(variant.rglob("*")):
        if any(path.match(pattern) for pattern in LEFTOVERS):
            yield Finding(f"{path.relative_to(variant.parent.parent)} must not be published", "delete it")
        elif path.is_symlink():
            yield Finding(f"{path.relative_to(variant.parent.parent)} is a link, which the Hub does not hold",
                          "put the file itself there")


def portability(root):
    """Yield what keeps the built extensions from loading on the machines that kernel-builder's would load on."""
    from kernel_abi_check import ObjectFile

    for variant in variants(Path(root)):
        for path in sorted(variant.rglob("*.so")):
            extension = ObjectFile(path)
            newer = sorted({f"{symbol.dep}_{symbol.version}" for symbol in extension.check_manylinux(MANYLINUX)})
            if newer:
                yield Finding(f"{path.name} needs {', '.join(newer)}, newer than {MANYLINUX} has",
                              "publish what kernel-builder builds, not `fp8lab build`")
            symbols = [symbol.name for symbol in extension.check_python_abi(PYTHON_ABI)]
            if symbols:
                yield Finding(f"{path.name} needs {', '.join(symbols)}, not in Python {PYTHON_ABI}'s stable ABI",
                              f"use what Python {PYTHON_ABI} has")


# --- what would be published ---


def published(root):
    """Return the names of the variants that kernel-builder would publish for build.toml."""
    config = _config(Path(root))
    names = []
    for backend in config["general"]["backends"]:
        if "torch" not in config:
            names.append(f"torch-{backend}")
            continue
        stable = config["torch"].get("stable-abi")
        stable = stable.get(backend) if isinstance(stable, dict) else stable
        torches = [f"torch-stable-abi{stable.replace('.', '')}"] if stable else TORCHES
        names += [f"{torch}-{system}" for torch in torches for system in SYSTEMS.get(backend, [])]
    return names


def print_published(root):
    from kernels.variants import parse_variant, resolve_variants, variants_trace_str

    try:
        names = published(root)
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        print(f"cannot tell what would be published: {error}", file=sys.stderr)
        return
    print("\nWhat kernel-builder would publish, and what this machine's torch makes of it:")
    print(variants_trace_str(resolve_variants([parse_variant(name) for name in names])[1]))
