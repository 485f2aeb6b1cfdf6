"""Permission to upload without a user's token, as huggingface.co gives it: signed by this server, for an hour."""

import hmac
import secrets
import time

SECONDS = 3600


class Permits:
    """The key is of this run, so what an earlier run gave out is void."""

    def __init__(self):
        self._key = secrets.token_bytes(32)

    def give(self, what):
        """Return (Unix time at which it ends, signature) of the permission to upload `what`."""
        expires = int(time.time()) + SECONDS
        return expires, self._signature(what, str(expires))

    def allow(self, what, expires, signature):
        """Whether this was given out for `what` and has not ended; all are text, as a client sent them."""
        is_ours = hmac.compare_digest(self._signature(what, expires).encode(), signature.encode())
        return is_ours and int(expires) >= time.time()

    def _signature(self, what, expires):
        return hmac.digest(self._key, f"{what} {expires}".encode(), "sha256").hex()
