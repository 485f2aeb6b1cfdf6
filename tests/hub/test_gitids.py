"""git itself is the oracle: what it would call a file, a folder and a commit is what the Hub calls them."""

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fp8lab.hub import gitids

# names whose order is a trap: git sorts a folder as if its name ended in "/"
NAMES = st.sampled_from(["a", "a.b", "a-b", "a0", "b", "build", "build.toml", "é", "A", "z~"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@pytest.fixture(scope="module")
def git(tmp_path_factory):
    folder = tmp_path_factory.mktemp("git")
    when = {"GIT_AUTHOR_DATE": "1764500000 +0000", "GIT_COMMITTER_DATE": "1764500000 +0000"}
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "alice"), ("EMAIL", "alice@localhost"))}

    def run(*words, text=b"", **environment):
        return subprocess.run(["git", *words], cwd=folder, input=text, capture_output=True, check=True,
                              env=os.environ | when | who | environment).stdout.decode().strip()

    run("init", "-q")
    return run


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.dictionaries(PATHS, st.binary(max_size=20), min_size=1, max_size=6))
def test_files_and_folders_have_the_ids_git_gives_them(git, files):
    folders = {path[:i] for path in files for i in range(len(path)) if path[i] == "/"}
    files = {path: content for path, content in files.items() if path not in folders}
    index = git("rev-parse", "--absolute-git-dir") + "/scratch-index"
    if os.path.exists(index):
        os.unlink(index)
    blobs = {path: git("hash-object", "-w", "--stdin", text=content) for path, content in files.items()}
    assert blobs == {path: gitids.blob_id(content) for path, content in files.items()}
    lines = "".join(f"100644 {oid}\t{path}\n" for path, oid in blobs.items())
    git("update-index", "--index-info", text=lines.encode(), GIT_INDEX_FILE=index)
    trees = gitids.tree_ids(blobs)
    assert trees[""] == git("write-tree", GIT_INDEX_FILE=index)
    for folder in trees.keys() - {""}:
        assert trees[folder] == git("write-tree", f"--prefix={folder}/", GIT_INDEX_FILE=index)


def test_an_empty_repository_has_gits_empty_tree():
    assert gitids.tree_ids({}) == {"": "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}


@pytest.mark.parametrize("message", ["first", "title\n\nbody of\ntwo lines"])
def test_commits_have_the_ids_git_gives_them(git, message):
    tree = git("mktree")
    first = git("commit-tree", tree, text=(message + "\n").encode())
    second = git("commit-tree", tree, "-p", first, text=(message + "\n").encode())
    assert gitids.commit_id(tree, None, "alice", 1764500000, message) == first
    assert gitids.commit_id(tree, first, "alice", 1764500000, message) == second
