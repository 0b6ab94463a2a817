"""The ledger's record of one task, and the three writes that change it: claim, record, reserve (PROTOCOLS §3).

A record is the item in DynamoDB as a value. `fence` is the fencing token: it rises by one at every claim, and a record write carries the
fence and the nonce of its claim, so a zombie that wakes up late is refused by the ledger itself.
"""

from __future__ import annotations

from typing import NamedTuple

from sedano.errors import TooLarge, Unavailable
from sedano.model.messages.message import BlobRef, Section
from sedano.model.states import TaskState

RECORD_LIFETIME_S = 44 * 86_400
"""A terminal record outlives SQS retention (14 days), the longest visibility (12 hours) and a month for redriving parked messages."""
INLINE_BYTES = 100_000
"""A result or an outbox longer than this lies in the blob store: an item of DynamoDB holds 400 KB."""
RESERVATION_S = 60.0
"""How long a reserved deduplication key blocks others when its task is never published."""


NO_RETRY, TERMINATE = 1, 2
"""The requests of a revocation to a running task: not to be tried again; to end at its next checkpoint as well."""


COPY = "copy of "
"""The prefix of the nonce of a copied end: no drawn nonce has a space."""


class ErrorRecord(NamedTuple):
    """The exception of a task, as data.

    *cause*: the id of the task that failed first, when that is another one, whose error this is; *notes*: all causes, when there are more.
    """

    type_name: str
    message: str
    traceback: str = ""
    cause: str = ""
    notes: str = ""


class Posted(NamedTuple):
    """An encoded message in a task's outbox: the key of its queue, its *body*, *delay* in seconds, the *tenant*, the *serial_key*."""

    queue: str
    body: str
    delay: int = 0
    tenant: str | None = None
    serial_key: str | None = None

    @property
    def parts(self) -> tuple[str | int | None, ...]:
        """The written fields: the key only where one exists."""
        return tuple(self) if self.serial_key is not None else tuple(self)[:-1]


class TaskRecord(NamedTuple):
    """One task as the ledger holds it. *attempt* is the retry number; *claims* counts the claims of that attempt; times are epoch seconds.

    *owner* names the worker of the last claim; *asked* is what a revocation asked of it while it ran (`NO_RETRY`, `TERMINATE`), or 0.
    *result* is JSON text, or lies in *result_ref*. *outbox* holds the messages that the task published while it ran, in order, or lies in
    *outbox_ref*; *added* of them are members that it added to its chord. *forgotten*: what it said was dropped on request
    (`Ledger.forget`). *call*: the message of a task that ended without success, as far as another run needs it (`sedano.engine.reruns`).
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


def copied_from(one: TaskRecord | Outcome) -> str:
    """Return the id of the task whose end *one* is: another one than its own where it was copied for a join (`copy_of`)."""
    return one.nonce.removeprefix(COPY) if one.nonce.startswith(COPY) else one.task_id


def copy_of(end: Outcome, slot: str) -> Outcome:
    """Return *end* as it is copied to the id *slot*, where a join looks for it."""
    return end._replace(task_id=slot, nonce=COPY + end.task_id, fence=0, outbox=(), outbox_ref=None, call=None)


def end_of(record: TaskRecord, message_id: str, at: float) -> Outcome:
    """Return the end of the terminal *record*, as a write of the message *message_id* at *at*."""
    return Outcome(
        task_id=record.task_id, state=record.state, nonce=record.nonce, fence=record.fence, message_id=message_id, attempt=record.attempt,
        clock=record.clock, name=record.name, at=at, result=record.result, result_ref=record.result_ref, error=record.error,
        added=record.added,
    )  # fmt: skip


class Claim(NamedTuple):
    """Ask to become the one holder of *attempt* of a task until *expires*.

    *owner* names the worker that asks.
    *must_exist* forbids creating the record: a retry, or a message older than a record's lifetime, that finds no record is parked.
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


class Claimed(NamedTuple):
    """The answer: *granted* with the record as it now is, or refused with the record in the way (None: no record exists)."""

    granted: bool
    record: TaskRecord | None


class Extension(NamedTuple):
    """Ask to go on holding a task under *nonce* and *fence*, until *expires* (epoch s)."""

    task_id: str
    nonce: str
    fence: int
    expires: float


class Outcome(NamedTuple):
    """Record how attempt *attempt*, held under *nonce* and *fence*, ended: a terminal *state*, or RETRY with *next_attempt*."""

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
    """The answer to an `Outcome`: *accepted* (also when an earlier send of the same write had arrived), or the record in the way."""

    accepted: bool
    record: TaskRecord | None = None


ClaimAnswer = Claimed | Unavailable
RecordAnswer = Recorded | Unavailable | TooLarge
