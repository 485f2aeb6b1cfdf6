"""Commands, flake attributes and build.toml keys in the lessons' prose are those that today's tools have.

What is installed is asked itself: kernels, hf, fp8lab. Of the others there is a list, made on 2026-11-30 from
huggingface/kernels at 8ac69fc5 (docs/source, nix-builder/lib, kernels-data/src/config).
"""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from fp8lab import course
from fp8lab.cli import COMMANDS

WORDS = {
    "nix": {"build", "develop", "flake", "profile", "run"},
    "cachix": {"use"},
    "kernel-builder": {
        "build", "build-and-copy", "build-and-upload", "check-abi", "check-builds", "check-config", "clean-pyproject",
        "completions", "create-pyproject", "devshell", "hash", "init", "list-variants", "skills", "testshell",
        "update-build", "upload"},
    "fp8lab": set(COMMANDS),
}
ATTRIBUTES = {"backendBundle", "backendCi", "build-and-copy", "build-and-upload", "bundle", "ci", "ci-test", "ciTests",
              "default", "devShells", "kernel-builder", "kernels", "redistributable", "testShells"}
INPUT = "github:huggingface/kernels"
TABLES = {"general", "general.cuda", "general.hub", "general.neuron", "general.tpu", "general.xpu", "torch",
          "torch.stable-abi", "torch-noarch", "tvm-ffi"}
KEYS = {"name", "version", "edition", "license", "upstream", "source", "backends", "kernel-depends", "python-depends",
        "repo-id", "branch", "backend", "cxx-flags", "depends", "rocm-archs", "hip-flags", "include", "src", "minver",
        "maxver", "pyext", "stable-abi"}
LESSONS = {path.stem: path for path in course.lessons()}


def quoted(markdown):
    """Yield what stands in backticks and in shell blocks. Of a table that begins with "old", the first column is what
    no longer works, and is left out."""
    lines, in_old_table = [], False
    for line in markdown.splitlines():
        in_old_table = line.startswith("|") and (in_old_table or line.startswith("| old "))
        lines.append(line.split("|", 2)[2] if in_old_table else line)
    text = "\n".join(lines)
    for block in re.findall(r"```(?:sh|bash|console)\n(.*?)```", text, re.DOTALL):
        yield from block.splitlines()
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def complaint(code):
    """Return what today's tools would not take in a piece of code, or None."""
    word, _, rest = code.strip().removeprefix("$ ").partition(" ")
    if word in WORDS and rest and rest.split()[0] not in WORDS[word]:
        return f"{word} has no {rest.split()[0]!r}"
    if word in ("kernels", "hf") and rest and not asked(word, rest.split()):
        return f"{word} has no {rest!r}"
    for attribute in re.findall(r"(?:\.|github:[\w/-]+)#([\w-]+)", code):
        if attribute not in ATTRIBUTES:
            return f"the flake has no {attribute!r}"
    if "github:huggingface/" in code and not re.search(INPUT + r"(?![\w-])", code):
        return f"the flake's address is {INPUT}"
    if re.search(r"\bgen\w*FlakeOutputs\b", code) and "genKernelFlakeOutputs" not in code:
        return "the function is genKernelFlakeOutputs"
    table = re.fullmatch(r"\[([a-z][\w.-]*[\w…-])\]", code)
    if table and table[1] not in TABLES and not table[1].startswith("kernel."):
        return f"build.toml has no table {table[1]!r}"
    return None


def asked(tool, words):
    """Whether the installed tool knows the words in front of the first option or name."""
    names = []
    for word in words:
        if not re.fullmatch(r"[a-z][a-z-]*", word):
            break
        names.append(word)
    command = Path(sys.executable).with_name(tool)
    return subprocess.run([command, *names, "--help"], capture_output=True).returncode == 0


@pytest.mark.parametrize("lesson", LESSONS)
def test_lesson_names_only_what_todays_tools_have(lesson):
    cells = nbformat.read(LESSONS[lesson], 4).cells
    found = [code for cell in cells if cell.cell_type == "markdown" for code in quoted(cell.source)]
    assert [(code, complaint(code)) for code in found if complaint(code)] == []


def test_lesson_on_building_quotes_only_keys_of_build_toml():
    cells = nbformat.read(LESSONS["07_build_with_nix"], 4).cells
    found = [code for cell in cells if cell.cell_type == "markdown" for code in quoted(cell.source)]
    keys = {match[1] for code in found if (match := re.fullmatch(r"([a-z][\w-]*) = [\w\"\[].*", code))}
    assert {"edition", "version"} <= keys <= KEYS


@pytest.mark.parametrize("code", [
    "nix shell", "kernel-builder generate-torch", "kernels upload build", "hf repo-files", "nix build .#bundles -L",
    "github:huggingface/kernel-builder", "kernel-builder.lib.genFlakeOutputs", "[general.rocm]", "fp8lab deploy",
    "cachix push x",
])
def test_what_was_renamed_or_never_was_is_found(code):
    assert complaint(code)
    assert complaint(code) in [complaint(each) for each in quoted(f"Type `{code}`.\n\n```sh\n{code}\n```")]
    assert list(quoted(f"| old | today |\n|---|---|\n| `{code}` | `new` |")) == ["new"]
