"""Boxed tasks in a process of workers over one SQLite file: lanes share a pool, programs are killed from outside and by a drain."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from sedano import Retry, Sedano
from sedano.memory import MemoryTelemetry
from sedano.ports import Ports
from sedano.task import Task
from tests.stories.test_boxes import COMMAND, lines, until_gone
from tests.stories.test_worker_process import SECONDS, Process, ports, start, telemetry

__all__ = ["ports", "start", "telemetry"]
Started = Callable[..., Process]


@pytest.fixture
def app() -> Sedano:
    """An app that tries once more, at once."""
    return Sedano("boxed", retry=Retry(max_retries=1, interval_start=0.1), queues=("default", "mail", "orders.fifo"))


@pytest.fixture
def box(app: Sedano, ports: Ports) -> Task[..., Any]:
    """The boxed task, on two processes."""
    task = app.boxed("box", COMMAND, pool=2, timeout=20)
    app.attach(ports)
    return task


def test_the_lanes_of_a_process_share_the_warm_programs(box: Task[..., Any], start: Started) -> None:
    results = [box.delay("about") for _ in range(20)]
    one = start(concurrency=4)
    told = [result.get(timeout=SECONDS) for result in results]
    assert sum(max(of["calls"] for of in told if of["pid"] == pid) for pid in {of["pid"] for of in told}) == 20
    assert len({of["pid"] for of in told}) <= 2
    one.end()


def test_a_program_that_is_killed_from_outside_is_replaced_and_its_call_is_tried_again(
    box: Task[..., Any], start: Started, telemetry: MemoryTelemetry
) -> None:
    start(concurrency=2)
    for _ in range(3):
        os.kill(box.delay("about").get(timeout=SECONDS)["pid"], signal.SIGKILL)
    assert box.delay("flaky").get(timeout=SECONDS) == 1
    assert box.delay("echo", 1).get(timeout=SECONDS) == [[1], {}]
    assert not [line for line in telemetry.lines if line.message == "task failed"]


def test_a_drain_kills_the_programs_whose_calls_do_not_end(
    box: Task[..., Any], start: Started, telemetry: MemoryTelemetry
) -> None:
    def hung() -> list[str]:
        return [line for line in lines(telemetry, box="box") if line.startswith("hangs")]

    one = start(concurrency=2, drain=2.0)
    box.delay("hang")
    while not hung():  # the other process answers meanwhile
        assert box.delay("echo", 1).get(timeout=SECONDS) == [[1], {}]
    assert one.end() < 10
    until_gone(*map(int, hung()[0].split()[1:]))
