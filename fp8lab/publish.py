"""`fp8lab publish`: check, find the build, fill the card, and upload to the branch of the version, dry run first.

The same places as `kernel-builder upload`: build/<variant>/* and benchmarks/benchmark*.py go to branch v<version>, the
filled CARD.md goes to README.md on main. The variants land in one commit, so a reader sees all of them or none.
Source: huggingface/kernels at 8ac69fc5, kernel-builder/src/upload.rs.
"""

import fnmatch
import os
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from fp8lab import card, check
from fp8lab.localbuild import ROOT

MESSAGE = "Uploaded using `fp8lab publish`."


class PublishError(Exception):
    """What stops the upload, in words for the person who started it."""


@dataclass
class Plan:
    """What publishing would do: files as {path in the repository: local path}, and what is there before."""

    repo_id: str
    branch: str
    files: dict
    card: str
    head: str | None = None  # commit the branch is at; None: there is no such branch yet
    repo_exists: bool = False
    stale: list = field(default_factory=list)  # paths in the repository to delete

    def __str__(self):
        state = "new" if not self.repo_exists else f"at {self.head[:12]}" if self.head else "new branch"
        lines = [f"{self.repo_id}, branch {self.branch} ({state})"]
        lines += [f"  + {path}  {local.stat().st_size:,} bytes" for path, local in self.files.items()]
        lines += [f"  - {path}" for path in self.stale]
        return "\n".join([*lines, f"{self.repo_id}, branch main", f"  + README.md  {len(self.card.encode()):,} bytes"])


def configure(parser):
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the kernel's repository (default: this one)")
    parser.add_argument("--endpoint", default=os.environ.get("HF_ENDPOINT", "https://huggingface.co"),
                        help="the Hub's address (default: HF_ENDPOINT, else https://huggingface.co)")
    parser.add_argument("--repo-id", help="organisation/name (default: [general.hub] repo-id of build.toml)")
    parser.add_argument("--private", action="store_true", help="if the repository is new, for members only")
    parser.add_argument("--upload", action="store_true", help="do it; without this the plan is only shown")


def run(args):
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        api = HfApi(endpoint=args.endpoint.rstrip("/"))
        todo = plan(args.root, api, args.repo_id)
        print(todo)
        if not args.upload:
            print(f"\nNothing was sent to {api.endpoint}. Add --upload to publish this.")
            return 0
        print(f"\npublished: {upload(todo, api, args.private)}")
        print(f'load it:   get_kernel("{todo.repo_id}", version={todo.branch.removeprefix("v")})')
    except (PublishError, HfHubHTTPError) as error:
        print(f"fp8lab publish: {error}", file=sys.stderr)
        return 1
    except httpx2.TransportError as error:
        print(f"fp8lab publish: no answer from {args.endpoint}: {error}", file=sys.stderr)
        return 1
    return 0


def plan(root, api, repo_id=None):
    """Check a kernel's repository and return the Plan of publishing it; nothing is sent.

    api      huggingface_hub.HfApi for the Hub in question
    repo_id  None: [general.hub] repo-id of build.toml

    Raises PublishError with the findings of `fp8lab check`, or if nothing was built. What `fp8lab build` makes needs
    this machine's libraries, so only a Hub on this machine is offered it.
    """
    root = Path(root)
    findings = [*check.source(root), *check.built(root)]
    if not is_loopback(api.endpoint):
        findings += check.portability(root)
    if findings:
        raise PublishError("\n  ".join(["the check found", *map(str, findings)]))
    variants = check.variants(root)
    if not variants:
        raise PublishError(f"no build variant under {root / 'build'}; run `fp8lab build`, or "
                           "`kernel-builder build-and-copy`")
    general = tomllib.loads((root / "build.toml").read_text())["general"]
    repo_id = repo_id or general["hub"]["repo-id"]
    files = {path.relative_to(root).as_posix(): path
             for variant in variants for path in sorted(variant.rglob("*")) if path.is_file()}
    files |= {path.relative_to(root).as_posix(): path for path in sorted(root.glob("benchmarks/benchmark*.py"))}
    todo = Plan(repo_id, f"v{general['version']}", files, card.fill(root, repo_id))
    _compare(todo, api, {f"build/{variant.name}/*" for variant in variants})
    return todo


def is_loopback(endpoint):
    return urlsplit(endpoint).hostname in ("127.0.0.1", "localhost", "::1")


def _compare(todo, api, ours):
    """Fill in what the Hub holds already, and which of it has to go: of a new branch all builds, else only ours."""
    if not api.repo_exists(todo.repo_id, repo_type="kernel"):
        return
    todo.repo_exists = True
    todo.head = _heads(api, todo.repo_id).get(todo.branch)
    there = api.list_repo_files(todo.repo_id, repo_type="kernel", revision=todo.head or "main")
    gone = {*ours, "benchmarks/benchmark*.py"} if todo.head else {"build/*", "benchmarks/*"}
    todo.stale = [path for path in there
                  if path not in todo.files and any(fnmatch.fnmatch(path, pattern) for pattern in gone)]


def _heads(api, repo_id):
    return {ref.name: ref.target_commit for ref in api.list_repo_refs(repo_id, repo_type="kernel").branches}


def upload(todo, api, private=False):
    """Carry out a Plan and return the address of the commit on the version's branch.

    Raises huggingface_hub's errors: 401 and 403 say what the token lacks, 409 and 412 that somebody else published
    since the plan was made; nothing of the two is mixed, plan again.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    repo = {"repo_id": todo.repo_id, "repo_type": "kernel"}
    operations = [CommitOperationDelete(path) for path in todo.stale]
    operations += [CommitOperationAdd(path, local) for path, local in todo.files.items()]
    api.create_repo(**repo, private=private, exist_ok=True)
    head = todo.head
    if head is None:
        api.create_branch(**repo, branch=todo.branch)  # 409 if it has come into being since the plan
        head = _heads(api, todo.repo_id)[todo.branch]
    commit = api.create_commit(**repo, operations=operations, commit_message=MESSAGE, revision=todo.branch,
                               parent_commit=head)
    api.upload_file(**repo, path_or_fileobj=todo.card.encode(), path_in_repo="README.md", commit_message=MESSAGE)
    return commit.commit_url
