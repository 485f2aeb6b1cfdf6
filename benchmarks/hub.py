"""The loopback Hub beside `python -m http.server`: a 200 MB LFS file down and up, and the server's memory meanwhile.

    python -m benchmarks.hub        prints the rows and writes build/bench/hub.json

Both servers run here, one client serves both, runs alternate, and the middle of five counts. http.server cannot take
uploads, so an upload is held against its download. An upload is hashed before it is kept, a download is not: so it is
also held against a download that is hashed then, and against how fast this CPU computes SHA-256 at all.

On a Xeon without SHA instructions the server spends 1.9 s of processor time on an upload: 1.1 s in SHA-256, in a thread
of its own, 0.6 s in receiving beside it, the rest in writing. So what bounds it there is SHA-256.
"""

import hashlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.report import report, row
from fp8lab.hub import Server
from fp8lab.hub.store import Store, lfs_file

SIZE_MB, REPEATS = 200, 5
BLOCK = 1 << 20
PEER = "python -m http.server, download"


def rows():
    """Measure and return the Rows."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        path, content = make_file(folder)
        sha256 = hashlib.sha256(content).hexdigest()
        store = Store(folder / "hub")
        token = store.add_user("alice")
        store.create_repo("alice", "big", False, "alice")
        ms = {"peer": [], "down": [], "up": [], "hash": []}
        with Server(folder / "hub") as server, HttpServer(path.parent) as peer:
            before = peak_mb(folder / "hub")
            for _ in range(REPEATS):
                store.objects.path(sha256).unlink(missing_ok=True)
                ms["peer"].append(download(peer, "/big.bin"))
                ms["hash"].append(hashing_ms(content))
                ms["up"].append(upload(server.endpoint, token, path, sha256))
                store.commit(store.repo("alice", "big", None), "main", [("add", lfs_file("big.bin", sha256,
                             path.stat().st_size))], author="alice", title="big")
                ms["down"].append(download(server.endpoint, "/kernels/alice/big/resolve/main/big.bin"))
            growth = peak_mb(folder / "hub") - before
    peer, down, up, hashing = (statistics.median(ms[name]) for name in ("peer", "down", "up", "hash"))
    return [
        row(f"download of {SIZE_MB} MB, ms", down, peer, PEER, target=0.5),
        row(f"upload of {SIZE_MB} MB, ms", up, peer, PEER, target=0.5),
        row(f"upload of {SIZE_MB} MB, ms", up, peer + hashing, f"{PEER}, then SHA-256 of it"),
        row(f"upload of {SIZE_MB} MB, ms", up, hashing, "SHA-256 on one core, an upload's upper bound"),
        row("server memory gained meanwhile, MB", growth, SIZE_MB, "size of the file", target=5),
    ]


def make_file(folder):
    """Write the file, and return its path and content."""
    path, content = folder / "www/big.bin", os.urandom(SIZE_MB * 1_000_000)
    path.parent.mkdir()
    path.write_bytes(content)
    return path, content


def hashing_ms(content):
    started = time.perf_counter()
    hashlib.sha256(content)
    return 1e3 * (time.perf_counter() - started)


class HttpServer:
    """`python -m http.server` on a free port of 127.0.0.1, as a context that gives its address."""

    def __init__(self, folder):
        command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def __enter__(self):
        port = self.process.stdout.readline().split(" port ")[1].split()[0]
        return f"http://127.0.0.1:{port}"

    def __exit__(self, *exception):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def connect(endpoint):
    address = urlsplit(endpoint)
    return http.client.HTTPConnection(address.hostname, address.port, blocksize=BLOCK)


def download(endpoint, path):
    """Return the milliseconds of one GET; the bytes are counted and thrown away."""
    connection, buffer, size = connect(endpoint), bytearray(BLOCK), 0
    started = time.perf_counter()
    connection.request("GET", path)
    response = connection.getresponse()
    while count := response.readinto(buffer):
        size += count
    seconds = time.perf_counter() - started
    connection.close()
    assert (response.status, size) == (200, SIZE_MB * 1_000_000), (response.status, size)
    return 1e3 * seconds


def upload(endpoint, token, path, sha256):
    """Return the milliseconds of one PUT to the address that the LFS batch call gives."""
    size = path.stat().st_size
    wanted = {"operation": "upload", "objects": [{"oid": sha256, "size": size}]}
    connection = connect(endpoint)
    connection.request("POST", "/kernels/alice/big.git/info/lfs/objects/batch", json.dumps(wanted),
                       {"Authorization": f"Bearer {token}"})
    address = json.load(connection.getresponse())["objects"][0]["actions"]["upload"]["href"]
    with open(path, "rb") as file:
        started = time.perf_counter()
        connection.request("PUT", address.removeprefix(endpoint), file, {"Content-Length": str(size)})
        response = connection.getresponse()
        response.read()
        seconds = time.perf_counter() - started
    connection.close()
    assert response.status == 200, response.status
    return 1e3 * seconds


def peak_mb(root):
    """Return the most memory the server of this folder has held so far, MB."""
    status = Path(f"/proc/{(root / 'lock').read_text()}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


if __name__ == "__main__":
    sys.exit(0 if report("hub", rows()) else 1)
