"""The calls that read, byte by byte as a client sees them."""

import hashlib

import pytest
from hub_clients import add, add_lfs

TEXT = b"def answer():\n    return 42\n"
BINARY = bytes(range(256)) * 40


@pytest.fixture(scope="module")
def published(hub):
    """A repository with one text file and one LFS file on v1."""
    repo_id = "myorg/reading"
    hub.create(repo_id)
    hub.call("PUT", hub.upload_address(repo_id, BINARY), BINARY)
    lines = add("build/torch-cpu/__init__.py", TEXT), add_lfs("build/torch-cpu/op.so", BINARY)
    assert hub.commit(repo_id, *lines).status == 200
    return repo_id


def head(hub, repo_id, branch="v1"):
    refs = hub.call("GET", f"/api/kernels/{repo_id}/refs").json()
    return {one["name"]: one["targetCommit"] for one in refs["branches"]}[branch]


@pytest.mark.parametrize("how", ["v1", "refs%2Fheads%2Fv1", "commit", "short commit"])
def test_a_revision_is_a_branch_a_ref_or_a_commit(hub, published, how):
    oid = head(hub, published)
    revision = {"commit": oid, "short commit": oid[:7]}.get(how, how)
    answer = hub.call("GET", f"/kernels/{published}/resolve/{revision}/build/torch-cpu/__init__.py")
    assert (answer.status, answer.body, answer.headers["X-Repo-Commit"]) == (200, TEXT, oid)


def test_a_text_files_etag_is_its_git_id(hub, published):
    answer = hub.call("HEAD", f"/kernels/{published}/resolve/v1/build/torch-cpu/__init__.py")
    expected = hashlib.sha1(b"blob %d\0" % len(TEXT) + TEXT).hexdigest()
    assert answer.headers["ETag"] == f'"{expected}"'
    assert answer.headers["Content-Length"] == str(len(TEXT))
    assert answer.body == b""


def test_an_lfs_files_etag_is_its_sha256(hub, published):
    answer = hub.call("HEAD", f"/kernels/{published}/resolve/v1/build/torch-cpu/op.so")
    expected = hashlib.sha256(BINARY).hexdigest()
    assert answer.headers["ETag"] == answer.headers["X-Linked-Etag"] == f'"{expected}"'
    assert answer.headers["X-Linked-Size"] == str(len(BINARY))


def test_a_known_etag_is_answered_without_the_file(hub, published):
    path = f"/kernels/{published}/resolve/v1/build/torch-cpu/op.so"
    etag = hub.call("HEAD", path).headers["ETag"]
    assert hub.call("GET", path, headers={"If-None-Match": etag}).status == 304


@pytest.mark.parametrize(("wanted", "expected"), [("bytes=0-9", BINARY[:10]), ("bytes=10000-", BINARY[10000:]),
                                                  ("bytes=-7", BINARY[-7:])])
def test_a_range_gives_these_bytes(hub, published, wanted, expected):
    answer = hub.call("GET", f"/kernels/{published}/resolve/v1/build/torch-cpu/op.so", headers={"Range": wanted})
    assert (answer.status, answer.body) == (206, expected)
    assert answer.headers["Content-Range"].endswith(f"/{len(BINARY)}")


def test_a_range_past_the_end_is_416(hub, published):
    path = f"/kernels/{published}/resolve/v1/build/torch-cpu/op.so"
    assert hub.call("GET", path, headers={"Range": "bytes=99999-"}).status == 416


def test_the_tree_of_a_folder_lists_only_what_lies_directly_in_it(hub, published):
    assert [one["path"] for one in hub.call("GET", f"/api/kernels/{published}/tree/v1/build").json()] == [
        "build/torch-cpu"]
    top = hub.call("GET", f"/api/kernels/{published}/tree/v1").json()
    assert {one["path"]: one["type"] for one in top} == {".gitattributes": "file", "build": "directory"}


def test_the_recursive_tree_tells_lfs_files_from_others(hub, published):
    tree = {one["path"]: one for one in hub.call("GET", f"/api/kernels/{published}/tree/v1?recursive=true").json()}
    assert tree["build/torch-cpu/op.so"]["lfs"]["oid"] == hashlib.sha256(BINARY).hexdigest()
    assert "lfs" not in tree["build/torch-cpu/__init__.py"]
    assert tree["build"]["type"] == "directory"


def test_the_history_runs_back_to_the_first_commit(hub, published):
    titles = [one["title"] for one in hub.call("GET", f"/api/kernels/{published}/commits/v1").json()]
    assert titles == ["a change", "initial commit"]


@pytest.mark.parametrize(("path", "code"), [
    ("/api/kernels/myorg/nothing/refs", "RepoNotFound"),
    ("/api/kernels/{repo}/tree/v9", "RevisionNotFound"),
    ("/api/kernels/{repo}/tree/{zeros}", "RevisionNotFound"),
    ("/api/kernels/{repo}/tree/v1/nothing", "EntryNotFound"),
    ("/kernels/myorg/nothing/resolve/v1/x", "RepoNotFound"),
    ("/kernels/{repo}/resolve/v9/x", "RevisionNotFound"),
    ("/kernels/{repo}/resolve/v1/nothing", "EntryNotFound"),
])
def test_what_is_not_there_is_404_with_the_code_clients_read(hub, published, path, code):
    answer = hub.call("GET", path.format(repo=published, zeros="0" * 40))
    assert (answer.status, answer.headers["X-Error-Code"]) == (404, code)
    assert answer.json()["error"]


def test_repository_names_are_found_in_any_case_and_told_in_their_own(hub, published):
    assert hub.call("GET", "/api/kernels/MyOrg/READING").json()["id"] == published
    wanted = {"type": "kernel", "name": "cased", "organization": "MYORG"}
    assert hub.call("POST", "/api/repos/create", wanted, hub.token).status == 200
    assert hub.call("GET", "/api/kernels/myorg/cased").json()["id"] == "myorg/cased"


def test_a_private_repository_is_there_for_members_only(hub):
    wanted = {"type": "kernel", "name": "secret", "organization": "myorg", "visibility": "private"}
    assert hub.call("POST", "/api/repos/create", wanted, hub.token).status == 200
    assert hub.call("GET", "/api/kernels/myorg/secret/refs", token=hub.token).status == 200
    for token in (None, hub.tokens["bob"]):
        answer = hub.call("GET", "/api/kernels/myorg/secret/refs", token=token)
        assert (answer.status, answer.headers["X-Error-Code"]) == (404, "RepoNotFound")


def test_an_organisation_tells_whether_its_kernels_are_trusted(hub):
    trusted = {org: hub.call("GET", f"/api/organizations/{org}/overview").json()["trustedKernelPublisher"]
               for org in ("myorg", "newcomer")}
    assert trusted == {"myorg": True, "newcomer": False}
    assert hub.call("GET", "/api/organizations/nobody/overview").status == 404
