"""Stories of group commit: one call for the claims of a batch, records that wait for no body, and a zombie among neighbours."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, memory
from sedano.engine.drafts import CommandDraft, Composer
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.history.run_rows import Host
from sedano.model.ledger.records import Claim, ClaimAnswer, Outcome, RecordAnswer, TaskRecord
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.ports import Delivery


class Noting(memory.MemoryLedger):
    """A ledger in memory that notes which tasks go together, and does not answer for some records."""

    def __init__(self, clock: memory.VirtualClock) -> None:
        super().__init__(clock)
        self.claims: list[int] = []
        self.records: list[list[str]] = []
        self.recorded = threading.Event()
        self.away: set[str] = set()

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Claim, and note how many."""
        self.claims.append(len(claims))
        return super().claim(claims)

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record, and note which."""
        self.records.append([one.task_id for one in outcomes])
        answers: list[RecordAnswer] = [Unavailable("away") if one.task_id in self.away else self._one(one) for one in outcomes]
        self.recorded.set()
        return answers

    def _one(self, outcome: Outcome) -> RecordAnswer:
        return super().record([outcome])[0]


class Stage:
    """A worker with group commit over a ledger in memory."""

    def __init__(self, body: Callable[[int], Any], lanes: int = 4) -> None:
        """Run *body* for each message."""
        self.app = Sedano("shop")
        self.app.task(name="only")(body)
        self.clock = memory.VirtualClock(memory.START)
        self.ledger = Noting(self.clock)
        self.ports = replace(memory.ports(), clock=self.clock, ledger=self.ledger, group_commit=True)
        self.worker = Worker(self.app.registry, self.ports, Host("host.1.00000000", 1), WorkerSettings(lanes=lanes), None)

    def work(self, number: int) -> list[str]:
        """Process so many messages; return the tasks of those to deliver again."""
        composer = Composer("me@host", LamportClock(lambda: int(self.clock.now() * 1e6)), self.ports)
        drafts = [CommandDraft("default", Command("", f"task-{n}", "only", args=(n,))) for n in range(number)]
        bodies = [composer.compose(draft).outgoing.body for draft in drafts]
        deliveries = [Delivery("commands:default", f"task-{n}", f"r-{n}", body) for n, body in enumerate(bodies)]
        return [one.message_id for one in self.worker.work(deliveries, self.clock.now() + 60)]

    def records(self, number: int) -> list[TaskRecord]:
        """The records of so many tasks."""
        found = self.ledger.read([f"task-{n}" for n in range(number)])
        return [found[f"task-{n}"] for n in range(number)]


@pytest.mark.parametrize("lanes", [0, 1, 4])
def test_the_tasks_of_a_batch_are_claimed_together_and_each_is_recorded_once(lanes: int) -> None:
    stage = Stage(lambda n: n * n, lanes)
    assert stage.work(10) == []
    assert stage.ledger.claims == [10]
    assert sorted(task_id for call in stage.ledger.records for task_id in call) == sorted(f"task-{n}" for n in range(10))
    assert [(one.state, one.result) for one in stage.records(10)] == [(states.SUCCESS, str(n * n)) for n in range(10)]


def test_an_outcome_waits_for_no_body_that_runs() -> None:
    def body(n: int) -> int:
        if n == 1:
            assert stage.ledger.recorded.wait(20), "the first outcome was not recorded while the second body ran"
        return n

    stage = Stage(body, lanes=1)
    assert stage.work(2) == []
    assert stage.ledger.records == [["task-0"], ["task-1"]]


def test_a_zombie_among_its_neighbours_records_nothing_and_they_record() -> None:
    def body(n: int) -> int:
        if n == 2:  # another worker takes over while the bodies run
            (seen,) = stage.ledger.read(["task-0"]).values()
            claim = Claim("task-0", 0, "task-0", "of another worker", stage.clock.now() + 600, 1, "only")
            late = stage.clock.now() + 120
            stage.clock.advance(120)
            answer = stage.ledger.steal(claim, seen)
            assert not isinstance(answer, Unavailable)
            assert answer.granted
            assert stage.clock.now() == late
        return n

    stage = Stage(body, lanes=1)
    stage.worker._lanes._started = True  # no thread comes: all outcomes wait until the last body has ended
    assert stage.work(3) == ["task-0"]
    assert stage.ledger.records == [["task-0", "task-1", "task-2"]]
    assert [(one.state, one.fence) for one in stage.records(3)] == [(states.RUNNING, 2), (states.SUCCESS, 1), (states.SUCCESS, 1)]


def test_a_record_that_is_not_answered_returns_its_message_and_no_other() -> None:
    stage = Stage(lambda n: n, lanes=1)
    stage.ledger.away = {"task-1"}
    stage.worker._lanes._started = True
    assert stage.work(3) == ["task-1"]
    assert [one.state for one in stage.records(3)] == [states.SUCCESS, states.RUNNING, states.SUCCESS]
