"""The end of a process whose bodies do not end: one call releases all claims, and the other calls are made side by side."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, memory
from sedano.errors import Unavailable
from sedano.host.process_end import MOST_AT_ONCE, each
from sedano.model.cluster.members import LEFT
from sedano.ports import Delivery, command_queue
from tests.stories.lanes_in_threads import SECONDS, Process
from tests.stories.mutants import Delegating

LANES = 4
QUEUE = command_queue("default")


class Together(Delegating):
    """A port whose calls at the end of a process answer only when as many are under way as the process has lanes."""

    def __init__(self, inner: Any) -> None:
        """Note the calls of *inner*."""
        super().__init__(inner)
        self.barrier, self.recorded, self.fault = threading.Barrier(LANES, timeout=SECONDS), list[int](), False

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Give back together with the others."""
        if seconds == 0:
            self.barrier.wait()
        self.inner.hold(delivery, seconds)

    def beat(self, member: Any) -> None:
        """Leave together with the others."""
        if member.state == LEFT:
            self.barrier.wait()
        self.inner.beat(member)

    def record(self, outcomes: Sequence[Any]) -> Any:
        """Record, and note for how many tasks."""
        self.recorded.append(len(outcomes))
        if self.fault:
            raise Unavailable("away")
        return self.inner.record(outcomes)


def _ended_early(fault: bool) -> tuple[Together, Any]:
    """End a process whose bodies do not end; return its ledger and its ports."""
    app, began, go = Sedano("ends"), threading.Semaphore(0), threading.Event()

    @app.task(name="long")
    def long() -> None:
        began.release()
        go.wait(SECONDS)

    ports = memory.ports()
    ledger = Together(ports.ledger)
    ledger.fault = fault
    app.attach(ports)
    for _ in range(LANES):
        long.delay()
    ended = replace(ports, ledger=ledger, queues=Together(ports.queues), members=Together(ports.members))
    process = Process(app, ended, concurrency=LANES, drain=0.0)
    for _ in range(LANES):
        assert began.acquire(timeout=SECONDS)
    process.end()
    go.set()
    return ledger, ports


@pytest.mark.parametrize("fault", [False, True])
def test_claims_are_released_with_one_call_and_lanes_give_back_and_leave_side_by_side(fault: bool) -> None:
    ledger, ports = _ended_early(fault)
    assert ledger.recorded == [LANES]
    assert len(ports.queues.receive(QUEUE)) == LANES
    assert ("claims were not released; they expire" in ports.telemetry.messages("warning")) == fault


@pytest.mark.parametrize("number", [0, 1, MOST_AT_ONCE + 5])
def test_each_item_has_its_call_and_a_call_that_fails_stops_no_other(number: int) -> None:
    called, failing = list[int](), {1, MOST_AT_ONCE}

    def call(item: int) -> None:
        called.append(item)
        if item in failing:
            raise ValueError(f"item {item}")

    if number > 1:
        with pytest.raises(ValueError, match="item"):
            each(call, range(number))
    else:
        each(call, range(number))
    assert sorted(called) == [*range(number)]
