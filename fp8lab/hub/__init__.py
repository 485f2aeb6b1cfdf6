"""A Hub on loopback that speaks the kernels protocol: `get_kernel`, `hf` and `kernels` work against it unchanged.

serve.py    the command line, and running() for lessons and tests
app.py      the HTTP calls
body.py     request bodies and their limits
store.py    accounts, repositories, branches, commits
objects.py  file contents
gitids.py   git's ids for them

Not here: models, data sets, spaces, pull requests, tags, Xet storage, web pages.
"""

from .serve import client_environment, configure, run, running

__all__ = ["client_environment", "configure", "run", "running"]
