"""A kernel's repository of seven small files, to practise build.toml on: kernel-builder's own parser, then our check.

Nothing is compiled: the files hold only the #include lines that matter here.
"""

import re
import tempfile
from pathlib import Path

from . import buildtoml

FILES = {
    "gemm/cpu/gemm_cpu.cpp": "",
    "gemm/gemm_kernel.h": '#include "mfma.h"\n',
    "gemm/gemm_launcher.h": "",
    "gemm/gemm_launcher.hip": '#include "gemm_kernel.h"\n#include "gemm_launcher.h"\n',
    "gemm/mfma.h": "",
    "torch-ext/torch_binding.cpp": '#include "torch_binding.h"\n',
    "torch-ext/torch_binding.h": "",
}

# All of a build.toml but the section for rocm.
WITHOUT_ROCM = """\
[general]
name = "gemm"
version = 1
edition = 5
license = "apache-2.0"
backends = ["cpu", "rocm"]

[general.hub]
repo-id = "your-organisation/gemm"

[torch]
src = ["torch-ext/torch_binding.cpp", "torch-ext/torch_binding.h"]

[kernel.gemm_cpu]
backend = "cpu"
depends = ["torch"]
src = ["gemm/cpu/gemm_cpu.cpp"]
"""


def ask_parser(text):
    """Return what kernel-builder's parser says of a build.toml, beginning with "accepted" or "refused"."""
    with tempfile.TemporaryDirectory() as folder:
        return _ask_parser(Path(folder), text)


def review(text):
    """Return a list of sentences: what the parser refuses, else what buildtoml.check() finds among FILES."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name, content in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content)
        answer = _ask_parser(root, text)
        return [answer] if answer.startswith("refused") else [str(finding) for finding in buildtoml.check(root)]


def _ask_parser(root, text):
    from kernels._rust import Build  # takes a second, so only where asked

    (root / "build.toml").write_text(text)
    try:
        return f"accepted: {Build.open(root).general}"
    except ValueError as error:
        return "refused: " + re.sub(r"^.*?build\.toml: ", "", str(error), flags=re.DOTALL).strip()
