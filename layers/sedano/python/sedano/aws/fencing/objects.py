"""Guards for a user's own objects in S3: each object stores the token of its writer, and a write names the object that it replaces.

S3 cannot compare numbers, so the comparison happens here and the write is bound to the compared object (`If-Match`, `If-None-Match`):
another write in between changes the ETag, and the comparison is made again.

An ETag distinguishes contents, not writes: a writer that read an object, paused, and finds the same bytes again is not refused, even if
they were rewritten meanwhile (the ABA problem of compare-and-swap). So data that a holder reads before it writes, or that may return to an
earlier content, belongs below a prefix of its term (`scoped`), which no other term writes to, and one pointer is set to that prefix
(`point`). A pointer contains the token, so no two terms write the same pointer. Readers follow it (`pointed`), so they never see a late
writer's objects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from sedano.aws.client.faults import code_of, fault
from sedano.aws.fencing.items import Holder, token_of
from sedano.errors import FencedOff, Unavailable

METADATA = "fence"
TRIES = 5
DIGITS = 16
_CHANGED = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict", "409"})
_MISSING = frozenset({"NoSuchKey", "404", "NotFound"})


@dataclass(frozen=True, slots=True)
class _Seen:
    """An object as it was found: the condition for replacing it, its token, and its contents if they were requested."""

    match: Mapping[str, str]
    token: int
    body: bytes | None


_ABSENT = _Seen({"IfNoneMatch": "*"}, 0, None)


def put_object(client: Any, holder: Holder, *, Bucket: str, Key: str, Body: bytes, **more: Any) -> None:  # noqa: N803 - as boto3 says
    """Put an object unless a later holder has put one.

    A late writer is not refused when the object holds exactly the bytes that it saw before it paused: for contents that may recur, and for
    data that is read before it is written, use a pointer (`fence_in_pointer`, `point`).

    Raises:
        FencedOff: a later holder has written; nothing was changed.
        Unavailable: others wrote to the same key at the same time, again and again.
    """
    token = token_of(holder)
    metadata = {**more.pop("Metadata", {}), METADATA: str(token)}
    for _ in range(TRIES):
        seen = _look(client.head_object, Bucket, Key)
        if seen.token > token:
            raise FencedOff(f"s3://{Bucket}/{Key}", token)
        if _put(client, {**more, "Bucket": Bucket, "Key": Key, "Body": Body, "Metadata": metadata, **seen.match}):
            return
    raise Unavailable(f"s3.PutObject: s3://{Bucket}/{Key} changed under each of {TRIES} attempts")


def fence_in_pointer(client: Any, holder: Holder, *, Bucket: str, Key: str) -> str | None:  # noqa: N803 - as boto3 says
    """Exclude earlier holders from a pointer, and return the prefix that it shows (None: none yet). A new holder does this before it reads.

    Raises:
        FencedOff: a later holder has set it, or has excluded this one.
        Unavailable: others wrote to the same key at the same time, again and again.
    """
    token = token_of(holder)
    for _ in range(TRIES):
        seen = _look(client.get_object, Bucket, Key)
        if seen.token > token:
            raise FencedOff(f"s3://{Bucket}/{Key}", token)
        shown = _shown(seen)
        if seen.token == token or _put(client, {"Bucket": Bucket, "Key": Key, **_pointer(shown, token), **seen.match}):
            return shown
    raise Unavailable(f"s3.PutObject: s3://{Bucket}/{Key} changed under each of {TRIES} attempts")


def scoped(prefix: str, holder: Holder) -> str:
    """Return the prefix below *prefix* that belongs to this holder's term alone; prefixes sort as the terms do."""
    return f"{prefix.rstrip('/')}/term={token_of(holder):0{DIGITS}d}/"


def point(client: Any, holder: Holder, prefix: str, *, Bucket: str, Key: str) -> None:  # noqa: N803 - as boto3 says
    """Set the pointer at *Key* to *prefix*, unless a later holder has set it.

    Raises:
        FencedOff: a later holder has set it; nothing was changed.
    """
    put_object(client, holder, Bucket=Bucket, Key=Key, **_pointer(prefix, token_of(holder)))


def pointed(client: Any, *, Bucket: str, Key: str) -> str | None:  # noqa: N803 - as boto3 says
    """Return the prefix that the pointer at *Key* shows; None if it was never set."""
    return _shown(_look(client.get_object, Bucket, Key))


def _pointer(prefix: str | None, token: int) -> dict[str, Any]:
    body = json.dumps({"prefix": prefix, "token": token}).encode()
    return {"Body": body, "ContentType": "application/json", "Metadata": {METADATA: str(token)}}


def _shown(seen: _Seen) -> str | None:
    prefix = json.loads(seen.body)["prefix"] if seen.body is not None else None
    return None if prefix is None else str(prefix)


def _look(operation: Any, bucket: str, key: str) -> _Seen:
    try:
        answer = operation(Bucket=bucket, Key=key)
    except ClientError as error:
        if code_of(error) in _MISSING:
            return _ABSENT
        raise fault(error, "s3.GetObject") from error
    body = answer["Body"].read() if "Body" in answer else None
    return _Seen({"IfMatch": answer["ETag"]}, int(answer.get("Metadata", {}).get(METADATA, 0)), body)


def _put(client: Any, call: Mapping[str, Any]) -> bool:
    """Return whether the object was put; it is not when another write was made in between."""
    try:
        client.put_object(**call)
    except ClientError as error:
        if code_of(error) in _CHANGED:
            return False
        raise fault(error, "s3.PutObject") from error
    return True
