"""What the Hub remembers: accounts, repositories, branches, tags and commits, in one SQLite file beside the contents.

A commit is a complete list of files; a branch points at a commit. A change is one SQLite transaction, so a reader
sees a branch before it or after it, never between, and a crash leaves the state before it.
"""

import contextlib
import hashlib
import re
import secrets
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from . import gitids
from .errors import HubError, entry_not_found, repo_not_found, revision_not_found
from .objects import Objects

SCHEMA = """
CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY COLLATE NOCASE, is_org INTEGER, trusted INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS token (sha256 TEXT PRIMARY KEY, user TEXT REFERENCES account);
CREATE TABLE IF NOT EXISTS member (org TEXT COLLATE NOCASE, user TEXT COLLATE NOCASE, PRIMARY KEY (org, user));
CREATE TABLE IF NOT EXISTS repo (
    id INTEGER PRIMARY KEY, owner TEXT COLLATE NOCASE REFERENCES account, name TEXT COLLATE NOCASE,
    private INTEGER, created INTEGER, UNIQUE (owner, name));
CREATE TABLE IF NOT EXISTS revision (
    id INTEGER PRIMARY KEY, repo INTEGER REFERENCES repo ON DELETE CASCADE, oid TEXT, parent TEXT, author TEXT,
    seconds INTEGER, title TEXT, description TEXT, UNIQUE (repo, oid));
CREATE TABLE IF NOT EXISTS file (
    revision INTEGER REFERENCES revision ON DELETE CASCADE, path TEXT, oid TEXT, size INTEGER, sha256 TEXT,
    is_lfs INTEGER, PRIMARY KEY (revision, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ref (
    repo INTEGER REFERENCES repo ON DELETE CASCADE, kind TEXT, name TEXT, oid TEXT, PRIMARY KEY (repo, kind, name));
"""
NAME = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?<![-.])(?<!\.git)")
REF = re.compile(r"(?!.*(\.\.|//))(?!refs/)(?![0-9a-f]{40}$)[A-Za-z0-9][A-Za-z0-9._/-]{0,95}(?<![/.])")


@dataclass(frozen=True)
class Repo:
    id: int
    owner: str
    name: str
    private: bool
    created: int

    @property
    def repo_id(self):
        return f"{self.owner}/{self.name}"


@dataclass(frozen=True)
class Revision:
    id: int
    oid: str
    author: str
    seconds: int
    title: str
    description: str


@dataclass(frozen=True)
class File:
    """A file of a commit: git id, size in bytes, SHA-256 of the content; LFS files have a pointer's git id."""

    path: str
    oid: str
    size: int
    sha256: str
    is_lfs: bool

    @property
    def etag(self):
        return self.sha256 if self.is_lfs else self.oid


def check_name(name):
    """Raise HubError 400 for a name that no account or repository may have."""
    if not NAME.fullmatch(name):
        raise HubError(400, f"The name {name!r} is refused: needs letters, digits, - _ . and no -- or ..")


def checked_path(path):
    """Return a path for a file of a repository, or raise HubError 400: it must stay inside every checkout."""
    parts = path.split("/") if isinstance(path, str) else [""]
    bad = any(part in ("", ".", "..", ".git") for part in parts) or re.search(r"[\\\x00-\x1f\x7f]", str(path))
    if bad or len(path.encode()) > 1024:
        raise HubError(400, f"The path {path!r} is refused: needs relative parts joined by /, none of them . .. .git")
    return path


def lfs_file(path, sha256, size):
    return File(path, gitids.blob_id(gitids.lfs_pointer(sha256, size)), size, sha256, True)


class Store:
    """The state under one folder. Methods may be called from any thread; other processes may hold a Store too."""

    def __init__(self, root):
        root = Path(root)
        root.mkdir(parents=True, exist_ok=True)
        self.objects = Objects(root)
        self._lock = threading.RLock()
        self._db = sqlite3.connect(root / "hub.sqlite", check_same_thread=False, isolation_level=None, timeout=30)
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;" + SCHEMA)

    def close(self):
        self._db.close()

    def _rows(self, sql, *values):
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    @contextlib.contextmanager
    def _change(self):
        """One transaction: all of the statements inside, or none of them."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db.execute
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # accounts

    def add_user(self, name):
        """Create a user if there is none of this name, and return a new token for them; only its hash is kept."""
        token = "hf_" + secrets.token_urlsafe(26)
        with self._change() as execute:
            self._add_account(execute, name, is_org=False)
            execute("INSERT INTO token VALUES (?, ?)", (hashlib.sha256(token.encode()).hexdigest(), name))
        return token

    def set_org(self, name, trusted, members=()):
        """Create an organisation or change it: its trusted-publisher flag, and users who join it."""
        with self._change() as execute:
            self._add_account(execute, name, is_org=True)
            execute("UPDATE account SET trusted = ? WHERE name = ?", (trusted, name))
            for user in members:
                if not self._rows("SELECT 1 FROM account WHERE name = ? AND NOT is_org", user):
                    raise HubError(404, f"No user {user} to be a member of {name}; add the user first.")
                execute("INSERT OR IGNORE INTO member VALUES (?, ?)", (name, user))

    def _add_account(self, execute, name, is_org):
        check_name(name)
        execute("INSERT OR IGNORE INTO account (name, is_org) VALUES (?, ?)", (name, is_org))
        if self._rows("SELECT is_org FROM account WHERE name = ?", name) != [(is_org,)]:
            raise HubError(409, f"{name} exists already as {'a user' if is_org else 'an organisation'}.")

    def user_of(self, token):
        """Return the user a token belongs to, or None."""
        rows = self._rows("SELECT user FROM token WHERE sha256 = ?", hashlib.sha256(token.encode()).hexdigest())
        return rows[0][0] if rows else None

    def org(self, name):
        """Return (name, trusted) of an organisation, or raise HubError 404."""
        rows = self._rows("SELECT name, trusted FROM account WHERE name = ? AND is_org", name)
        if not rows:
            raise HubError(404, f"No organisation {name}.")
        return rows[0][0], bool(rows[0][1])

    def orgs_of(self, user):
        return [org for (org,) in self._rows("SELECT org FROM member WHERE user = ? ORDER BY org", user)]

    def may_write(self, user, owner):
        return user is not None and (user.lower() == owner.lower() or bool(
            self._rows("SELECT 1 FROM member WHERE org = ? AND user = ?", owner, user)))

    # repositories, branches and tags

    def create_repo(self, owner, name, private, author):
        """Create a repository whose main branch holds one commit; HubError 409 if there is one already."""
        attributes = b"*.so filter=lfs diff=lfs merge=lfs -text\n"
        sha256 = self.objects.put(attributes)
        self.objects.sync([sha256])
        first = File(".gitattributes", gitids.blob_id(attributes), len(attributes), sha256, False)
        with self._change() as execute:
            owner = self._free_name(owner, name)
            repo = execute("INSERT INTO repo (owner, name, private, created) VALUES (?, ?, ?, ?)",
                           (owner, name, private, int(time.time()))).lastrowid
            oid = self._add_revision(execute, repo, None, [first], author, "initial commit", "")
            execute("INSERT INTO ref VALUES (?, 'branch', 'main', ?)", (repo, oid))

    def repo(self, owner, name, user):
        """Return a Repo that the user (None: anyone) may read, or raise HubError 404."""
        rows = self._rows(
            "SELECT id, owner, name, private, created FROM repo WHERE owner = ? AND name = ?", owner, name)
        if not rows or (rows[0][3] and not self.may_write(user, owner)):
            raise repo_not_found(f"{owner}/{name}")
        return Repo(*rows[0])

    def _free_name(self, owner, name):
        """Return the owner as it is written, or raise HubError if name is unusable or taken."""
        check_name(name)
        [(owner,)] = self._rows("SELECT name FROM account WHERE name = ?", owner) or [(owner,)]
        if self._rows("SELECT 1 FROM repo WHERE owner = ? AND name = ?", owner, name):
            raise HubError(409, f"The kernel repository {owner}/{name} exists already.")
        return owner

    def move_repo(self, repo, owner, name):
        """Give a repository another name; HubError 409 if there is one of that name already."""
        with self._change() as execute:
            owner = self._free_name(owner, name)
            execute("UPDATE repo SET owner = ?, name = ? WHERE id = ?", (owner, name, repo.id))

    def delete_repo(self, repo):
        with self._change() as execute:
            execute("DELETE FROM repo WHERE id = ?", (repo.id,))

    def refs(self, repo, kind):
        """Return {name: commit id} of the branches or tags."""
        return dict(self._rows("SELECT name, oid FROM ref WHERE repo = ? AND kind = ? ORDER BY name", repo.id, kind))

    def create_ref(self, repo, kind, name, start):
        """Make a branch or a tag at the commit that `start` means; HubError 409 if there is one of this name."""
        if not REF.fullmatch(name):
            raise HubError(400, f"The {kind} name {name!r} is refused: needs letters, digits, - _ . / as in v1")
        with self._change() as execute:
            if name in self.refs(repo, kind):
                raise HubError(409, f"The {kind} {name} of {repo.repo_id} exists already.")
            execute("INSERT INTO ref VALUES (?, ?, ?, ?)", (repo.id, kind, name, self.revision(repo, start).oid))

    def delete_ref(self, repo, kind, name):
        if (kind, name) == ("branch", "main"):
            raise HubError(403, f"The branch main of {repo.repo_id} cannot be deleted; delete the repository instead.")
        with self._change() as execute:
            values = repo.id, kind, name
            if not execute("DELETE FROM ref WHERE repo = ? AND kind = ? AND name = ?", values).rowcount:
                raise revision_not_found(repo.repo_id, name)

    # commits

    def revision(self, repo, name):
        """Return the Revision of a branch, a tag, refs/heads/…, refs/tags/… or a commit id (7 digits or more)."""
        head = (self.refs(repo, "branch").get(name.removeprefix("refs/heads/"))
                or self.refs(repo, "tag").get(name.removeprefix("refs/tags/")))
        where, value = ("oid = ?", head) if head else ("oid GLOB ?", name + "*")
        if not head and not re.fullmatch("[0-9a-f]{7,40}", name):
            raise revision_not_found(repo.repo_id, name)
        rows = self._rows(
            f"SELECT id, oid, author, seconds, title, description FROM revision WHERE repo = ? AND {where}",
            repo.id, value)
        if len(rows) != 1:
            raise revision_not_found(repo.repo_id, name)
        return Revision(*rows[0])

    def history(self, repo, revision):
        """Return the Revisions from this one back to the first."""
        found = [revision]
        while rows := self._rows("SELECT parent FROM revision WHERE id = ? AND parent IS NOT NULL", found[-1].id):
            found.append(self.revision(repo, rows[0][0]))
        return found

    def files(self, revision):
        """Return {path: File} of a commit, sorted by path."""
        rows = self._rows("SELECT path, oid, size, sha256, is_lfs FROM file WHERE revision = ? ORDER BY path",
                          revision.id)
        return {row[0]: File(*row[:4], bool(row[4])) for row in rows}

    def commit(self, repo, branch, operations, *, author, title, description="", parent=None):
        """Apply operations to a branch in one step and return the id of its new commit.

        operations  [("add", File) | ("delete", path) | ("delete_folder", path)], in order
        parent      the commit id (or its first digits) the caller started from; None: whatever the branch is at

        A change that changes nothing gives the present commit. Raises HubError 412 if the branch has moved on from
        `parent`, 404 if there is no such branch or path, 400 if a path is used as a file and as a folder, or if an
        added content was never uploaded.
        """
        self._check_uploaded(operations)
        with self._change() as execute:
            branch = branch.removeprefix("refs/heads/")
            if branch not in self.refs(repo, "branch"):
                raise revision_not_found(repo.repo_id, branch)
            head = self.revision(repo, branch)
            if parent is not None and not head.oid.startswith(parent):
                raise HubError(412, f"{branch} is at {head.oid}, not at {parent}: somebody committed since. "
                                    "Read the branch again and repeat.")
            before = self.files(head)
            after = self._applied(repo, before, operations)
            if after == before:
                return head.oid
            oid = self._add_revision(execute, repo.id, head.oid, list(after.values()), author, title, description)
            execute("UPDATE ref SET oid = ? WHERE repo = ? AND kind = 'branch' AND name = ?", (oid, repo.id, branch))
            return oid

    def _check_uploaded(self, operations):
        added = [subject for kind, subject in operations if kind == "add"]
        for file in added:
            if not self.objects.has(file.sha256, file.size):
                raise HubError(400, f"The content of {file.path}, SHA-256 {file.sha256}, {file.size} bytes, was not "
                                    "uploaded. Upload it (LFS batch), then commit.")
        self.objects.sync({file.sha256 for file in added})

    def _applied(self, repo, before, operations):
        after = dict(before)
        for kind, subject in operations:
            if kind == "add":
                after[subject.path] = subject
                continue
            gone = [path for path in after
                    if path == subject or (kind == "delete_folder" and path.startswith(subject + "/"))]
            if not gone:
                raise entry_not_found(repo.repo_id, subject)
            for path in gone:
                del after[path]
        folders = {path[:i] for path in after for i in range(len(path)) if path[i] == "/"}
        if clash := folders & after.keys():
            raise HubError(400, f"{min(clash)} would be a file and a folder at once.")
        return dict(sorted(after.items()))

    def _add_revision(self, execute, repo, parent, files, author, title, description):
        tree = gitids.tree_ids({file.path: file.oid for file in files})[""]
        seconds = int(time.time())
        oid = gitids.commit_id(tree, parent, author, seconds, f"{title}\n\n{description}".strip())
        found = execute("SELECT id FROM revision WHERE repo = ? AND oid = ?", (repo, oid)).fetchone()
        if found:  # the same change made twice within a second, on two branches
            return oid
        revision = execute(
            "INSERT INTO revision (repo, oid, parent, author, seconds, title, description) VALUES (?,?,?,?,?,?,?)",
            (repo, oid, parent, author, seconds, title, description)).lastrowid
        for file in files:
            execute("INSERT INTO file VALUES (?, ?, ?, ?, ?, ?)",
                    (revision, file.path, file.oid, file.size, file.sha256, file.is_lfs))
        return oid

    def referenced(self):
        """Return the SHA-256 of every content that some commit refers to."""
        return {sha256 for (sha256,) in self._rows("SELECT DISTINCT sha256 FROM file")}
