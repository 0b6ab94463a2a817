"""Commands that a process alone obeys: more or fewer bodies at once, and the end of a body whose task was revoked."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sedano import Retry, Sedano, current
from sedano.errors import TaskRevoked
from sedano.host import one_file
from sedano.memory import MemoryTelemetry
from sedano.model.cluster.members import ACTIVE, LEFT
from sedano.ports import Ports
from sedano.views.workers import workers
from tests.stories.lanes_in_threads import SECONDS, Process
from tests.waiting import until

QUEUES = ("default", "mail")


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    return MemoryTelemetry()


@pytest.fixture
def ports(tmp_path: Path, telemetry: MemoryTelemetry) -> Ports:
    return one_file.ports(tmp_path / "own" / "sedano.db", QUEUES, 6, telemetry)


@pytest.fixture
def app() -> Sedano:
    return Sedano("resized", retry=Retry(max_retries=0), queues=QUEUES)


@pytest.fixture
def start(app: Sedano, ports: Ports) -> Iterator[Callable[..., Process]]:
    """Start processes, which have ended when the test has."""
    made: list[Process] = []

    def started(**settings: Any) -> Process:
        made.append(Process(app, ports, **settings))
        until(lambda: len(app.control.members()) >= settings["concurrency"])
        return made[-1]

    yield started
    for one in made:
        one.end()


def answers(app: Sedano, verb: str, argument: str = "", to: str | None = None) -> list[str]:
    """Send a command to the workers that work now; return their answers."""
    asked = 1 if to is not None else sum(member.state == ACTIVE for member in app.control.members())
    command = app.control.broadcast(verb, argument, to=to)
    until(lambda: len(app.control.answers(command)) >= asked)
    return sorted({*app.control.answers(command).values()})


class Crowd:
    """A task whose bodies wait until they may end, and the most that ran at once."""

    def __init__(self, app: Sedano) -> None:
        self.go, self.lock, self.running, self.most, self.ended = threading.Event(), threading.Lock(), 0, 0, list[int]()
        self.task = app.task(name="crowd")(self.body)

    def body(self, number: int) -> int:
        """Count this body while it waits."""
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        assert self.go.wait(SECONDS)
        with self.lock:
            self.running -= 1
            self.ended.append(number)
        return number


def test_a_process_runs_more_bodies_at_once_when_it_is_asked_to(app: Sedano, start: Callable[..., Process]) -> None:
    crowd = Crowd(app)
    start(concurrency=1)
    results = [crowd.task.delay(number) for number in range(5)]
    until(lambda: crowd.running == 1)
    assert "3 bodies at once, 1 before" in answers(app, "concurrency", "3")
    until(lambda: crowd.running == 3)
    until(lambda: {one.report.lanes for one in workers(app).rows} == {3})
    crowd.go.set()
    assert [one.get(timeout=SECONDS) for one in results] == [*range(5)]
    assert crowd.most == 3
    assert len({member.name for member in app.control.members()}) == 3


def test_a_process_that_is_asked_for_fewer_bodies_ends_none_that_runs_and_loses_nothing(
    app: Sedano, start: Callable[..., Process]
) -> None:
    crowd = Crowd(app)
    one = start(concurrency=4)
    results = [crowd.task.delay(number) for number in range(12)]
    until(lambda: crowd.running == 4)
    answers(app, "concurrency", "1")
    assert crowd.running == 4, "bodies that run go on"
    crowd.go.set()
    assert [result.get(timeout=SECONDS) for result in results] == [*range(12)]
    until(lambda: sorted(member.state for member in app.control.members()) == [ACTIVE, LEFT, LEFT, LEFT])
    crowd.most = crowd.running = 0
    crowd.go.clear()
    more = [crowd.task.delay(number) for number in range(20, 24)]
    until(lambda: crowd.running == 1)
    crowd.go.set()
    assert [result.get(timeout=SECONDS) for result in more] == [*range(20, 24)]
    assert crowd.most == 1
    assert sorted(crowd.ended) == [*range(12), *range(20, 24)], "each body ran once"
    assert one.end() < 10


def test_a_body_of_a_revoked_task_that_is_async_is_cancelled_and_may_clean_up(app: Sedano, start: Callable[..., Process]) -> None:
    began, cleaned = threading.Event(), threading.Event()

    @app.task(name="waits")
    async def waits() -> None:
        began.set()
        try:
            await asyncio.sleep(SECONDS * 2)
        finally:
            cleaned.set()

    quick = app.task(name="quick")(lambda: "done")
    start(concurrency=1)
    result = waits.delay()
    assert began.wait(SECONDS)
    assert answers(app, "terminate", result.id) == ["not revoked with terminate=True, so it continues"]
    assert app.control.revoke(result.id) == ["RUNNING"]
    assert answers(app, "terminate", result.id) == ["not revoked with terminate=True, so it continues"]
    assert app.control.revoke(result.id, terminate=True) == ["RUNNING"]
    assert answers(app, "terminate", result.id) == ["cancelled"]
    with pytest.raises(TaskRevoked):
        result.get(timeout=SECONDS)
    assert cleaned.is_set()
    assert quick.delay().get(timeout=SECONDS) == "done"
    assert answers(app, "terminate", result.id) == ["not running here"]


def test_a_body_of_a_revoked_task_that_blocks_is_cut_and_another_lane_takes_its_place(
    app: Sedano, start: Callable[..., Process], telemetry: MemoryTelemetry
) -> None:
    began, go, ran = threading.Event(), threading.Event(), list[str]()

    @app.task(name="blocks")
    def blocks() -> str:
        ran.append(current().id)
        began.set()
        assert go.wait(SECONDS)
        return "in vain"

    quick = app.task(name="quick")(lambda: "done")
    one = start(concurrency=1)
    result = blocks.delay()
    assert began.wait(SECONDS)
    app.control.revoke(result.id, terminate=True)
    (said,) = answers(app, "terminate", result.id)
    assert said.startswith("cut: ")
    with pytest.raises(TaskRevoked):
        result.get(timeout=SECONDS)
    assert quick.delay().get(timeout=SECONDS) == "done", "while the body still blocks its thread"
    go.set()
    until(lambda: sorted(member.state for member in app.control.members()) == [ACTIVE, LEFT])
    assert ran == [result.id]
    assert result.state == "REVOKED", "what the old body returned is not recorded"
    assert quick.delay().get(timeout=SECONDS) == "done"
    assert one.end() < 10


def test_a_command_to_one_lane_ends_the_body_of_another_lane_nowhere(app: Sedano, start: Callable[..., Process]) -> None:
    began, go = threading.Event(), threading.Event()

    @app.task(name="blocks")
    def blocks() -> None:
        began.set()
        assert go.wait(SECONDS)

    start(concurrency=2)
    result = blocks.delay()
    assert began.wait(SECONDS)
    app.control.revoke(result.id, terminate=True)
    assert "not running here" in answers(app, "terminate", result.id)
    go.set()
