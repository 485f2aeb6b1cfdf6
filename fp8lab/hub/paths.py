"""URL paths as the client escaped them: `refs%2Fheads%2Fv1` is one segment, and stays one until a handler reads it."""

from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor


class Segment(Convertor):
    """One path segment as the client escaped it: `refs%2Fheads%2Fv1` is one segment."""

    regex = "[^/]+"
    convert = staticmethod(unquote)
    to_string = staticmethod(str)


class Rest(Segment):
    regex = ".+"


register_url_convertor("segment", Segment())
register_url_convertor("rest", Rest())


def undecoded(app):
    """Let the routes of an ASGI application see undecoded paths; the convertors above decode each segment."""

    async def wrapped(scope, receive, send):
        if scope["type"] == "http":
            scope = scope | {"path": scope["raw_path"].decode("latin-1")}
        await app(scope, receive, send)

    return wrapped
