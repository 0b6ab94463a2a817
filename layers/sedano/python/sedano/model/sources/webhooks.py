"""A webhook's request and its answer as values, and the request as text, in which form it is parked and read back for redelivery.

Header names are in lower case, because HTTP ignores their case. Credentials, for this or another service (`authorization`, cookies,
tokens), are never part of a request, so that tasks and parked messages do not contain them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import NOTHING
from sedano.model.messages.timestamps import LAST_SECOND

MAX_BODY_BYTES = 4 * 1024 * 1024
"""The most bytes of a body. Lambda accepts 6 MB per invocation, in which a body may be in base64, which is a third longer."""
NAME = r"[a-z][a-z0-9_-]{0,39}"
"""The valid names of webhooks and streams: the name of a webhook ends its address, and both names are in parked messages."""
QUEUE = "webhook:"
"""The prefix of the origin of a parked request, before the name of the webhook."""
FORM = "application/x-www-form-urlencoded"
"""The content type that GitHub sends by default."""
_SECRET = frozenset({
    "authorization", "cookie", "proxy-authorization", "x-amz-security-token", "x-api-key", "x-gitlab-token",
    "x-telegram-bot-api-secret-token",
})  # fmt: skip


class WebhookRequest(NamedTuple):
    """A request to the webhook *webhook*: *headers* by name in lower case, the *body* as received, and the time *at* which it was received
    (epoch s).
    """

    webhook: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    def header(self, name: str) -> str:
        """Return the header *name*, in upper or lower case; empty if it is missing."""
        return self.headers.get(name.lower(), "")

    @property
    def text(self) -> str:
        """The body as text; raises `UnicodeDecodeError` if it is not UTF-8."""
        return self.body.decode("utf-8")

    def json(self) -> Any:
        """Return the body parsed as JSON; raise `ValueError` if it is not JSON, or is nested too deeply."""
        try:
            return json.loads(self.text)
        except RecursionError:
            raise ValueError("the JSON of the body is nested too deeply") from None
        except json.JSONDecodeError as wrong:
            if self.header("content-type").partition(";")[0].strip().lower() != FORM:
                raise
            raise ValueError(f"the body is not JSON but {FORM}: configure its sender to send application/json ({wrong})") from wrong

    def field(self, name: str) -> str:
        """Return the string or number *name* of a body that is a JSON object; empty if it has no such field."""
        try:
            found = self.json()
        except ValueError:
            return ""
        value = found.get(name) if isinstance(found, dict) else None
        return str(value) if isinstance(value, str | int) else ""


class ReceivedRequest(NamedTuple):
    """A request as received: *headers* by name, the *body* as bytes, and the *query* of the address, as text."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""


class Answer(NamedTuple):
    """The answer to the sender: an HTTP *status*, a *text* in words, and *headers*."""

    status: int
    text: str
    headers: Mapping[str, str] = NOTHING


def kept(headers: Mapping[str, str], token_header: str = "") -> dict[str, str]:
    """Return *headers* by name in lower case, without credentials, such as *token_header*."""
    return {name.lower(): text for name, text in headers.items() if name.lower() not in (*_SECRET, token_header)}


def delivery_id(webhook: str, delivery: str, body: bytes) -> str:
    """Return the id of a delivery to *webhook*: from the sender's id of the *delivery*, or else from the *body*.

    All copies have the same id, so that later steps recognise the follow-ups of a copy. Ids of the two kinds never collide.
    """
    which = f"id/{delivery}" if delivery else f"body/{hashlib.sha256(body).hexdigest()}"
    return derived_id(f"webhook/{webhook}", which)


def written(request: WebhookRequest) -> str:
    """Return *request* as JSON text."""
    body = base64.b64encode(request.body).decode("ascii")
    return json.dumps({"webhook": request.webhook, "at": request.at, "headers": dict(request.headers), "body": body}, separators=(",", ":"))


def read_back(text: str) -> WebhookRequest:
    """Return the request in *text*.

    Raises:
        MessageRefused: *text* is not a request.
    """
    try:
        found = json.loads(text)
        headers, at = found["headers"], found["at"]
        request = WebhookRequest(str(found["webhook"]), headers, base64.b64decode(found["body"], validate=True), float(at))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, binascii.Error) as wrong:
        raise MessageRefused(refusals.SCHEMA, "body", f"not a webhook's request: {type(wrong).__name__}") from None
    if not 0 <= request.at <= LAST_SECOND:
        raise MessageRefused(refusals.SCHEMA, "at", "not a webhook's request: the time of its receipt must be in epoch seconds")
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise MessageRefused(refusals.SCHEMA, "headers", "not a webhook's request: headers must be an object of strings")
    return request
