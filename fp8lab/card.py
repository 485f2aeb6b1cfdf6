"""CARD.md, the template, filled in as kernel-builder fills it: the README of a published kernel.

Source: huggingface/kernels at 8ac69fc5, kernel-builder/src/card.rs; minijinja there, Jinja here, one syntax.
"""

import ast
import tomllib
from pathlib import Path

from jinja2 import Environment, StrictUndefined

VARIABLES = frozenset(
    {"repo_id", "version", "functions", "layers", "has_benchmark", "upstream", "source", "license"})


def fill(root, repo_id=None):
    """Return the text of root/CARD.md with its variables filled in from build.toml and the Python package.

    repo_id  what to call the repository; None: [general.hub] repo-id

    Raises jinja2.TemplateError for a template that cannot be read or uses other variables.
    """
    root = Path(root)
    general = tomllib.loads((root / "build.toml").read_text())["general"]
    values = {
        "repo_id": repo_id or general["hub"]["repo-id"], "version": general["version"],
        "license": general["license"].lower(), "functions": functions(root), "layers": layers(root),
        "has_benchmark": (root / "benchmarks/benchmark.py").is_file(),
        "upstream": general.get("upstream"), "source": general.get("source"),
    }
    template = Environment(trim_blocks=True, undefined=StrictUndefined).from_string((root / "CARD.md").read_text())
    return template.render(values)


def functions(root):
    """Return the public names of the kernel's package, layers left out: read, not imported, so [] without a list."""
    return [name for name in _all(root) if name != "layers"]


def layers(root):
    """Return the class names in the package's layers module, if `__all__` offers it."""
    if "layers" not in _all(root):
        return []
    for place in ("layers.py", "layers/__init__.py"):
        if (path := _package(root) / place).is_file():
            return [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    return []


def _package(root):
    name = tomllib.loads((Path(root) / "build.toml").read_text())["general"]["name"]
    return Path(root) / "torch-ext" / name.replace("-", "_")


def _all(root):
    path = _package(root) / "__init__.py"
    try:
        body = ast.parse(path.read_text()).body
    except (OSError, SyntaxError):
        return []
    for node in body:
        targets = [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]
        if "__all__" in targets and isinstance(node.value, ast.List):
            return [item.value for item in node.value.elts if isinstance(item, ast.Constant)]
    return []
