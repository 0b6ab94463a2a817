"""The worker around the rounds of a batch: what it learns and reports before them, in which order they go, and what breaks beside them."""

from collections.abc import Iterator, Sequence

import pytest

from sedano.engine.batch import Batch, Job
from sedano.engine.cluster import inbox
from sedano.engine.cluster.control import Controlling
from sedano.engine.gate import Gate
from sedano.engine.task_context import current
from sedano.engine.worker.admission import GateEntry
from sedano.errors import SedanoError, Unavailable
from sedano.memory import START, MemoryQueues
from sedano.model import refusals
from sedano.model.cluster.control_record import with_limits
from sedano.model.cluster.inbox import WORKERS, InboxCommand
from sedano.model.cluster.members import LEFT
from sedano.model.deferrals import WAITED, Waited, written
from sedano.model.limits import task_limits
from sedano.model.limits.task_limits import LimitChange
from sedano.model.messages.lamport import LamportClock
from sedano.ports import PARKED, RECORDS, Delivery, Outgoing
from tests.unit.engine.gated import QUEUE, advance, asked, names
from tests.unit.engine.test_worker_steps import Stage, message


class Backwards(Gate):
    """A gate that lets the jobs go one after the other, the last one first."""

    def turns(self, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch) -> Iterator[list[Job]]:
        """Return each job alone."""
        return iter([[job] for job in reversed(jobs)])


class Broken(Gate):
    """A gate that lets the first job go, and then has a defect."""

    def turns(self, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch) -> Iterator[list[Job]]:
        """Return the first job alone, if there are others."""
        if len(jobs) > 1:
            yield [jobs[0]]
        raise RuntimeError("a defect")


class Picky(Gate):
    """A gate that has a defect about one message."""

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Let all go but that one."""
        if "bad" in names(jobs):
            raise RuntimeError("a defect")
        return jobs


class NoHistory(MemoryQueues):
    """Queues that take no records of the history."""

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send to the others."""
        if queue == RECORDS:
            raise Unavailable("away")
        return super().send(queue, messages)


def staged(gate: type[Gate]) -> tuple[Stage, list[str]]:
    """A worker whose turns are those of *gate*, and the tasks whose bodies began."""
    ran: list[str] = []
    entry = GateEntry("turns", lambda _: True, lambda _: gate())
    return Stage(lambda: ran.append(current().id), gates=[entry]), ran


def controlling(stage: Stage) -> Controlling:
    """Another program that changes the control record of the worker's cluster."""
    return Controlling(stage.ports, LamportClock(lambda: int(START * 1_000_000)))


def test_messages_go_in_the_turns_of_a_gate_that_keeps_an_order() -> None:
    stage, ran = staged(Backwards)
    assert stage.work(message("a"), message("b"), message("c")) == []
    assert ran == ["c", "b", "a"]


def test_a_gate_whose_turns_break_costs_no_message() -> None:
    stage, ran = staged(Broken)
    assert stage.work(message("a"), message("b"), message("c")) == ["b", "c"]
    assert ran == ["a"]
    assert stage.work(message("d")) == []
    parked = [(one.attributes["message_id"], one.attributes["reason"]) for one in stage.sent_to(PARKED)]
    assert (ran, parked) == (["a"], [("d", refusals.UNEXPECTED)])


def test_a_batch_is_reported_in_the_heartbeat_with_its_claimed_tasks() -> None:
    stage = Stage()
    stage.work(message("a"), message("b", "record_once"), message("c"))
    (member,) = stage.ports.members.read()
    assert (member.name, member.in_flight, member.tasks) == ("me", 3, ("a", "c"))
    assert [line["active"] for line in stage.lines() if line["type"] == "worker-online"] == [3]


def test_a_batch_reports_how_many_messages_arrived_and_were_given_back() -> None:
    stage = Stage()
    assert stage.work(message("a"), message("b"), message("c", "nothing")) == ["c"]
    (line,) = [line for line in stage.lines() if line["type"] == "worker-invocation"]
    assert (line["messages"], line["given_back"]) == (3, 1)


def test_a_worker_that_leaves_says_so() -> None:
    stage = Stage()
    stage.work(message("a"))
    stage.worker.leave()
    (member,) = stage.ports.members.read()
    assert (member.state, member.tasks) == (LEFT, ())
    assert [line["type"] for line in stage.lines() if line["type"].startswith("worker-o")] == ["worker-online", "worker-offline"]


def test_counts_are_written_after_the_last_step_of_a_batch_and_of_a_worker() -> None:
    stage = Stage()
    stage.ports.queues.port = NoHistory(stage.ports.clock, [QUEUE])  # type: ignore[attr-defined]
    for delayed, step in enumerate((lambda: stage.work(message("a")), stage.worker.leave), 1):
        step()
        stage.telemetry.lose()
        assert stage.telemetry.counted("RecordsDelayed") == delayed


def test_a_message_that_a_gate_set_aside_is_parked_before_the_other_bodies_begin() -> None:
    parked: list[str] = []
    entry = GateEntry("picky", lambda _: True, lambda _: Picky())
    stage = Stage(lambda: parked.extend(one.attributes["message_id"] for one in stage.sent_to(PARKED)), gates=[entry])
    assert stage.work(message("a"), message("bad")) == []
    assert parked == ["bad"]


def test_a_claim_whose_end_is_recorded_is_not_released_again_when_the_process_ends() -> None:
    left: list[list[Delivery]] = []

    class Ending(Gate):
        """A gate during whose last step the process ends."""

        def learn(self, *_: object) -> None:
            """Cut the worker."""
            left.append(stage.worker.cut())

    stage = Stage(gates=[GateEntry("ending", lambda _: True, lambda _: Ending())], visibility=30.0)
    assert stage.work(message("a")) == []
    assert left == [[]]
    assert len(asked(stage.ports.ledger, "record")) == 1


def test_a_batch_obeys_what_the_inbox_announces() -> None:
    stage = Stage(unsigned_inbox=True)
    now = int(stage.ports.clock.now())
    inbox.broadcast(stage.ports, controlling(stage), InboxCommand("ask", "ping", "", now, now + 60), WORKERS)
    assert inbox.answers(stage.ports, "ask") == {}
    stage.work(message("a"))
    assert inbox.answers(stage.ports, "ask") == {"me": "pong"}


def test_limits_that_were_changed_at_run_time_hold_in_the_next_batch() -> None:
    ran: list[str] = []
    stage = Stage(lambda: ran.append(current().task))
    closed = task_limits.write(LimitChange(concurrency=0))
    controlling(stage).change(lambda record, clock, nonce: with_limits(record, "claimed", closed, clock, nonce))
    stage.work(message("a"), message("b", "record_once"))
    assert ran == ["record_once"]


def test_only_a_body_that_has_not_ended_is_running() -> None:
    seen: list[list[str]] = []
    stage = Stage(lambda: seen.append([context.id for context in stage.worker.running()]))
    stage.work(message("a"), message("b"))
    assert (seen, stage.worker.running()) == ([["a"], ["b"]], [])


@pytest.mark.parametrize(("guard", "ran"), [(2.0, ["a"]), (2.25, [])])
def test_a_body_may_begin_until_the_guard_before_the_end_and_later_nothing_is_claimed(guard: float, ran: list[str]) -> None:
    begun: list[str] = []
    stage = Stage(lambda: begun.append(current().id), guard=guard)
    assert stage.work(message("a"), seconds=2.0) == ([] if ran else ["a"])
    assert begun == ran
    assert len(asked(stage.ports.ledger, "claim")) == len(ran)


def test_a_worker_that_drains_claims_nothing() -> None:
    stage = Stage()
    stage.worker.drain()
    assert stage.work(message("a"), message("b")) == ["a", "b"]
    assert asked(stage.ports.ledger, "claim") == []


def test_the_time_between_two_batches_is_part_of_no_invocation() -> None:
    stage = Stage()
    for name in ("a", "b"):
        advance(stage.ports, 100.0)
        stage.work(message(name))
    assert [line["duration_ms"] for line in stage.lines() if line["type"] == "worker-invocation"] == [0.0, 0.0]


@pytest.mark.parametrize(("before", "executions"), [([], 1), (["a"], 0)])
def test_a_receipt_that_the_worker_gave_back_itself_is_no_execution(before: list[str], executions: int) -> None:
    stage = Stage()
    assert stage.work(*map(message, before), seconds=0.5) == before
    stage.answers("claim", Unavailable("away"))
    stage.work(message("a", receives=2))
    (again,) = stage.sent_to(QUEUE)
    assert again.attributes == {WAITED: written(Waited(1, executions))}
