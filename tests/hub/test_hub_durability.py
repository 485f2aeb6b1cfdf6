"""Interrupted, repeated, simultaneous and crashed work: what is visible is always one whole commit."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hub_clients import LocalHub, accounts, add, add_lfs

from fp8lab.hub import Server

BINARY = b"\0" + bytes(range(256)) * 64


@pytest.fixture
def own(tmp_path):
    """Return serve(): a Hub over one folder, to be started again after a crash."""
    root = tmp_path / "hub"
    tokens = accounts(root)

    def serve():
        server = Server(root, log=tmp_path / "log")
        started.append(server)
        hub = LocalHub(root, server.endpoint, tokens)
        hub.stop = server.stop
        return hub

    started = []
    yield serve
    for server in started:
        server.stop()


def server_process(hub):
    return int((hub.root / "lock").read_text())


def incoming(hub):
    return list((hub.root / "incoming").iterdir())


def half_an_upload(hub, address, content):
    """Open a PUT, send half of the content, and return the open socket."""
    host, port = hub.endpoint.removeprefix("http://").split(":")
    line = socket.create_connection((host, int(port)))
    line.sendall(f"PUT {address} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(content)}\r\n\r\n".encode())
    line.sendall(content[: len(content) // 2])
    return line


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "not within 10 s"
        time.sleep(0.02)


def test_an_upload_that_breaks_off_leaves_nothing(hub, repo):
    address = hub.upload_address(repo, BINARY)
    line = half_an_upload(hub, address, BINARY)
    wait_for(lambda: incoming(hub))
    line.close()
    wait_for(lambda: not incoming(hub))
    assert hub.commit(repo, add_lfs("op.so", BINARY)).status == 400
    assert hub.files(repo) == {}
    assert hub.call("PUT", address, BINARY).status == 200  # the same address still takes the whole file
    assert hub.commit(repo, add_lfs("op.so", BINARY)).status == 200
    assert hub.files(repo) == {"op.so": BINARY}


def test_a_commit_that_breaks_off_leaves_nothing(hub, repo):
    host, port = hub.endpoint.removeprefix("http://").split(":")
    text = b'{"key": "file", "value": {"path": "x.py", "content": "eA==", "encoding": "base64"}}\n'
    with socket.create_connection((host, int(port))) as line:
        line.sendall(f"POST /api/kernels/{repo}/commit/v1 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {hub.token}"
                     f"\r\nContent-Length: {2 * len(text)}\r\n\r\n".encode() + text)
    time.sleep(0.2)
    assert hub.files(repo) == {}


def test_after_kill_9_all_that_was_committed_is_there_and_nothing_else(own):
    hub = own()
    hub.create("myorg/gemm")
    hub.call("PUT", hub.upload_address("myorg/gemm", BINARY), BINARY)
    assert hub.commit("myorg/gemm", add("x.py", b"x = 1\n"), add_lfs("op.so", BINARY)).status == 200
    before = hub.call("GET", "/api/kernels/myorg/gemm/refs").json()
    uncommitted = BINARY + b"never committed"
    assert hub.call("PUT", hub.upload_address("myorg/gemm", uncommitted), uncommitted).status == 200
    broken = BINARY + b"half"
    line = half_an_upload(hub, hub.upload_address("myorg/gemm", broken), broken)
    wait_for(lambda: incoming(hub))

    os.kill(server_process(hub), signal.SIGKILL)
    hub.stop()
    line.close()
    hub = own()

    assert hub.call("GET", "/api/kernels/myorg/gemm/refs").json() == before
    assert hub.files("myorg/gemm") == {"x.py": b"x = 1\n", "op.so": BINARY}
    assert incoming(hub) == []
    assert len(list((hub.root / "objects").glob("??/*"))) == 3  # .gitattributes, x.py, op.so
    assert hub.commit("myorg/gemm", add("y.py", b"y = 1\n")).status == 200  # and the token still writes


def test_two_uploads_at_once_both_land_whole(hub, repo):
    def upload(name):
        files = [add(f"build/{name}/{i}.py", f"{name} {i}\n".encode()) for i in range(20)]
        return hub.commit(repo, *files).status

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(upload, "abcdef")) == {200}
    assert hub.files(repo) == {f"build/{name}/{i}.py": f"{name} {i}\n".encode() for name in "abcdef" for i in range(20)}
    assert len(hub.call("GET", f"/api/kernels/{repo}/commits/v1").json()) == 7


def test_of_two_uploads_of_the_same_files_one_is_seen_never_a_mixture(hub, repo):
    paths = [f"build/torch-cpu/{i}.py" for i in range(20)]
    stop, seen = threading.Event(), set()

    def read():
        while not stop.is_set():
            oid = hub.call("GET", f"/api/kernels/{repo}/revision/v1").json()["sha"]
            seen.add(frozenset(hub.files(repo, oid).values()))

    reader = threading.Thread(target=read)
    reader.start()
    with ThreadPoolExecutor(2) as pool:
        statuses = list(pool.map(lambda who: hub.commit(repo, *[add(path, who) for path in paths]).status,
                                 [b"alice\n", b"again\n", b"third\n"]))
    stop.set()
    reader.join()
    assert statuses == [200] * 3
    assert {len(contents) for contents in seen} <= {0, 1}
    assert len(set(hub.files(repo).values())) == 1


def test_of_two_commits_from_one_parent_the_second_is_refused(hub, repo):
    parent = hub.call("GET", f"/api/kernels/{repo}/revision/v1").json()["sha"]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda text: hub.commit(repo, add("x.py", text), parentCommit=parent), [b"1", b"2"]))
    assert sorted(answer.status for answer in answers) == [200, 412]
    assert hub.files(repo)["x.py"] in (b"1", b"2")


def test_the_same_content_uploaded_twice_at_once_is_stored_once(hub, repo):
    content = BINARY * 50
    address = hub.upload_address(repo, content)
    with ThreadPoolExecutor(2) as pool:
        assert [answer.status for answer in pool.map(lambda _: hub.call("PUT", address, content), "ab")] == [200, 200]
    assert hub.commit(repo, add_lfs("op.so", content)).status == 200
    assert hub.files(repo) == {"op.so": content}


def test_repeating_an_upload_makes_no_second_commit(hub, repo):
    oids = {hub.commit(repo, add("x.py", b"x = 1\n")).json()["commitOid"] for _ in range(2)}
    assert len(oids) == 1


def test_a_file_altered_on_the_hubs_disk_is_never_served(own):
    hub = own()
    hub.create("myorg/gemm")
    hub.call("PUT", hub.upload_address("myorg/gemm", BINARY), BINARY)
    hub.commit("myorg/gemm", add_lfs("op.so", BINARY))
    path = next(p for p in (hub.root / "objects").glob("??/*") if p.stat().st_size == len(BINARY))
    path.write_bytes(BINARY[:-1] + b"!")
    answer = hub.call("GET", "/kernels/myorg/gemm/resolve/v1/op.so")
    assert (answer.status, BINARY[:20] in answer.body) == (500, False)
    assert "altered" in answer.json()["error"]
    verify = [sys.executable, "-m", "fp8lab.cli", "hub", "verify", hub.root]
    done = subprocess.run(verify, text=True, capture_output=True)
    assert (done.returncode, str(path) in done.stdout) == (1, True)


def test_a_folder_is_served_once(own):
    hub = own()
    with pytest.raises(RuntimeError, match="served already"):
        Server(hub.root)


def test_the_server_ends_with_the_process_that_started_it(tmp_path):
    """A restarted notebook kernel must not leave a server behind that holds the folder."""
    code = f"import time; from fp8lab.hub import Server; server = Server({str(tmp_path)!r})"
    code += "; print(server.endpoint, flush=True); time.sleep(60)"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    port = int(parent.stdout.readline().rpartition(":")[2])
    time.sleep(0.3)
    socket.create_connection(("127.0.0.1", port)).close()
    parent.kill()
    parent.wait()
    wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", port)) != 0)


def test_it_listens_on_one_loopback_address_only(hub):
    port = int(hub.endpoint.rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port))


def test_memory_stays_flat_while_a_large_file_goes_up_and_down(own):
    def peak_kib():
        lines = Path(f"/proc/{server_process(hub)}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

    hub = own()
    hub.create("myorg/big")
    content = bytes(64 << 20)
    before = peak_kib()
    assert hub.call("PUT", hub.upload_address("myorg/big", content), content).status == 200
    assert hub.commit("myorg/big", add_lfs("big.bin", content)).status == 200
    assert hub.call("GET", "/kernels/myorg/big/resolve/v1/big.bin").body == content
    assert peak_kib() - before < 32 << 10
