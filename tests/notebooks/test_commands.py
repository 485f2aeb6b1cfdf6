"""What the lessons tell their reader to type is what today's tools take: commands, flakes, TOML, Python, variables.

todays_tools.toml is the list, with its date and sources. The tools that are installed are asked whether the list is
still true, so a change of theirs fails here before it fails a learner.
"""

import contextlib
import functools
import importlib
import inspect
import io
import re
import sys
import tomllib
from pathlib import Path

import huggingface_hub.cli.hf
import kernels.cli
import lesson_text
import pytest

from fp8lab import course, practice
from fp8lab.cli import COMMANDS, main
from fp8lab.localbuild import ROOT

TOOLS = tomllib.loads(Path(__file__).with_name("todays_tools.toml").read_text())
FUNCTIONS = TOOLS["python"]["functions"]
LESSONS = {path.stem: path for path in course.lessons()}


@functools.cache
def lesson(name):
    return lesson_text.Lesson(LESSONS[name])


# --- what is wrong with a piece of text, None if nothing is ---


def complaint(line):
    """Of a command, a flake attribute or a flake's address."""
    words = line.strip().removeprefix("$ ").split()
    known = TOOLS["commands"].get(words[0]) if words else None
    if known and len(words) > 1 and not (re.fullmatch(r"-.*|[a-z-]+", words[1])):
        known = None                                       # "git tree", "kernels 0.17": words about a tool
    if known and len(words) > 1:
        if known["words"] and words[1] not in known["words"] and not words[1].startswith("-"):
            return f"{words[0]} has no {words[1]!r}"
        if missing := [word for word in words if re.fullmatch("--?[A-Za-z-]+", word) and word not in known["options"]]:
            return f"{words[0]} is not known to have {missing[0]!r}: todays_tools.toml"
    if words[:1] == ["fp8lab"] and len(words) > 1 and not words[1].startswith("-"):
        if words[1] not in COMMANDS:
            return f"fp8lab has no {words[1]!r}"
        return next((f"fp8lab {words[1]} has no {word!r}" for word in words if word.startswith("--")
                     and word not in fp8lab_help(words[1])), None)
    if words[:1] == ["make"] and len(words) == 2 and re.fullmatch("[a-z-]+", words[1]):
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return None if words[1] in targets else f"the Makefile has no {words[1]!r}"
    flake = TOOLS["flake"]
    for attribute in re.findall(r"(?:\.|github:[\w/-]+)#([\w-]+)", line):
        if attribute not in flake["attributes"]:
            return f"the flake has no {attribute!r}"
    if "github:huggingface/" in line and not re.search(flake["input"] + r"(?![\w-])", line):
        return f"the flake's address is {flake['input']}"
    if re.search(r"\bgen\w*FlakeOutputs\b", line) and flake["function"] not in line:
        return f"the function is {flake['function']}"
    return None


@functools.cache
def fp8lab_help(word):
    """The help of `fp8lab word`, of the words under it too."""
    said = io.StringIO()
    for more in ([], *([action] for action in ("serve", "user", "org", "verify") if word == "hub")):
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            main([word, *more, "--help"])
    return said.getvalue()


def key_complaint(table, key):
    """Of a table of build.toml or pyproject.toml, or of a key; the table of a single line is not known."""
    tables = TOOLS["toml"]["tables"]
    if table and table.startswith("tool.kernels.dependencies"):
        return None                                         # its keys are repositories
    name = re.sub(r"^kernel\.[\w-]+$", "kernel.NAME", table) if table else None
    if name == "torch.stable-abi":
        return None if key in (None, *tables["general"], "cpu", "rocm", "cuda") else f"no backend {key!r}"
    if table and name not in tables and not any(other.startswith(f"{name}.") for other in tables):
        return f"build.toml has no table {table!r}"
    allowed = tables.get(name, ()) if table else {each for some in tables.values() for each in some}
    if key and key not in allowed:
        return f"build.toml has no key {key!r}" + (f" in [{table}]" if table else "")
    return None


def call_complaint(call):
    """Of a lesson_text.Call; of kernels, huggingface_hub and torch.library only what is in the list."""
    found = find(call.name)
    if found is None:
        return f"there is no {call.name}"
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):                         # built in, says nothing of itself
        return None
    if re.match(r"(kernels|huggingface_hub|torch\.library)\.", call.name) and not is_exception(found):
        if call.name not in FUNCTIONS:
            return f"{call.name} is not in todays_tools.toml"
        if unlisted := set(call.keywords) - set(FUNCTIONS[call.name]):
            return f"{call.name}({min(unlisted)}=) is not in todays_tools.toml"
    # a method is found on its class, where it takes one argument more: the instance
    is_method = inspect.isfunction(found) and inspect.isclass(find(call.name.rpartition(".")[0]))
    arguments = [None] * (call.positional + is_method)
    bind = signature.bind_partial if call.is_open or call.text.endswith("()") else signature.bind
    try:
        bind(*([] if call.is_open else arguments), **dict.fromkeys(call.keywords))
    except TypeError as error:
        return f"{call.text}: {error}"
    return None


def is_exception(found):
    return inspect.isclass(found) and issubclass(found, BaseException)


def find(name):
    """Return what a dotted name stands for among the installed packages, None if nothing."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            found = getattr(found, part, None)
        return found
    return None


# --- the lessons against the list ---


@pytest.mark.parametrize("name", LESSONS)
def test_commands_and_flakes_are_those_of_today(name):
    assert [(line, complaint(line)) for line in lesson(name).commands() if complaint(line)] == []


@pytest.mark.parametrize("name", [name for name in LESSONS if name[:2] in ("07", "08")])
def test_toml_keys_are_those_of_today_or_said_to_be_old(name):
    old = "\n".join(lesson_text.retired(text) for text in lesson(name).markdown)
    gone = {key for key in TOOLS["toml"]["retired"] if key in old}
    found = list(lesson(name).toml_keys())
    assert [(key_complaint(*each), each) for each in found if each[1] not in gone and key_complaint(*each)] == []
    assert found


@pytest.mark.parametrize("name", LESSONS)
def test_python_calls_fit_the_signatures_of_today(name):
    found = list(lesson(name).calls(FUNCTIONS))
    assert [call_complaint(call) for call in found if call_complaint(call)] == []
    assert found


@pytest.mark.parametrize("name", LESSONS)
def test_environment_variables_are_those_of_today(name):
    assert lesson(name).variables() <= set(TOOLS["environment"]["variables"])


# --- the list against the tools that are installed ---


@pytest.mark.parametrize("name", FUNCTIONS)
def test_listed_function_has_the_listed_parameters(name):
    assert set(FUNCTIONS[name]) <= set(inspect.signature(find(name)).parameters)


@pytest.mark.parametrize(("tool", "run"), [("kernels", kernels.cli.main), ("hf", huggingface_hub.cli.hf.main)])
def test_listed_words_and_options_are_in_the_tools_help(tool, run, monkeypatch, capsys):
    listed = TOOLS["commands"][tool]
    for word in listed["words"]:
        monkeypatch.setattr(sys, "argv", [tool, *word.split(), "--help"])
        with pytest.raises(SystemExit) as ended:
            run()
        assert ended.value.code == 0, word
    said = capsys.readouterr().out
    assert [option for option in listed["options"] if option not in said] == []


@pytest.mark.parametrize("table", TOOLS["toml"]["tables"])
def test_listed_keys_are_those_the_parser_names(table):
    """Asked with a key that it cannot know, the parser names those it does."""
    rocm = '[kernel.gemm_rocm]\nbackend = "rocm"\ndepends = []\nsrc = []\n'
    text = practice.WITHOUT_ROCM + "\n[general.cuda]\n\n" + rocm
    if table == "torch-noarch":
        text = re.sub(r"\[torch\]\nsrc.*\n", "[torch-noarch]\n", text)
    head = "[kernel.gemm_rocm]\n" if table == "kernel.NAME" else f"[{table}]\n"
    said = practice.ask_parser(text.replace(head, f"{head}no-such-key = 1\n"))
    named = set(said.partition("Expected one of ")[2].split(", "))
    assert set(TOOLS["toml"]["tables"][table]) - {"backend"} == named - {"backend"}, said


@pytest.mark.parametrize("key", TOOLS["toml"]["retired"])
def test_a_retired_key_is_refused_by_the_parser(key):
    said = practice.ask_parser(practice.WITHOUT_ROCM.replace("[general]\n", f"[general]\n{key} = false\n"))
    assert said.startswith(f"refused: Unknown field {key}")


@pytest.mark.parametrize("name", TOOLS["environment"]["variables"])
def test_listed_variable_is_read_by_the_libraries(name):
    sources = [path.read_text() for package in (kernels, huggingface_hub)
               for path in Path(package.__file__).parent.rglob("*.py")]
    assert any(re.search(rf'"{name}"', source) for source in sources)


# --- and the test itself ---


@pytest.mark.parametrize("code", [
    "nix shell", "kernel-builder generate-torch", "kernels upload build", "hf repo-files", "nix build .#bundles -L",
    "github:huggingface/kernel-builder", "kernel-builder.lib.genFlakeOutputs", "fp8lab deploy", "cachix push x",
    "nix build --update", "fp8lab publish --now", "make everything",
])
def test_what_was_renamed_or_never_was_is_found(code):
    assert complaint(code)
    assert complaint(code) in [complaint(each) for each in lesson_text.quoted(f"Type `{code}`.\n\n```sh\n{code}\n```")]
    assert list(lesson_text.quoted(f"| old | today |\n|---|---|\n| `{code}` | `new` |")) == ["new"]


@pytest.mark.parametrize(("text", "name"), [
    ("from kernels import get_kernel\nget_kernel('a/b', versions=1)", "get_kernel"),
    ("import kernels\nkernels.get_kernel('a/b', 1)", "get_kernel"),
    ("from kernels import upload_kernel\nupload_kernel()", "upload_kernel"),
    ("from huggingface_hub import HfApi\nhub, x = HfApi(), 1\nhub.list_repo_refs('a/b', kind='kernel')", "refs"),
    ("code = '''\nfrom kernels import get_local_kernel\nget_local_kernel('build', name=\"gemm\")\n'''", "get_local"),
    ("code = f'''\nfrom kernels import get_local_kernel\nget_local_kernel({x!r}, \"gemm\")\n'''", "get_local"),
    ("import torch\ntorch.library.impl_abstract('a::b')", "impl_abstract"),
    ("import torch\ntorch.no_such_function(1)", "no_such_function"),
    ("from fp8lab.formats import decode\ndecode(no_such_argument=1)", "decode"),
])
def test_a_call_that_todays_libraries_would_not_take_is_found(text, name):
    found = []
    for tree in lesson_text.programs(text):
        names = {}
        lesson_text.learn(tree, names)
        found += [call_complaint(call) for call in lesson_text.calls(tree, names)]
    assert any(name in said for said in found if said), found


@pytest.mark.parametrize(("table", "key"), [
    ("general", "universal"), ("general.rocm", None), ("kernel.gemm", "rocm_archs"), ("torch-noarch", "rocm-archs"),
    (None, "language"), ("torch", "stable_abi")])
def test_a_key_that_build_toml_does_not_have_is_found(table, key):
    assert key_complaint(table, key)
