"""The claim, exhaustively: processes that are each given one task's message a few times; the network loses, repeats, delays.

Anybody may find a claim expired at any moment, anybody may die at any moment, every request may arrive at any time and any number of times
(`exhaustive.network`). What is checked is the shipped texts (CLAIM, STEAL, RECORD) and the shipped rule (`model.ledger.claims.decide`).

Whoever has sent its record is idle again here: what it does with the answer is the subject of `exhaustive.follow`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sedano.aws.expressions import Write, tasks
from sedano.model import states
from sedano.model.ledger.claims import Action, decide
from sedano.model.ledger.records import Claim, TaskRecord
from tests.simulation.exhaustive.network import NOBODY, Model, Move, State
from tests.simulation.exhaustive.search import Triples, written

IDLE, CLAIMING, RUNNING = range(3)


class Record(NamedTuple):
    """The task's item, as far as it matters, and how many effects there were. Expiry is the fence, since nothing else changes it."""

    nonce: int = NOBODY
    state: str = ""
    fence: int = 0
    effects: int = 0


class Process(NamedTuple):
    """Where a process stands: under which nonce, what it does, with which fence, how many deliveries it had."""

    number: int
    nonce: int = NOBODY
    at: int = IDLE
    fence: int = 0
    deliveries: int = 0


class Request(NamedTuple):
    """A write under way: whose, the nonce and the fence of the claim that it names."""

    kind: str
    nonce: int
    seen: int = NOBODY
    fence: int = 0


def _item(record: Record) -> Triples:
    if not record.state:
        return ()
    return (
        ("pk", "S", "t"), ("st", "S", record.state), ("try", "N", "0"), ("att", "N", str(record.fence)), ("cnt", "N", str(record.fence)),
        ("nc", "S", str(record.nonce)), ("exp", "N", str(record.fence)),
    )  # fmt: skip


def _values(request: Request) -> Triples:
    kind, nonce, seen, fence = request
    if kind == "record":
        return (":st", "S", states.SUCCESS), (":nc", "S", str(nonce)), (":att", "N", str(fence)), (":try", "N", "0")
    hold: Triples = ((":nc", "S", str(nonce)), (":mid", "S", "m"), (":try", "N", "0"), (":exp", "N", str(fence + 1)))
    return (*hold, (":att", "N", str(fence)), (":seen", "S", str(seen)), (":lapsed", "N", str(fence)))


@lru_cache(100_000)
def action(record: Record, nonce: int, *, expired: bool) -> Action:
    """Return what the rule says to a claim under *nonce* that *record* refused."""
    claim = Claim("t", 0, "m", str(nonce), 0.0, 0, "")
    seen = TaskRecord("t", record.state, 0, record.fence, 1, str(record.nonce), "m", 10.0)
    return decide(claim, seen, 20.0 if expired else 5.0, 1_000).action


class ClaimModel(Model):
    """*processes* are each given the message *deliveries* times. The writes may be replaced by mutants."""

    def __init__(
        self, processes: int, deliveries: int, claim: Write = tasks.CLAIM, steal: Write = tasks.STEAL, end: Write = tasks.RECORD
    ) -> None:
        """Begin with no record."""
        super().__init__()
        self.deliveries, self.most = deliveries, processes * deliveries
        self.writes = {"claim": claim, "steal": steal, "record": end}
        self.first = State(Record(), tuple(Process(number) for number in range(processes)), frozenset())

    def moves(self, record: Record, process: Process) -> Sequence[Move]:
        """Return what *process* may do by itself."""
        number, nonce, at, fence, deliveries = process
        idle = Process(number, deliveries=deliveries)
        if at != IDLE:
            ended = (f"{number} ended its body", idle, Request("record", nonce, fence=fence))
            return [(f"{number} dies", idle, None), *([ended] if at == RUNNING else [])]
        if deliveries == self.deliveries:
            return []
        nonce = 8 * number + deliveries
        claiming = Process(number, nonce, CLAIMING, 0, deliveries + 1)
        return [(f"{number} is given the message, as nonce {nonce}", claiming, Request("claim", nonce))]

    def written(self, record: Record, request: Request) -> tuple[Record, str] | None:
        """Return the item after *request*, with what is wrong about that (I1, E1, E3, I7)."""
        new = written(self.writes[request.kind], _item(record), _values(request))
        if new is None:
            return None
        found = {name: text for name, _, text in new}
        effects = record.effects + (request.kind == "record")
        after = Record(int(found.get("nc", NOBODY)), found["st"], int(found.get("att", 0)), min(effects, 2))
        return after, _complaint(record, request, after)

    def granted(self, record: Record, process: Process, request: Request) -> Move | None:
        """Return what a claim or a steal that was answered makes of *process*."""
        if process.nonce != request.nonce or process.at != CLAIMING or request.kind == "record":
            return None
        return "granted", process._replace(at=RUNNING, fence=record.fence), None

    def refused(self, record: Record, process: Process) -> Sequence[Move]:
        """Return what *process* may do when its claim comes to *record* and is refused, expired or not."""
        if process.at != CLAIMING or self.written(record, Request("claim", process.nonce)) is not None:
            return []
        return [move for expired in (False, True) for move in self._told(record, process, action(record, process.nonce, expired=expired))]

    def _told(self, record: Record, process: Process, told: Action) -> Sequence[Move]:
        number, nonce, _, _, deliveries = process
        if told is Action.RUN:
            return [(f"{number} recognises its claim", process._replace(at=RUNNING, fence=record.fence), None)]
        if told is not Action.STEAL:
            return [(f"{number} is refused", Process(number, deliveries=deliveries), None)]
        if record.fence > self.most:
            return []
        return [(f"{number} finds it expired and steals", process, Request("steal", nonce, record.nonce, record.fence))]


def _complaint(old: Record, request: Request, new: Record) -> str:
    if old.state == states.SUCCESS:
        return "E3: a terminal record changed"
    if new.effects > 1:
        return "E1: two effects"
    if request.kind == "record":
        return "" if (old.nonce, old.fence) == (request.nonce, request.fence) else "I7: recorded over somebody else's claim"
    if new.fence != old.fence + 1:
        return "I1: a claim that does not raise the fence"
    return "I7: claimed what somebody held" if request.kind == "claim" and old.state else ""
