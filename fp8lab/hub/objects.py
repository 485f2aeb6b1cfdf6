"""File contents on disk, each under its own SHA-256: written once, whole, and never served when altered."""

import hashlib
import os
import tempfile
from pathlib import Path

from .errors import HubError


class Objects:
    """Contents under `root/objects/<first two digits>/<sha256>`; half-arrived ones stay in `root/incoming/`.

    Xorbs, which Xet packs the chunks of several files into, lie in `root/xorbs/` until clean().
    """

    def __init__(self, root):
        self.folder = Path(root) / "objects"
        self.incoming, self.xorbs = Path(root) / "incoming", Path(root) / "xorbs"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.incoming.mkdir(exist_ok=True)
        self.xorbs.mkdir(exist_ok=True)
        self._seen_intact = {}  # sha256 -> (mtime_ns, size) at the time its bytes were last hashed

    def path(self, sha256):
        return self.folder / sha256[:2] / sha256

    def xorb(self, name):
        return self.xorbs / name

    def has(self, sha256, size):
        path = self.path(sha256)
        return path.is_file() and path.stat().st_size == size

    def put(self, content):
        """Store bytes and return their SHA-256."""
        sha256 = hashlib.sha256(content).hexdigest()
        with Arrival(self) as arrival:
            arrival.add(content)
            arrival.keep(sha256, len(content))
        return sha256

    def sync(self, sha256s):
        """Make contents survive a power cut. Called once a commit needs them: an upload alone is worth no wait."""
        for path in {path for sha256 in sha256s for path in (self.path(sha256), self.path(sha256).parent)}:
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)

    def intact(self, sha256):
        """Return the path of a content whose bytes are still those that were uploaded.

        Hashes the file when it is first asked for and whenever its time or size has changed since; raises
        HubError 500 if the disk holds something else.
        """
        path = self.path(sha256)
        stamp = (path.stat().st_mtime_ns, path.stat().st_size) if path.is_file() else None
        if stamp is None or self._seen_intact.get(sha256) != stamp:
            if stamp is None or file_sha256(path) != sha256:
                raise HubError(500, f"The stored file {sha256} is missing or was altered on disk; upload it again.")
            self._seen_intact[sha256] = stamp
        return path

    def clean(self, referenced):
        """Remove what uploads left: everything incoming, xorbs, and contents that no commit refers to."""
        for path in (*self.incoming.iterdir(), *self.xorbs.iterdir()):
            path.unlink()
        for path in self.folder.glob("??/*"):
            if path.name not in referenced:
                path.unlink()


class Arrival:
    """A content on its way in: add() its bytes, or hash() and write() them at once; keep() it under its SHA-256.

    move() puts it anywhere, unhashed. Without either nothing stays.
    """

    def __init__(self, objects):
        self._objects = objects
        descriptor, self._path = tempfile.mkstemp(dir=objects.incoming)
        self._file = os.fdopen(descriptor, "wb")
        self._hash = hashlib.sha256()

    def add(self, block):
        self.hash(block)
        self.write(block)

    def hash(self, block):
        self._hash.update(block)

    def write(self, block):
        self._file.write(block)

    def keep(self, sha256, size):
        """Move the content to its place if it is what was announced, else raise HubError 422 and drop it."""
        self._file.flush()
        arrived = self._file.tell()
        if arrived != size or self._hash.hexdigest() != sha256:
            raise HubError(
                422,
                f"{arrived} bytes with SHA-256 {self._hash.hexdigest()} arrived, announced were {size} bytes with "
                f"{sha256}. Nothing was stored; upload the file again.",
            )
        path = self._objects.path(sha256)
        path.parent.mkdir(exist_ok=True)
        self.move(path)
        self._objects._seen_intact[sha256] = (path.stat().st_mtime_ns, size)

    def move(self, path):
        self._file.flush()
        os.replace(self._path, path)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._file.close()
        Path(self._path).unlink(missing_ok=True)


def file_sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
