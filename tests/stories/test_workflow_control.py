"""What the operators and authors of workflows do: pause, resume, cancel, time limits, retries of steps, new versions."""

from contextvars import Context
from itertools import pairwise

import pytest

from sedano import Retry, current
from sedano.errors import (
    FlowFailed,
    ResultTimeout,
    TaskRevoked,
    WrongFlowState,
)  # fmt: skip
from sedano.model import states
from sedano.ports import PARKED
from sedano.workflow import Input, Step, Workflow, runs
from tests.stories.processes import COMMANDS, Processes
from tests.stories.stage import Stage, in_memory
from tests.stories.workshop import Workshop, commands, line, states_of


def test_a_paused_run_begins_nothing_and_goes_on_when_it_is_resumed(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    result = workshop.fulfil.delay(order=7)
    processes.deliver()
    assert result.pause() == "PAUSED"
    assert result.pause() == "PAUSED"
    processes.drain()
    assert sorted(workshop.done) == ["price 7", "reserve 7"]
    with pytest.raises(ResultTimeout, match=r"flow run \S+ is PAUSED and did not end within"):
        result.get(timeout=3)
    assert result.resume() == "RUNNING"
    processes.drain()
    assert result.get() == {"ship": ["TEA", "POT", None]}
    with pytest.raises(WrongFlowState, match="is SUCCEEDED and cannot be paused"):
        result.pause()


def test_a_cancelled_run_undoes_what_ended_well_and_begins_nothing_more(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    result = workshop.fulfil.delay(order=7)
    processes.deliver()
    processes.deliver()
    assert sorted(workshop.done) == ["price 7", "reserve 7"]
    assert result.cancel() == "CANCELLING"
    processes.drain()
    assert result.state == "CANCELLED"
    assert workshop.done[2:] == ["release shelf 7"]
    assert states_of(result) == {
        "price": "SUCCEEDED", "reserve": "COMPENSATED", "charge": "CANCELLED", "pack": "NOT_RUN", "wrap": "SKIPPED", "ship": "NOT_RUN",
    }  # fmt: skip
    with pytest.raises(FlowFailed, match="is CANCELLED: cancelled"):
        result.get()
    assert stage.peek(PARKED) == []


def test_a_step_that_runs_is_asked_to_end_when_its_run_is_cancelled(workshop: Workshop) -> None:
    stage, asked = in_memory(), list[bool]()

    def patient(_: int) -> None:
        (result,) = runs(workshop.app)
        Context().run(result.cancel)
        processes.another_worker(name="second").work(stage.ports.queues.receive(COMMANDS), stage.clock.now() + 30)
        stage.clock.advance(2)
        try:
            current().check()
        except TaskRevoked:
            asked.append(True)
            raise

    flow = line(workshop, patient)
    processes = Processes(stage, workshop.app)
    result = flow.delay()
    processes.drain()
    assert (asked, result.state, states_of(result)["first"]) == ([True], "CANCELLED", "FAILED")


def test_a_step_is_begun_again_by_its_own_retry_and_only_then_fails(stage: Stage, workshop: Workshop) -> None:
    attempts: list[float] = []

    def fails_twice(_: int) -> str:
        attempts.append(stage.clock.now())
        if len(attempts) < 3:
            raise ValueError("not yet")
        return "done"

    flow = line(workshop, fails_twice, retry=Retry(max_retries=2, interval_start=10.0, backoff=2.0, jitter=False))
    processes = Processes(stage, workshop.app)
    result = flow.delay()
    processes.drain()
    assert result.get() == {"second": "bow"}
    assert [round(b - a) for a, b in pairwise(attempts)] == [10, 20]
    assert next(step.attempt for step in result.show().steps) == 2


def test_a_step_fails_when_its_retries_are_used_up(stage: Stage, workshop: Workshop) -> None:
    workshop.broken = {"work"}
    flow = line(workshop, lambda n: n, retry=2)
    processes = Processes(stage, workshop.app)
    result = flow.delay()
    processes.drain()
    assert (result.state, states_of(result)) == ("FAILED", {"first": "FAILED", "second": "NOT_RUN"})
    assert len([end for end in stage.audit.ends if end.name == "work"]) == 3


def test_a_step_that_does_not_begin_in_its_time_is_revoked_and_the_run_fails(stage: Stage, workshop: Workshop) -> None:
    flow = line(workshop, lambda n: n, time_limit=20)
    processes = Processes(stage, workshop.app)
    result = flow.delay()
    processes.deliver()
    (work,) = [c for c in commands(stage) if c.task == "work"]
    assert work.expires == pytest.approx(stage.clock.now() + 20, abs=1)
    stage.pass_time(25)
    processes.drain()
    assert (result.state, workshop.done) == ("FAILED", [])


def test_a_step_that_runs_beyond_its_time_is_asked_to_end_and_the_run_fails(workshop: Workshop) -> None:
    stage = in_memory()

    def slow(_: int) -> None:
        for _ in range(3):
            stage.pass_time(10)
            other = processes.another_worker(name="second")
            deliveries = stage.ports.queues.receive(COMMANDS)
            other.work(deliveries, stage.clock.now() + 30)
            stage.ports.queues.delete(deliveries)
            current().check()

    flow = line(workshop, slow, time_limit=20)
    processes = Processes(stage, workshop.app)
    processes.invocation = 500.0
    result = flow.delay()
    processes.drain()
    assert (result.state, states_of(result)["first"]) == ("FAILED", "FAILED")
    (ending,) = [end for end in stage.audit.ends if end.name == "work"]
    assert ending.state == states.REVOKED


def lose(stage: Stage, task: str) -> None:
    """Lose the messages of a task that lie in the queue."""
    received = stage.ports.queues.receive(COMMANDS)
    lost = [d for d in received if f'"subject":"{task}"' in d.body]
    stage.ports.queues.delete(lost)
    for delivery in received:
        if delivery not in lost:
            stage.ports.queues.hold(delivery, 0)


def test_a_time_limit_beyond_what_a_queue_delays_is_watched_all_the_same(workshop: Workshop) -> None:
    stage = in_memory()
    flow = line(workshop, lambda n: n, time_limit=2_000)
    processes = Processes(stage, workshop.app)
    result = flow.delay()
    began = stage.clock.now()
    processes.deliver()
    while result.state == "RUNNING":
        lose(stage, "work")
        if not processes.step():
            stage.pass_time(100)
    assert 2_000 <= stage.clock.now() - began < 2_300
    assert (result.state, workshop.done) == ("FAILED", [])


def test_a_message_that_is_lost_is_sent_again_by_the_patrol(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    result = workshop.fulfil.delay(order=7)
    processes.deliver()
    lose(stage, "price")
    began = stage.clock.now()
    processes.drain()
    assert result.state == "SUCCEEDED"
    assert 900 <= stage.clock.now() - began < 2_000
    assert workshop.done.count("price 7") == workshop.done.count("reserve 7") == 1


def test_a_step_that_somebody_revokes_fails_its_run(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    result = workshop.fulfil.delay(order=7)
    processes.deliver()
    reserve = next(step.task_id for step in result.show().steps if step.name == "reserve")
    assert workshop.app.control.revoke(reserve) == [states.REVOKED]
    processes.drain()
    assert result.show().cause == "step reserve: revoked"
    assert (result.state, workshop.done) == ("FAILED", ["price 7"])


def test_a_running_flow_keeps_the_version_it_began_with(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    result = workshop.fulfil.delay(order=7)
    processes.deliver()

    class Fulfil(Workflow, app=workshop.app, version="2"):
        order = Input(int)
        price = Step(workshop.price.s(order))

    later = Fulfil.delay(order=8)
    processes.drain()
    assert result.get() == {"ship": ["TEA", "POT", None]}
    assert later.get()["price"]["total"] == 20
    assert [(r.show().version, r.id) for r in Fulfil.flow.runs()] == [(r.show().version, r.id) for r in runs(workshop.app, "fulfil")]
    assert {r.id: r.show().version for r in workshop.fulfil.runs()} == {result.id: "1", later.id: "2"}
