"""Uploads by Xet: the chunks of files, packed into xorbs, and then a shard that says which chunks make which file.

huggingface_hub 2.x sends every large file this way where hf_xet is installed, and asks for nothing else. Once a shard
names a file, the Hub puts it together and keeps it as it keeps LFS files, under its SHA-256. The xorbs stay until the
server ends, since a client does not send again what it knows to be there; so the address is another one each start.
Downloads need nothing of this: a file that is offered without Xet's headers is fetched by plain HTTP.

Source: huggingface.co/docs/xet 1.1, "Xorb Format", "Shard Format", "CAS API". hf_xet 1.8.0 tries newer calls first
(grants, /v2/shards) and goes on with these where it is told 404.
"""

import re
import secrets
import struct
from dataclasses import dataclass

import lz4.frame
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route

from . import body
from .errors import HubError, too_large
from .objects import Arrival
from .permits import Permits

XORB_BYTES, SHARD_BYTES = 64 << 20, 16 << 20
SHARD_HEAD = b"HFRepoMetaData\0" + bytes.fromhex("556967456a7b815783a5bdd95ccdd14aa9") + struct.pack("<Q", 2)
HAS_VERIFICATION, HAS_SHA256 = 1 << 31, 1 << 30
NO_MORE_FILES = b"\xff" * 32
STORED, LZ4, GROUPED_LZ4 = range(3)


class Xet:
    """The calls of a client that uploads by Xet into Objects; files of at most max_file_bytes."""

    def __init__(self, objects, max_file_bytes):
        self._objects, self._max_file_bytes, self._permits = objects, max_file_bytes, Permits()
        self._path = f"/xet/{secrets.token_hex(8)}"

    def routes(self):
        return [Route(self._path + "/v1/xorbs/default/{xorb:segment}", self.take_xorb, methods=["POST"]),
                Route(self._path + "/v1/shards", self.take_shard, methods=["POST"])]

    def permission(self, url):
        """Answer somebody who may write with the address to upload to and a token for it; `url` is the server's."""
        expires, signature = self._permits.give("xet")
        token = f"{expires}.{signature}"
        return JSONResponse(
            {"casUrl": url + self._path, "accessToken": token, "exp": expires},
            headers={"X-Xet-Cas-Url": url + self._path, "X-Xet-Access-Token": token,
                     "X-Xet-Token-Expiration": str(expires)})

    def _check_token(self, request):
        expires, _, signature = request.headers.get("authorization", "").removeprefix("Bearer ").partition(".")
        if not self._permits.allow("xet", expires, signature):
            raise HubError(401, "This Xet token was not given out by this server, or has expired; upload again.")

    async def take_xorb(self, request):
        self._check_token(request)
        name = request.path_params["xorb"]
        if not re.fullmatch("[0-9a-f]{64}", name):
            raise HubError(400, f"The xorb {name!r:.80} needs a name of 64 hexadecimal digits.")
        with Arrival(self._objects) as arrival:
            await body.into(request, XORB_BYTES, arrival.write)
            await run_in_threadpool(arrival.move, self._objects.xorb(name))
        return JSONResponse({"was_inserted": True})

    async def take_shard(self, request):
        self._check_token(request)
        shard = await body.small(request, SHARD_BYTES)
        await run_in_threadpool(self._put_together, shard)
        return JSONResponse({"result": 1})

    def _put_together(self, shard):
        for file in files(shard):
            if file.size > self._max_file_bytes:
                raise too_large(file.size, self._max_file_bytes)
            if self._objects.has(file.sha256, file.size):
                continue
            with Arrival(self._objects) as arrival:
                for xorb, first, end in file.terms:
                    for chunk in chunks(self._objects.xorb(xorb), first, end):
                        arrival.add(chunk)
                arrival.keep(file.sha256, file.size)


@dataclass(frozen=True)
class XetFile:
    """A file as a shard names it; terms are (xorb, first chunk, end of chunks)."""

    sha256: str
    size: int
    terms: list


def files(shard):
    """Return the XetFiles of a serialized shard, or raise HubError 400."""
    try:
        return list(_files(shard))
    except struct.error:
        raise HubError(400, "The shard ends in the middle of a file.") from None


def _files(shard):
    if shard[:len(SHARD_HEAD)] != SHARD_HEAD:
        raise HubError(400, "The body is no Xet shard of version 2.")
    at = 48
    while shard[at:at + 32] != NO_MORE_FILES:
        flags, count = struct.unpack_from("<32xII8x", shard, at)
        at += 48
        terms, size = [], 0
        for _ in range(count):
            xorb, unpacked, first, end = struct.unpack_from("<32s4xIII", shard, at)
            terms.append((hexadecimal(xorb), first, end))
            size += unpacked
            at += 48
        at += 48 * count if flags & HAS_VERIFICATION else 0  # hashes of the terms; the SHA-256 covers all of them
        if not flags & HAS_SHA256:
            raise HubError(400, "The shard names a file without its SHA-256, which a Git repository needs.")
        yield XetFile(hexadecimal(*struct.unpack_from("<32s16x", shard, at)), size, terms)
        at += 48


def hexadecimal(digest):
    """Return 32 bytes as Xet writes them in text: as four little-endian numbers of 64 bits."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", digest))


def chunks(xorb, first, end):
    """Yield the unpacked chunks `first` to `end` - 1 of the xorb at a path, or raise HubError 400."""
    if not xorb.is_file():
        raise HubError(400, f"The xorb {xorb.name} was not uploaded.")
    with open(xorb, "rb") as file:
        for index in range(end):
            head = file.read(8)
            if len(head) < 8 or head[0] != 0:
                raise HubError(400, f"The xorb {xorb.name} has no chunk {index}.")
            packed, kind, size = int.from_bytes(head[1:4], "little"), head[4], int.from_bytes(head[5:8], "little")
            if index < first:
                file.seek(packed, 1)
            else:
                yield unpacked(file.read(packed), kind, size)


def unpacked(data, kind, size):
    if kind in (LZ4, GROUPED_LZ4):
        try:
            data = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)  # not a byte more is made
        except RuntimeError as error:
            raise HubError(400, f"A chunk cannot be unpacked: {error}") from None
    elif kind != STORED:
        raise HubError(400, f"A chunk is packed in the way {kind}, needs 0, 1 or 2.")
    if len(data) != size:
        raise HubError(400, f"A chunk is {len(data)} bytes, announced were {size}.")
    return ungrouped(data) if kind == GROUPED_LZ4 else data


def ungrouped(data):
    """Put back in order what was sorted by place: first every byte 0 of four, then every byte 1, and so on."""
    result, at = bytearray(len(data)), 0
    for place in range(4):
        count = len(range(place, len(data), 4))
        result[place::4] = data[at:at + count]
        at += count
    return bytes(result)
