"""An answer counts only when the service gave it: a 200 with a page of a proxy, a gateway or a captive portal confirms nothing.

Each answer of AWS names its request in a header (S3 and the others in one of two), and DynamoDB adds a checksum of the body. botocore reads
none of them: it parses what it can and returns an empty answer for the rest, which for `UpdateItem` means "written" and for `GetItem`
"there is no such item". So each answer of a client of ours is looked at before it is parsed (`before-parse`).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError

_NAMED = ("x-amzn-requestid", "x-amz-request-id")
_CHECKSUM = "x-amz-crc32"


class Unanswered(BotoCoreError):
    """A call to which there was no answer in time."""

    fmt = "{why}"


class Unmade(Unanswered):
    """A call that was not made, because the one before it had no answer."""


class NotAnAnswer(BotoCoreError):
    """A success that the service did not send."""

    fmt = "the answer with status {status} ({kind}) is not one of the service: {why}; is there a proxy or a portal in between?"


def require_answer(response_dict: Mapping[str, Any], **_: Any) -> None:
    """Raise `NotAnAnswer` when a success names no request, or its body is not what its checksum says; a handler of `before-parse`."""
    status, headers, body = response_dict["status_code"], response_dict["headers"], response_dict.get("body")
    if status >= 300:
        return
    why = ""
    if not any(headers.get(name) for name in _NAMED):
        why = "it names no request"
    elif _CHECKSUM in headers and isinstance(body, bytes) and str(zlib.crc32(body)) != headers[_CHECKSUM]:
        why = "its body does not have its checksum"
    if why:
        raise NotAnAnswer(status=status, kind=headers.get("content-type", "no content type"), why=why)
