"""Calls of `kernels` on repositories in different states, tried for real: the requests they make, what comes of them.

Behind widgets.loading_explorer and figures.hub_requests. The kernels are a few lines of Python, so that trying all
of it takes seconds; how they are found and fetched does not depend on what is in them.
"""

import contextlib
import dataclasses
import functools
import io
import itertools
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import tomllib
import traceback
from dataclasses import dataclass
from pathlib import Path

from .fresh import run_fresh
from .hub import gitids
from .hub.requests import Request, RequestLog
from .hub.store import File

# What is called, as text with {id} for the repository.
CALLS = (
    'get_kernel("{id}")',
    'get_kernel("{id}", version=1)',
    'get_kernel("{id}", version=2)',
    'get_kernel("{id}", revision="main")',
    'get_kernel("{id}", version=1, trust_remote_code=True)',
)
ANY_CPU = "torch-cpu"
OLD_ROCM = "torch28-cxx11-rocm64-x86_64-linux"
# State of the repository -> (repo id, {branch: build variant}); None: there is no such repository.
STATES = {
    "version 1 published": ("myorg/one", {"v1": ANY_CPU}),
    "versions 1 and 2 published": ("myorg/two", {"v1": ANY_CPU, "v2": ANY_CPU}),
    "built for other machines only": ("myorg/elsewhere", {"v1": OLD_ROCM}),
    "publisher not trusted": ("newcomer/one", {"v1": ANY_CPU}),
    "pushed to main, no version": ("myorg/unversioned", {"main": ANY_CPU}),
    "no such repository": ("myorg/nothing", None),
}
TIMES = ("first time", "again")


@dataclass(frozen=True)
class Outcome:
    """One call: as written, the Requests it made, what it printed or raised, and whether it gave a kernel."""

    call: str
    requests: tuple
    said: str
    is_ok: bool


def publish_states(store, author):
    """Put the repositories of STATES into a Hub's Store; `author` is a user who may write to myorg and newcomer."""
    for repo_id, branches in STATES.values():
        if branches is None:
            continue
        owner, name = repo_id.split("/")
        store.create_repo(owner, name, False, author)
        repo = store.repo(owner, name, author)
        for branch, variant in branches.items():
            if branch != "main":
                store.create_ref(repo, "branch", branch, "main")
            files = [stored(store, f"build/{variant}/{path}", content)
                     for path, content in kernel_files(name, branch, variant).items()]
            store.commit(repo, branch, [("add", file) for file in files], author=author, title="a kernel")


def kernel_files(name, branch, variant):
    """Return {path: bytes} of a build variant of a kernel in Python."""
    backend = "rocm" if "rocm" in variant else "cpu"
    metadata = {"name": name, "id": f"_{name}_{backend}_{branch}", "version": 2 if branch == "v2" else 1,
                "license": "apache-2.0", "python-depends": [], "backend": {"type": backend}}
    return {"__init__.py": f'def answer():\n    return "{branch}"\n'.encode(),
            "metadata.json": json.dumps(metadata, indent=2).encode()}


def stored(store, path, content):
    sha256 = store.objects.put(content)
    return File(path, gitids.blob_id(content), len(content), sha256, False)


def next_version(root, folder):
    """Copy a kernel's repository with its build to a folder, as the next major version, and return the folder.

    Only the label is new, in build.toml and in the metadata: compiling again takes longer than a lesson should wait.
    So both versions have one id, which no process may load twice; compiled anew they would have two.
    """
    folder = Path(folder)
    for name in ("gemm", "torch-ext", "benchmarks"):
        shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for variant in root.glob("build/torch*"):
        shutil.copytree(variant, folder / "build" / variant.name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("flake.nix", "flake.lock", "CARD.md", ".gitattributes", ".gitignore"):
        shutil.copy(root / name, folder / name)
    text = (root / "build.toml").read_text()
    version = tomllib.loads(text)["general"]["version"] + 1
    (folder / "build.toml").write_text(re.sub(r"^version *=.*", f"version = {version}", text, count=1, flags=re.M))
    for path in folder.glob("build/*/metadata.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"version": version}, indent=2) + "\n")
    who = ["-c", "user.name=alice", "-c", "user.email=alice@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", f"version {version}"]):
        subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)
    return folder


def try_all(environment, log):
    """Make every call on every state, twice, and return {(call, state, time): Outcome}.

    environment  hub.client_environment() of a Hub that publish_states() has filled
    log          path of that server's log; nobody else may call the Hub meanwhile

    Raises RuntimeError with what was said if the calls could not be tried.
    """
    calls = [[call.format(id=repo_id) for repo_id, _ in STATES.values()] for call in CALLS]
    said = run_fresh(f"from fp8lab import loading; loading.print_outcomes({calls!r}, {str(log)!r})", environment)
    try:
        found = json.loads(said)
    except ValueError:
        raise RuntimeError(f"the calls could not be tried: {said}") from None
    outcomes = {}
    for call, (state, (repo_id, _)), time in itertools.product(CALLS, STATES.items(), TIMES):
        requests, text, is_ok = found[CALLS.index(call)][list(STATES).index(state)][TIMES.index(time)]
        made = tuple(Request(*request) for request in requests)
        outcomes[call, state, time] = Outcome(call.format(id=repo_id), made, text, is_ok)
    return outcomes


def print_outcomes(calls, log):
    """In a fresh process: make each list of calls in a fork of its own, each call twice, and print the outcomes.

    huggingface_hub remembers in memory what it listed, so within a list no repository may occur twice.
    """
    import kernels  # noqa: F401  once, before the forks

    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        print(json.dumps(pool.map(functools.partial(_all_twice, log=log), calls, chunksize=1)))


def _all_twice(calls, log):
    from huggingface_hub.utils import detect_agent

    detect_agent()                    # asks the Hub once a process, whatever the first call is
    shutil.rmtree(os.environ["KERNELS_CACHE"], ignore_errors=True)
    requests = RequestLog(log)
    return [[_outcome(call, requests) for _ in TIMES] for call in calls]


def _outcome(call, requests):
    """Make a call and return (its requests, what it said, whether it gave a kernel)."""
    import kernels

    said, is_ok = io.StringIO(), False
    with contextlib.redirect_stderr(said):
        try:
            answer = eval(call, vars(kernels)).answer()
            said.write(f"returns the kernel; its answer() is {answer!r}")
            is_ok = True
        except Exception as error:
            said.write("".join(traceback.format_exception_only(error)))
    return [dataclasses.astuple(request) for request in requests.new()], said.getvalue().strip(), is_ok
