"""The ports: everything that sedano needs from outside services, on one page. Operations take and return batches.

Implemented by `sedano.memory` (the oracle), `sedano.sqlite`, `sedano.aws` and any other adapter that passes `tests/conformance`.
A call for several items returns an answer for each: for an item that is refused or cannot be reached, the answer is an error as a value
(`Unavailable` and the like), and the other items are not affected. If the whole call cannot be made, it raises `Unavailable`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sedano.errors import SedanoError
from sedano.model.canvas.join import Arrival, Arrived, Join, Node
from sedano.model.cluster.control_record import Changed, ControlRecord
from sedano.model.cluster.members import MemberRecord as MemberRecord
from sedano.model.ledger.records import Claim, ClaimAnswer, Extension, Outcome, RecordAnswer, TaskRecord
from sedano.model.messages.lineage import DEFAULT_BUDGET
from sedano.model.messages.message import NOTHING, BlobRef
from sedano.model.queues import QueueBounds
from sedano.model.queues import command_queue as command_queue
from sedano.ports.absent import absent
from sedano.ports.machine import Clock as Clock
from sedano.ports.machine import Entropy as Entropy
from sedano.ports.machine import Telemetry as Telemetry

if TYPE_CHECKING:
    from sedano.model.elections import Ballot, Election
    from sedano.model.leases import Leased, LeaseRecord, Term
    from sedano.model.ledger.failures import FailedTask
    from sedano.model.memos import Memo, MemoChanged
    from sedano.model.schedules.agenda import Agenda, AgendaChanged
    from sedano.model.store_clock import Interval
    from sedano.model.timers import Foreign, Timer
    from sedano.model.workflow.flow_run import FlowChanged, FlowRun
    from sedano.ports.consumers import Consumers
    from sedano.ports.direct_calls import DirectCalls
    from sedano.ports.effects import Effects
    from sedano.ports.functions import CalledFunctions
    from sedano.ports.limits import Limits
    from sedano.ports.parameters import OwnersParameters
    from sedano.ports.rollups import Rollups
    from sedano.ports.seals import Seals
    from sedano.ports.sinks import Sinks

EVENTS, RECORDS, PARKED = "events", "records", "parked"
"""The queues that every deployment has, besides its command queues (`command_queue`)."""


class LookPauses(NamedTuple):
    """The pauses (s) between two looks at a result that a program waits for: the *first* one, and the longest."""

    first: float = 0.05
    most: float = 2.0


AWS_LOOKS = LookPauses()
"""The pauses for stores where each look is a request that costs money."""


class Outgoing(NamedTuple):
    """A message to send: *body*, *delay* in whole seconds (both within `Queues.bounds`), *tenant* for fairness, *attributes*; *serial_key*,
    *once*: see Queues.
    """

    body: str
    delay: int = 0
    tenant: str | None = None
    attributes: Mapping[str, str] = NOTHING
    serial_key: str | None = None
    once: str = ""


class Addressed(NamedTuple):
    """A message ready to send, with the key of its queue."""

    queue: str
    outgoing: Outgoing


class Delivery(NamedTuple):
    """A message as received: its queue's key, the queue's own id and receipt, how often it was received, when sent (epoch s), its order."""

    queue: str
    message_id: str
    receipt: str
    body: str
    receives: int = 1
    sent: float = 0.0
    attributes: Mapping[str, str] = NOTHING
    serial_key: str | None = None


class Ledger(Protocol):
    """The store of claims, of outcomes and of joins. Every write is conditional (PROTOCOLS §3, §4)."""

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Grant each claim where no record exists (unless it must), or where one is PENDING or RETRY at the same attempt."""

    def steal(self, claim: Claim, seen: TaskRecord) -> ClaimAnswer:
        """Grant *claim* where the record is still exactly the expired claim that was *seen* (attempt, fence, nonce, expiry)."""

    def extend(self, extensions: Sequence[Extension]) -> list[ClaimAnswer]:
        """Let each claim end later where its nonce and fence still hold the task; never earlier. One that ends later already counts."""

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record each outcome where its nonce and fence still hold the task; an own earlier write counts as accepted."""

    def keep(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record each terminal outcome without a claim (`record_once`): where no record is, or PENDING, or RETRY at the same attempt."""

    def reserve(self, task_id: str, message_id: str, now: float, until: float) -> TaskRecord | None:
        """Reserve a deduplicated task id as PENDING until *until*; return None when reserved, else the record in the way."""

    def revoke(self, task_id: str, clock: int, at: float) -> TaskRecord | None:
        """End a task without a holder as REVOKED at *at* (epoch s); return None if it has ended so, else the record in the way."""

    def ask(self, task_id: str, what: int) -> bool:
        """Ask the holder of a running task to stop (`NO_RETRY`, `TERMINATE`); return whether this, or more, is now requested."""

    def mark(self, pack_id: str, marks: Collection[int], at: float) -> TaskRecord:
        """Add *marks* at *at* (epoch s) to the record of a pack that has not ended; return it, or the record in the way.

        They ask members of the pack to stop (`sedano.model.packs`).
        """

    def show(self, task_id: str, fence: int, custom: str) -> bool:
        """Replace the custom state of a task that runs under *fence*; return whether it still does."""

    def follow(self, task_id: str, message_id: str) -> None:
        """Note that everything was sent that follows the end of a task, if the message *message_id* ended it."""

    def read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        """Return the records that exist, strongly consistent, by task id; those of a pack's members as `sedano.model.packs` says."""

    def failures(self, day: str, most: int) -> list[FailedTask] | None:
        """Return at most *most* of the tasks that failed on *day* (YYYY-MM-DD, UTC), the latest first, a moment after they were recorded.

        None: this store has no index of failures, because an earlier version deployed it. (`sedano.model.ledger.failures`)
        """

    def forget(self, task_ids: Sequence[str]) -> None:
        """Drop result, error and outbox of terminal records; the records themselves stay until they age out."""

    def open_join(self, join: Join) -> None:
        """Open a join where it is not open yet; opening it again changes nothing."""

    def arrive(self, arrivals: Sequence[Arrival]) -> list[Arrived | SedanoError]:
        """Add each arrival to its node's sets and return the updated sets; arrivals of one call at one node see each other."""

    def read_join(self, join_id: str) -> Join | None:
        """Return an open join, strongly consistent."""

    def read_nodes(self, join_id: str, nodes: Sequence[Node]) -> list[Arrived]:
        """Return the sets of these nodes of a join, strongly consistent, a hundred to a call; empty where no member has arrived yet."""


class Queues(Protocol):
    """Send, receive, delete, hold back. Keys of queues are looked up in the deployment; an unknown one raises `UnknownQueue`.

    A message beyond the *bounds* is refused before it is sent (`sedano.model.queues.objection`, `misplaced`). The engine keeps to them: it
    gives longer delays to timers and longer data to the blob store.

    A FIFO queue (`sedano.model.queues.is_fifo`) keeps order within a *serial_key*: while a message of it is out, none of it is given to
    another receiver; messages after one that was not accepted get the same answer. Duplicates are recognised by *once*, else by the body,
    and dropped.
    """

    @property
    def bounds(self) -> QueueBounds:
        """The bounds of each queue of the deployment."""

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send all, in batches within the bounds; answer None for each that was accepted."""

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Return up to *most* messages, at most a batch, waiting up to *wait* seconds for the first."""

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge these messages of one queue."""

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Make a received message invisible for *seconds* (0 to 43 200) from now."""


class Blobs(Protocol):
    """Immutable bytes under their own digest: the claim check's store."""

    def put(self, data: bytes) -> BlobRef:
        """Keep *data* and return its claim check; the same bytes give the same one."""

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes; raise `MessageRefused` (code `blob`) when missing, longer than declared, or of another digest."""


class Events(Protocol):
    """The history of worker events: immutable objects named by their content, a day a prefix."""

    def append(self, day: str, lines: bytes, own: bytes = b"") -> str:
        """Keep *lines* (JSON lines) of *day* (YYYY-MM-DD) once, with the first writer's *own* lines, and return the object's name."""

    def read(self, since: str = "") -> Iterator[bytes]:
        """Yield the contents of every object, in the order of their names; only those of the day *since* and later, if one is given."""


class Members(Protocol):
    """The members of this cluster."""

    def beat(self, member: MemberRecord) -> None:
        """Write the member's heartbeat; an older one (smaller clock) never replaces a newer one."""

    def read(self) -> list[MemberRecord]:
        """Return all members, by name."""

    def lose(self, name: str, clock: int, lapsed: float) -> bool:
        """Mark the member as LOST if it has sent no heartbeat since *lapsed* (epoch s), the end of one of its claims."""


class ControlStore(Protocol):
    """The record of pauses, limits and revocations for all workers, which each worker reads once when it starts (PROTOCOLS §6)."""

    def read(self) -> ControlRecord:
        """Return the record, strongly consistent; an empty one when nothing was ever changed."""

    def change(self, record: ControlRecord, seen: ControlRecord) -> Changed:
        """Write *record* where the control record is still the one that was *seen*; a refusal answers with the one in the way."""


class Leases(Protocol):
    """Leases by name. Every write is a compare-and-swap (PROTOCOLS §2); a refused one answers with the lease in the way."""

    def time(self) -> Interval | None:
        """Return the current time of the store's clock; None before its first answer."""

    def read(self, names: Sequence[str]) -> dict[str, LeaseRecord]:
        """Return the leases that exist, strongly consistent, by name."""

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Write *grant* where the lease is still exactly what was *seen* (None: absent)."""

    def renew(self, term: Term, expires: int) -> Leased:
        """Extend the lease of *term* to *expires* (epoch ms) where it still holds; never shorten it."""

    def release(self, term: Term, reserved: int) -> Leased:
        """Give the lease back where *term* still holds it; keep it until *reserved* (epoch ms) for the process that requested it."""

    def want(self, seen: LeaseRecord, who: str) -> bool:
        """Ask the holder of *seen* for the lease, in place of the asker in *seen*; False if another asked first or the holder has
        changed."""

    def wait(self, seen: LeaseRecord, message: str) -> bool:
        """Leave *message* (at most ten) to be woken when the holder of *seen* releases the lease; False when there is no room."""

    def call(self, released: LeaseRecord, who: str) -> bool:
        """Take the first waiting message off, if it is still the first, and keep the lease for *who* until its reservation ends."""

    def proof(self, term: Term) -> Mapping[str, Any]:
        """Return the condition "this term still holds" as one item of the store's own transactions."""


class Elections(Protocol):
    """Elections by id. Every write is conditional (PROTOCOLS §5); a refused one answers with the election in the way."""

    def open(self, election: Election, at: float) -> Ballot:
        """Create *election* at *at* (epoch s) unless one exists."""

    def read(self, election_id: str) -> Election | None:
        """Return the election, strongly consistent."""

    def register(self, election_id: str, name: str, clock: int) -> Ballot:
        """Register *name* with *clock*, once, while the election is open."""

    def close(self, election: Election, at: float, fence: int) -> Ballot:
        """Close it as *election* says, and note its task in the ledger, in one transaction.

        Only where no worker registered since it was read, and where the call that closes it, `election.by`, is still held under *fence*. A
        worker that lost this claim gets no election back: the worker that took it over answers for it.
        """

    def advance(self, election: Election, seen: Election) -> Ballot:
        """Give the lead to the winner of *election* until the time in it, if the lead is still as in *seen*."""


class FlowRuns(Protocol):
    """Runs of workflows by id. Every write is a compare-and-swap; a refused one answers with the run in the way."""

    def begin(self, run: FlowRun, at: float) -> FlowChanged:
        """Create *run* at *at* (epoch s) unless one of its id exists."""

    def read(self, run_id: str) -> FlowRun | None:
        """Return the run, strongly consistent."""

    def change(self, run: FlowRun, seen: FlowRun, at: float) -> FlowChanged:
        """Write *run* if the stored one is still *seen*."""

    def list(self, workflow: str | None = None) -> list[FlowRun]:
        """Return all runs, or those of one workflow, the latest first; for people, not for workers."""


class Memos(Protocol):
    """Small values shared by a whole deployment, by name: circuits, health, budgets. Each changes by compare-and-swap."""

    def read(self, names: Sequence[str]) -> dict[str, Memo]:
        """Return the memos that exist, strongly consistent, by name."""

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Write *memo* where the memo of its name is still the one that was *seen*; a refusal answers with the one in the way."""


class Timers(Protocol):
    """Messages that are sent at a moment, up to a year away. A timer has its task's id as its name, so that setting it twice sets one."""

    def set(self, timer: Timer) -> bool:
        """Send its message at its moment; False if a timer of this name exists, which is left unchanged."""

    def edit(self, name: str, at: float) -> bool:
        """Move a timer to *at* (epoch s); False if none has this name: it has fired, was cancelled, or never existed."""

    def cancel(self, name: str) -> bool:
        """Delete a timer; False if none has this name."""

    def list(self) -> list[Timer]:
        """Return the existing timers, the next to fire first; for people, not for workers."""

    def foreign(self) -> Iterator[Foreign]:
        """Yield the schedules that are not timers (`sedano.model.timers`). `cancel` deletes one by its name."""


class ScheduleStore(Protocol):
    """Periodic tasks, in sixteen agendas. Every write is a compare-and-swap; a refused one answers with the agenda in the way.

    A write that changes states alone should cost no more where an agenda has many periodic tasks: it is made twice for each occurrence.
    """

    def read(self) -> Sequence[Agenda | SedanoError]:
        """Return all agendas, strongly consistent, by number; for one that cannot be read, such as another version's, why."""

    def change(self, agenda: Agenda, seen: Agenda) -> AgendaChanged:
        """Write *agenda* if the stored one is still *seen*; raise `TooLarge` if it holds more than an item can."""


def clock_unknown() -> None:
    """Return None: the time of the store's clock is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports of one deployment: six that every deployment has, and optional ones (`sedano.ports.absent`).

    With the required six alone, a deployment publishes tasks, runs them and returns their results. *most_budget*: the largest budget that
    it takes from a message without a mark. *store_time*: the store's clock as known without a call; None: unknown, so this machine's clock
    is used. *looks*: how soon a waiting program looks for its result again, by the price of a look. *group_commit*: outcomes that wait at
    the same time are recorded by one call of the ledger, which makes one request of them.
    """

    ledger: Ledger
    queues: Queues
    blobs: Blobs
    clock: Clock
    entropy: Entropy
    telemetry: Telemetry
    events: Events = absent("events")
    rollups: Rollups = absent("rollups")
    members: Members = absent("members")
    leases: Leases = absent("leases")
    control: ControlStore = absent("control")
    elections: Elections = absent("elections")
    flow_runs: FlowRuns = absent("flow_runs")
    memos: Memos = absent("memos")
    limits: Limits = absent("limits")
    consumers: Consumers = absent("consumers")
    timers: Timers = absent("timers")
    schedules: ScheduleStore = absent("schedules")
    seals: Seals = absent("seals")
    effects: Effects = absent("effects")
    functions: CalledFunctions = absent("functions")
    parameters: OwnersParameters = absent("parameters")
    sinks: Sinks = absent("sinks")
    direct_calls: DirectCalls = absent("direct_calls")
    most_budget: int = DEFAULT_BUDGET
    store_time: Callable[[], Interval | None] = clock_unknown
    looks: LookPauses = AWS_LOOKS
    group_commit: bool = False
