"""The answers of `explain` word for word: by the ledger, by reports of workers, by parked messages, dead letters and what waits."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sedano import memory
from sedano.engine.cluster.explanation import NOWHERE, Explanation, _id_of, _recorded, explain
from sedano.model import circuits as breaker
from sedano.model import states
from sedano.model.budgets import Load
from sedano.model.ledger.records import Claim, ErrorRecord, TaskRecord
from sedano.model.memos import CIRCUIT, Memo, memo_name
from sedano.model.messages import codec
from sedano.model.messages.message import BlobRef, Command, Event
from sedano.model.messages.timestamps import shown
from sedano.model.timers import Timer
from sedano.model.workflow.flow_run import FlowRun
from sedano.ports import PARKED, Delivery, Outgoing, Ports
from sedano.ports.absent import Absent
from tests.unit.engine.gated import Noted, advance, asked

NOW = memory.START
DAY = 86_400.0


def body(task_id: str = "t-1") -> str:
    """The command of a task."""
    return codec.encode(Command("m-1", task_id, "send", "host", NOW, 1))


def report(ports: Ports, days: float = 0.0, **changes: Any) -> None:
    """A worker's report that t-1 was held back."""
    now = ports.clock.now()
    told = {"type": "task-held", "uuid": "t-1", "name": "send", "reason": "rate", "hostname": "h", "timestamp": now, "until": now + 60.0}
    line = {**told, **changes}
    ports.events.append(datetime.fromtimestamp(now - days * DAY, UTC).strftime("%Y-%m-%d"), f"{json.dumps(line)}\n".encode(), b"")


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (TaskRecord("t", states.RUNNING, owner="w", expires=NOW + 5), f"it runs: claimed by w until {shown(NOW + 5)}"),
        (
            TaskRecord("t", states.RUNNING, owner="w", expires=NOW),
            (f"claimed by w until {shown(NOW)}, which is over: that worker was lost, or its function's time limit ended the body; "
            "another takes over when the message is delivered again"),
        ),
        (
            TaskRecord("t", states.RETRY, attempt=2, not_before=NOW + 5, error=ErrorRecord("E", "no")),
            f"it is tried again, attempt 2, from {shown(NOW + 5)} after E: no",
        ),
        (TaskRecord("t", states.RETRY, attempt=2, not_before=NOW), f"it is tried again, attempt 2, from {shown(NOW)}"),
        (
            TaskRecord("t", states.FAILURE, clock=int(NOW * 1e6), error=ErrorRecord("E", "no")),
            f"it ended as FAILURE at {shown(NOW)}: E: no",
        ),
        (TaskRecord("t", states.REVOKED, clock=int(NOW * 1e6)), f"it ended as REVOKED at {shown(NOW)}: its id was revoked"),
        (TaskRecord("t", states.SUCCESS, clock=int(NOW * 1e6)), f"it ended as SUCCESS at {shown(NOW)}"),
    ],
)
def test_a_record_explains_by_its_state(record: TaskRecord, sentence: str) -> None:
    found = _recorded(record, NOW)
    assert (found.task_id, found.state, found.sentence) == ("t", record.state, sentence)
    assert found.evidence["expires"] == record.expires


def test_a_reserved_task_has_not_been_seen_by_any_worker() -> None:
    ports = memory.ports()
    ports.ledger.reserve("t-1", "m", NOW, NOW + 60.0)
    assert explain(ports, ["default"], "t-1").state == states.PENDING
    assert "it ended" not in explain(ports, ["default"], "t-1").sentence


def test_a_timer_explains_until_when_a_task_waits_unless_the_look_is_a_quick_one() -> None:
    ports = memory.ports()
    ports.timers.set(Timer("other", NOW + 9_000.0, "commands:default", body("t-2")))
    ports.timers.set(Timer("t-1", NOW + 5_000.125_4, "commands:default", body()))
    found = explain(ports, ["default"], "t-1")
    assert (found.task_id, found.state) == ("t-1", states.PENDING)
    assert found.sentence == f"it waits for its moment, {shown(NOW + 5_000.125_4)}"
    assert dict(found.evidence) == {"at": NOW + 5_000.125_4, "seconds": 5_000.125, "queue": "commands:default", "timer": "t-1"}
    assert "moment" not in explain(ports, ["default"], "t-3").sentence
    assert "moment" not in explain(ports, ["default"], "t-1", quick=True).sentence
    assert "moment" not in explain(replace(ports, timers=Absent("timers")), ["default"], "t-1").sentence


def test_the_last_report_counts_and_says_since_when_the_same_wait_is_reported() -> None:
    ports = memory.ports()
    until = NOW + 60.0
    for timestamp, end in ((NOW - 30.0, NOW - 1.0), (NOW - 20.0, until), (NOW - 10.0, until), (NOW - 40.0, until + 5.0)):
        report(ports, timestamp=timestamp, until=end, reason="debounce: quiet for 5 s")
    found = explain(ports, ["default"], "t-1")
    assert found.sentence == f"debounce: quiet for 5 s since {shown(NOW - 20.0)}; it runs at {shown(until)} unless a later call arrives"
    assert (found.evidence["since"], found.evidence["timestamp"]) == (NOW - 20.0, NOW - 10.0)
    assert (found.task_id, found.state) == ("t-1", states.PENDING)


@pytest.mark.parametrize(("days", "is_found"), [(0.0, True), (1.0, True), (2.0, False)])
def test_reports_of_today_and_yesterday_are_looked_at(days: float, is_found: bool) -> None:
    ports = memory.ports()
    report(ports, days)
    assert ("is delivered again" in explain(ports, ["default"], "t-1").sentence) == is_found
    assert "is delivered again" not in explain(replace(ports, events=Absent("events")), ["default"], "t-1").sentence


def test_a_report_that_is_over_at_this_moment_explains_why_it_waited() -> None:
    ports = memory.ports()
    report(ports, until=NOW)
    found = explain(ports, ["default"], "t-1")
    assert found.sentence == f"it was held back until {shown(NOW)} (rate) and waits in its queue now (0 wait in default)"
    assert (found.evidence["reason"], found.evidence["until"]) == ("rate", NOW)
    silent = replace(ports, consumers=Absent("consumers"))
    assert explain(silent, ["default"], "t-1").sentence == f"it was held back until {shown(NOW)} (rate) and waits in its queue now"


def test_a_circuit_explains_since_when_and_why_it_is_open() -> None:
    ports = memory.ports()
    circuit = breaker.Circuit("payments", since=NOW - 5.0, until=NOW + 60.0, cause="503")
    report(ports, reason="circuit payments is open", until=NOW + 60.0)
    plain = explain(ports, ["default"], "t-1")
    assert "cause" not in plain.evidence
    name = memo_name(CIRCUIT, "payments")
    assert ports.memos.change(Memo(name, breaker.to_text(circuit), "n"), Memo(name)).done
    found = explain(ports, ["default"], "t-1")
    assert (found.evidence["since"], found.evidence["cause"], found.evidence["open"]) == (NOW - 5.0, "503", True)
    assert found.sentence == f"circuit payments is open; its message is delivered again at {shown(NOW + 60.0)}"
    assert (found.task_id, found.state) == ("t-1", states.PENDING)
    report(ports, timestamp=NOW + 1.0, reason="payments")
    assert "cause" not in explain(ports, ["default"], "t-1").evidence, "it was held for another reason that has the circuit's name"


def test_a_call_that_is_run_with_others_is_explained_by_the_task_that_runs_them() -> None:
    ports = memory.ports()
    report(ports, batch="b-1", timestamp=NOW - 5.0)
    found = explain(ports, ["default"], "t-1")
    waits = f"it waits for other calls of send since {shown(NOW - 5.0)}; they run as one at {shown(NOW + 60.0)} at the latest"
    assert found.sentence == waits
    ports.ledger.claim([Claim("b-1", 0, "m", "n", NOW + 9.0, 1, "send", owner="w")])
    found = explain(ports, ["default"], "t-1")
    runs = f"it runs: claimed by w until {shown(NOW + 9.0)}"
    assert found.sentence == f"it was collected at {shown(NOW - 5.0)} and is run with other calls by the task b-1: {runs}"
    assert (found.task_id, found.state, found.evidence["of_batch"]["owner"]) == ("t-1", states.RUNNING, "w")
    other = memory.ports()
    report(other, batch="b-1", until=NOW)
    ran = explain(other, ["default"], "t-1").sentence
    assert ran.startswith(f"it was collected at {shown(NOW)} and is run with other calls by the task b-1: it was held back until")
    report(other, uuid="b-1", batch="t-1", until=NOW)
    assert explain(other, ["default"], "t-1").sentence.count("it was collected at") == 1, "no circle of reports is followed"


class Consumers:
    """Consumers with some load and some dead letters."""

    def __init__(self, loads: dict[str, Load], letters: dict[str, list[Delivery]]) -> None:
        """Have these, by the key of the queue."""
        self.loads, self.letters = loads, letters

    def load(self, queue: str) -> Load:
        """How much waits."""
        return self.loads[queue]

    def dead(self, queue: str, most: int) -> list[Delivery]:
        """The dead letters."""
        assert most == 100
        return self.letters.get(queue, [])


def with_load(ports: Ports, waiting: int = 0, running: int = 0, *letters: Delivery) -> Ports:
    """The ports of a deployment where so many messages wait and run."""
    consumers: Any = Consumers({"commands:default": Load(waiting, running)}, {"commands:default": [*letters]})
    return replace(ports, consumers=consumers)


def test_without_a_trace_it_depends_on_what_waits() -> None:
    ports = memory.ports()
    assert explain(with_load(ports), ["default"], "t-1").sentence == f"nothing here knows this id, and 0 wait in default: {NOWHERE}"
    waits = "no worker has seen it: it waits in its queue (3 wait in default), or it was never published"
    assert explain(with_load(ports, 3), ["default"], "t-1").sentence == waits
    assert explain(with_load(ports, 0, 1), ["default"], "t-1").sentence == waits.replace("3", "0")
    silent = explain(replace(ports, consumers=Absent("consumers")), ["default"], "t-1")
    assert silent.sentence.endswith("or it was never published; this deployment does not say what waits")
    assert "after 44 days" in NOWHERE


def test_a_task_may_wait_as_long_as_one_of_the_queues_holds_anything() -> None:
    consumers: Any = Consumers({"commands:default": Load(0, 0), "commands:mail": Load(2, 0)}, {})
    found = explain(replace(memory.ports(), consumers=consumers), ["default", "mail"], "t-1")
    assert found.sentence == (
        "no worker has seen it: it waits in its queue (0 wait in default, 2 wait in mail), or it was never published"
    )  # fmt: skip


def park(ports: Ports, reason: str) -> None:
    """Park a message of t-1."""
    attributes = {"queue": "commands:default", "message_id": f"m-{reason}", "reason": reason, "field": "data", "detail": "no"}
    assert ports.queues.send(PARKED, [Outgoing(body(), attributes=attributes)]) == [None]


def test_the_latest_parked_message_explains_and_is_left_where_it_lies() -> None:
    ports = memory.ports()
    for reason in ("schema", "expired"):
        park(ports, reason)
        advance(ports, 1.0)
    for _ in range(2):
        found = explain(ports, ["default"], "t-1")
        assert found.sentence == "parked: expired, no; `sedano parked redrive` sends it again"
        assert (found.task_id, found.state, found.evidence["reason"]) == ("t-1", states.PENDING, "expired")
    assert "parked" not in explain(ports, ["default"], "t-1", quick=True).sentence


def test_the_id_of_a_run_of_a_workflow_is_explained_by_the_run_unless_a_task_has_it() -> None:
    ports = replace(memory.ports(), flow_runs=Noted(memory.ports().flow_runs))
    run = FlowRun("t-1", "fulfil", "1", BlobRef("0" * 64, 2), NOW, state="FAILED", cause="pay failed", uncompensated={"ship": "lost"})
    ports.flow_runs.begin(run, NOW)
    found = explain(ports, ["default"], "t-1")
    sentence = "it is a run of the workflow fulfil and is FAILED: pay failed; not undone: ship (lost): retry() undoes that first"
    assert found == Explanation("t-1", "FAILED", sentence, {"workflow": "fulfil", "cause": "pay failed", "uncompensated": {"ship": "lost"}})
    ports.flow_runs.begin(run._replace(run_id="t-2", state="RUNNING", cause="", uncompensated={}), NOW)
    assert explain(ports, ["default"], "t-2").sentence == "it is a run of the workflow fulfil and is RUNNING"
    before = len(asked(ports.flow_runs, "read"))
    ports.ledger.reserve("t-1", "m", NOW, NOW + 60.0)
    assert "workflow" not in explain(ports, ["default"], "t-1").sentence
    assert len(asked(ports.flow_runs, "read")) == before


def test_a_dead_letter_is_found_by_the_id_of_its_task_or_of_its_message() -> None:
    letters = [Delivery("dead", "m-0", "r", "{", 9, NOW), Delivery("dead", "m-1", "r", body(), 7, NOW - 5.0)]
    ports = with_load(memory.ports(), 0, 0, *letters)
    found = explain(ports, ["default"], "t-1")
    assert found.sentence.startswith("it lies in the dead letters of default: it was received too often without an end")
    assert dict(found.evidence) == {"queue": "default", "receives": 7, "sent": NOW - 5.0}
    assert (found.task_id, found.state) == ("t-1", states.PENDING)
    assert explain(ports, ["default"], "m-0").evidence["receives"] == 9
    assert "dead letters" not in explain(ports, ["default"], "t-2").sentence
    assert "dead letters" not in explain(ports, ["default"], "t-1", quick=True).sentence


def test_a_message_is_known_by_its_task_an_event_by_itself_and_a_wreck_by_nothing() -> None:
    assert _id_of(body()) == "t-1"
    assert _id_of(codec.encode(Event("e-1", "shop/sold", "host", NOW, 1, {}))) == "e-1"
    assert _id_of("{") == ""


def test_the_moment_of_an_explanation_is_that_of_the_clock() -> None:
    ports = memory.ports()
    report(ports, until=NOW + 60.0)
    advance(ports, 61.0)
    assert explain(ports, ["default"], "t-1").sentence.startswith("it was held back until")
