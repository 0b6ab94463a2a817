"""Several processes over one store of leases, each with clocks of its own that may be wrong, rest or step."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path
from typing import Any, TypeVar

from sedano import Sedano, memory
from sedano.aws.client import keys
from sedano.aws.leases import DynamoLeases
from sedano.errors import Unavailable
from sedano.model.leases import Leased, LeaseRecord, Term
from sedano.model.store_clock import Interval
from sedano.ports import Clock, Leases
from sedano.sqlite.leases import SqliteLeases
from sedano.sqlite.retention import sweep
from sedano.sqlite.store import Store
from tests.plugins.resources import Resources

T = TypeVar("T")
WRITES = frozenset({"take", "renew", "release", "want", "wait", "call"})


class OwnClock:
    """A process's clocks over true time: the wall clock is off by *offset* seconds, the monotonic one rests when frozen."""

    def __init__(self, true: memory.VirtualClock, offset: float) -> None:
        """Be *offset* seconds ahead of *true* time."""
        self.true, self.offset, self.frozen = true, offset, 0.0

    def now(self) -> float:
        """The wall clock."""
        return self.true.now() + self.offset

    def monotonic(self) -> float:
        """The monotonic clock."""
        return self.true.monotonic() - self.frozen

    def sleep(self, seconds: float) -> None:
        """Let true time pass."""
        self.true.advance(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Let true time pass."""
        self.true.advance(seconds)

    def freeze(self, seconds: float) -> None:
        """Let true time pass while this process does not exist."""
        self.true.advance(seconds)
        self.frozen += seconds


class Wire:
    """Leases with a network in between: counts the calls, and loses the answers (or the requests) of the next ones.

    *travel* happens while an answer is under way.
    """

    def __init__(self, leases: Leases) -> None:
        """Pass everything on to *leases*."""
        self._leases = leases
        self.calls: Counter[str] = Counter()
        self.answers_to_lose = 0
        self.requests_to_lose = 0
        self.travel: Callable[[], None] = lambda: None

    def time(self) -> Interval | None:
        """What the store's clock shows; it costs no call."""
        return self._leases.time()

    def read(self, names: Sequence[str]) -> dict[str, LeaseRecord]:
        """Read over the wire."""
        return self._sent("read", lambda: self._leases.read(names))

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Take over the wire."""
        return self._sent("take", lambda: self._leases.take(grant, seen))

    def renew(self, term: Term, expires: int) -> Leased:
        """Renew over the wire."""
        return self._sent("renew", lambda: self._leases.renew(term, expires))

    def release(self, term: Term, reserved: int) -> Leased:
        """Release over the wire."""
        return self._sent("release", lambda: self._leases.release(term, reserved))

    def want(self, seen: LeaseRecord, who: str) -> bool:
        """Ask the holder over the wire."""
        return self._sent("want", lambda: self._leases.want(seen, who))

    def wait(self, seen: LeaseRecord, message: str) -> bool:
        """Leave a message over the wire."""
        return self._sent("wait", lambda: self._leases.wait(seen, message))

    def call(self, released: LeaseRecord, who: str) -> bool:
        """Call the first that waits over the wire."""
        return self._sent("call", lambda: self._leases.call(released, who))

    def proof(self, term: Term) -> Mapping[str, Any]:
        """The condition of the term; it costs no call."""
        return self._leases.proof(term)

    def _sent(self, operation: str, call: Callable[[], T]) -> T:
        self.calls[operation] += 1
        if self.requests_to_lose:
            self.requests_to_lose -= 1
            raise Unavailable("the request was lost")
        answer = call()
        self.travel()
        if self.answers_to_lose:
            self.answers_to_lose -= 1
            raise Unavailable("the answer was lost")
        return answer

    @property
    def writes(self) -> int:
        """How many writes were sent."""
        return sum(number for operation, number in self.calls.items() if operation in WRITES)


@dataclass(frozen=True)
class Process:
    """One process: its app, its clocks, its wire."""

    app: Sedano
    clock: OwnClock
    wire: Wire


@dataclass
class Fleet:
    """True time, the store, and how to start a process, to see an item and to delete one as the TTL does."""

    name: str
    clock: memory.VirtualClock
    leases: Callable[[Clock], Leases]
    expire: Callable[[str], None]
    processes: list[Process] = field(default_factory=list)

    def process(self, offset: float = 0.0) -> Process:
        """Start one more process whose wall clock is off by *offset* seconds."""
        own = OwnClock(self.clock, offset)
        wire = Wire(self.leases(own))
        app = Sedano("fleet")
        app.attach(replace(memory.ports(seed=len(self.processes) + 1), leases=wire, clock=own))
        self.processes.append(Process(app, own, wire))
        return self.processes[-1]


def in_memory() -> Fleet:
    """A fleet over leases in memory."""
    clock = memory.VirtualClock(memory.START)
    leases = memory.MemoryLeases(clock)
    return Fleet("memory", clock, lambda _: leases, lambda _: _aged(leases))


def on_file(folder: Path) -> Fleet:
    """A fleet over one SQLite file, in which every process sees the true time as the store's."""
    clock, store = memory.VirtualClock(memory.START), Store(folder / "fleet" / "sedano.db")

    def expire(name: str) -> None:
        sweep(store, clock.now())
        assert store.rows("SELECT 1 FROM lease WHERE name = ?", name) == []

    return Fleet("sqlite", clock, lambda _: SqliteLeases(store, clock), expire)


def on_moto(resources: Resources) -> Fleet:
    """A fleet over DynamoDB on moto, whose answers bear the fleet's true time."""
    clock = memory.VirtualClock(memory.START)
    client = resources.session.client("dynamodb")
    table = resources.settings["SEDANO_CONTROL_TABLE"]

    def date(parsed: dict[str, Any], **_: Any) -> None:
        parsed["ResponseMetadata"]["HTTPHeaders"]["date"] = formatdate(clock.now(), usegmt=True)

    def expire(name: str) -> None:
        item = client.get_item(TableName=table, Key={"pk": {"S": keys.lease(name)}})["Item"]
        assert int(item["ttl"]["N"]) < clock.now()
        client.delete_item(TableName=table, Key={"pk": {"S": keys.lease(name)}})

    client.meta.events.register("after-call.dynamodb", date)
    return Fleet("moto", clock, lambda own: DynamoLeases(client, table, own), expire)


def _aged(leases: memory.MemoryLeases) -> None:
    assert leases.age_out()
