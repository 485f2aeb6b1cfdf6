"""Two ways to call a Hub on a real socket: raw HTTP, and the real client libraries in processes of their own."""

import base64
import hashlib
import http.client
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from fp8lab.fresh import run_fresh
from fp8lab.hub import client_environment
from fp8lab.hub.store import Store


class Answer:
    """Status, headers (any case) and body of one call."""

    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


class LocalHub:
    """A served folder: alice is a member of trusted `myorg` and of `newcomer`, which nobody trusts; bob of none."""

    def __init__(self, root, endpoint, tokens):
        self.root, self.endpoint, self.tokens = Path(root), endpoint, tokens
        self.token = tokens["alice"]

    def call(self, method, path, body=None, token=None, headers=()):
        """Make one HTTP call as given, with no client library in between; a dict is sent as JSON."""
        address = urlsplit(self.endpoint)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        body = json.dumps(body).encode() if isinstance(body, dict) else body
        headers = dict(headers) | ({"Authorization": f"Bearer {token}"} if token else {})
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def create(self, repo_id, branch="v1"):
        owner, name = repo_id.split("/")
        wanted = {"type": "kernel", "name": name, "organization": owner}
        assert self.call("POST", "/api/repos/create", wanted, self.token).status == 200
        assert self.call("POST", f"/api/kernels/{repo_id}/branch/{branch}", {}, self.token).status == 201

    def commit(self, repo_id, *lines, branch="v1", **header):
        """Commit ndjson lines as add(), add_lfs() and delete() make them."""
        lines = [{"key": "header", "value": {"summary": "a change", **header}}, *lines]
        text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return self.call("POST", f"/api/kernels/{repo_id}/commit/{branch}", text, self.token)

    def publish(self, repo_id, folder, branch="v1"):
        """Commit every file under a folder and return the commit id."""
        paths = [path for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        lines = [add(path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths]
        return self.commit(repo_id, *lines, branch=branch).json()["commitOid"]

    def upload_address(self, repo_id, content):
        """Return the path that the LFS batch call gives for uploading this content."""
        wanted = {"operation": "upload", "transfers": ["basic"], "objects": [lfs_object(content)]}
        answer = self.call("POST", f"/kernels/{repo_id}.git/info/lfs/objects/batch", wanted, self.token)
        return answer.json()["objects"][0]["actions"]["upload"]["href"].removeprefix(self.endpoint)

    def files(self, repo_id, branch="v1"):
        """Return {path: content} of a branch, read back through the tree and resolve calls."""
        tree = self.call("GET", f"/api/kernels/{repo_id}/tree/{branch}?recursive=true").json()
        paths = [entry["path"] for entry in tree if entry["type"] == "file" and entry["path"] != ".gitattributes"]
        return {path: self.call("GET", f"/kernels/{repo_id}/resolve/{branch}/{path}").body for path in paths}


def add(path, content):
    text = base64.b64encode(content).decode()
    return {"key": "file", "value": {"path": path, "content": text, "encoding": "base64"}}


def lfs_object(content):
    return {"oid": hashlib.sha256(content).hexdigest(), "size": len(content)}


def add_lfs(path, content):
    return {"key": "lfsFile", "value": {"path": path, "algo": "sha256", **lfs_object(content)}}


def accounts(root):
    """Create the users and organisations of LocalHub in a folder, and return the users' tokens."""
    store = Store(root)
    tokens = {name: store.add_user(name) for name in ("alice", "bob")}
    store.set_org("myorg", trusted=True, members=["alice"])
    store.set_org("newcomer", trusted=False, members=["alice"])
    store.close()
    return tokens


class Client:
    """The real client programs, in processes whose caches nobody else uses.

    A script reports by `report(name, thunk)`: what the thunk returned, or the exception's type and message.
    """

    PRELUDE = """
import json, os, sys, warnings
from pathlib import Path
os.chdir({home!r})
def report(name, thunk):
    try:
        outcome = thunk()
    except BaseException as error:
        outcome = f"{{type(error).__name__}}: {{error}}"
    sys.stdout.write("REPORT " + json.dumps([name, outcome], default=str) + chr(10))
"""

    def __init__(self, home, endpoint, token=None):
        self.home = Path(home)
        self.environment = client_environment(endpoint, home, token)

    def command(self, *words, check=True, **environment):
        """Run `hf …` or `kernels …` and return the finished process with stdout and stderr as text."""
        words = [str(Path(sys.executable).parent / words[0]), *map(str, words[1:])]
        done = subprocess.run(words, env=self.environment | environment, cwd=self.home, text=True, capture_output=True)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def script(self, text, **environment):
        """Run Python in a fresh process and return {name: outcome} of its reports; "said" holds all it printed."""
        prelude = self.PRELUDE.format(home=str(self.home))
        said = run_fresh(f"{prelude}\n{text}\nreport('finished', lambda: True)", self.environment | environment)
        reports = [json.loads(line.removeprefix("REPORT ")) for line in said.splitlines() if line.startswith("REPORT ")]
        assert ["finished", True] in reports, said
        return dict(reports) | {"said": said}


def write_kernel(folder, variant="torch-cpu", version=1, answer=42, name="gemm", uid="abc1234", **extra):
    """Write build/<variant>/ of a pure-Python kernel whose `answer()` is a number."""
    kernel = Path(folder) / "build" / variant
    kernel.mkdir(parents=True)
    backend = "rocm" if "rocm" in variant else "cpu"
    (kernel / "__init__.py").write_text(f'__all__ = ["answer"]\n\n\ndef answer():\n    return {answer}\n')
    metadata = {"name": name, "id": f"_{name}_{backend}_{uid}", "version": version, "license": "apache-2.0",
                "python-depends": [], "backend": {"type": backend}}
    (kernel / "metadata.json").write_text(json.dumps(metadata | extra))
    return kernel
