"""One invocation's batch: the records that pass from step to step, and the decisions about each message so far.

    Delivery → Job (decoded, let in) → Held (may run) → Ran (body ended) → Judged (what to record, what follows) → acknowledged

Every message ends in exactly one way: acknowledged, given back (the queue delivers it again), or parked with its reason. `Batch.given_back`
is what the handler reports; the queue deletes all other messages.

These records are named tuples: as immutable as a frozen dataclass, and made in a third of the time. A task passes through five of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sedano.engine.drafts import Addressed, Draft
from sedano.model.history.run_rows import Chronicle
from sedano.model.ledger.outcome import Run, Verdict
from sedano.model.ledger.records import Outcome, TaskRecord
from sedano.model.messages.message import Command
from sedano.model.states import TaskState
from sedano.model.tasks.signature import Delivery as Mode
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Delivery

if TYPE_CHECKING:
    from sedano.model.effects import TableWrite
    from sedano.model.leases import Term
    from sedano.model.limits.concurrency import Permit


class Stillborn(NamedTuple):
    """Why a task must not run (any more): the *state* to record, and the reason; *park*: park its message with the reason."""

    state: TaskState
    code: str
    field: str
    detail: str
    park: bool = True


class Later(NamedTuple):
    """A body that must not begin now: the reason, and the seconds after which to deliver its message again."""

    reason: str
    seconds: float


class Job(NamedTuple):
    """An admitted command: the delivery, the message, the task; when and at which clock it was received.

    *mode*: how it is delivered (`TaskSpec.mode`). A job that arrived too late is admitted as *stillborn*: its claim decides whether it ends
    now, or has already begun or ended. *token*: the fencing token of its singleton lease or its permit; 0 for other tasks. *permit*:
            the permit's
    number.
    """

    delivery: Delivery
    command: Command
    task: TaskSpec
    received: float
    received_clock: int
    mode: Mode
    stillborn: Stillborn | None = None
    token: int = 0
    permit: int = 0


class Held(NamedTuple):
    """A job whose end this worker records: with the *record* of its claim, or None if its delivery needs none.

    *stillborn* is set when it must not run.
    """

    job: Job
    record: TaskRecord | None
    stillborn: Stillborn | None = None


class Ran(NamedTuple):
    """A body that ended: the run, its result as JSON text, the drafts in its outbox, when it started and ended, how many
    members it added to its chord, and its effects. *members*: of a pack, the verdicts on those of its members that ran.
    """

    held: Held
    run: Run
    result: str | None
    drafts: Sequence[Draft]
    started: float
    started_clock: int
    ended: float
    added: int = 0
    effects: Sequence[TableWrite] = ()
    members: Sequence[Judged] = ()


class Judged(NamedTuple):
    """The end of a run: the verdict, the record to write (None: nothing) and the stamped messages of the outbox."""

    ran: Ran
    verdict: Verdict
    outcome: Outcome | None
    posted: Sequence[Addressed]


class Parking(NamedTuple):
    """A message to park, with the reason's code, the field and the detail."""

    delivery: Delivery
    code: str
    field: str
    detail: str


class Deferral(NamedTuple):
    """A message to send again in *seconds* (None: longer each time), and the *reason* for the history of its *command*'s task; without a
    reason the history has no event. *ran*: this receipt counts as an execution.
    """

    delivery: Delivery
    reason: str = ""
    command: Command | None = None
    seconds: float | None = None
    ran: bool = False


class Carrier(Protocol):
    """The received message that links of its chain may follow inline (`engine.worker.inline_links`).

    *finished*: the ids of the messages that ended, the carrier's first; the receiver's window will know them when the carrier is settled.
    """

    finished: list[str]

    def keep(self, job: Job, messages: Sequence[Addressed]) -> bool:
        """Keep the only follow-up in *messages* of *job*, which succeeded, to run inline; return whether it was kept."""

    def run(self, batch: Batch, take: Callable[[Sequence[Delivery], Batch], None]) -> None:
        """Run the kept links by *take*; *batch*: the carrier's, which may be given back."""


NOT_EXTENDED: AbstractContextManager[object] = nullcontext()
"""The lock of a batch whose messages are not extended."""


@dataclass(slots=True)
class Batch:
    """The decisions of this invocation so far. *deadline*: when it will be stopped (epoch s). *limits*: those that were changed at run
    time, by task. *ordered*: its jobs are in the order that the app prefers. *decided*: the ids (the queue's) of messages that were given
    back, parked, sent again or collected. *left*: the ids of those that are about to wait. *deciding*: held while a beat extends the
    visibility of another message. *carrier*: of the links that run inline (`engine.worker.inline_links`); None: none do.
    """

    deadline: float
    chronicle: Chronicle
    given_back: list[Delivery] = field(default_factory=list)
    deferred: dict[str, Deferral] = field(default_factory=dict)
    unstarted: list[Held] = field(default_factory=list)
    echoes: list[tuple[Command, Delivery]] = field(default_factory=list)
    parkings: list[Parking] = field(default_factory=list)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    terms: list[Term] = field(default_factory=list)
    permits: list[tuple[str, Permit, bool]] = field(default_factory=list)
    limits: Mapping[str, str] = field(default_factory=dict)
    ordered: bool = False
    decided: set[str] = field(default_factory=set)
    carrier: Carrier | None = None
    deciding: AbstractContextManager[object] = NOT_EXTENDED
    left: frozenset[str] = frozenset()

    def leave(self, delivery: Delivery) -> None:
        """Extend the visibility of this message no more, before it is made to wait: a later beat, or one that is under way, would undo its
        wake-up. It is not decided by that: if the step raises, the message is given back or parked."""
        with self.deciding:
            self.left |= {delivery.message_id}

    def give_back(self, delivery: Delivery) -> None:
        """Let the queue deliver this message again."""
        self.given_back.append(delivery)
        self.decided.add(delivery.message_id)

    def defer(
        self, delivery: Delivery, reason: str = "", command: Command | None = None, seconds: float | None = None, ran: bool = False
    ) -> None:  # fmt: skip
        """Send this message again with a delay of *seconds*, or a longer one each time (`Deferral`, `sedano.engine.deferrals`)."""
        self.give_back(delivery)
        self.deferred[delivery.message_id] = Deferral(delivery, reason, command, seconds, ran)

    def defer_job(self, job: Job, error: object, *, ran: bool = False) -> None:
        """Defer the message of *job*, because a service did not answer (*error*). *ran*: its body has run without a claim."""
        self.defer(job.delivery, f"not answered: {error}", job.command, ran=ran and job.mode != "claimed")

    def park(self, delivery: Delivery, code: str, field_name: str, detail: str) -> None:
        """Park this message when the batch ends."""
        self.parkings.append(Parking(delivery, code, field_name, detail))
        self.decided.add(delivery.message_id)

    def move(self, delivery: Delivery) -> None:
        """Note that another message was sent instead of this one, or that its call was collected."""
        self.decided.add(delivery.message_id)

    def is_decided(self, delivery: Delivery) -> bool:
        """Return whether this message was given back, parked, or moved."""
        return delivery.message_id in self.decided

    def is_extended(self, delivery: Delivery) -> bool:
        """Return whether beats extend the visibility of this message."""
        return delivery.message_id not in self.decided and delivery.message_id not in self.left

    def has_finished(self, message_id: str) -> bool:
        """Return whether this message ended, of those that the receiver's window will know when their carrier is settled."""
        return self.carrier is not None and message_id in self.carrier.finished

    def count(self, metric: str, task: str) -> None:
        """Add one to *metric* of a registered task."""
        key = (metric, task)
        self.counts[key] = self.counts.get(key, 0) + 1


Arguments = tuple[Sequence[Any], Mapping[str, Any]]
"""The positional and keyword arguments of a body."""
