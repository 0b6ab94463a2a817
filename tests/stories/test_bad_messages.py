"""What no worker can run is set aside with a reason that names the field, counted and shown; its neighbours run, and nothing is lost."""

import json
from typing import Any

import pytest

from sedano.model import states
from sedano.model.messages import codec
from sedano.model.messages.lineage import MAX_HOPS, Lineage
from sedano.model.messages.message import LAUNCH, BlobRef, Event, Place
from sedano.model.retry import MOST_EXECUTIONS
from sedano.ports import EVENTS, PARKED, RECORDS, Outgoing
from tests.stories.kept import assert_kept, lines, succeeded
from tests.stories.processes import COMMANDS, Processes
from tests.stories.scenarios import by_hand
from tests.stories.shop import Shop
from tests.stories.stage import Stage
from tests.stories.taps import Crash

ID = "6f1c0a52-4c3b-4a51-9d6e-0f3f1a7b2c11"

ROW = '{"v":1,"host":"h","pid":1,"rows":[["u","n","q","r",null,0,"s",TIMES]],"lines":[]}'


class Dying:
    """A step in which the process dies."""

    def __getattr__(self, name: str) -> Any:
        """Die."""
        raise Crash


def text(**changes: Any) -> str:
    """A command as a text that anyone could send; None leaves an attribute out."""
    command = {
        "specversion": "1.0", "type": "sedano.command.v1", "id": ID, "source": "elsewhere", "subject": "add",
        "time": "2026-01-01T00:00:00Z", "taskid": ID, "data": {"args": [1, 2]},
    }  # fmt: skip
    return json.dumps({name: value for name, value in {**command, **changes}.items() if value is not None})


REFUSED = [
    ("not JSON", "{nonsense", "malformed", "body"),
    ("not a number", text().replace("[1, 2]", "[NaN, 2]"), "malformed", "body"),
    ("twice the same key", text().replace('"id"', '"subject": "add", "id"', 1), "malformed", "body"),
    ("too deep", text(data={"args": [json.loads("[" * 150 + "]" * 150)]}), "too-deep", "body"),
    ("not an object", "[1, 2]", "schema", "body"),
    ("no subject", text(subject=None), "schema", "subject"),
    ("no type", text(type=None), "schema", "type"),
    ("an id that is a number", text(id=5), "schema", "id"),
    ("arguments that are no list", text(data={"args": 5}), "schema", "data.args"),
    ("more in its data", text(data={"args": [], "more": 1}), "schema", "data"),
    ("a document", text(type="sedano.document.v1", state="SUCCESS", data=None), "schema", "type"),
    ("too many hops", text(hops=MAX_HOPS + 1), "hop-limit", "hops"),
    ("an attempt beyond all", text(attempt=MOST_EXECUTIONS + 1), "schema", "attempt"),
    ("a clock far ahead", text(clock=str(int(1.8e9) * 1_000_000)), "clock-ahead", "clock"),
    ("a result where arguments stand", text(data="5"), "schema", "data"),
]  # fmt: skip


def parked(stage: Stage) -> Outgoing:
    """The one message that was set aside."""
    (message,) = stage.peek(PARKED)
    return message


def assert_told(stage: Stage, reason: str, field: str) -> None:
    """Assert that the reason and the field stand on the parked message, in a metric, in a log line and in the history."""
    attributes = parked(stage).attributes
    assert attributes["reason"] == reason
    assert attributes["field"].startswith(field), attributes
    assert attributes["detail"] != "-"
    assert stage.telemetry.counted("MessagesParked", reason=reason) == 1
    shown = [line for line in stage.telemetry.lines if line.message == "message parked"]
    assert [(line.level, line.fields["reason"]) for line in shown] == [("error", reason)]
    assert attributes["message_id"] == shown[0].fields["message_id"]


@pytest.mark.parametrize(("body", "reason", "field"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_it_is_set_aside_with_its_reason_and_its_neighbours_run(
    stage: Stage, shop: Shop, body: str, reason: str, field: str
) -> None:
    processes = Processes(stage, shop.app)
    shop.add.delay(1, 1)
    stage.ports.queues.send(COMMANDS, [Outgoing(body)])
    shop.add.delay(2, 2)
    processes.drain()
    assert_told(stage, reason, field)
    assert parked(stage).body == body, "what is set aside is what was sent, to the letter"
    assert lines(stage, "message-parked")[0]["reason"] == reason
    assert_kept(stage, succeeded(add=2), (reason,))


@pytest.mark.parametrize(
    ("changes", "reason", "field"),
    [({"subject": "nobody"}, "unknown-task", "subject"), ({"type": "sedano.command.v9"}, "newer-protocol", "type")],
    ids=["unknown task", "newer protocol"],
)
def test_what_another_version_may_know_is_held_back_before_it_is_set_aside(
    stage: Stage, shop: Shop, changes: dict[str, str], reason: str, field: str
) -> None:
    processes = Processes(stage, shop.app)
    stage.ports.queues.send(COMMANDS, [Outgoing(text(**changes))])
    began = stage.clock.now()
    shop.add.delay(2, 2)
    processes.drain()
    assert stage.clock.now() - began > 60
    assert stage.telemetry.counted("MessagesHeld", reason=reason) == 3
    assert_told(stage, reason, field)
    assert_kept(stage, succeeded(add=1), (reason,))


def test_an_unknown_task_runs_when_a_worker_comes_that_knows_it(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.app.send_task("news", (1,))
    processes.deliver()
    shop.task("news", lambda n: n)
    processes.restart()
    processes.drain()
    assert_kept(stage, succeeded(news=1))


def test_wrong_argument_types_are_named_recorded_and_set_aside(stage: Stage, shop: Shop) -> None:
    def sized(n: int, *, name: str = "") -> int:
        return n

    processes = Processes(stage, shop.app)
    shop.task("sized", sized)
    command = by_hand(shop, task="sized", args=("three",))
    processes.drain()
    assert_told(stage, "arguments", "data.args[0]")
    assert parked(stage).attributes["detail"] == "parameter n of sized: expected int, got str"
    record = stage.ports.ledger.read([command.task_id])[command.task_id]
    assert record.error is not None
    assert record.error.type_name == "ArgumentError"
    assert_kept(stage, {("sized", states.FAILURE): 1}, ("arguments",))


def test_an_expired_message_does_not_run_and_whoever_waits_learns_it(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = shop.add.apply_async((1, 2), expires=10)
    stage.pass_time(11.0)
    processes.drain()
    assert result.state == states.EXPIRED
    assert_told(stage, "expired", "expirytime")
    assert stage.telemetry.counted("TasksExpired", task="add") == 1
    assert shop.ran["add"] == 0
    assert_kept(stage, {("add", states.EXPIRED): 1}, ("expired",))


def test_a_message_that_expired_after_its_task_ran_still_answers_for_what_follows(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    result = shop.buy.apply_async(("tea",), expires=20)
    (delivery,) = stage.ports.queues.receive(COMMANDS)
    worker = processes.worker
    worker._following = Dying()  # type: ignore[assignment]
    with pytest.raises(Crash):
        worker.work([delivery], stage.clock.now() + 30)
    processes.restart()
    stage.pass_time(100.0)
    processes.drain()
    assert result.get() == "tea"
    assert_kept(stage, succeeded(buy=1, pack=1, label=1, mail=1, count=1))


@pytest.mark.parametrize(("data", "said"), [(None, "dataref"), (b"xx", "datasize"), (b"x" * 13, "dataref")])
def test_a_missing_or_tampered_blob_is_named(stage: Stage, shop: Shop, data: bytes | None, said: str) -> None:
    processes = Processes(stage, shop.app)
    ref = stage.ports.blobs.put(b'{"args":[""]}')
    stage.damage(ref, data)
    by_hand(shop, task="big", data_ref=ref)
    processes.drain()
    assert_told(stage, "blob", said)
    assert_kept(stage, {("big", states.FAILURE): 1}, ("blob",))


def test_a_claim_check_that_nobody_put_there_reads_nothing(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    by_hand(shop, task="big", data_ref=BlobRef("0" * 64, 5))
    processes.drain()
    assert_told(stage, "blob", "dataref")


def test_a_message_of_the_largest_size_is_set_aside_whole(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    body = "[" + "1," * 524_286 + "11]"
    stage.ports.queues.send(COMMANDS, [Outgoing(body)])
    processes.drain()
    attributes = parked(stage).attributes
    assert len(body) > 1_040_000
    digest, size = attributes["blob"].split()
    assert stage.ports.blobs.get(BlobRef(digest, int(size))).decode() == body


NO_PLANS = ['{"item":{}}', '{"item":{"chain":[]}}', '{"item":{"chain":[{"task":"add"}]}}', '{"item":{"chain":[{"group":5}]}}', '{"item":5}']


NOWHERE = Place("c", "7.7", '{"item":{"chain":[{"group":[]}]}}')


@pytest.mark.parametrize("place", [None, *(Place("c", "0", plan) for plan in NO_PLANS), NOWHERE])
def test_a_launch_that_describes_none_is_set_aside_and_follows_nothing(stage: Stage, shop: Shop, place: Place | None) -> None:
    processes = Processes(stage, shop.app)
    by_hand(shop, task=LAUNCH, place=place)
    processes.drain()
    assert_told(stage, "schema", "canvasplan")
    assert set(stage.audit.effects()) == {(LAUNCH, states.FAILURE)}


@pytest.mark.parametrize(("plan", "reason"), [("{1}", "schema"), (f"blob:{'0' * 64}:5", "blob"), ('{"item":{"chain":[]}}', "schema")])
def test_a_task_whose_canvas_does_not_hold_together_is_set_aside_before_it_runs(stage: Stage, shop: Shop, plan: str, reason: str) -> None:
    processes = Processes(stage, shop.app)
    command = by_hand(shop, task="add", args=(1, 2), place=Place("whole", "0", plan))
    processes.drain()
    assert {m.attributes["reason"] for m in stage.peek(PARKED)} == {reason}
    assert shop.ran["add"] == 0
    ends = stage.ports.ledger.read([command.task_id, "whole"])
    assert [ends[i].state for i in (command.task_id, "whole")] == [states.FAILURE] * 2


def test_a_canvas_beyond_the_budget_of_the_task_that_publishes_it_is_refused(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    by_hand(shop, task="plan", args=(5,), lineage=Lineage(budget=6))
    processes.drain()
    assert shop.ran == {"plan": 1}
    assert stage.audit.effects() == {("plan", states.FAILURE): 1}


@pytest.mark.parametrize(
    ("event", "reason", "field"),
    [
        ({"name": "Unheard"}, "unknown-event", "subject"),
        ({"clock": int(1.8e9) * 1_000_000}, "clock-ahead", "clock"),
        ({"lineage": Lineage(hops=MAX_HOPS)}, "hop-limit", "hops"),
        ({"lineage": Lineage(budget=1)}, "budget", "budget"),
        ({"data_ref": BlobRef("0" * 64, 5)}, "blob", "dataref"),
    ],
)
def test_a_bad_event_is_set_aside_and_its_neighbours_are_routed(
    stage: Stage, shop: Shop, event: dict[str, Any], reason: str, field: str
) -> None:
    processes = Processes(stage, shop.app)
    plain: dict[str, Any] = {"id": ID, "name": "shop.Bought", "source": "elsewhere", "time": stage.clock.now(), "clock": 1}
    stage.ports.queues.send(EVENTS, [Outgoing(codec.encode(Event(**{**plain, **event})))])
    shop.Bought.delay(what="tea")
    processes.drain()
    assert_told(stage, reason, field)
    assert_kept(stage, succeeded(mail=1, count=1), (reason,))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("{nonsense", "body"),
        ('{"v":1,"host":"h","pid":1,"rows":{},"lines":[]}', "rows"),
        ('{"v":1,"host":"h","pid":1,"rows":[[1]],"lines":[]}', "rows"),
        ('{"v":1,"host":"h","pid":1,"rows":[],"lines":[{}]}', "lines"),
        ('{"v":1,"host":"h","pid":1,"rows":[],"lines":[{"type":"x","timestamp":NaN}]}', "body"),
        ('{"v":1,"host":"h","pid":1,"rows":[],"lines":[{"type":"x","timestamp":1e300}]}', "lines"),
        (ROW.replace("TIMES", ",".join(['"x"'] * 10)), "rows"),
        (ROW.replace("TIMES", ",".join(["1" + "0" * 40] * 10)), "rows"),
    ],
)
def test_a_bad_packed_record_is_set_aside_and_its_neighbours_are_kept(stage: Stage, shop: Shop, body: str, field: str) -> None:
    processes = Processes(stage, shop.app)
    stage.ports.queues.send(RECORDS, [Outgoing(body)])
    shop.add.delay(1, 2)
    processes.drain()
    assert_told(stage, "bad-record", field)
    assert_kept(stage, succeeded(add=1), ("bad-record",))


def test_a_message_written_by_hand_needs_neither_time_nor_clock_nor_task_id(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    stage.ports.queues.send(COMMANDS, [Outgoing(text(time=None, taskid=None))])
    processes.drain()
    assert stage.ports.ledger.read([ID])[ID].result == "3"
    assert_kept(stage, succeeded(add=1))


def test_a_retry_without_a_record_is_quarantined_and_never_runs(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    by_hand(shop, task="add", args=(1, 2), attempt=2)
    processes.drain()
    assert_told(stage, "quarantine", "taskid")
    assert shop.ran["add"] == 0


def test_a_message_older_than_the_ledgers_memory_is_quarantined(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    by_hand(shop, task="add", args=(1, 2), time=stage.clock.now() - 60 * 86_400)
    processes.drain()
    assert_told(stage, "quarantine", "taskid")
