"""run_fresh(): a piece of Python in a process that has loaded neither a kernel nor the libraries that fetch kernels.

huggingface_hub and kernels read their environment once, when they are imported, and a loaded kernel stays loaded. So
what a program does that starts now, on another machine, can only be tried in a process of its own. Python's forkserver
makes one from a process that holds torch, an HTTP client and little else, which saves some seconds each.
"""

import contextlib
import io
import multiprocessing
import os
import traceback

SECONDS = 120
# Held by every process from its start: what takes long to import and reads no variable that an environment is about.
PRELOADED = ["torch", "httpx2", "httpcore2", "filelock", "yaml"]


def run_fresh(code, environment):
    """Run code in a fresh process and return what it printed, warnings included, and how it ended if by an exception.

    code         Python text
    environment  the process's environment variables, such as hub.client_environment() gives

    Raises RuntimeError if the process dies without an answer or takes longer than two minutes.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(code, dict(environment), sender))
    process.start()
    sender.close()
    try:
        if not receiver.poll(SECONDS):
            raise RuntimeError(f"no answer within {SECONDS} seconds from:\n{code}")
        return receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"the process ended with exit code {process.exitcode} and no answer:\n{code}") from None
    finally:
        process.kill()
        process.join()
        receiver.close()


def _run(code, environment, sender):
    os.environ.clear()
    os.environ.update(environment, HF_HUB_DISABLE_PROGRESS_BARS="1")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            exec(compile(code, "<fresh>", "exec"), {"__name__": "__fresh__"})
        except BaseException as error:
            said.write("".join(traceback.format_exception_only(error)))
    sender.send(said.getvalue().rstrip("\n"))
