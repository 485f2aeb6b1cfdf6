"""What clients asked of a Hub: read back from the log that `Server(log=…)` writes, one Request a line."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

LINE = re.compile(r'"(?P<method>[A-Z]+) (?P<target>\S+) HTTP/[\d.]+" (?P<status>\d{3})')
PURPOSES = (  # the first pattern that fits
    (r"/api/agent-harnesses", "who counts as an agent?"),
    (r"/api/organizations/", "is the publisher trusted?"),
    (r"/api/kernels/[^/]+/[^/]+/refs", "which versions are there?"),
    (r"/api/kernels/[^/]+/[^/]+/tree/.+/build$", "which variants are there?"),
    (r"/api/kernels/[^/]+/[^/]+/tree/", "which files has this commit?"),
    (r"/kernels/.*/resolve/.*/metadata\.json", "what is this variant?"),
    (r"/kernels/.*/resolve/", "a file of the variant"),
)


@dataclass(frozen=True)
class Request:
    """One call: its method, its path without the query, and the status of the answer."""

    method: str
    path: str
    status: int

    @property
    def purpose(self):
        """What `kernels` wants to know by it; "" if it is no call of loading."""
        return next((purpose for pattern, purpose in PURPOSES if re.match(pattern, self.path)), "")


class RequestLog:
    """The requests in a server's log file, from the moment this is made or last asked.

    The server writes a line before it sends the answer, so a client that has the answer finds its line here.
    """

    def __init__(self, path):
        self.path = Path(path)
        self._seen = self.path.stat().st_size

    def new(self):
        """Return the Requests since the last call."""
        with open(self.path) as log:
            log.seek(self._seen)
            text = log.read()
            self._seen = log.tell()
        found = [LINE.search(line) for line in text.splitlines()]
        return [Request(line["method"], unquote(line["target"].split("?")[0]), int(line["status"]))
                for line in found if line]
