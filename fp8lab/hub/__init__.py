"""A Hub on loopback that speaks the kernels protocol: `get_kernel`, `hf` and `kernels` work against it unchanged.

serve.py    the command line, and Server for lessons and tests
app.py      the HTTP calls
paths.py    URL paths before they are decoded
body.py     request bodies and their limits
answers.py  files, listings and errors as clients read them
store.py    accounts, repositories, branches, tags, commits
objects.py  file contents
xet.py      uploads in chunks, as huggingface_hub makes them today
lfs.py      uploads of whole files
permits.py  permissions for both
gitids.py   git's ids for them
requests.py what clients asked, read back from the server's log

Not here: models, data sets, spaces, pull requests, downloads by Xet, web pages.
"""

from .serve import Server, client_environment, configure, run
from .store import Store

__all__ = ["Server", "Store", "client_environment", "configure", "run"]
