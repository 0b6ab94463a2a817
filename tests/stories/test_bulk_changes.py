"""A change of many tasks is a task: with progress, revocable in the middle, without a second change of a task; in memory and on SQLite."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sedano import Sedano, memory
from sedano.changes.bulk import bulk
from sedano.changes.plan import FoundTasks, apply
from sedano.changes.searches import retry_found, revoke_found
from sedano.engine.bulk import progress
from sedano.engine.history.recorder import Recorder
from sedano.engine.worker.pipeline import Worker
from sedano.engine.worker.settings import WorkerSettings
from sedano.model import states
from sedano.model.bulk import PAGE, RETRY
from sedano.model.history.run_rows import Host
from sedano.model.messages.lineage import rerun_id
from sedano.ports import RECORDS, Ports, command_queue
from sedano.sqlite.deployment import connect
from sedano.views.selection import to_retry
from sedano.views.stage_changes import changes
from sedano.views.task import task as view
from sedano.web.changes import Change, Changes

NUMBER = 250
IDS = tuple(f"odd-{n}" for n in range(NUMBER))
QUERY = "name:mend.charge"


class Killed(BaseException):
    """The process dies here."""


class Mill:
    """An app, its stage, and a worker that may be killed. *ran* counts the runs of each task."""

    def __init__(self, ports: Ports, clock: memory.VirtualClock) -> None:
        self.clock = clock
        self.app, self.ports, self.ran, self.broken = Sedano("mend"), ports, Counter[int](), True
        self.deaths = 0

        @self.app.task(name="mend.charge", retry=False)
        def charge(number: int) -> int:
            self.ran[number] += 1
            if self.broken:
                raise ValueError(number)
            return number

        self.charge = charge
        self.app.attach(ports)

    def work(self) -> None:
        """Work off all that waits, in a new process after each that was killed; record what happened."""
        for _ in range(200):
            worker = Worker(self.app.registry, self.ports, Host(f"h.{self.deaths}", 1), WorkerSettings(lanes=0), self.app.run_loop())
            try:
                if not self._step(worker):
                    return
            except Killed:
                self.deaths += 1
                self.clock.advance(1_000.0)  # its claim ends, its messages are visible again
        raise AssertionError("work never ends")

    def _step(self, worker: Worker) -> bool:
        queue, now = command_queue("default"), self.ports.clock.now()
        handed = self.ports.queues.receive(queue)
        back = {one.message_id for one in worker.work(handed, now + 900)} if handed else set()
        self.ports.queues.delete([one for one in handed if one.message_id not in back])
        records = self.ports.queues.receive(RECORDS)
        if records:
            Recorder(self.ports, Host("r", 2)).record(records, now + 900)
            self.ports.queues.delete(records)
        if not handed and not records:
            self.clock.advance(400.0)  # for a retry that waits
            load = self.ports.consumers.load(queue)
            return load.waiting + load.running > 0
        return True

    def fail(self) -> None:
        """Let every charge fail."""
        for number, task_id in enumerate(IDS):
            self.charge.apply_async((number,), task_id=task_id)
        self.work()
        self.broken = False

    def tap(self, port: str, operation: str, hook: Callable[[], None]) -> None:
        """Call *hook* before each such operation of a bulk change: those of the app's own ports."""
        tapped = Tapped(getattr(self.ports, port), operation, hook)
        given: dict[str, Any] = {port: tapped}
        self.app.attach(replace(self.ports, **given))


class Tapped:
    """A port with a hook before one operation."""

    def __init__(self, port: Any, operation: str, hook: Callable[[], None]) -> None:
        self._port, self._operation, self._hook = port, operation, hook

    def __getattr__(self, name: str) -> Any:
        if name == self._operation:
            self._hook()
        return getattr(self._port, name)


@pytest.fixture(params=["memory", "sqlite"])
def mill(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mill]:
    """A stage on which 250 tasks failed, whose cause is mended."""
    clock, telemetry = memory.VirtualClock(memory.START), memory.MemoryTelemetry()
    ports = memory.over(clock, memory.MemoryQueues(clock, memory.queue_keys(["default"]), 30.0, 25), telemetry)
    if request.param == "sqlite":
        ports = connect(tmp_path / "stage.db", ("default",), ports.clock, ports.entropy, ports.telemetry)
    found = Mill(ports, clock)
    found.fail()
    yield found
    found.app.attach(None)


def begun(mill: Mill) -> str:
    """Begin the retry of all that failed; return the id of its task."""
    found = to_retry(mill.app, QUERY, 2)
    plan = retry_found(mill.app, QUERY, FoundTasks(found.ids, found.sentence))
    assert (plan.number, plan.typed) == (NUMBER, str(NUMBER))
    (effect,) = apply(mill.app, plan, "mended").effects
    return str(effect.facts["bulk"])


def states_of(mill: Mill) -> Counter[str]:
    """The states of the next runs."""
    again = [rerun_id(one) for one in IDS]
    records = mill.ports.ledger.read(again)
    return Counter(str(records[one].state) if one in records else "PENDING" for one in again)


def test_all_that_failed_runs_again_once_and_the_task_has_its_progress_and_its_end(mill: Mill) -> None:
    task_id = begun(mill)
    mill.work()
    assert states_of(mill) == {"SUCCESS": NUMBER}
    assert set(mill.ran.values()) == {2}
    assert mill.app.result(task_id).get(timeout=0) == {"changed": NUMBER, "left": 0, "reasons": []}
    assert "250 of 250 tasks are done: 250 changed, 0 unchanged" in view(mill.app, task_id).sentence
    noted = [(one.verb, one.what, one.reason, one.changed) for one in changes(mill.app, 30).rows]
    assert ("retry", f"query={QUERY} by {task_id}", "mended", NUMBER) in noted
    assert len(noted) == 2, "one of the person's request, and one of its end"


def test_the_change_of_one_preview_is_one_task_however_often_it_is_sent(mill: Mill) -> None:
    plan = bulk(mill.app, RETRY, QUERY, FoundTasks(IDS, "all"))
    assert plan.found is not None
    for again in (plan, bulk(mill.app, RETRY, QUERY, plan.found), plan):
        apply(mill.app, again, "mended")
    mill.work()
    assert mill.app.result(plan.found.change).get(timeout=0)["changed"] == NUMBER
    assert set(mill.ran.values()) == {2}


@pytest.mark.parametrize(("port", "operation"), [("ledger", "read"), ("queues", "send"), ("memos", "change"), ("memos", "read")])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_worker_that_dies_in_the_middle_of_a_page_runs_no_task_a_third_time(mill: Mill, port: str, operation: str, number: int) -> None:
    task_id, calls = begun(mill), 0

    def die() -> None:
        nonlocal calls
        calls += 1
        if calls == number:
            raise Killed

    mill.tap(port, operation, die)
    mill.work()
    assert mill.deaths == 1
    assert states_of(mill) == {"SUCCESS": NUMBER}
    assert set(mill.ran.values()) == {2}
    end = progress(mill.ports, task_id)
    assert end is not None
    assert (end.done, end.total) == (NUMBER, NUMBER)
    assert end.left <= PAGE, "only the page that was made again counts its tasks as left"


def test_a_change_that_is_revoked_in_the_middle_stops_and_keeps_what_it_made(mill: Mill) -> None:
    task_id = begun(mill)

    def revoke() -> None:
        mill.clock.advance(2.0)  # a body asks the ledger once a second
        mill.app.attach(mill.ports)
        mill.app.control.revoke(task_id, terminate=True)

    mill.tap("memos", "change", revoke)
    mill.work()
    assert mill.app.result(task_id).state == states.REVOKED
    found = progress(mill.ports, task_id)
    assert found is not None
    assert (found.done, found.total) == (PAGE, NUMBER)
    assert states_of(mill) == {"SUCCESS": PAGE, "PENDING": NUMBER - PAGE}
    assert "100 of 250 tasks are done" in view(mill.app, task_id).sentence


def test_many_tasks_that_wait_are_revoked_and_those_that_ended_are_left(mill: Mill) -> None:
    waiting = tuple(f"late-{n}" for n in range(150))
    for number, one in enumerate(waiting):
        mill.charge.apply_async((1_000 + number,), task_id=one, countdown=800)
    plan = revoke_found(mill.app, QUERY, FoundTasks((*waiting, *IDS[:5]), "some"))
    (effect,) = apply(mill.app, plan, "not needed").effects
    mill.work()
    end = mill.app.result(str(effect.facts["bulk"])).get(timeout=0)
    assert (end["changed"], end["left"]) == (150, 5)
    assert end["reasons"][0] == "odd-0 had ended as FAILURE"
    assert not [number for number in mill.ran if number >= 1_000]


def test_the_form_of_one_preview_begins_one_task_and_the_next_preview_another(mill: Mill) -> None:
    pages, change = Changes(mill.app, lambda _: None), Change("retry", "search", QUERY, "2")
    first = pages.plan(change)
    pages.show("token", first)
    for _ in range(2):
        pages.make(pages.plan(change, "token"), "mended")
    mill.work()
    assert set(mill.ran.values()) == {2}
    assert first.found is not None
    assert mill.app.result(first.found.change).state == states.SUCCESS
    other = pages.plan(change).found
    assert other is not None
    assert other.change != first.found.change
