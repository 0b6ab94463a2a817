"""The launch of an occurrence alone: how many earlier ones still count, what it publishes, and what is left of one that is skipped."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.drafts import CommandDraft
from sedano.engine.registry import Registry
from sedano.engine.schedules.instance_limits import OCCURRENCE, limited, still
from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.ledger.records import NO_RETRY, Claim, Outcome, TaskRecord
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.ports import Ports
from tests.unit.engine.gated import asked, job, world
from tests.unit.engine.test_drafting import running


def ended(ports: Ports, task_id: str, state: Any = states.SUCCESS) -> None:
    """Keep the end of a task."""
    ports.ledger.keep([Outcome(
        task_id=task_id, state=state, nonce="n", fence=0, message_id="m", attempt=0, clock=1, name="report", at=1.0,
    )])  # fmt: skip


def launched(ports: Ports, before: list[str], most: int, expires: float | None = 9.0, ignore_result: bool = True) -> list[Any]:
    """What a launch leaves in the outbox of its task."""
    registry = Registry()
    registry.tasks["report"] = job("m", "report").task
    spec = limited(registry, ports, LamportClock(lambda: 5), OCCURRENCE)
    assert spec is not None
    data = codec.encode_data((1,), {"b": 2}).decode()
    with running(tenant="acme", stamps="batch=7") as context:
        spec.function("t-1", before, most, "report", "bulk", data, expires, ignore_result)
    return context.outbox


def test_the_launch_is_declared_when_it_is_asked_for_and_nothing_else_is() -> None:
    registry, ports = Registry(), memory.ports()
    assert limited(registry, ports, LamportClock(lambda: 5), "report") is None
    assert OCCURRENCE not in registry.tasks
    spec = limited(registry, ports, LamportClock(lambda: 5), OCCURRENCE)
    assert spec is not None
    assert registry.tasks[OCCURRENCE] is spec
    assert (spec.name, spec.ignore_result, spec.is_async) == (OCCURRENCE, True, False)


def test_what_has_no_end_on_record_still_counts() -> None:
    ports = world(0.25, "ledger")
    ended(ports, "over")
    ended(ports, "failed", states.FAILURE)
    ports.ledger.reserve("waits", "m", 0.0, 1.0)
    assert still(ports, ["over", "failed"]) == 0
    assert still(ports, ["over", "waits", "unknown"]) == 2


def test_without_earlier_ones_the_ledger_is_not_asked() -> None:
    ports = world(0.25, "ledger")
    assert still(ports, []) == 0
    assert asked(ports.ledger, "read") == []


@pytest.mark.parametrize(("expires", "ignore_result"), [(9.0, True), (None, False)])
def test_an_occurrence_is_published_with_the_arguments_of_its_schedule(expires: float | None, ignore_result: bool) -> None:
    command = Command(
        id="", task_id="t-1", task="report", args=(1,), kwargs={"b": 2}, expires=expires, tenant="acme", ignore_result=ignore_result,
        stamps="batch=7",
    )  # fmt: skip
    ports = memory.ports()
    assert launched(ports, ["earlier"], 2, expires, ignore_result) == [CommandDraft("bulk", command)]
    assert ports.ledger.read(["t-1"]) == {}


@pytest.mark.parametrize(("most", "is_left_out"), [(1, True), (2, True), (3, False)])
def test_an_occurrence_is_left_out_where_as_many_earlier_ones_have_not_ended(most: int, is_left_out: bool) -> None:
    ports = memory.ports()
    ended(ports, "over")
    assert len(launched(ports, ["over", "one", "two"], most)) == (not is_left_out)
    telemetry: Any = ports.telemetry
    assert telemetry.counted("OccurrencesLeftOut", task="report") == is_left_out
    record = ports.ledger.read(["t-1"]).get("t-1")
    assert (record is not None and record.state == states.REVOKED) == is_left_out


def test_a_task_that_is_not_known_is_counted_by_the_name_of_the_launch() -> None:
    ports = memory.ports()
    spec = limited(Registry(), ports, LamportClock(lambda: 5), OCCURRENCE)
    assert spec is not None
    with running(tenant="acme", stamps="batch=7"):
        spec.function("t-1", ["one"], 1, "gone", "bulk", "", None, False)
    telemetry: Any = ports.telemetry
    assert telemetry.counted("OccurrencesLeftOut", task=OCCURRENCE) == 1


class Away(memory.MemoryLedger):
    """A ledger that revokes nothing."""

    def revoke(self, task_id: str, clock: int, at: float) -> TaskRecord | None:
        """Be away."""
        raise Unavailable("away")


def test_an_occurrence_whose_revocation_was_not_answered_is_not_counted_as_left_out() -> None:
    ports = memory.ports()
    ports = replace(ports, ledger=Away(ports.clock))
    with pytest.raises(Unavailable):
        launched(ports, ["one"], 1)
    telemetry: Any = ports.telemetry
    assert telemetry.counted("OccurrencesLeftOut") == 0


def test_an_occurrence_that_runs_already_is_not_ended_but_not_tried_again() -> None:
    ports = memory.ports()
    ports.ledger.claim([Claim("t-1", 0, "m", "n" * 32, ports.clock.now() + 60, 1, "report")])
    launched(ports, ["one"], 1)
    assert ports.ledger.read(["t-1"])["t-1"].asked == NO_RETRY
