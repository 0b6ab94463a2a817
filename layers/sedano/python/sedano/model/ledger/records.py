"""The ledger's record of one task, and the three writes that change it: claim, record, reserve (PROTOCOLS §3).

A record is the item in DynamoDB as a value. `fence` is the fencing token: it increases by one at every claim. The write that records an end
carries the fence and the nonce of its claim, so the ledger refuses the write of a worker that lost its claim.
"""

from __future__ import annotations

from typing import NamedTuple

from sedano.errors import TooLarge, Unavailable
from sedano.model.messages.message import BlobRef, Section
from sedano.model.states import TaskState

RECORD_LIFETIME_S = 44 * 86_400
"""Seconds. A terminal record outlives SQS retention (14 days), the longest visibility (12 hours) and a month for redriving parked messages.
"""
INLINE_BYTES = 100_000
"""A larger result or outbox is stored in the blob store, because an item of DynamoDB holds at most 400 KB."""
RESERVATION_S = 60.0
"""How long (s) a reserved deduplication key blocks other callers if its task is never published."""


NO_RETRY, TERMINATE = 1, 2
"""The requests of a revocation to a running task: do not retry it; do not retry it and end it at its next checkpoint."""


COPY = "copy of "
"""The prefix of the nonce of a copied end: a random nonce never contains a space."""


class ErrorRecord(NamedTuple):
    """The exception of a task, as data.

    *cause*: the id of the task that failed first, if this is the error of another task; *notes*: all causes, if there are several.
    *raised* and *arguments*: the class and the arguments of the exception, if the app names the class
    (`sedano.model.ledger.raised_errors`).
    """

    type_name: str
    message: str
    traceback: str = ""
    cause: str = ""
    notes: str = ""
    raised: str = ""
    arguments: str = ""


class Posted(NamedTuple):
    """An encoded message in a task's outbox: the key of its queue, its *body*, *delay* in seconds, the *tenant*, the *serial_key*."""

    queue: str
    body: str
    delay: int = 0
    tenant: str | None = None
    serial_key: str | None = None

    @property
    def parts(self) -> tuple[str | int | None, ...]:
        """The fields to write; *serial_key* only if it is set."""
        return tuple(self) if self.serial_key is not None else tuple(self)[:-1]


class TaskRecord(NamedTuple):
    """One task in the ledger. *attempt* is the retry number; *claims* counts the claims of that attempt; times are epoch seconds.

    *owner* names the worker of the last claim; *asked* is the request of a revocation while it ran (`NO_RETRY`, `TERMINATE`), or 0.
    *result* is JSON text; a large result is a blob, *result_ref*. *outbox* holds the messages that the task published while it ran, in
    order; a large outbox is a blob, *outbox_ref*. *added* of these messages are members that it added to its chord. *forgotten*: its result
    and error were dropped on request (`Ledger.forget`). *call*: the parts of its message that another run needs, of a task that ended
    without success (`sedano.engine.reruns`). *custom*: what its body shows while it runs (`sedano.model.ledger.custom_states`).
    *followed*: everything that follows its end was sent, which is noted for direct calls alone (`Ledger.follow`). *marks*: of a pack, its
    members that were asked to stop (`sedano.model.packs`).
    """

    task_id: str
    state: TaskState
    attempt: int = 0
    fence: int = 0
    claims: int = 0
    nonce: str = ""
    message_id: str = ""
    expires: float = 0.0
    clock: int = 0
    name: str = ""
    result: str | None = None
    result_ref: BlobRef | None = None
    error: ErrorRecord | None = None
    outbox: tuple[Posted, ...] = ()
    outbox_ref: BlobRef | None = None
    not_before: float = 0.0
    section: Section | None = None
    reserved: float = 0.0
    owner: str = ""
    asked: int = 0
    forgotten: bool = False
    added: int = 0
    call: Posted | None = None
    custom: str = ""
    followed: bool = False
    marks: frozenset[int] = frozenset()


def copied_from(one: TaskRecord | Outcome) -> str:
    """Return the id of the task that ended as *one*; it differs from the id in *one* if the end was copied for a join (`copy_of`)."""
    return one.nonce.removeprefix(COPY) if one.nonce.startswith(COPY) else one.task_id


def copy_of(end: Outcome, slot: str) -> Outcome:
    """Return a copy of *end* under the id *slot*, which a join reads."""
    return end._replace(task_id=slot, nonce=COPY + end.task_id, fence=0, outbox=(), outbox_ref=None, call=None)


def end_of(record: TaskRecord, message_id: str, at: float) -> Outcome:
    """Return the end in the terminal *record* as a write of the message *message_id* at *at* (epoch s)."""
    return Outcome(
        task_id=record.task_id, state=record.state, nonce=record.nonce, fence=record.fence, message_id=message_id, attempt=record.attempt,
        clock=record.clock, name=record.name, at=at, result=record.result, result_ref=record.result_ref, error=record.error,
        added=record.added,
    )  # fmt: skip


class Claim(NamedTuple):
    """A request to become the only holder of *attempt* of a task until *expires* (epoch s).

    *owner* names the requesting worker. *must_exist* forbids the creation of a record: if a retry, or a message older than a record's
    lifetime, finds no record, it is parked. *left*: the task left a pack, where its body may have run under the first fence, so the first
    claim has the second one.
    """

    task_id: str
    attempt: int
    message_id: str
    nonce: str
    expires: float
    clock: int
    name: str
    must_exist: bool = False
    owner: str = ""
    left: bool = False


class Claimed(NamedTuple):
    """The answer to a `Claim`: *granted* with the new record, or refused with the existing record (None: no record exists)."""

    granted: bool
    record: TaskRecord | None


class Extension(NamedTuple):
    """A request to extend the claim with *nonce* and *fence* until *expires* (epoch s)."""

    task_id: str
    nonce: str
    fence: int
    expires: float


class Outcome(NamedTuple):
    """A request to record how *attempt*, held under *nonce* and *fence*, ended: a terminal *state*, or RETRY with *next_attempt*."""

    task_id: str
    state: TaskState
    nonce: str
    fence: int
    message_id: str
    attempt: int
    clock: int
    name: str
    at: float
    result: str | None = None
    result_ref: BlobRef | None = None
    error: ErrorRecord | None = None
    outbox: tuple[Posted, ...] = ()
    outbox_ref: BlobRef | None = None
    next_attempt: int = 0
    not_before: float = 0.0
    section: Section | None = None
    added: int = 0
    call: Posted | None = None


class Recorded(NamedTuple):
    """The answer to an `Outcome`: *accepted* (also if an earlier send of the same write succeeded), or refused with the existing record."""

    accepted: bool
    record: TaskRecord | None = None


ClaimAnswer = Claimed | Unavailable
RecordAnswer = Recorded | Unavailable | TooLarge
