"""A Hub on loopback that speaks the kernels protocol: `get_kernel`, `hf` and `kernels` work against it unchanged.

serve.py    the command line, and Server for lessons and tests
app.py      the HTTP calls
body.py     request bodies and their limits
store.py    accounts, repositories, branches, commits
objects.py  file contents
gitids.py   git's ids for them

Not here: models, data sets, spaces, pull requests, tags, Xet storage, web pages.
"""

from .serve import Server, client_environment, configure, run
from .store import Store

__all__ = ["Server", "Store", "client_environment", "configure", "run"]
