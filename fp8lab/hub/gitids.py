"""The ids that git gives to files, folders and commits, so that a Hub's ids mean what they mean elsewhere.

Nothing here stores anything: `git hash-object` and `git mktree` give the same answers (tests/hub/test_gitids.py).
Source: Pro Git, "Git Internals - Git Objects"; Git LFS specification, "The Pointer".
"""

import hashlib


def _object_id(kind, content):
    return hashlib.sha1(b"%s %d\0" % (kind, len(content)) + content).hexdigest()


def blob_id(content):
    """Return the git id (40 hex digits) of a file's bytes."""
    return _object_id(b"blob", content)


def lfs_pointer(sha256, size):
    """Return the small text file that git holds in place of a file stored by LFS."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def tree_ids(blobs):
    """Return {folder path: git tree id} for {file path: blob id}; "" is the root, and every folder is there.

    Folders are listed as git lists them: sorted by name, where a folder's name counts as if it ended in "/".
    """
    children = {"": {}}
    for path, oid in blobs.items():
        folder, _, name = path.rpartition("/")
        children.setdefault(folder, {})[name] = (b"100644", oid)
        while folder:
            parent, _, name = folder.rpartition("/")
            children.setdefault(parent, {})[name + "/"] = (b"40000", folder)
            folder = parent

    ids = {}
    for folder in sorted(children, key=lambda path: path.count("/") if path else -1, reverse=True):  # deepest first
        content = b"".join(
            b"%s %s\0" % (mode, name.rstrip("/").encode()) + bytes.fromhex(ids[oid] if mode == b"40000" else oid)
            for name, (mode, oid) in sorted(children[folder].items(), key=lambda item: item[0].encode())
        )
        ids[folder] = _object_id(b"tree", content)
    return ids


def commit_id(tree, parent, author, seconds, message):
    """Return the git id of a commit: root tree id, parent commit id or None, author name, Unix time, message."""
    who = f"{author} <{author}@localhost> {seconds} +0000"
    parents = f"parent {parent}\n" if parent else ""
    return _object_id(b"commit", f"tree {tree}\n{parents}author {who}\ncommitter {who}\n\n{message}\n".encode())
