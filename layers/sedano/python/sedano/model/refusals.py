"""The closed list of reasons for which a message is refused or parked. Each is a dimension of a metric and the `reason` of a parked
message.
"""

from __future__ import annotations

from typing import Final

MALFORMED: Final = "malformed"
"""Not JSON, or refused JSON: duplicate keys, NaN, infinities, lone surrogates, not UTF-8."""
TOO_DEEP: Final = "too-deep"
TOO_LARGE: Final = "too-large"
SCHEMA: Final = "schema"
"""JSON, but not a message of sedano: an attribute is missing, has the wrong type, or is out of range."""
NEWER: Final = "newer-protocol"
UNKNOWN_TASK: Final = "unknown-task"
UNKNOWN_EVENT: Final = "unknown-event"
ARGUMENTS: Final = "arguments"
EXPIRED: Final = "expired"
CLOCK_AHEAD: Final = "clock-ahead"
HOPS: Final = "hop-limit"
POISON: Final = "poison"
EXECUTIONS: Final = "execution-limit"
QUARANTINE: Final = "quarantine"
"""A retry, or a message older than the ledger's retention, without a record."""
TAKEN: Final = "id-taken"
"""Another task with this id was published and has run."""
BLOB: Final = "blob"
"""The blob of a claim check is missing, is larger than declared, or has another digest."""
BUDGET: Final = "budget"
REJECTED: Final = "rejected"
"""Its task raised `Reject`."""
RECORD: Final = "bad-record"
"""A packed record of worker events that cannot be read."""
ORDER: Final = "order"
"""A task that cannot run in order arrived through a queue that keeps order."""
STALE: Final = "stale"
"""It waited in a FIFO queue for nearly as long as SQS keeps messages, and cannot be sent again without losing its place."""
WEBHOOK: Final = "webhook"
"""A signed webhook request that its function could not turn into events."""
STREAM: Final = "stream"
"""A record of a stream that cannot be read, or a record or an item of a poll that does not fit the parameters of its task."""

UNEXPECTED: Final = "unexpected"
"""A step raised an unexpected exception. The field has the location, and the detail the type and the frames of the traceback."""

ALL: Final = frozenset({
    MALFORMED, TOO_DEEP, TOO_LARGE, SCHEMA, NEWER, UNKNOWN_TASK, UNKNOWN_EVENT, ARGUMENTS, EXPIRED, CLOCK_AHEAD, HOPS, POISON, EXECUTIONS,
    QUARANTINE, TAKEN, BLOB, BUDGET, REJECTED, RECORD, ORDER, STALE,
    WEBHOOK, STREAM, UNEXPECTED,
})  # fmt: skip

REVOKED: Final = "revoked"
"""The task is revoked. Its message is not parked, so the code is not in the list: the caller requested this end."""
CIRCUIT: Final = "circuit-open"
"""A task that is declared to fail while its circuit is open. Not in the list, because its message is not parked."""
BUSY: Final = "busy"
"""A singleton that is declared to be dropped while another run is in progress. Not in the list for the same reason."""
SUPERSEDED: Final = "superseded"
"""A call that a later one replaced (debounce). Not in the list for the same reason."""
KEY: Final = "limit-key"
"""A task whose limit has a key that its arguments do not contain. Not in the list: its record has the reason."""
