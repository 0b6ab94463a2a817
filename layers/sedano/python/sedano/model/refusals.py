"""The closed list of reasons for which a message is refused or set aside. Each is a metric's dimension and a parked message's `reason`."""

from __future__ import annotations

from typing import Final

MALFORMED: Final = "malformed"
"""Not JSON, or JSON that is refused: duplicate keys, NaN, infinities, lone surrogates, not UTF-8."""
TOO_DEEP: Final = "too-deep"
TOO_LARGE: Final = "too-large"
SCHEMA: Final = "schema"
"""JSON, but not one of sedano's messages: a missing, unknown-typed or out-of-range attribute."""
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
"""A retry, or a message older than the ledger's memory, for which there is no record."""
TAKEN: Final = "id-taken"
"""Another task was published under this id, and has run."""
BLOB: Final = "blob"
"""A claim check that is missing, inflates beyond its declared size, or whose digest differs."""
BUDGET: Final = "budget"
REJECTED: Final = "rejected"
"""Its task refused it by raising `Reject`."""
RECORD: Final = "bad-record"
"""A packed record of worker events that cannot be read."""
ORDER: Final = "order"
"""A task that cannot be run in order arrived through a queue that keeps it."""
STALE: Final = "stale"
"""It waited in a queue that keeps order for nearly as long as SQS keeps messages, and cannot be sent anew without losing its place."""
WEBHOOK: Final = "webhook"
"""A signed webhook request that its function could not turn into events."""
STREAM: Final = "stream"
"""A record of a stream that cannot be read, or with which a task that reads the stream cannot be called."""

UNEXPECTED: Final = "unexpected"
"""A step raised an exception that no rule foresaw. The field says where, the detail its type and the frames of its traceback."""

ALL: Final = frozenset({
    MALFORMED, TOO_DEEP, TOO_LARGE, SCHEMA, NEWER, UNKNOWN_TASK, UNKNOWN_EVENT, ARGUMENTS, EXPIRED, CLOCK_AHEAD, HOPS, POISON, EXECUTIONS,
    QUARANTINE, TAKEN, BLOB, BUDGET, REJECTED, RECORD, ORDER, STALE,
    WEBHOOK, STREAM, UNEXPECTED,
})  # fmt: skip

REVOKED: Final = "revoked"
"""The task is revoked. Its message is not parked, so the code is not in the list: the caller asked for this end."""
CIRCUIT: Final = "circuit-open"
"""A task whose circuit is open, and that was declared to fail then. Not in the list for the same reason as `BUSY`."""
BUSY: Final = "busy"
"""A singleton that is declared to be dropped while another run is under way. Not in the list for the same reason."""
SUPERSEDED: Final = "superseded"
"""A call whose place a later one took (debounce). Not in the list for the same reason."""
KEY: Final = "limit-key"
"""A task whose limit is counted by a key that its arguments do not have. Not in the list: its record says so."""
