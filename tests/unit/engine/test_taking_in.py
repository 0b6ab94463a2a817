"""The intake alone: who is let in, who is a copy, and whose clock is wrong."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Batch, Job
from sedano.engine.gate import Gate
from sedano.engine.redelivery import FOREIGN_HOLD_S, FOREIGN_RECEIVES, unknown
from sedano.engine.registry import Registry
from sedano.engine.schedules.instance_limits import OCCURRENCE
from sedano.engine.worker.intake import UNKNOWN, Intake
from sedano.model import refusals
from sedano.model.ledger.recent_ids import Window
from sedano.model.messages import codec
from sedano.model.messages.lamport import MAX_AHEAD_US, LamportClock
from sedano.model.messages.message import MAP, MAP_ASYNC, Command, Event
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Delivery
from tests.unit.engine.gated import QUEUE, advance, batch, world

NOW = memory.START
CLOCK = int(NOW * 1_000_000)


class Opening(Gate):
    """A gate that breaks at a task."""

    def open(self, job: Job) -> None:
        """Break."""
        if job.command.task_id == "broken":
            raise RuntimeError("a defect")


class Stage:
    """An intake over ports in memory."""

    def __init__(self) -> None:
        """Know one task."""
        self.ports = world()
        gates: Any = type("Gates", (), {"opening": [Opening()]})
        self.registry = Registry()
        self.registry.tasks["only"] = TaskSpec("only", print, Parameters(lambda *_, **__: None))
        self.window, self.lamport = Window(), LamportClock(lambda: CLOCK)
        self.step = Intake(self.registry, self.ports, self.lamport, self.window, gates)
        self.batch: Batch = batch(self.ports)

    def open(self, *deliveries: Delivery) -> list[Job]:
        """Let these in."""
        return self.step.open([*deliveries], self.batch)

    def parked(self) -> list[tuple[str, str, str]]:
        """The messages that are set aside, with the codes and the fields."""
        return [(one.delivery.message_id, one.code, one.field) for one in self.batch.parkings]


def delivery(name: str, task: str = "only", clock: int = CLOCK, time: float = NOW, sent: float = NOW, **changes: Any) -> Delivery:
    """A message about *task*."""
    command = Command(name, name, task, "host", time, clock)
    return Delivery(QUEUE, f"q-{name}", "receipt", codec.encode(command), sent=sent, **changes)


def test_a_message_that_no_rule_foresaw_is_set_aside_alone() -> None:
    stage = Stage()
    assert [job.command.task_id for job in stage.open(delivery("a"), delivery("broken"), delivery("b"))] == ["a", "b"]
    ((message, code, _),) = stage.parked()
    assert (message, code) == ("q-broken", "unexpected")


def test_a_queue_of_commands_takes_no_other_message() -> None:
    stage = Stage()
    body = codec.encode(Event("e", "happened", "host", NOW, CLOCK))
    assert stage.open(replace_body(delivery("a"), body)) == []
    assert stage.parked() == [("q-a", "schema", "type")]


def replace_body(one: Delivery, body: str) -> Delivery:
    """The message with another body."""
    return one._replace(body=body)


@pytest.mark.parametrize(("time", "sent", "found"), [(5.0, 7.0, 5.0), (0.0, 7.0, 7.0), (0.0, 0.0, NOW)])
def test_a_message_without_a_time_was_published_when_its_queue_took_it_or_now(time: float, sent: float, found: float) -> None:
    (job,) = Stage().open(delivery("a", time=time, sent=sent))
    assert job.command.time == found


def test_the_launch_of_an_occurrence_is_a_built_in_task_and_an_unknown_one_is_held_back() -> None:
    stage = Stage()
    (job,) = stage.open(delivery("a", OCCURRENCE), delivery("b", "nothing"))
    assert job.task.name == OCCURRENCE
    assert stage.registry.tasks[OCCURRENCE] is job.task
    assert [one.message_id for one in stage.batch.given_back] == ["q-b"]


def test_a_copy_of_what_was_finished_is_discarded_counted_and_reported() -> None:
    stage = Stage()
    stage.window.add("a")
    stage.window.add("b")
    assert stage.open(delivery("a"), delivery("b", "nothing")) == []
    assert stage.batch.counts == {("Duplicates", "only"): 1, ("Duplicates", UNKNOWN): 1}
    assert [(line["type"], line["uuid"], line["name"], line["absorbed"]) for line in stage.batch.chronicle.lines] == [
        ("message-duplicate", "a", "only", "window"),
        ("message-duplicate", "b", "nothing", "window"),
    ]
    assert (stage.batch.given_back, stage.parked()) == ([], [])


@pytest.mark.parametrize("finished", [True, False])
def test_a_copy_within_a_batch_shares_the_fate_of_the_first(finished: bool) -> None:
    stage = Stage()
    copy = delivery("a")._replace(message_id="q-copy")
    assert len(stage.open(delivery("a"), copy)) == 1
    if finished:
        stage.window.add("a")
    stage.step.echo(stage.batch)
    assert stage.batch.counts == ({("Duplicates", "only"): 1} if finished else {})
    assert stage.batch.given_back == ([] if finished else [copy])


@pytest.mark.parametrize(("ahead", "sent", "waits"), [(1, NOW + 301.0, True), (1, NOW - 301.0, False), (1, 0.0, False), (0, 0.0, None)])
def test_a_clock_ahead_of_ours_and_not_of_the_queue_shows_that_ours_is_wrong(ahead: int, sent: float, waits: bool | None) -> None:
    stage = Stage()
    found = stage.open(delivery("a", clock=CLOCK + MAX_AHEAD_US + ahead, sent=sent))
    assert len(found) == (waits is None)
    assert [*stage.batch.deferred] == (["q-a"] if waits else [])
    assert stage.parked() == ([("q-a", refusals.CLOCK_AHEAD, "clock")] if waits is False else [])
    telemetry: Any = stage.ports.telemetry
    assert telemetry.counted("ClocksWrong") == (1 if waits else 0)


def test_a_budget_from_outside_is_cut_to_what_the_stage_grants() -> None:
    stage = Stage()
    stage.step = stage.step._replace(ports=replace(stage.ports, most_budget=7))
    command = Command("a", "a", "only", "host", NOW, CLOCK)
    body = codec.encode(command._replace(lineage=command.lineage._replace(budget=8)))
    (job,) = stage.open(delivery("a")._replace(body=body))
    assert job.command.lineage.budget == 7


def test_a_budget_and_a_time_that_are_fine_stay_as_they_are() -> None:
    stage = Stage()
    stage.step = stage.step._replace(ports=replace(stage.ports, most_budget=7))
    command = Command("a", "a", "only", "host", 5.0, CLOCK)
    for budget, left in ((6, 6), (7, 7), (8, 7)):
        stage.window = Window()
        body = codec.encode(command._replace(id=f"m{budget}", lineage=command.lineage._replace(budget=budget)))
        (job,) = stage.open(delivery("a", sent=NOW)._replace(body=body))
        assert (job.command.lineage.budget, job.command.time) == (left, 5.0)
    telemetry: Any = stage.ports.telemetry
    (line,) = [line for line in telemetry.lines if line.fields.get("task_id") is not None or line.fields.get("message_id") is not None]
    assert "a" in line.fields.values()


def test_an_unknown_task_is_reported_as_waiting_while_another_version_may_know_it() -> None:
    for receives in (1, FOREIGN_RECEIVES - 1, FOREIGN_RECEIVES):
        stage = Stage()
        assert stage.open(delivery("a", "nothing")._replace(receives=receives)) == []
        why = unknown("task", "nothing", stage.registry.tasks)
        lines = [(line["type"], line["uuid"], line["name"], line["reason"], line["until"]) for line in stage.batch.chronicle.lines]
        held = ("task-held", "a", "nothing", why, round(stage.ports.clock.now() + FOREIGN_HOLD_S, 3))
        assert lines == ([held] if receives < FOREIGN_RECEIVES else [])
        assert [one.detail for one in stage.batch.parkings] == ([] if receives < FOREIGN_RECEIVES else [why])


def test_the_wait_of_an_unknown_task_is_reported_to_the_millisecond() -> None:
    stage = Stage()
    advance(stage.ports, 0.1236)
    stage.open(delivery("a", "nothing"))
    assert [line["until"] for line in stage.batch.chronicle.lines] == [round(stage.ports.clock.now() + FOREIGN_HOLD_S, 3)]


def test_the_built_in_tasks_of_maps_are_known_everywhere() -> None:
    stage = Stage()
    found = stage.open(delivery("a", MAP), delivery("b", MAP_ASYNC))
    assert [(job.task.name, job.task.is_async) for job in found] == [(MAP, False), (MAP_ASYNC, True)]


def test_a_task_that_knows_no_order_is_refused_by_a_queue_that_keeps_it() -> None:
    stage = Stage()
    stage.registry.tasks["loose"] = TaskSpec("loose", print, Parameters(lambda *_, **__: None), delivery="at_least_once")
    in_order = [delivery(name, task)._replace(serial_key="k") for name, task in (("a", "loose"), ("b", "only"))]
    assert [job.command.task_id for job in stage.open(*in_order, delivery("c", "loose"))] == ["b", "c"]
    assert stage.parked() == [("q-a", refusals.ORDER, "subject")]
