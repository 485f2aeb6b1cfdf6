"""Uploads by Xet, as the client libraries make them of themselves, and raw ones that no client would make."""

import hashlib
import struct
from urllib.parse import urlsplit

import lz4.frame
import numpy as np
import pytest
from hub_clients import Client, LocalHub, accounts, add_lfs

from fp8lab.hub import Server, xet

FLOATS = np.random.default_rng(0).normal(size=300_001).astype("<f4").tobytes() + b"abc"  # packed by groups of bytes
FILES = {
    "floats.bin": FLOATS,
    "noise.bin": np.random.default_rng(1).bytes(400_000),                                 # stored as it is
    "zeros.so": bytes(200_000),                                                           # packed by LZ4
    "changed.bin": FLOATS[:900_000] + b"another end",                                     # shares chunks with floats
    "one.bin": b"\0",
    "text.py": b"x = 1\n",                                                                # in the commit itself
}
UPLOAD = """
from huggingface_hub import HfApi
repo = dict(repo_id="myorg/xet", repo_type="kernel", revision="v1")
report("folder", lambda: HfApi().upload_folder(**repo, folder_path="files").oid)
report("again", lambda: HfApi().upload_folder(**repo, folder_path="files").oid)
content = Path("files/floats.bin").read_bytes() + b"a longer end"
report("bytes", lambda: HfApi().upload_file(**repo, path_or_fileobj=content, path_in_repo="longer.bin").oid)
"""


@pytest.fixture(scope="module")
def uploaded(hub, tmp_path_factory):
    home = tmp_path_factory.mktemp("xet")
    (home / "files").mkdir()
    for name, content in FILES.items():
        (home / "files" / name).write_bytes(content)
    hub.create("myorg/xet")
    client = Client(home, hub.endpoint, hub.token)
    return client.script(UPLOAD) | {"log": (hub.root / "requests.log").read_text()}


def test_what_the_library_uploads_without_being_told_how_comes_back_byte_by_byte(hub, uploaded):
    assert hub.files("myorg/xet") == FILES | {"longer.bin": FLOATS + b"a longer end"}
    assert "/v1/shards" in uploaded["log"]
    tree = hub.call("GET", "/api/kernels/myorg/xet/tree/v1").json()
    lfs = {entry["path"]: entry["lfs"]["oid"] for entry in tree if "lfs" in entry}
    assert {name: lfs.get(name) for name in FILES} == {
        name: hashlib.sha256(content).hexdigest() if name != "text.py" else None for name, content in FILES.items()}


def test_uploading_the_same_folder_again_makes_no_commit(uploaded):
    assert uploaded["again"] == uploaded["folder"]


# raw uploads


def chunk(data, kind=xet.STORED, size=None):
    head = bytes([0]) + len(data).to_bytes(3, "little") + bytes([kind])
    return head + (len(data) if size is None else size).to_bytes(3, "little") + data


def swapped(digits):
    """Hexadecimal digits as Xet's binary forms hold them."""
    return struct.pack("<4Q", *(int(digits[i:i + 16], 16) for i in range(0, 64, 16)))


def shard(content, terms, flags=xet.HAS_SHA256):
    """A shard that names one file; terms are (xorb, bytes, first chunk, end)."""
    entries = b"".join(swapped(xorb) + struct.pack("<IIII", 0, size, first, end) for xorb, size, first, end in terms)
    head = xet.SHARD_HEAD + bytes(8)
    file = bytes(32) + struct.pack("<II8x", flags, len(terms)) + entries
    return head + file + swapped(hashlib.sha256(content).hexdigest()) + bytes(16) + b"\xff" * 32 + bytes(16)


class XetCalls:
    """Raw calls to the address that the Hub gives somebody who may write to a repository."""

    def __init__(self, hub, repo):
        answer = hub.call("GET", f"/api/kernels/{repo}/xet-write-token/v1", token=hub.token)
        self.hub, self.token = hub, answer.headers["X-Xet-Access-Token"]
        self.path = urlsplit(answer.headers["X-Xet-Cas-Url"]).path

    def xorb(self, content, name, token=None):
        return self.hub.call("POST", f"{self.path}/v1/xorbs/default/{name}", content, token or self.token)

    def shard(self, content, token=None):
        return self.hub.call("POST", f"{self.path}/v1/shards", content, token or self.token)


NAME = iter(f"{number:064x}" for number in range(1, 1000))


@pytest.fixture
def calls(hub, repo):
    return XetCalls(hub, repo)


def test_a_file_is_put_together_from_ranges_of_chunks(hub, repo, calls):
    name = next(NAME)
    packed = lz4.frame.compress(b"b" * 1000)
    grouped = lz4.frame.compress(b"04815926a37")  # 0123456789a, every fourth byte together
    parts = [chunk(b"a"), chunk(packed, xet.LZ4, 1000), chunk(grouped, xet.GROUPED_LZ4, 11)]
    assert calls.xorb(b"".join(parts) + b"XETBLOB, what follows the chunks", name).status == 200
    content = b"b" * 1000 + b"0123456789a" + b"a"
    assert calls.shard(shard(content, [(name, 1011, 1, 3), (name, 1, 0, 1)])).status == 200
    assert hub.commit(repo, add_lfs("op.so", content)).status == 200
    assert hub.files(repo) == {"op.so": content}


def test_a_file_whose_bytes_are_not_the_announced_ones_is_not_kept(hub, repo, calls):
    name = next(NAME)
    calls.xorb(chunk(b"evil bytes"), name)
    answer = calls.shard(shard(b"good bytes", [(name, 10, 0, 1)]))
    assert (answer.status, "upload the file again" in answer.json()["error"]) == (422, True)
    assert hub.commit(repo, add_lfs("op.so", b"good bytes")).status == 400
    assert list((hub.root / "incoming").iterdir()) == []


@pytest.mark.parametrize(("xorb", "said"), [
    (None, "was not uploaded"),
    (b"", "has no chunk 0"),
    (b"\1" + chunk(b"x")[1:], "has no chunk 0"),
    (chunk(b"x", size=7), "is 1 bytes, announced were 7"),
    (chunk(b"x", kind=9), "packed in the way 9"),
    (chunk(b"no LZ4 at all", xet.LZ4, 7), "cannot be unpacked"),
    (chunk(lz4.frame.compress(bytes(1 << 20)), xet.LZ4, 7), "is 8 bytes, announced were 7"),  # a megabyte is not made
])
def test_a_xorb_that_cannot_be_read_is_refused_with_a_sentence(calls, xorb, said):
    name = next(NAME)
    if xorb is not None:
        assert calls.xorb(xorb, name).status == 200
    answer = calls.shard(shard(b"x" * 7, [(name, 7, 0, 1)]))
    assert answer.status == 400
    assert said in answer.json()["error"]


@pytest.mark.parametrize(("text", "said"), [
    (b"", "no Xet shard"), (b"x" * 200, "no Xet shard"), (xet.SHARD_HEAD, "ends in the middle"),
    (shard(b"x", [])[:-60], "ends in the middle"), (shard(b"x", [], flags=0), "without its SHA-256"),
    (shard(b"x", [("0" * 64, 1, 0, 1)], xet.HAS_SHA256 | xet.HAS_VERIFICATION), "ends in the middle"),
])
def test_a_malformed_shard_is_refused_with_a_sentence(calls, text, said):
    answer = calls.shard(text)
    assert (answer.status, said in answer.json()["error"]) == (400, True), answer.body


@pytest.mark.parametrize("token", ["", "hf_wrong", "9999999999.", "9999999999." + "0" * 64, "x.y", "\xe9.\xe9"])
def test_only_a_token_that_the_hub_gave_out_may_upload(calls, token):
    for answer in (calls.xorb(chunk(b"x"), "0" * 64, token or "none"), calls.shard(b"", token or "none")):
        assert answer.status == 401
    assert not (calls.hub.root / "xorbs" / ("0" * 64)).exists()


@pytest.mark.parametrize(("who", "status"), [(None, 401), ("stranger", 401), ("bob", 403)])
def test_the_token_is_given_to_members_only(hub, repo, who, status):
    token = hub.tokens.get(who, "hf_wrong" if who else None)
    assert hub.call("GET", f"/api/kernels/{repo}/xet-write-token/v1", token=token).status == status


@pytest.mark.parametrize("name", ["..%2f..%2fhub.sqlite", "x", "0" * 65, "0" * 63 + "G"])
def test_a_xorb_by_another_name_is_refused(calls, name):
    assert calls.xorb(chunk(b"x"), name).status == 400


def test_an_oversized_xorb_or_shard_is_refused_before_it_is_read(calls):
    too_long = {"Content-Length": str(1 << 40), "Authorization": f"Bearer {calls.token}"}
    for path in ("/v1/xorbs/default/" + "0" * 64, "/v1/shards"):
        assert calls.hub.call("POST", calls.path + path, b"", headers=too_long).status == 413


def test_a_new_start_has_a_new_address_and_none_of_the_xorbs(tmp_path):
    """A client remembers by address what it has sent, and would not send it again."""
    tokens, seen = accounts(tmp_path), []
    for _ in range(2):
        with Server(tmp_path) as server:
            hub = LocalHub(tmp_path, server.endpoint, tokens)
            if not seen:
                hub.create("myorg/x")
            calls = XetCalls(hub, "myorg/x")
            assert list((tmp_path / "xorbs").iterdir()) == []
            calls.xorb(chunk(b"x"), "1" * 64)
            seen.append(calls.path)
    assert seen[0] != seen[1]


def test_a_file_over_the_servers_limit_is_refused_before_it_is_sent(hub, repo):
    wanted = {"files": [{"path": "x", "sample": "", "size": 6 << 30}]}
    answer = hub.call("POST", f"/api/kernels/{repo}/preupload/v1", wanted, hub.token)
    assert (answer.status, "--max-file-mib" in answer.json()["error"]) == (413, True)
    calls = XetCalls(hub, repo)
    assert calls.shard(shard(b"x", [("0" * 64, 3 << 30, 0, 1)] * 2)).status == 413
