"""The three kinds of message: a Command requests one task, an Event reports a fact, a Document is a result, or an object.

The terms are those of the CEP (and of Hohpe and Woolf). Here they are values; `codec` writes and reads them as CloudEvents 1.0 JSON. Two
identities: `task_id` is the task's, stable over retries and copies; `id` is the message's own (PROTOCOLS §3). Every publication has a new
one, except messages that several publishers may send alike, whose copies must have the same id: the message that begins a canvas
(`sedano.model.messages.lineage.begun_id`), the retries of its first task (`tried_id`), and those of a task without a claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sedano.model.messages.lineage import ROOT, Lineage

PROTOCOL_VERSION = 1
TIMER_OPENING = '{"specversion":"1.0","type":"sedano.timer",'
"""The beginning of the envelope of a message that a timer sends (`sedano.model.timers`); every worker looks for it."""
LAUNCH = "sedano.launch"
"""The built-in task that publishes the members of a large canvas."""
COLLECT = "sedano.collect"
"""The built-in task whose result is the list of a group's results."""
MAP, MAP_ASYNC = "sedano.map", "sedano.map.async"
"""The built-in tasks that call another task for each item of a list."""
PACK = "sedano.pack"
"""The built-in task that runs several members of a group one after another (`sedano.model.packs`)."""
ELECT = "sedano.elect"
"""The built-in task that takes part in an election."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No keyword arguments."""


class BlobRef(NamedTuple):
    """A claim check: the data is in this deployment's blob store under its digest (sha256, hex) and has *size* bytes uncompressed."""

    digest: str
    size: int


UNKNOWN_DATA = BlobRef("", 0)
"""The arguments of a command that was never published: they are not known."""


class JoinMember(NamedTuple):
    """This command is member *index* (from 0) of the join *join_id* of *size* members."""

    join_id: str
    index: int  # type: ignore[assignment] # shadows `tuple.index`, which is not used here
    size: int


class Gather(NamedTuple):
    """This command is the body of the join *join_id* of *size* members. *hand_on*: their results become its first argument.

    *outcomes*: it also runs if members failed, and receives the outcome of each.
    """

    join_id: str
    size: int
    hand_on: bool = True
    outcomes: bool = False


class Place(NamedTuple):
    """The place of a command in a canvas: *node*, the path of its item within *plan*, and the id of its chain.

    *plan* is a page of the canvas: its JSON text if that is short, else its claim check (`blob:<sha256>:<size>`), so that the size of a
    message does not depend on the size of its canvas (`sedano.model.canvas.pages`).
    """

    canvas_id: str
    node: str
    plan: str


class TimeLimits(NamedTuple):
    """The seconds after which a running body is asked to end (*soft*) and after which it is ended (*hard*); None means no limit."""

    soft: float | None = None
    hard: float | None = None

    @property
    def longest(self) -> float:
        """The most seconds that a body may take."""
        return self.hard if self.hard is not None else self.soft or 0.0

    def over(self, usual: TimeLimits | None) -> TimeLimits:
        """Return the limits of a call: these, and the *usual* ones of its task for a limit that the call does not set (Celery's rule).

        A soft limit that is not below the hard one is dropped, because the hard limit ends the body first.
        """
        soft, hard = (own if own is not None else other for own, other in zip(self, usual or TimeLimits(), strict=True))
        return TimeLimits(soft if soft is None or hard is None or soft < hard else None, hard)


class Section(NamedTuple):
    """The `with retry():` section that failed last (*index*, a number from its name or position) and how often in a row (*count*)."""

    index: int  # type: ignore[assignment] # as above
    count: int  # type: ignore[assignment] # as above


class Command(NamedTuple):
    """Requests one task. *time* and *expires* are seconds since the epoch; *attempt* counts retries from 0; *stamps* and *headers* are in
    their written forms (`sedano.model.messages.stamps`, `headers`). *time_limits* are those of this call and override those of its task;
    for a map they apply to each of its calls. *ignore_result*: whether this call keeps no result; None: as its task declares. A draft
    (`sedano.engine.drafts`) holds a command without id, source, time, clock and lineage.

    It is a named tuple because one is created for every message sent or received, and costs a fifth of a frozen dataclass of this size.
    """

    id: str
    task_id: str
    task: str
    source: str = ""
    time: float = 0.0
    clock: int = 0
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = NOTHING
    attempt: int = 0
    lineage: Lineage = ROOT
    expires: float | None = None
    tenant: str | None = None
    traceparent: str | None = None
    ignore_result: bool | None = None
    member: JoinMember | None = None
    gather: Gather | None = None
    section: Section | None = None
    data_ref: BlobRef | None = None
    stamps: str | None = None
    place: Place | None = None
    time_limits: TimeLimits | None = None
    tracestate: str | None = None
    headers: str | None = None

    def stamped(self, message_id: str, source: str, time: float, clock: int, lineage: Lineage) -> Command:
        """Return this draft as the message *message_id*. The result is that of `_replace` in a third of the time, because every publication
        calls this.
        """
        return tuple.__new__(Command, (message_id, self[1], self[2], source, time, clock, *self[6:9], lineage, *self[10:]))


class Event(NamedTuple):
    """Reports that something happened in the user's domain; *data* holds its fields. A draft has no source, time, clock and lineage."""

    id: str
    name: str
    source: str = ""
    time: float = 0.0
    clock: int = 0
    data: Mapping[str, Any] = NOTHING
    lineage: Lineage = ROOT
    tenant: str | None = None
    traceparent: str | None = None
    data_ref: BlobRef | None = None
    stamps: str | None = None
    tracestate: str | None = None


class Document(NamedTuple):
    """The result of a task: its final *state* with a *value*, or with the *error* as data (type, message, traceback); or an object of the
    user's domain, whose kind is named in *task*. *task_id* is the task that produced it. A draft has no source, time, clock and lineage.
    """

    id: str
    task_id: str
    task: str
    source: str = ""
    time: float = 0.0
    clock: int = 0
    state: str = "SUCCESS"
    value: Any = None
    error: tuple[str, str, str] | None = None
    lineage: Lineage = ROOT
    tenant: str | None = None
    traceparent: str | None = None
    data_ref: BlobRef | None = None
    stamps: str | None = None
    tracestate: str | None = None


Message = Command | Event | Document
