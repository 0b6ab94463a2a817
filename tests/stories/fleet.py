"""Several processes over one store of leases, each with clocks of its own that may be wrong, rest or step."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

from sedano import Sedano, memory
from sedano.aws.client import keys
from sedano.aws.leases import DynamoLeases
from sedano.errors import Unavailable
from sedano.ports import Clock, Leases
from sedano.sqlite.leases import SqliteLeases
from sedano.sqlite.retention import sweep
from sedano.sqlite.store import Store
from tests.plugins.resources import Resources

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
        self.travel = lambda: None

    def __getattr__(self, operation: str) -> Any:
        """The port's own operation, over the wire."""
        call = getattr(self._leases, operation)
        if operation in ("time", "proof"):
            return call

        def sent(*given: Any) -> Any:
            self.calls[operation] += 1
            if self.requests_to_lose:
                self.requests_to_lose -= 1
                raise Unavailable("the request was lost")
            answer = call(*given)
            self.travel()
            if self.answers_to_lose:
                self.answers_to_lose -= 1
                raise Unavailable("the answer was lost")
            return answer

        return sent

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
        wire: Any = Wire(self.leases(own))
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
