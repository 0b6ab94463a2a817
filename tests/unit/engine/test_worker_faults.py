"""The worker's steps where one of them breaks: what is reported, released and left alone."""

from typing import Any

import pytest

from sedano.engine.batch import Held, Judged, Ran, Stillborn
from sedano.model import refusals, states
from sedano.model.ledger.outcome import Run, Verdict
from sedano.model.ledger.records import Recorded, TaskRecord
from tests.unit.engine.gated import asked, batch, job
from tests.unit.engine.test_worker_steps import Stage, message


class Broken:
    """A history that takes nothing."""

    @property
    def rows(self) -> Any:
        """Raise."""
        raise RuntimeError("a defect")

    def line(self, *_: Any, **__: Any) -> None:
        """Raise."""
        raise RuntimeError("a defect")


def run_of(name: str = "a", stillborn: Stillborn | None = None) -> Ran:
    """A run that ended."""
    held = Held(job(name), TaskRecord(name, states.RUNNING), stillborn)
    return Ran(held, Run(7), "7", (), 0.0, 0, 0.0)


def test_an_end_that_cannot_be_reported_is_followed_all_the_same() -> None:
    stage = Stage()
    judged = Judged(run_of(), Verdict(states.SUCCESS), None, ())
    found, stream = batch(stage.ports), type("Stream", (), {"close": lambda self: [(judged.ran, judged)]})()
    found.chronicle = Broken()  # type: ignore[assignment]
    assert stage.worker._accepted(stream, found) == [judged]
    (line,) = [line for line in stage.telemetry.lines if line.level == "error"]
    assert (line.message, line.fields["step"]) == ("unexpected error in a step of the batch", "tell")
    assert found.parkings == []


def test_a_refusal_that_cannot_be_worked_out_costs_its_own_message_alone() -> None:
    stage = Stage()
    found = batch(stage.ports)
    found.chronicle = Broken()  # type: ignore[assignment]
    stage.worker._contained_refusal(job("a"), None, found)
    assert [(one.delivery, one.code) for one in found.parkings] == [(job("a").delivery, refusals.UNEXPECTED)]


@pytest.mark.parametrize("message_id", ["other", "", "a"])
def test_only_an_end_that_this_message_or_a_revocation_brought_is_followed_again(message_id: str) -> None:
    stage = Stage()
    followed: list[str] = []
    following: Any = type("Following", (), {"follow_again": lambda self, one, *_: followed.append(one.command.id)})()
    stage.worker._following = following
    one = job("a", delivery="record_once")._replace(mode="record_once")
    stage.worker._refused(one, TaskRecord("a", states.SUCCESS, message_id=message_id), batch(stage.ports))
    assert followed == ([] if message_id == "other" else ["a"])


def test_the_configuration_is_looked_at_before_the_messages_are() -> None:
    stage = Stage()
    looked: list[Any] = []
    configuration: Any = type("Configuration", (), {"look": lambda self, found: looked.append(found)})()
    object.__setattr__(stage.worker, "_configuration", configuration)
    assert stage.work(message("a")) == []
    assert looked == [stage.worker.membership.control.config]

    def breaks(_: Any, __: Any) -> None:
        raise RuntimeError("a defect")

    broken: Any = type("Configuration", (), {"look": breaks})()
    object.__setattr__(stage.worker, "_configuration", broken)
    assert stage.work(message("b")) == []
    assert [line.fields["step"] for line in stage.telemetry.lines if line.level == "error"] == ["configure"]


def test_what_gates_took_for_a_round_that_broke_is_released() -> None:
    stage = Stage()
    released: list[int] = []
    gates: Any = stage.worker._admission
    gates.release = lambda found: released.append(len(found.given_back))

    def breaks(*_: Any) -> None:
        raise RuntimeError("a defect")

    object.__setattr__(stage.worker, "_walk", breaks)
    stage.work(message("a"), message("b"))
    assert released == [2]


def test_a_worker_that_holds_no_claim_asks_nothing_when_it_is_cut_and_returns_only_what_was_let_go() -> None:
    stage = Stage(visibility=30.0)
    assert stage.worker.cut() == []
    assert asked(stage.ports.ledger, "record") == []
    left: list[int] = []

    def body() -> None:
        stage.answers("record", Recorded(False, None))
        left.append(len(stage.worker.cut()))

    stage = Stage(body, visibility=30.0)
    stage.work(message("a"))
    assert left == [0]


def test_the_message_of_a_body_that_a_gate_stopped_is_set_aside_before_its_end_is_recorded() -> None:
    stage = Stage()
    found = batch(stage.ports)
    ran = run_of(stillborn=Stillborn(states.EXPIRED, refusals.EXPIRED, "expires", "late"))
    found.park(ran.held.job.delivery, refusals.EXPIRED, "expires", "late")
    stream = stage.worker._stream()
    stage.worker._unrun(stream, found, ran)
    assert found.parkings == []
    assert len(stream.close()) == 1
    telemetry: Any = stage.telemetry
    assert telemetry.counted("MessagesParked", reason=refusals.EXPIRED) == 1
