"""The follow step alone, over stand-ins of the plan, of the joins and of the publisher that answer as they are told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sedano.engine.batch import Batch, Held, Job, Judged, Ran
from sedano.engine.canvas.continuation import Consequences
from sedano.engine.canvas.join_arrivals import Ending
from sedano.engine.drafts import Addressed, Composer
from sedano.engine.worker.follow_ups import Following
from sedano.errors import SedanoError, Unavailable
from sedano.model import states
from sedano.model.ledger.outcome import Run, Verdict
from sedano.model.ledger.recent_ids import Window
from sedano.model.ledger.records import ErrorRecord, Outcome
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command, JoinMember, Section
from sedano.ports import Outgoing, Ports
from tests.unit.engine.gated import QUEUE, batch, job, world

MEMBER = JoinMember("join", 0, 2)
PLAN = f"blob:{'0' * 64}:9"
AWAY = Unavailable("queue: away")
REJECTED = ErrorRecord("Reject", "not mine")


@dataclass
class Follows:
    """What follows from the end of each task, by its id: instead of the plan of a canvas."""

    by_id: dict[str, Consequences] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()

    def failed(self, one: Job, state: str, error: ErrorRecord | None) -> Consequences:
        """What follows from a failure."""
        if one.command.task_id in self.broken:
            raise RuntimeError("a defect")
        return self.by_id.get(one.command.task_id, Consequences())

    def copied(self, one: Job, found: Consequences) -> None:
        """Nothing is copied."""
        if one.command.task_id in self.broken:
            raise RuntimeError("a defect")


@dataclass
class Sends:
    """A publisher whose queue refuses the messages of some bodies, or that breaks at them."""

    answers: Mapping[str, SedanoError] = field(default_factory=dict)
    breaks: frozenset[str] = frozenset()
    sent: list[str] = field(default_factory=list)
    delays: list[int] = field(default_factory=list)
    calls: int = 0

    def publish_all(self, messages: Sequence[Addressed]) -> list[SedanoError | None]:
        """Answer by the body."""
        self.calls += 1
        if any(one.outgoing.body in self.breaks for one in messages):
            raise RuntimeError("a defect")
        self.sent += [one.outgoing.body for one in messages]
        self.delays += [one.outgoing.delay for one in messages]
        return [self.answers.get(one.outgoing.body) for one in messages]


@dataclass
class Joins:
    """Joins that answer as they are told."""

    answers: dict[str, Any] = field(default_factory=dict)
    arrived: list[tuple[str, bool]] = field(default_factory=list)

    def arrive(self, endings: Sequence[Ending]) -> list[tuple[Job, Any]]:
        """Answer by the task's id."""
        self.arrived += [(one.job.command.task_id, one.failed) for one in endings]
        return [(one.job, self.answers.get(one.job.command.task_id)) for one in endings]


@dataclass
class Stage:
    """The follow step over stand-ins of what it calls."""

    ports: Ports = field(default_factory=lambda: world(0.5, "ledger"))
    follows: Follows = field(default_factory=Follows)
    sends: Sends = field(default_factory=Sends)
    joins: Joins = field(default_factory=Joins)

    def __post_init__(self) -> None:
        """Begin with an empty window."""
        composer = Composer("me", LamportClock(lambda: 1), self.ports)
        doubles: Any = (self.sends, self.follows, self.joins)
        no_packs: Any = None
        self.window, self.batch = Window(), batch(self.ports)
        self.step = Following(self.ports, composer, *doubles, self.window, no_packs)

    def follow(self, *judged: Judged) -> Batch:
        """Follow."""
        self.step.follow(judged, self.batch)
        return self.batch


def message(body: str) -> Addressed:
    """A follow-up."""
    return Addressed(QUEUE, Outgoing(body))


def member(name: str = "a", **options: Any) -> Job:
    """A job whose end has follow-ups."""
    one = job(name, **options)
    return one._replace(command=one.command._replace(member=MEMBER))


def ended(one: Job, state: Any = states.FAILURE, error: ErrorRecord | None = None, pause: float = 0.0, **run: Any) -> Judged:
    """The end of *one*."""
    held = Held(one, None, one.stillborn)
    ran = Ran(held=held, run=Run(error=error, **run), result=None, drafts=(), started=0.0, started_clock=0, ended=0.0)
    return Judged(ran, Verdict(state, pause, Section(1, 2) if state == states.RETRY else None), None, ())


def outcome(task_id: str, **changes: Any) -> Outcome:
    """The end of a task that never ran."""
    bare = Outcome(task_id=task_id, state=states.FAILURE, nonce="", fence=0, message_id="a", attempt=0, clock=5, name="next", at=1.0)
    return bare._replace(**{"error": ErrorRecord("E", "m"), **changes})


def exits(found: Batch) -> list[tuple[str, int]]:
    """What the history says of tasks that never ran: the id and the clock."""
    return [(line["uuid"], line["clock"]) for line in found.chronicle.lines if line["type"] == "task-failed"]


def command(one: Addressed | str) -> Command:
    """The command of a message."""
    found = codec.decode(one if isinstance(one, str) else one.outgoing.body)
    assert isinstance(found, Command)
    return found


def command_of(name: str) -> Command:
    """A command."""
    return job(name).command
