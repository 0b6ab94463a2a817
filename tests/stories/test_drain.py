"""A worker that is asked to stop begins no more bodies, and whoever listens hears of each run that ended."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano import Retry, Sedano
from sedano.engine.batch import Judged, Ran
from sedano.engine.worker.end_reports import Listener
from sedano.engine.worker.execution import DRAINED
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model import states
from sedano.model.history.run_rows import Host
from sedano.ports import command_queue
from tests.stories.mutants import Delegating
from tests.stories.stage import Stage, in_memory

COMMANDS = command_queue("default")
ONCE = Retry(max_retries=1, interval_start=1.0, jitter=False)


def employed(app: Sedano, stage: Stage, listener: Listener | None = None) -> Worker:
    """A worker of *app* on *stage*."""
    return Worker(app.registry, stage.ports, Host("worker", 1), WorkerSettings(lanes=0), app.run_loop(), listener=listener)


def turn(worker: Worker, stage: Stage) -> list[str]:
    """Let *worker* work off what is visible, and make what it gives back visible; return the bodies that were given back."""
    deliveries = stage.ports.queues.receive(COMMANDS)
    back = worker.work(deliveries, stage.clock.now() + 60)
    stage.ports.queues.delete([delivery for delivery in deliveries if delivery not in back])
    for delivery in back:
        stage.ports.queues.hold(delivery, 0)
    return [delivery.body for delivery in back]


class Stopping(Delegating):
    """A ledger whose first claim is interrupted by a request to stop."""

    def __init__(self, inner: Any, stop: Callable[[], None]) -> None:
        """Call *stop* at the first claim."""
        super().__init__(inner)
        self._stop = stop

    def claim(self, claims: Any) -> Any:
        """Claim, and stop."""
        self._stop()
        return self.inner.claim(claims)


@pytest.mark.parametrize("when", ["before its batch", "while it claims", "while a body runs"])
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_what_has_not_begun_goes_back_and_is_run_once_by_the_next_worker(when: str, is_async: bool) -> None:
    app, stage, ran = Sedano("drained"), in_memory(), list[int]()

    def noted(number: int) -> int:
        ran.append(number)
        if when == "while a body runs" and not first._draining.is_set():
            first.drain()
        return number

    async def waits(number: int) -> int:
        await asyncio.sleep(0)
        return noted(number)

    follows = app.task(name="follows")(waits if is_async else noted)
    app.attach(stage.ports)
    ports = stage.ports
    if when == "while it claims":
        ports = replace(ports, ledger=Stopping(ports.ledger, lambda: first.drain()))  # noqa: PLW0108 - it is made below
    first = Worker(app.registry, ports, Host("worker", 1), WorkerSettings(lanes=0), app.run_loop())
    if when == "before its batch":
        first.drain()
    with app.batch():
        results = [follows.delay(number) for number in range(3)]
    began = 0 if when != "while a body runs" else 3 if is_async else 1
    assert len(turn(first, stage)) == 3 - began, "bodies that share a loop begin together"
    assert len(ran) == began
    assert_finished_once(app, stage, results)
    assert sorted(ran) == [0, 1, 2]
    assert (DRAINED in stage.telemetry.messages("info")) == (began < 3)


def assert_finished_once(app: Sedano, stage: Stage, results: list[Any]) -> None:
    """A second worker finishes what the first one left, and no attempt is counted for it."""
    second = employed(app, stage)
    for _ in range(3):
        turn(second, stage)
    assert sorted(result.get() for result in results) == [0, 1, 2]
    records = stage.ports.ledger.read([result.id for result in results])
    assert {(record.attempt, record.state) for record in records.values()} == {(0, states.SUCCESS)}


def test_a_listener_hears_of_each_run_that_ended_with_or_without_a_record() -> None:
    app, stage, heard = Sedano("heard", retry=ONCE), in_memory(), list[tuple[str, Any]]()

    def hear(ran: Ran, judged: Judged | None) -> None:
        heard.append((ran.held.job.command.task, judged and judged.verdict.state))

    app.task(name="good")(lambda: 1)
    app.task(name="loose", delivery="at_least_once", ignore_result=True)(lambda: 1)
    app.task(name="bad")(lambda: 1 / 0)
    app.attach(stage.ports)
    worker = employed(app, stage, listener=hear)
    for name in ("good", "loose", "bad"):
        app.send_task(name)
    turn(worker, stage)
    stage.pass_time(2)
    turn(worker, stage)
    assert sorted(heard[:3]) == [("bad", states.RETRY), ("good", states.SUCCESS), ("loose", states.SUCCESS)]
    assert heard[3:] == [("bad", states.FAILURE)]


def test_a_listener_that_raises_costs_no_task() -> None:
    app, stage = Sedano("heard"), in_memory()
    app.task(name="good")(lambda: 1)
    app.attach(stage.ports)

    def raising(*_: object) -> None:
        raise ValueError("not today")

    result = app.send_task("good")
    assert turn(employed(app, stage, listener=raising), stage) == []
    assert result.get() == 1
    assert "unexpected error in a step of the batch" in stage.telemetry.messages("error")
