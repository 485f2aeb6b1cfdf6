"""Request bodies, never held whole in memory unless they are small, and never longer than agreed."""

import asyncio
import json

from .errors import HubError

JSON_BYTES = 4 << 20  # a preupload names 256 files with 512 bytes of each: 250 KB
BLOCK_BYTES = 4 << 20  # what an upload hashes and writes at a time; 64 KB pieces would cost a thread switch each


async def chunks(request, limit):
    """Yield the body in pieces; HubError 413 as soon as it is announced or seen to be longer than `limit` bytes."""
    too_long = HubError(413, f"The body is longer than {limit} bytes, the limit of this call.")
    announced = request.headers.get("content-length", "0")
    if not announced.isdigit():
        raise HubError(400, f"Content-Length is {announced!r}, needs a number.")
    if int(announced) > limit:
        raise too_long
    seen = 0
    async for chunk in request.stream():
        seen += len(chunk)
        if seen > limit:
            raise too_long
        yield chunk


async def small(request, limit=JSON_BYTES):
    return b"".join([chunk async for chunk in chunks(request, limit)])


def parsed_object(text):
    """Return the JSON object in `text`, or raise HubError 400."""
    try:
        value = json.loads(text or b"{}")
    except (ValueError, RecursionError) as error:
        raise HubError(400, f"The body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise HubError(400, f"The body is a JSON {type(value).__name__}, needs an object.")
    return value


async def json_object(request):
    return parsed_object(await small(request))


def field(value, name, kind, default=None):
    """Return value[name] if it is of this Python type, the default if it is missing, or raise HubError 400."""
    found = value.get(name) if isinstance(value, dict) else None
    if found is None and default is not None:
        return default
    if not isinstance(found, kind) or (kind is int and (isinstance(found, bool) or found < 0)):
        raise HubError(400, f"The body's {name!r} is {found!r:.80}, needs a {kind.__name__}.")
    if kind is str and not found.isascii():
        try:
            found.encode()
        except UnicodeEncodeError:
            raise HubError(400, f"The body's {name!r} holds half of a surrogate pair, which is no text.") from None
    return found


async def json_lines(request, limit, line_limit):
    """Yield the JSON objects of an ndjson body, one line in memory at a time."""
    line = bytearray()
    async for chunk in chunks(request, limit):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield parsed_object(bytes(line + end))
            line.clear()
        line += rest
        if len(line) > line_limit:
            raise HubError(413, f"A line of the commit is longer than {line_limit} bytes: a regular file that large "
                                "has to be uploaded by LFS.")
    if line.strip():
        yield parsed_object(bytes(line))


async def into(request, limit, *steps):
    """Give a body of at most `limit` bytes to functions of a block of it, such as an objects.Arrival's.

    While a block arrives, the one before it goes through each step in a thread of its own: hashing alone takes longer
    than the network on a CPU without SHA instructions.
    """
    block, busy = bytearray(), []

    async def hand_on():
        await asyncio.gather(*busy)
        busy[:] = [asyncio.create_task(asyncio.to_thread(step, block)) for step in steps]

    try:
        async for chunk in chunks(request, limit):
            block += chunk
            if len(block) >= BLOCK_BYTES:
                await hand_on()
                block = bytearray()
        await hand_on()
    finally:
        await asyncio.gather(*busy)
