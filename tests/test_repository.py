"""What holds for every file: lint, links, declared imports, and nothing that belongs to one machine."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import nbformat

from fp8lab.environment import ROOT, name_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def tracked(*patterns):
    """Paths of the files git knows that match, or all there are where this is no checkout."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", *patterns],
                            capture_output=True, text=True)
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command[:4]))} …\n{done.stdout[-6000:]}{done.stderr[-2000:]}"


def test_python_and_the_lessons_pass_ruff():
    run(sys.executable, "-m", "ruff", "check", "--quiet", ".")


def test_cpp_is_in_clang_format():
    sources = tracked("*.cpp", "*.h", "*.hip", "*.c")
    run(Path(sys.executable).with_name("clang-format"), "--dry-run", "--Werror", *sources)


def test_every_import_of_the_package_and_the_lessons_is_a_declared_dependency():
    asked = [*PROJECT["dependencies"], *chain.from_iterable(PROJECT["optional-dependencies"].values())]
    declared = {re.sub(r"[-_.]+", "-", name_of(line)).lower() for line in asked}
    ours = {"fp8lab", "benchmarks", "tests"}
    known = packages_distributions()
    for path in [*tracked("fp8lab/*.py", "fp8lab/**/*.py"), *tracked("notebooks/*.ipynb")]:
        for module in imports_of(path):
            if module in sys.stdlib_module_names | ours:
                continue
            owners = {re.sub(r"[-_.]+", "-", owner).lower() for owner in known.get(module, [])}
            assert owners & declared, f"{path.relative_to(ROOT)} imports {module}, missing in pyproject.toml"


def imports_of(path):
    if path.suffix == ".ipynb":
        cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
        tree = ast.parse("\n".join(cells))
    else:
        tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def test_links_between_files_lead_somewhere():
    for path in tracked("*.md", "notebooks/*.ipynb"):
        text = path.read_text()
        if path.suffix == ".ipynb":
            text = "\n".join(cell.source for cell in nbformat.reads(text, 4).cells if cell.cell_type == "markdown")
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
            assert (path.parent / target).exists(), f"{path.relative_to(ROOT)} links to {target}"


def test_every_row_of_a_table_belongs_to_one():
    """A blank line ends a table; rows behind it would show as text."""
    for path in tracked("*.md"):
        for table in re.findall(r"(?:^\|.*\n)+", path.read_text(), re.M):
            assert re.match(r"\|.*\n\|[-:| ]+\|\n", table), f"{path.relative_to(ROOT)}: {table[:80]}…"


def test_glossary_has_each_word_once_with_a_lesson_that_there_is():
    rows = re.findall(r"^\| (.+?) \|.*\| (.+?) \|$", (ROOT / "docs/glossary.md").read_text(), re.M)
    words = [(word, lesson) for word, lesson in rows if word != "word"]
    assert len(words) > 50 and len(dict(words)) == len(words)
    assert {lesson for _, lesson in words} <= {path.name[:2] for path in (ROOT / "notebooks").glob("*.ipynb")}


def test_layout_named_in_the_architecture_exists():
    for name in ("notebooks", "gemm", "torch-ext", "build.toml", "environment.yml", "tests", "Makefile", "benchmarks",
                 "requirements.lock", "docs/glossary.md", "docs/troubleshooting.md", ".ci/run"):
        assert (ROOT / name).exists(), name


def test_ci_runs_the_readmes_test_command():
    assert re.search(r"^\s*(exec )?make test\b", (ROOT / ".ci/run").read_text(), re.M)
    assert "$ make test" in (ROOT / "README.md").read_text()


def test_no_file_is_large():
    large = [path for path in tracked() if path.stat().st_size > 1_000_000]
    assert not large, large
