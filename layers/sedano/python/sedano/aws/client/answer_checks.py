"""Checks that a response is from the service: a 200 with a page of a proxy, a gateway or a captive portal confirms nothing.

Each response of AWS has its request id in a header (S3 and the other services use one of two headers), and DynamoDB adds a checksum of the
body. botocore does not check them: it parses what it can and returns an empty answer for the rest, which for `UpdateItem` means "written"
and for `GetItem` "no such item". So each response to sedano's clients is checked before it is parsed (`before-parse`).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError

_NAMED = ("x-amzn-requestid", "x-amz-request-id")
_CHECKSUM = "x-amz-crc32"


class Unanswered(BotoCoreError):
    """A call that got no answer in time."""

    fmt = "{why}"


class Unmade(Unanswered):
    """A call that was not made, because an earlier call got no answer."""


class NotAnAnswer(BotoCoreError):
    """A successful response that the service did not send."""

    fmt = "the response with status {status} ({kind}) is not from the service: {why}; is a proxy or a captive portal in between?"


def require_answer(response_dict: Mapping[str, Any], **_: Any) -> None:
    """Raise `NotAnAnswer` if a successful response has no request id, or its body does not match its checksum; a handler of
    `before-parse`."""
    status, headers, body = response_dict["status_code"], response_dict["headers"], response_dict.get("body")
    if status >= 300:
        return
    why = ""
    if not any(headers.get(name) for name in _NAMED):
        why = "it has no request id"
    elif _CHECKSUM in headers and isinstance(body, bytes) and str(zlib.crc32(body)) != headers[_CHECKSUM]:
        why = "its body does not match its checksum"
    if why:
        raise NotAnAnswer(status=status, kind=headers.get("content-type", "no content type"), why=why)
