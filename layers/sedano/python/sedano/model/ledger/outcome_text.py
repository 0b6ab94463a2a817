"""Everything but the result of a task's end, as one string: error, outbox, claim checks, pause, section, call. A ledger keeps it beside the
record.

One string instead of seven attributes keeps the conditional writes constant (no attribute is set "if present") and the common record small:
a task that succeeded without any of these has an empty string. It is ASCII JSON, so every exception message is read back unchanged.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from sedano.errors import TooLarge
from sedano.model.ledger.records import ErrorRecord, Outcome, Posted
from sedano.model.messages.message import BlobRef, Section

MAX_RECORD_BYTES = 400_000
"""The most bytes of result and tail together: DynamoDB's limit of 400 KiB for an item, minus room for names, ids and keys."""

_dump = json.JSONEncoder(separators=(",", ":")).encode
_load = json.JSONDecoder().decode


class Tail(NamedTuple):
    """The values that `read` finds in the string; the fields have the names of those of `TaskRecord`."""

    result_ref: BlobRef | None = None
    error: ErrorRecord | None = None
    outbox: tuple[Posted, ...] = ()
    outbox_ref: BlobRef | None = None
    not_before: float = 0.0
    section: Section | None = None
    added: int = 0
    call: Posted | None = None


EMPTY = Tail()


def write(outcome: Outcome) -> str:
    """Return the string for *outcome*; it is empty if the outcome has only a result."""
    parts: dict[str, Any] = {}
    if outcome.result_ref is not None:
        parts["ref"] = [outcome.result_ref.digest, outcome.result_ref.size]
    if outcome.error is not None:
        parts |= _error_parts(outcome.error)
    if outcome.outbox:
        parts["out"] = [post.parts for post in outcome.outbox]
    if outcome.outbox_ref is not None:
        parts["outref"] = [outcome.outbox_ref.digest, outcome.outbox_ref.size]
    if outcome.not_before:
        parts["nb"] = round(outcome.not_before * 1000)
    if outcome.added:
        parts["add"] = outcome.added
    if outcome.section or outcome.call:
        parts |= {name: list(found) for name, found in (("sec", outcome.section), ("call", outcome.call and outcome.call.parts)) if found}
    return _dump(parts) if parts else ""


def read(text: str) -> Tail:
    """Return the values that `write` put into *text*."""
    if not text:
        return EMPTY
    parts = _load(text)
    return Tail(
        result_ref=BlobRef(*parts["ref"]) if "ref" in parts else None,
        error=_error(parts) if "err" in parts else None,
        outbox=tuple(Posted(*post) for post in parts.get("out", ())),
        outbox_ref=BlobRef(*parts["outref"]) if "outref" in parts else None,
        not_before=parts.get("nb", 0) / 1000,
        section=Section(*parts["sec"]) if "sec" in parts else None,
        added=parts.get("add", 0),
        call=Posted(*parts["call"]) if "call" in parts else None,
    )


def _error_parts(error: ErrorRecord) -> dict[str, Any]:
    """Return the parts of *error*; its exception is a part of its own, because an older reader takes at most five values of an error."""
    more = [error.cause, error.notes] if error.cause or error.notes else []
    parts: dict[str, Any] = {"err": [error.type_name, error.message, error.traceback, *more]}
    return parts | {"exc": [error.raised, error.arguments]} if error.raised else parts


def _error(parts: dict[str, Any]) -> ErrorRecord:
    raised, arguments = parts.get("exc", ("", ""))
    return ErrorRecord(*parts["err"])._replace(raised=raised, arguments=arguments)


def too_large(outcome: Outcome, tail: str) -> TooLarge | None:
    """Return the error if a ledger cannot keep *outcome* with this *tail*, else None. Results and outboxes of that size belong in blobs."""
    result = outcome.result or ""
    size = len(tail) + (len(result) if result.isascii() else len(result.encode()))
    if size <= MAX_RECORD_BYTES:
        return None
    return TooLarge(
        f"record of {outcome.task_id}: {size} bytes of result, error and outbox; a record may have {MAX_RECORD_BYTES}"
    )
