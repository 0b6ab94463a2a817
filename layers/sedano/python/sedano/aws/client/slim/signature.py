"""Signature Version 4 of a request without a path and a query, with the key of the day kept.

The key depends on the secret, the day, the Region and the service; botocore derives it for each request anew. The rest of a signature is
one HMAC and two digests.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

ALGORITHM = "AWS4-HMAC-SHA256"


class Identity(NamedTuple):
    """The credentials that a request is signed with; *token* is empty for those of a user."""

    access_key: str
    secret_key: str
    token: str = ""


class _Day(NamedTuple):
    """The common part of the signatures of one day with one identity."""

    identity: Identity
    day: str
    scope: str
    key: bytes


class SlimSigner:
    """Signs requests to one *service* in one *region*. Thread-safe: the key of the day is replaced as a whole."""

    __slots__ = ("_kept", "_region", "_service")

    def __init__(self, region: str, service: str) -> None:
        """Derive no key yet."""
        self._region, self._service = region, service
        self._kept: _Day | None = None

    def authorization(self, identity: Identity, headers: Sequence[tuple[str, str]], body: bytes, date: str) -> str:
        """Return the Authorization header of `POST /` with *body*.

        Args:
            identity: signs the request.
            headers: the signed headers, names in lower case, sorted, values without surrounding or repeated spaces.
            body: the whole body.
            date: the value of `x-amz-date`, such as `20261128T090000Z`; it is among the headers as well.
        """
        day = self._kept
        if day is None or day.day != date[:8] or day.identity != identity:
            day = self._kept = self._derived(identity, date[:8])
        names = ";".join([name for name, _ in headers])
        lines = "\n".join([f"{name}:{value}" for name, value in headers])
        canonical = f"POST\n/\n\n{lines}\n\n{names}\n{sha256(body).hexdigest()}"
        text = f"{ALGORITHM}\n{date}\n{day.scope}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(day.key, text.encode(), "sha256").hex()
        return f"{ALGORITHM} Credential={identity.access_key}/{day.scope}, SignedHeaders={names}, Signature={signature}"

    def _derived(self, identity: Identity, day: str) -> _Day:
        key = f"AWS4{identity.secret_key}".encode()
        for part in (day, self._region, self._service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return _Day(identity=identity, day=day, scope=f"{day}/{self._region}/{self._service}/aws4_request", key=key)
