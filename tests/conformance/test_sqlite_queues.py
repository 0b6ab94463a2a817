"""Queues in a SQLite file when the machine's clock was set back, and when somebody wrote into a row by hand."""

from pathlib import Path

import pytest

from sedano.memory import START, MemoryTelemetry, SeededEntropy, VirtualClock
from sedano.model.timers import Timer, opened
from sedano.ports import Outgoing, Ports, command_queue
from sedano.sqlite.deployment import connect
from sedano.sqlite.retention import EVERY_S, FIRST_S, Sweeper
from sedano.sqlite.store import Store
from tests.conformance.worlds import COMMANDS

ORDERS = command_queue("orders.fifo")
HOUR = 3_600.0


class Wall(VirtualClock):
    """A clock that can be set back, while the monotonic one runs on."""

    back = 0.0

    def now(self) -> float:
        """The moment that it shows."""
        return super().now() - self.back


def ports_at(path: Path, back: float = 0.0) -> tuple[Ports, Wall]:
    """The ports of a process of its own, whose clock was set back so far."""
    clock = Wall(START)
    clock.back = back
    return connect(path, ("default", "orders.fifo"), clock, SeededEntropy(), MemoryTelemetry(), visibility=30.0), clock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own" / "sedano.db"


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("queue", [COMMANDS, ORDERS])
def test_what_was_sent_before_the_clock_was_set_back_comes_at_once(path: Path, queue: str, restarted: bool) -> None:
    ports, clock = ports_at(path)
    assert ports.queues.receive(queue) == []
    ports.queues.send(queue, [Outgoing("{}", serial_key="a" if queue == ORDERS else None)])
    clock.back = HOUR
    if restarted:
        ports, clock = ports_at(path, HOUR)
    assert [delivery.body for delivery in ports.queues.receive(queue)] == ["{}"]


def test_what_was_received_before_the_clock_was_set_back_is_hidden_no_longer_than_its_time(path: Path) -> None:
    ports, clock = ports_at(path)
    ports.queues.send(COMMANDS, [Outgoing("taken"), Outgoing("delayed", delay=50)])
    (taken,) = ports.queues.receive(COMMANDS)
    clock.back = HOUR
    assert ports.queues.receive(COMMANDS) == []
    clock.advance(29)
    assert ports.queues.receive(COMMANDS) == [], "it is still another one's"
    clock.advance(1)
    assert [(delivery.body, delivery.receives) for delivery in ports.queues.receive(COMMANDS)] == [("taken", 2)]
    ports.queues.delete([taken])
    clock.advance(20)
    assert [delivery.body for delivery in ports.queues.receive(COMMANDS)] == ["delayed"]


def test_what_is_held_after_the_clock_was_set_back_stays_hidden(path: Path) -> None:
    ports, clock = ports_at(path)
    ports.queues.send(COMMANDS, [Outgoing("{}")])
    (taken,) = ports.queues.receive(COMMANDS)
    clock.back = HOUR
    ports.queues.hold(taken, 100)
    clock.advance(99)
    assert ports.queues.receive(COMMANDS) == []
    clock.advance(1)
    assert len(ports.queues.receive(COMMANDS)) == 1


def test_a_timer_keeps_its_moment_when_the_clock_is_set_back(path: Path) -> None:
    ports, clock = ports_at(path)
    ports.queues.receive(COMMANDS)
    ports.timers.set(Timer("t-1", START + 1_000, COMMANDS, "{}"))
    clock.back = HOUR
    assert ports.queues.receive(COMMANDS) == []
    clock.advance(1_000 + HOUR)
    assert [opened(delivery.body).name for delivery in ports.queues.receive(COMMANDS)] == ["t-1"]


def test_who_waits_waits_as_long_as_it_said_when_the_clock_is_set_back(path: Path) -> None:
    ports, clock = ports_at(path)
    began, step = clock.monotonic(), clock.sleep

    def sleep(seconds: float) -> None:
        clock.back = HOUR
        step(seconds)
        assert clock.monotonic() - began < 10, "it waits by the clock that was set back"

    clock.sleep = sleep  # type: ignore[method-assign]
    assert ports.queues.receive(COMMANDS, wait=5.0) == []
    assert clock.monotonic() - began == pytest.approx(5.0, abs=0.1)


def test_a_queue_in_order_knows_copies_for_five_minutes_and_no_longer_when_the_clock_is_set_back(path: Path) -> None:
    ports, clock = ports_at(path)
    ports.queues.send(ORDERS, [Outgoing("same", serial_key="a")])
    ports.queues.delete(ports.queues.receive(ORDERS))
    clock.back = HOUR
    ports.queues.send(ORDERS, [Outgoing("same", serial_key="a")])
    assert [delivery.body for delivery in ports.queues.receive(ORDERS)] == ["same"]


def test_a_process_sweeps_soon_after_the_clock_was_set_back(path: Path) -> None:
    store = Store(path)
    with store.changing() as database:
        database.execute("INSERT INTO latest VALUES ('old', 1, 't', 0)")
    sweeper = Sweeper(store)
    sweeper.look(START + 2 * EVERY_S)
    sweeper.look(START)
    sweeper.look(START + FIRST_S)
    assert store.rows("SELECT count(*) FROM latest") == [(0,)]


@pytest.mark.parametrize("attributes", ["{", "[]", "null", '"text"'])
@pytest.mark.parametrize("queue", [COMMANDS, ORDERS])
def test_a_row_that_cannot_be_read_becomes_a_dead_letter_and_spares_its_neighbours(path: Path, queue: str, attributes: str) -> None:
    ports, _ = ports_at(path)
    ports.queues.send(queue, [Outgoing(body, serial_key=body if queue == ORDERS else None) for body in ("a", "b", "c")])
    with Store(path).changing() as database:
        database.execute("UPDATE message SET attributes = ? WHERE body = 'b'", (attributes,))
    assert [delivery.body for delivery in ports.queues.receive(queue)] == ["a", "c"]
    assert [letter.body for letter in ports.consumers.dead(queue, 5)] == ["b"]
