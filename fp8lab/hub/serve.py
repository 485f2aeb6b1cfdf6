"""`fp8lab hub …`: run the Hub, name its users and organisations; and Server for lessons and tests."""

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from .errors import HubError
from .objects import file_sha256
from .store import Store

LOOPBACK = ("127.0.0.1", "localhost")


def configure(parser):
    actions = parser.add_subparsers(dest="action", required=True)

    def action(name, help_line):
        sub = actions.add_parser(name, help=help_line, description=help_line)
        sub.add_argument("root", type=Path, help="the Hub's folder; made if it is not there")
        return sub

    serve_args = action("serve", "answer on http://HOST:PORT until interrupted")
    serve_args.add_argument("--host", default="127.0.0.1", help="address to bind; 127.0.0.1: this machine only")
    serve_args.add_argument("--port", type=int, default=0, help="0 takes a free one and prints it")
    serve_args.add_argument("--allow-host", action="append", default=[], metavar="NAME",
                            help="a further name clients may call this server by")
    serve_args.add_argument("--until-stdin-closes", action="store_true", help="end with the program that started this")
    serve_args.add_argument("--max-file-mib", type=int, default=5120, help="the largest file taken (5120)")
    user = action("user", "add a user if need be and print a new token for them")
    user.add_argument("name")
    org = action("org", "add or change an organisation")
    org.add_argument("name")
    org.add_argument("--trusted", action="store_true", help="a trusted kernel publisher: get_kernel asks nothing")
    org.add_argument("--member", action="append", default=[], metavar="USER", help="a user who may write to it")
    action("verify", "hash every stored file again and report those that were altered")


def run(args):
    try:
        return {"serve": serve, "user": user, "org": org, "verify": verify}[args.action](args)
    except (HubError, OSError) as error:
        print(f"fp8lab hub: {error}", file=sys.stderr)
        return 1


def user(args):
    print(Store(args.root).add_user(args.name))
    return 0


def org(args):
    Store(args.root).set_org(args.name, args.trusted, args.member)
    return 0


def verify(args):
    store = Store(args.root)
    wanted = sorted(store.referenced())
    altered = [sha for sha in wanted if not store.objects.path(sha).is_file()
               or file_sha256(store.objects.path(sha)) != sha]
    for sha256 in altered:
        print(f"missing or altered: {store.objects.path(sha256)}")
    print(f"{len(wanted)} files, {len(altered)} missing or altered")
    return 1 if altered else 0


def serve(args):
    import uvicorn
    from uvicorn.config import LOGGING_CONFIG

    from .app import create_app

    store = Store(args.root)
    with only_server(args.root):
        store.objects.clean(store.referenced())
        listener = socket.create_server((args.host, args.port))
        port = listener.getsockname()[1]
        app = create_app(store, {*LOOPBACK, args.host, *args.allow_host}, args.max_file_mib << 20)
        print(f"http://{args.host}:{port}", flush=True)
        print(f"For clients: HF_ENDPOINT=http://{args.host}:{port}, and HF_TOKEN from "
              f"`fp8lab hub user {args.root} NAME`", file=sys.stderr)
        LOGGING_CONFIG["handlers"]["access"]["stream"] = "ext://sys.stderr"  # stdout holds the address only
        server = uvicorn.Server(uvicorn.Config(app, server_header=False, timeout_graceful_shutdown=5))
        if args.until_stdin_closes:
            threading.Thread(target=stop_at_end_of_stdin, args=[server], daemon=True).start()
        server.run(sockets=[listener])
    return 0


def stop_at_end_of_stdin(server):
    sys.stdin.read()
    server.should_exit = True


@contextlib.contextmanager
def only_server(root):
    """Hold the folder for one server: a second one would clean away the uploads of the first."""
    with open(Path(root) / "lock", "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise HubError(409, f"{root} is being served already by process {lock.read()}; stop that one or choose "
                                "another folder.") from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


class Server:
    """`fp8lab hub serve` in a process of its own, which ends with stop(), with a `with` block, or with this process.

    endpoint  "http://127.0.0.1:<port>"

    root  the Hub's folder
    port  0: a free one
    log   a path that receives one line a request; None: nowhere

    Raises RuntimeError with what the server said if it does not start.
    """

    def __init__(self, root, port=0, log=None):
        command = [sys.executable, "-m", "fp8lab.cli", "hub", "serve", str(root), "--port", str(port),
                   "--until-stdin-closes"]
        with open(log, "a+") if log else tempfile.TemporaryFile("a+") as log_file:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log_file,
                                             text=True)
            self.endpoint = self._process.stdout.readline().strip()
            if not self.endpoint:
                self.stop()
                log_file.seek(0)
                raise RuntimeError(f"`{' '.join(command)}` ended: {log_file.read().strip()}")

    def stop(self):
        """End the server, letting requests in flight finish for up to 5 seconds; a second time does no harm."""
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()


def client_environment(endpoint, home, token=None):
    """Return the environment in which `hf`, `kernels` and Python speak to this Hub and touch no other cache.

    endpoint  a Server's
    home      a folder for the client's caches and tokens
    token     of `fp8lab hub user`; None: read only

    Set it before Python starts: huggingface_hub reads these variables once, at import.
    """
    inherited = {name: value for name, value in os.environ.items()
                 if not name.startswith(("HF_", "HUGGING", "KERNELS_", "LOCAL_KERNELS"))
                 and name not in ("DISABLE_TELEMETRY", "DO_NOT_TRACK")}  # these break `kernels` 0.17.2's user agent
    own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(Path(home) / "hf"), "KERNELS_CACHE": str(Path(home) / "kernels")}
    return inherited | own | ({"HF_TOKEN": token} if token else {})
