"""What the Hub refuses, and that a refusal changes nothing."""

import json
from urllib.parse import quote

import pytest
from hub_clients import add, add_lfs, lfs_object
from hypothesis import given, settings
from hypothesis import strategies as st

WRITES = [
    ("POST", "/api/repos/create", {"type": "kernel", "name": "new", "organization": "myorg"}),
    ("POST", "/api/repos/move", {"type": "kernel", "fromRepo": "myorg/{name}", "toRepo": "myorg/elsewhere"}),
    ("DELETE", "/api/repos/delete", {"type": "kernel", "name": "{name}", "organization": "myorg"}),
    ("POST", "/api/kernels/{repo}/branch/v2", {}),
    ("DELETE", "/api/kernels/{repo}/branch/v1", {}),
    ("POST", "/api/kernels/{repo}/tag/v1", {"tag": "1.0"}),
    ("DELETE", "/api/kernels/{repo}/tag/1.0", {}),
    ("POST", "/api/kernels/{repo}/preupload/v1", {"files": []}),
    ("POST", "/api/kernels/{repo}/commit/v1", {}),
    ("POST", "/kernels/{repo}.git/info/lfs/objects/batch", {"operation": "upload", "objects": []}),
]


@pytest.fixture(scope="module")
def repo(hub):
    """One repository for all: whatever is refused leaves it as it was."""
    hub.create("myorg/untouched")
    return "myorg/untouched"


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
@pytest.mark.parametrize(("who", "status"), [(None, 401), ("stranger", 401), ("bob", 403)])
def test_writing_needs_the_token_of_a_member(hub, repo, method, path, body, who, status):
    body = json.loads(json.dumps(body).replace("{name}", repo.partition("/")[2]))
    token = hub.tokens.get(who, "hf_wrong" if who else None)
    before = hub.call("GET", f"/api/kernels/{repo}/refs").json()
    answer = hub.call(method, path.format(repo=repo), body, token)
    assert answer.status == status, answer.body
    assert answer.json()["error"]
    assert hub.call("GET", f"/api/kernels/{repo}/refs").json() == before


def test_a_wrong_token_is_refused_even_for_reading(hub, repo):
    assert hub.call("GET", f"/api/kernels/{repo}/refs", token="hf_wrong").status == 401


def test_an_upload_address_that_was_altered_is_refused(hub, repo):
    address = hub.upload_address(repo, b"\0" * 10)
    assert hub.call("PUT", address.replace("/10?", "/11?"), b"\0" * 11).status == 403
    assert hub.call("PUT", address.replace("expires=1", "expires=2"), b"\0" * 10).status == 403
    for query in ("", "?expires=9999999999&signature=%C3%A9"):
        assert hub.call("PUT", address.partition("?")[0] + query, b"\0" * 10).status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_foreign_host_header_is_refused(hub, host):
    assert hub.call("GET", "/api/organizations/myorg/overview", headers={"Host": host}).status == 400


@pytest.mark.parametrize("path", [
    "/kernels/{repo}/resolve/v1/../../../../hub.sqlite", "/kernels/{repo}/resolve/v1/..%2f..%2f..%2fhub.sqlite",
    "/kernels/{repo}/resolve/v1//etc/passwd", "/kernels/{repo}/resolve/v1/%2fetc%2fpasswd",
    "/kernels/..%2f..%2f/x/resolve/v1/hub.sqlite", "/kernels/{repo}/resolve/..%2f..%2f..%2f/hub.sqlite",
    "/kernels/{repo}/resolve/v1/%00", "/kernels/{repo}/resolve/*/hub.sqlite", "/lfs/..%2f..%2fhub.sqlite/1"])
def test_a_path_that_leaves_the_repository_finds_nothing(hub, repo, path):
    assert hub.call("GET", path.format(repo=repo)).status in (404, 405)


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a//b", "a/./b", ".git/config", "a\\b", "a\nb", "a\0b",
                                  "", ".", "x" * 1025])
@pytest.mark.parametrize("kind", ["file", "lfsFile", "deletedFile", "deletedFolder"])
def test_a_commit_of_a_path_that_leaves_a_checkout_is_refused(hub, repo, path, kind):
    value = {"path": path, "content": "", "encoding": "base64", **lfs_object(b"x")}
    answer = hub.commit(repo, {"key": kind, "value": value})
    assert (answer.status, hub.files(repo)) == (400, {})


def test_a_file_whose_bytes_are_not_the_announced_ones_is_refused(hub):
    repo = "myorg/other-bytes"
    hub.create(repo)
    announced, tampered = b"\0good bytes", b"\0evil bytes"
    address = hub.upload_address(repo, announced)
    answer = hub.call("PUT", address, tampered)
    assert answer.status == 422
    assert "upload the file again" in answer.json()["error"]
    assert hub.commit(repo, add_lfs("op.so", announced)).status == 400  # still not there
    assert hub.files(repo) == {}
    assert hub.call("PUT", address, announced).status == 200  # and the honest one is welcome
    assert hub.commit(repo, add_lfs("op.so", announced)).status == 200


def test_a_commit_that_refers_to_contents_never_uploaded_changes_nothing(hub, repo):
    answer = hub.commit(repo, add("fine.py", b"x = 1\n"), add_lfs("missing.so", b"\0never uploaded"))
    assert answer.status == 400
    assert "was not uploaded" in answer.json()["error"]
    assert hub.files(repo) == {}


@pytest.mark.parametrize("lines", [
    [add("build", b"a file"), add("build/x.py", b"in it")],
    [add("a/b/c", b"1"), add("a/b", b"2")],
])
def test_a_path_cannot_be_a_file_and_a_folder(hub, repo, lines):
    answer = hub.commit(repo, *lines)
    assert (answer.status, hub.files(repo)) == (400, {})


def test_deleting_what_is_not_there_is_refused(hub, repo):
    answer = hub.commit(repo, add("x", b"1"), {"key": "deletedFile", "value": {"path": "y"}})
    assert (answer.status, answer.headers["X-Error-Code"], hub.files(repo)) == (404, "EntryNotFound", {})


@pytest.mark.parametrize("text", [
    b"{", b"[]", b"\xff", b'{"key": "file"}', b'{"key": "file", "value": {"path": "x", "content": "*", "encoding": '
    b'"base64"}}', b'{"key": "file", "value": {"path": "x", "content": "eA==", "encoding": "utf-8"}}',
    b'{"key": "nonsense", "value": {"path": "x"}}', b'{"key": "lfsFile", "value": {"path": "x", "oid": "../../y", '
    b'"size": 1}}', b'{"key": "lfsFile", "value": {"path": "x", "oid": "' + b"0" * 64 + b'", "size": -1}}',
    b'{"key": "header", "value": 7}', b"[" * 100_000, b'{"key": "header", "value": {"summary": "\\ud800"}}',
    b'{"key": "header", "value": {"parentCommit": 7}}', b'{"key": "file", "value": {"path": "\\ud800", "content": "", '
    b'"encoding": "base64"}}',
    '{"key": "file", "value": {"path": "x", "content": "é", "encoding": "base64"}}'.encode()])
def test_a_malformed_commit_is_refused_with_a_sentence(hub, repo, text):
    answer = hub.call("POST", f"/api/kernels/{repo}/commit/v1", text, hub.token)
    assert (answer.status, hub.files(repo)) == (400, {})
    assert answer.json()["error"]


@pytest.mark.parametrize(("method", "path", "body"), [
    ("POST", "/api/repos/create", {"type": "kernel", "name": 7, "organization": "myorg"}),
    ("POST", "/api/repos/create", {"type": "kernel", "name": "x", "organization": ["myorg"]}),
    ("POST", "/api/kernels/{repo}/branch/v5", {"startingPoint": 7}),
    ("POST", "/api/kernels/{repo}/preupload/v1", {"files": ["x"]}),
    ("POST", "/api/kernels/{repo}/preupload/v1", {"files": [{"path": "x", "sample": "é", "size": 1}]}),
    ("POST", "/api/kernels/{repo}/preupload/v1", {"files": [{"path": "x", "sample": "", "size": "1"}]}),
    ("POST", "/api/validate-yaml", {"content": None}),
    ("POST", "/kernels/{repo}.git/info/lfs/objects/batch", {"operation": "upload", "objects": [7]}),
    ("POST", "/kernels/{repo}.git/info/lfs/objects/batch", {"operation": "download", "objects": []}),
])
def test_a_value_of_the_wrong_type_is_refused(hub, repo, method, path, body):
    answer = hub.call(method, path.format(repo=repo), body, hub.token)
    assert (answer.status, bool(answer.json()["error"])) == (400, True)


def test_a_regular_file_over_ten_mebibytes_is_refused(hub, repo):
    answer = hub.commit(repo, add("big.txt", b"x" * (11 << 20)))
    assert (answer.status, hub.files(repo)) == (413, {})
    assert "LFS" in answer.json()["error"]


def test_a_body_longer_than_announced_to_the_batch_call_is_refused(hub, repo):
    address = hub.upload_address(repo, b"\0" * 100)
    assert hub.call("PUT", address, b"\0" * 101).status == 413
    chunked = iter([b"\0" * 64, b"\0" * 64])  # http.client sends no Content-Length then: counted as it arrives
    assert hub.call("PUT", address, chunked).status == 413


def test_an_oversized_json_body_is_refused_before_it_is_read(hub):
    answer = hub.call("POST", "/api/repos/create", b"{}", hub.token, headers={"Content-Length": str(1 << 40)})
    assert answer.status == 413


def test_a_file_over_the_servers_limit_is_refused_in_the_batch_call(hub, repo):
    wanted = {"operation": "upload", "objects": [{"oid": "0" * 64, "size": 6 << 30}]}
    answer = hub.call("POST", f"/kernels/{repo}.git/info/lfs/objects/batch", wanted, hub.token)
    assert answer.json()["objects"][0]["error"]["code"] == 413


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "a--b", "x.git", "é", "-x", "x" * 97])
def test_an_unusable_repository_name_is_refused(hub, name):
    wanted = {"type": "kernel", "name": name, "organization": "myorg"}
    assert hub.call("POST", "/api/repos/create", wanted, hub.token).status == 400


@pytest.mark.parametrize("branch", ["refs%2Fpr%2F1", "..", "a%2F..%2Fb", "%2Fv1", "v1%2F", "-v", "0" * 40])
def test_an_unusable_branch_name_is_refused(hub, repo, branch):
    assert hub.call("POST", f"/api/kernels/{repo}/branch/{branch}", {}, hub.token).status == 400


def test_a_model_repository_is_refused_by_type(hub):
    answer = hub.call("POST", "/api/repos/create", {"name": "new", "organization": "myorg"}, hub.token)
    assert (answer.status, "kernels only" in answer.json()["error"]) == (400, True)


def test_the_main_branch_cannot_be_deleted(hub, repo):
    assert hub.call("DELETE", f"/api/kernels/{repo}/branch/main", token=hub.token).status == 403


def test_what_exists_already_is_409(hub, repo):
    wanted = {"type": "kernel", "name": repo.partition("/")[2], "organization": "myorg"}
    assert hub.call("POST", "/api/repos/create", wanted, hub.token).status == 409
    assert hub.call("POST", f"/api/kernels/{repo}/branch/v1", {}, hub.token).status == 409
    hub.create("myorg/taken")
    wanted = {"fromRepo": repo, "toRepo": "myorg/taken", "type": "kernel"}
    assert hub.call("POST", "/api/repos/move", wanted, hub.token).status == 409
    assert hub.call("POST", "/api/repos/move", wanted | {"toRepo": "noslash"}, hub.token).status in (400, 403)


def test_pull_requests_are_refused_with_the_way_out(hub, repo):
    answer = hub.call("POST", f"/api/kernels/{repo}/commit/v1?create_pr=1", b"", hub.token)
    assert (answer.status, "commit to a branch" in answer.json()["error"]) == (400, True)


SEGMENTS = st.one_of(
    st.sampled_from(["myorg", "playground", "v1", "main", "refs%2Fheads%2Fv1", "x", "%00", "%ff", "%", "%zz", "..", "*",
                     "playground.git", "0" * 40, "[0-9a-f]", "%2e%2e", "a" * 3000, "1" * 5000]),
    st.text(st.characters(), min_size=1, max_size=5).map(
        lambda text: quote(text.encode("utf-8", "surrogatepass"), safe="")))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=5)  # lone surrogates too
    | st.sampled_from(["kernel", "file", "upload", "../x", "0" * 64]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "name", "organization", "key", "value", "path", "content", "encoding", "oid", "size",
                         "files", "sample", "objects", "operation", "startingPoint", "summary", "parentCommit",
                         "visibility"]), inner, max_size=5), max_leaves=12)
CALLS = st.sampled_from(
    ["/api/whoami-v2", "/api/organizations/{}/overview", "/api/repos/create", "/api/repos/delete", "/api/repos/move",
     "/api/validate-yaml", "/api/kernels/{}/{}", "/api/kernels/myorg/playground/{}",
     "/api/kernels/myorg/playground/tree/{}/{}",
     "/api/kernels/myorg/playground/branch/{}", "/api/kernels/myorg/playground/preupload/{}",
     "/api/kernels/myorg/playground/commit/v1", "/api/kernels/myorg/playground/paths-info/{}",
     "/api/kernels/myorg/playground/commits/{}", "/kernels/{}/{}/info/lfs/objects/batch",
     "/kernels/myorg/playground/resolve/{}/{}", "/lfs/{}/{}?expires={}&signature={}", "/{}"])


@pytest.fixture(scope="module")
def playground(hub):
    hub.create("myorg/playground")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE"]), call=CALLS, body=VALUES,
       segments=st.tuples(*[SEGMENTS] * 4), authorised=st.booleans())
def test_nothing_a_client_sends_breaks_the_server(hub, playground, method, call, body, segments, authorised):
    path = call.format(*segments)
    answer = hub.call(method, path, json.dumps(body).encode(), hub.token if authorised else None)
    assert answer.status < 500, (method, path, body, answer.body)
