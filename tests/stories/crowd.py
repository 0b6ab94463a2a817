"""A chord of many members among workers that die and a queue that delivers twice: what it takes, and that it comes out whole.

Each batch of messages is worked off by a worker that, once in ten times, dies before or after a call of its own choosing; of each message
that is published, three in ten are delivered a second time. `play` is the whole of it for any size; `make prove` plays ten of 10 000.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from sedano import chord
from sedano.errors import SedanoError
from sedano.model import states
from sedano.model.canvas.join import Arrival, Arrived
from sedano.ports import RECORDS, Ledger, Outgoing, Ports, command_queue
from tests.stories.audit import AuditedLedger
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import in_memory
from tests.stories.taps import OUTSIDE, Crash, Watch, tapped

COMMANDS = command_queue("default")
TWICE, KILLED = 0.3, 0.1
MOST_CALLS = 8
"""A worker that dies does so at one of its first calls, where most of what it does is still to come."""


@dataclass
class Crowd:
    """What was found: the *value* of the body, how often each task's end was accepted, and what it took."""

    size: int
    value: object = None
    ends: Counter[str] = field(default_factory=Counter)
    bodies: int = 0
    members: int = 0
    copies: int = 0
    kills: int = 0
    batches: int = 0
    join_writes: int = 0
    writes: int = 0
    sent: int = 0

    def complaints(self) -> list[str]:
        """Return what is not as promised."""
        found = []
        if self.value != [n + 1 for n in range(self.size)]:
            found.append("the body was not handed every member's result once, in order")
        if self.bodies != 1 or self.members != self.size:
            found.append(f"{self.bodies} effects of the body, {self.members} of {self.size} members")
        found += [f"{task} has {count} effects" for task, count in self.ends.items() if count != 1][:5]
        if self.join_writes > 1.02 * self.size + 10:
            found.append(f"{self.join_writes} writes to the join of {self.size} members")
        return found


class CountedJoins(AuditedLedger):
    """Counts the writes that arrivals cost: those of one call at one node are one."""

    join_writes = 0

    def arrive(self, arrivals: list[Arrival]) -> list[Arrived | SedanoError]:  # type: ignore[override] # as the worker calls it
        """Arrive."""
        self.join_writes += len({(one.join_id, one.node) for one in arrivals})
        return super().arrive(arrivals)


def play(
    size: int, seed: int, twice: float = TWICE, killed: float = KILLED, over: Callable[[Ledger], Ledger] = lambda ledger: ledger
) -> Crowd:
    """Publish a chord of *size* members and let it go through; every random choice is *seed*'s; *over* puts a fault over the ledger."""
    dice, stage, shop = Random(seed), in_memory(), Shop()
    shop.task("whole", lambda values: values)
    ledger = CountedJoins(over(stage.audit))
    ports = Ports(**{**{name: getattr(stage.ports, name) for name in Ports.__annotations__}, "ledger": ledger})
    processes = Processes(stage, shop.app)
    processes.restart(ports)
    found = Crowd(size)
    result = chord(shop.add.s(n, 1) for n in range(size))(shop.app_sig("whole"))
    while _step(processes, ports, dice, twice, killed, found):
        pass
    record = result.record()
    found.value = result.get(timeout=1) if record is not None and record.state == states.SUCCESS else record
    found.ends = Counter(end.task_id for end in stage.audit.ends)
    names = Counter(end.name for end in stage.audit.ends)
    found.bodies, found.members = names["whole"], names["add"]
    found.join_writes, found.writes = ledger.join_writes, stage.audit.writes.total()
    return found


def _step(processes: Processes, ports: Ports, dice: Random, twice: float, killed: float, found: Crowd) -> bool:
    """Deliver one batch, or let time pass until the next one; tell whether there was any."""
    stage = processes.stage
    deliveries = ports.queues.receive(COMMANDS)
    if not deliveries:
        wait = stage.hidden_for([COMMANDS])
        if wait is not None:
            stage.pass_time(wait + 0.001)
        return wait is not None
    found.batches += 1
    copies = [Outgoing(d.body) for d in deliveries if d.receives == 1 and "copy" not in d.attributes and dice.random() < twice]
    ports.queues.send(COMMANDS, [Outgoing(c.body, attributes={"copy": "1"}) for c in copies])
    found.copies += len(copies)
    until = stage.clock.now() + processes.invocation
    if dice.random() >= killed:
        given_back = {d.message_id for d in processes.worker.work(deliveries, until)}
    else:
        dying = processes.another_worker(tapped(ports, Watch(dice.randrange(MOST_CALLS), dice.choice(("before", "after")), ports=OUTSIDE)))
        try:
            given_back = {d.message_id for d in dying.work(deliveries, until)}
        except Crash:
            found.kills += 1
            processes.restart(ports)
            return True
    ports.queues.delete([d for d in deliveries if d.message_id not in given_back])
    ports.queues.delete(ports.queues.receive(RECORDS))
    return True
