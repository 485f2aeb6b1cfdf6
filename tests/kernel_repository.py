"""A small kernel repository that `fp8lab check` has nothing against, for tests to break in one place at a time."""

import json
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

BUILD_TOML = """\
[general]
name = "tiny"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cpu", "rocm"]

[general.hub]
repo-id = "myorg/tiny"

[torch]
src = ["torch-ext/torch_binding.cpp"]

[kernel.tiny_cpu]
backend = "cpu"
depends = ["torch"]
src = ["tiny/tiny.cpp"]

[kernel.tiny_rocm]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
src = ["tiny/tiny.hip"]
"""
CARD = """\
---
license: {{ license }}
---
# {{ repo_id }} {{ version }}
{% for function in functions %}
- `{{ function }}`
{% endfor %}
"""


def make(root, version=1, answer=42, variants=("torch-cpu",)):
    """Write the repository, commit it, and put pure-Python variants under build/, each with its digest."""
    root = Path(root)
    files = {
        "build.toml": BUILD_TOML.replace("version = 1", f"version = {version}"), "CARD.md": CARD,
        "torch-ext/torch_binding.cpp": "", "tiny/tiny.cpp": "", "tiny/tiny.hip": "",
        "torch-ext/tiny/__init__.py": '__all__ = ["answer"]\n',
        ".gitignore": "/build/\n/torch-ext/registration.h\n",
        ".gitattributes": "*.so filter=lfs diff=lfs merge=lfs -text\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name in ("flake.nix", "flake.lock"):
        shutil.copy(ROOT / name, root / name)
    for variant in variants:
        write_variant(root / "build" / variant, version, answer)
    who = ["-c", "user.name=alice", "-c", "user.email=alice@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "tiny"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


def write_variant(folder, version=1, answer=42, uid=None):
    """Write a variant whose answer() is a number."""
    from kernels._rust import Digest, DigestAlgorithm

    folder.mkdir(parents=True, exist_ok=True)
    backend = "rocm" if "rocm" in folder.name else "cpu"
    (folder / "__init__.py").write_text(f"def answer():\n    return {answer}\n")
    metadata = {"name": "tiny", "id": f"_tiny_{backend}_{uid or f'{answer:07x}'}", "version": version,
                "license": "Apache-2.0", "python-depends": [], "backend": {"type": backend}}
    (folder / "metadata.json").unlink(missing_ok=True)
    files = Digest.hash_variant(DigestAlgorithm.SHA256, folder).files
    (folder / "metadata.json").write_text(json.dumps(metadata | {"digest": {"algorithm": "sha256", "files": files}}))
