"""The explanation of one task: which source answers, and lines of the history that no worker wrote."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sedano import memory
from sedano.engine.cluster.control import Controlling
from sedano.engine.cluster.explanation import _held_line, explain
from sedano.model import states
from sedano.model.ledger.records import Claim, Outcome, TaskRecord
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.pauses import ID, QUEUE, TENANT, pause, with_pause
from sedano.ports import Ports
from sedano.ports.absent import Absent
from tests.unit.engine.gated import advance

NOW = memory.START
LINE: dict[str, Any] = {
    "type": "task-held", "uuid": "t-1", "name": "send", "reason": "circuit", "hostname": "h", "timestamp": NOW, "until": NOW + 5,
}  # fmt: skip


def held(**changes: Any) -> Any:
    """What a line of the history says of t-1; None: nothing."""
    return _held_line(json.dumps({**LINE, **changes}).encode(), "t-1")


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "task-received"},
        {"uuid": "t-2"},
        {"name": 5},
        {"reason": None},
        {"hostname": 5},
        {"batch": 5},
        {"timestamp": "now"},
        {"timestamp": -1},
        {"until": 1e12},
        {"until": LAST_SECOND},
        {"until": None},
    ],
)
def test_a_line_that_no_worker_writes_reports_nothing(changes: dict[str, Any]) -> None:
    assert held() == LINE
    assert held(timestamp=0, type="message-held", batch="b") == {**LINE, "timestamp": 0, "type": "message-held", "batch": "b"}
    assert held(**changes) is None


def test_what_is_no_object_reports_nothing() -> None:
    assert _held_line(b"[]", "t-1") is None
    assert _held_line(b"{", "t-1") is None


def paused(ports: Ports, kind: str, name: str) -> None:
    """Pause it."""
    now = ports.clock.now()
    control = Controlling(ports, LamportClock(lambda: 1))
    control.change(
        lambda seen, clock, nonce: seen._replace(clock=clock, nonce=nonce, paused=with_pause(seen.paused, pause(kind, name), now))
    )


def test_a_pause_of_an_id_is_no_pause_of_something_else_of_that_name() -> None:
    ports = memory.ports()
    paused(ports, TENANT, "t-1")
    assert "paused" not in explain(ports, ["default"], "t-1").sentence
    paused(ports, ID, "t-1")
    found = explain(ports, ["default"], "t-1")
    assert (found.task_id, found.state, found.sentence) == ("t-1", states.PENDING, "it is paused by its id")


def test_a_pause_of_a_queue_explains_what_no_worker_has_seen() -> None:
    ports = memory.ports(("default", "mail"))
    paused(ports, TENANT, "default")
    assert "paused" not in explain(ports, ["default"], "t-1").sentence, "the name of a tenant"
    paused(ports, QUEUE, "default")
    found = explain(ports, ["default"], "t-1")
    assert (found.task_id, found.state, found.sentence) == ("t-1", states.PENDING, "its queue is paused: default")
    assert explain(ports, ["default", "mail"], "t-1").sentence == "it may lie in a queue that is paused: default"


def test_what_nobody_knows_is_explained_under_its_own_id() -> None:
    found = explain(memory.ports(), ["default"], "t-1")
    assert (found.task_id, found.state) == ("t-1", states.PENDING)
    without = replace(memory.ports(), control=Absent("control"), flow_runs=Absent("flow runs"))
    assert explain(without, ["default"], "t-1").sentence == found.sentence


def test_a_retry_that_is_due_is_explained_by_what_stops_it_and_one_that_is_not_by_its_record() -> None:
    ports = memory.ports(("default", "mail"))
    (answer,) = ports.ledger.claim([Claim("t-1", 0, "m", "n", ports.clock.now() + 9, 1, "send")])
    assert answer.record is not None
    seen: TaskRecord = answer.record
    due = ports.clock.now() + 5
    ports.ledger.record(
        [Outcome("t-1", states.RETRY, "n", seen.fence, "m", 0, 1, "send", 1.0, next_attempt=1, not_before=due)],
    )
    paused(ports, QUEUE, "default")
    assert explain(ports, ["default"], "t-1").sentence.startswith("it is tried again, attempt 1")
    advance(ports, 5.0)
    assert explain(ports, ["default"], "t-1").sentence == "its queue is paused: default"
    again = explain(ports, ["mail"], "t-1")
    assert (again.task_id, again.sentence.partition(",")[0]) == ("t-1", "it is tried again"), "nothing stops it"


@pytest.mark.parametrize("until", [5.0, -5.0])
def test_a_report_of_a_worker_explains_a_wait_until_it_is_over(until: float) -> None:
    ports = memory.ports()
    moment = ports.clock.now()
    day = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
    lines = [
        {**LINE, "timestamp": moment - 9, "until": moment + until},
        {**LINE, "uuid": "t-11", "timestamp": moment, "until": moment + 50},
    ]
    ports.events.append(day, "".join(f"{json.dumps(line)}\n" for line in lines).encode(), b"")
    found = explain(ports, ["default"], "t-1")
    assert found.sentence.startswith("circuit; its message is delivered again" if until > 0 else "it was held back until")
    assert found.evidence["until"] == moment + until


@pytest.mark.parametrize("moment", [0.5, 43_200.0, 86_399.5])
def test_a_report_is_looked_for_from_the_beginning_of_yesterday(moment: float) -> None:
    for days, day in enumerate(("2026-01-03", "2026-01-02", "2026-01-01")):
        ports = memory.ports()
        advance(ports, 2 * 86_400.0 + moment)
        now = ports.clock.now()
        line = {**LINE, "timestamp": now - days * 86_400.0, "until": now + 5.0}
        ports.events.append(day, f"{json.dumps(line)}\n".encode(), b"")
        assert ("reason" in explain(ports, ["default"], "t-1").evidence) == (days < 2), day
