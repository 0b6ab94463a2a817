"""A process that is killed at any line of a call to a port over one SQLite file leaves what was there before the call, or what is after it.

Each call is made in children that are killed one line later each time, until one lives. Whoever makes the call again finds it done, or
does it: afterwards the file holds what one undisturbed call leaves.
"""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sedano.memory import START, MemoryTelemetry, SeededEntropy, VirtualClock
from sedano.model import states
from sedano.model.canvas.join import Arrival, Node
from sedano.model.elections import Election, closed
from sedano.model.leases import LeaseRecord, Term
from sedano.model.ledger.records import Claim, Outcome, Posted
from sedano.model.limits.concurrency import Permit
from sedano.model.memos import Memo
from sedano.model.store_clock import Moment
from sedano.model.timers import Timer
from sedano.ports import Delivery, Outgoing, Ports, command_queue
from sedano.sqlite.deployment import connect
from sedano.sqlite.store import Store
from tests.stories.programs.desk import killed_at

COMMANDS, ORDERS = command_queue("default"), command_queue("orders.fifo")
MS = round(START * 1000)
CLAIM = Claim("t", 0, "m", "n", START + 60, 7, "shop.add")
CLAIMS = [CLAIM._replace(task_id=f"t{number}") for number in range(3)]
ENDS = [
    Outcome(task_id=one.task_id, state=states.SUCCESS, nonce="n", fence=1, message_id="m", attempt=0, clock=8, name="shop.add", at=START,
            outbox=(Posted(COMMANDS, "{}"),)) for one in CLAIMS
]  # fmt: skip
HELD = LeaseRecord("k", 1, "n", "one", 1, True, 1_000, MS)
PERMIT = Permit(0, 1, "n", "one", MS + 60_000)
TIMER = Timer("t-1", START + 1_000, COMMANDS, "{}")
ELECTION = Election("e", "task", "new", "{}", "n")
MOST_LINES = 400


class Doing(NamedTuple):
    """A *call*, what is there *before*, and whether it may be made *again* by who does not know how it ended."""

    call: Callable[[Ports], Any]
    before: Callable[[Ports], Any] = lambda ports: ports.control.read()
    again: bool = True


def received(ports: Ports) -> list[Delivery]:
    ports.queues.send(COMMANDS, [Outgoing(str(number)) for number in range(3)])
    return ports.queues.receive(COMMANDS)


def receipts() -> list[Delivery]:
    return [Delivery(COMMANDS, f"m-{number}", f"m-{number}#1", "") for number in (1, 2, 3)]


def released(ports: Ports) -> None:
    ports.leases.take(HELD, None)
    ports.leases.wait(HELD, "first")
    ports.leases.release(Term("k", 1, "n", "one", 1_000, MS, Moment(0.0, 0.0)), MS)


def given_back(ports: Ports) -> None:
    ports.limits.take("k", PERMIT, "who", MS)
    ports.limits.wait("k", PERMIT, "first", MS)
    ports.limits.give_back("k", PERMIT)


def opened(ports: Ports) -> None:
    ports.elections.open(ELECTION, START)
    ports.elections.register("e", "a", 1)
    ports.ledger.claim([CLAIM._replace(task_id="closer")])


def close(ports: Ports) -> None:
    found = ports.elections.read("e")
    assert found is not None
    if found.state == "OPEN":
        ports.elections.close(closed(found, "closer", MS), START, 1)


DOINGS = {
    "claims": Doing(lambda ports: ports.ledger.claim(CLAIMS)),
    "ends": Doing(lambda ports: ports.ledger.record(ENDS), lambda ports: ports.ledger.claim(CLAIMS)),
    "arrivals": Doing(lambda ports: ports.ledger.arrive([Arrival("j", Node(0, 0, 3), child, child == 1) for child in range(3)])),
    "messages": Doing(lambda ports: ports.queues.send(COMMANDS, [Outgoing(str(number)) for number in range(3)]), again=False),
    "messages in order": Doing(lambda ports: ports.queues.send(ORDERS, [Outgoing(text, serial_key="a") for text in "xyz"])),
    "a receipt": Doing(lambda ports: ports.queues.receive(COMMANDS), lambda ports: ports.queues.send(COMMANDS, [Outgoing("{}")] * 3)),
    "an acknowledgement": Doing(lambda ports: ports.queues.delete(receipts()), received),
    "a timer": Doing(lambda ports: ports.timers.set(TIMER)),
    "a moved timer": Doing(lambda ports: ports.timers.edit("t-1", START + 5_000), lambda ports: ports.timers.set(TIMER), again=False),
    "a cancelled timer": Doing(lambda ports: ports.timers.cancel("t-1"), lambda ports: ports.timers.set(TIMER)),
    "a closed election": Doing(close, opened),
    "a called waiter": Doing(lambda ports: ports.leases.call(HELD._replace(waiting=("first",)), "first"), released),
    "a called permit": Doing(lambda ports: ports.limits.call("k", PERMIT, "first", "first", MS + 5_000), given_back),
    "a basket": Doing(lambda ports: ports.limits.put("k", ['["1",[],{}]', '["2",[],{}]'], 2, START)),
    "a memo": Doing(lambda ports: ports.memos.change(Memo("a", "new", "2"), Memo("a", "old", "1")),
                    lambda ports: ports.memos.change(Memo("a", "old", "1"), Memo("a"))),
}  # fmt: skip


def ports_at(path: Path) -> Ports:
    return connect(path, ("default", "orders.fifo"), VirtualClock(START), SeededEntropy(), MemoryTelemetry())


def prepared(path: Path, doing: Doing) -> Path:
    """A file in which everything is there that was there before the call, and that nobody has open."""
    connected = ports_at(path)
    doing.before(connected)
    connected.control._store.close()  # type: ignore[attr-defined]
    return path


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that the file holds; the last numbers that were given out are no contents."""
    store = Store(path)
    names = [name for (name,) in store.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'sqlite_sequence'")]
    return {name: rows for name in names if (rows := store.rows(f"SELECT * FROM {name}"))}  # noqa: S608 - names of our own tables


def killed(path: Path, doing: Doing, step: int) -> bool:
    """Make the call in a child that is killed at this step; tell whether it was."""
    child = os.fork()
    if child == 0:
        try:
            ports = ports_at(path)
            ports.control.read()
            with killed_at(step):
                doing.call(ports)
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


@pytest.mark.parametrize("name", DOINGS)
def test_a_call_that_is_killed_at_any_line_was_made_or_was_not(tmp_path: Path, name: str) -> None:
    doing = DOINGS[name]
    first = prepared(tmp_path / "before.db", doing)
    whole = tmp_path / "whole.db"
    shutil.copy(first, whole)
    before = contents(whole)
    doing.call(ports_at(whole))
    after = contents(whole)
    assert after != before
    met = []
    for step in range(1, MOST_LINES):
        path = tmp_path / f"{step}.db"
        shutil.copy(first, path)
        if not killed(path, doing, step):
            break
        met.append(contents(path))
        assert met[-1] in (before, after), f"killed at line {step}"
        if met[-1] == before or doing.again:
            doing.call(ports_at(path))
            assert contents(path) == after, f"made again after it was killed at line {step}"
    assert (met[0], met[-1]) == (before, after), "it was killed before it began, and after it was done"
