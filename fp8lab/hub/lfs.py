"""Uploads by Git LFS: the batch call gives an address for each file, and the client puts the file there.

Source: Git LFS specification, "Batch API", "Basic Transfers"; huggingface_hub 2.4.0, lfs.py.
"""

import re

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from . import body
from .errors import HubError, too_large
from .objects import Arrival
from .permits import SECONDS, Permits


class Lfs:
    """The calls of a client that uploads by LFS into Objects; files of at most max_file_bytes."""

    def __init__(self, objects, max_file_bytes):
        self._objects, self._max_file_bytes, self._permits = objects, max_file_bytes, Permits()

    def batch(self, url, wanted):
        """Answer a batch call of somebody who may write; `url` is the server's, `wanted` the call's JSON."""
        if wanted.get("operation") != "upload":
            raise HubError(400, "This Hub's LFS batch call is for uploads; download files from /resolve/.")
        objects = [self._upload_action(url, checked_sha256(one), body.field(one, "size", int))
                   for one in body.field(wanted, "objects", list)]
        return JSONResponse({"transfer": "basic", "hash_algo": "sha256", "objects": objects},
                            media_type="application/vnd.git-lfs+json")

    def _upload_action(self, url, sha256, size):
        known = {"oid": sha256, "size": size}
        if size > self._max_file_bytes:
            return known | {"error": {"code": 413, "message": too_large(size, self._max_file_bytes).message}}
        if self._objects.has(sha256, size):
            return known
        expires, signature = self._permits.give(f"{sha256} {size}")
        href = f"{url}/lfs/{sha256}/{size}?expires={expires}&signature={signature}"
        return known | {"authenticated": True, "actions": {"upload": {"href": href, "expires_in": SECONDS}}}

    async def take(self, request):
        """Take one content. The client sends no token here: the address itself is the permission, as on S3."""
        sha256, size = request.path_params["sha256"], request.path_params["size"]
        expires, signature = (request.query_params.get(name, "") for name in ("expires", "signature"))
        if not self._permits.allow(f"{sha256} {size}", expires, signature):
            raise HubError(403, "This upload address was not given out by this server, or has expired; upload again.")
        with Arrival(self._objects) as arrival:
            await body.into(request, int(size), arrival.hash, arrival.write)
            await run_in_threadpool(arrival.keep, sha256, int(size))
        return Response(headers={"ETag": f'"{sha256}"'})


def checked_sha256(value):
    oid = body.field(value, "oid", str)
    if not re.fullmatch("[0-9a-f]{64}", oid):
        raise HubError(400, f"The oid {oid!r:.80} is not a SHA-256: needs 64 hexadecimal digits.")
    return oid
