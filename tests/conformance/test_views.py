"""Views over memory, one SQLite file, moto and a real endpoint: every world gets the same records, and each view says what it read.

A view's calls are pinned by the numbers that it prints itself; over AWS these are compared with the calls that were made.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import pytest

from sedano import Breaker, Sedano, current, every, memory
from sedano.aws.schedules import DynamoSchedules
from sedano.changes.plan import note, person
from sedano.engine.history.recorder import Recorder
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import NotAllowed, SedanoError, Unavailable
from sedano.model import circuits as breaker
from sedano.model.elections import Election, closed
from sedano.model.history.run_rows import Host
from sedano.model.history.stage_changes import StageChange
from sedano.model.leases import LeaseRecord
from sedano.model.limits import rate
from sedano.model.limits.concurrency import Permit
from sedano.model.memos import CIRCUIT, Memo, memo_name
from sedano.model.messages.lineage import dedup_id
from sedano.model.schedules.agenda import Agenda, agenda_of, begun
from sedano.ports import PARKED, RECORDS, MemberRecord, Outgoing, Ports, command_queue
from sedano.views import (
    canvas,
    circuits,
    costs,
    failures,
    locks,
    now,
    queues,
    schedules,
    stage_changes,
    tail,
    task,
    tasks,
    throughput,
    trace,
    workers,
)
from sedano.views.plain import plain
from sedano.views.reader import About
from sedano.views.task_query import parse
from tests.conformance.worlds import World, session_of
from tests.plugins.resources import Resources

NOW = memory.START
LOCK = LeaseRecord("lock/nightly", 7, "nonce-1", "host.1", 1, True, 30_000, int(NOW * 1_000) + 30_000)
SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)


class Larder:
    """An app in which one task fails, one publishes another, one is limited, guarded and one runs by the hour."""

    def __init__(self) -> None:
        self.app = Sedano("larder")
        self.fill: Any = self.app.task(name="larder.fill", retry=False, circuit=Breaker(shared=True, name="door"))(self._fill)
        self.stock: Any = self.app.task(name="larder.stock")(self._stock)
        self.weigh: Any = self.app.task(name="larder.weigh", concurrency=2)(len)
        self.brew: Any = self.app.task(name="larder.brew", rate="6/m")(len)
        self.app.periodic(every(3_600), name="larder.dust")(lambda: None)

    def _fill(self, n: int) -> int:
        if n % 2:
            raise ValueError(f"{n} does not fit")
        return n

    def _stock(self) -> str:
        self.fill.apply_async((4,), task_id="child")
        return current().id


@pytest.fixture
def app(world: World) -> Iterator[Sedano]:
    """The larder over the world, after its first batch: three tasks ran, one failed, one waits, much needs a person."""
    larder, clock = Larder(), memory.VirtualClock(NOW)
    own = {one.name: getattr(world, one.name) for one in fields(World) if one.name in {port.name for port in fields(Ports)}}
    ports = replace(memory.ports(), **own, clock=clock)
    larder.app.attach(ports)
    work(larder, ports)
    stand(larder, ports)
    yield larder.app
    larder.app.attach(None)


def work(larder: Larder, ports: Ports) -> None:
    """Run a batch with a failure and a parent, and let the history be written."""
    larder.fill.apply_async((3,), task_id="odd")
    larder.stock.apply_async(task_id="parent")
    worker = Worker(larder.app.registry, ports, Host("host.1", 1), SETTINGS, None)
    for _ in range(2):
        handed = received(ports, command_queue("default"))
        assert worker.work(handed, NOW + 900) == []
        ports.queues.delete(handed)
    note(larder.app, "pause", "queue=default", "bad deploy", 1, 0)
    records = received(ports, RECORDS)
    assert Recorder(ports, Host("host.2", 2)).record(records, NOW + 900) == []
    ports.queues.delete(records)


def received(ports: Ports, queue: str) -> list[Any]:
    """What lies in a queue: a first answer may be empty."""
    return [one for _ in range(3) for one in ports.queues.receive(queue)]


def stand(larder: Larder, ports: Ports) -> None:
    """Leave a message waiting, one parked, a lock and a permit held, a circuit open, a queue paused, a worker behind, a schedule late."""
    larder.fill.apply_async((2,), task_id="waits")
    assert ports.queues.send(PARKED, [Outgoing("{", attributes={"reason": "malformed"})]) == [None]
    assert ports.leases.take(LOCK, None).done
    assert ports.limits.take("larder.weigh/", Permit(1, 9, "n", "weigh w", int(NOW * 1_000) + 5_000), "weigh w", int(NOW * 1_000)).done
    paces = rate.paces("6/m")
    line = rate.started(paces, 4, int(NOW * rate.SECOND), "n")
    assert ports.limits.begin(rate.line_name("larder.brew", paces), line, paces).done
    assert ports.elections.open(Election("e1", "keys", "t-1", "{}", "n", need=frozenset({"host.1", "host.2", "host.3"})), NOW).done
    assert ports.elections.register("e1", "host.2", 40).done
    assert ports.elections.register("e1", "host.1", 41).done
    circuit = breaker.Circuit("door", since=NOW - 1, until=NOW + 29, cause="3 × failure within 60 s")
    name = memo_name(CIRCUIT, "door")
    assert ports.memos.change(Memo(name, breaker.to_text(circuit), "n"), ports.memos.read([name]).get(name, Memo(name))).done
    larder.app.control.pause(queue="default", by="ana", reason="bad deploy")
    ports.members.beat(MemberRecord("host.9", 1, "LOST", 0, NOW - 400.0, ("odd",)))
    one = begun(larder.app.periodics["larder.dust"], NOW - 7_200)
    agenda = Agenda(agenda_of("larder.dust"), {"larder.dust": one}, "n1")
    assert ports.schedules.change(agenda, Agenda(agenda.number)).done


VIEWS: dict[str, tuple[Callable[[Sedano], Any], dict[str, int], float]] = {
    "queues": (queues.queues, {
        "cloudwatch.GetMetricData": 1, "dynamodb.GetItem": 2, "lambda.GetEventSourceMapping": 1, "sqs.GetQueueAttributes": 1,
    }, 2),
    "workers": (workers.workers, {"dynamodb.GetItem": 2, "dynamodb.Query": 1}, 2.5),
    "active": (workers.active, {"dynamodb.BatchGetItem": 1, "dynamodb.Query": 1}, 2.5),
    "circuits": (circuits.circuits, {"dynamodb.GetItem": 1}, 1),
    "locks": (lambda app: locks.locks(app, ["nightly", "other"]), {"dynamodb.BatchGetItem": 1}, 4),
    "held": (lambda app: locks.held(app, ["nightly"]), {"dynamodb.BatchGetItem": 1, "dynamodb.GetItem": 4}, 6),
    "an election": (lambda app: locks.locks(app, ["election/e1", "election/none"]), {
        "dynamodb.BatchGetItem": 1, "dynamodb.GetItem": 2,
    }, 4),
    "schedules": (schedules.schedules, {"dynamodb.BatchGetItem": 2}, 17),
    "tasks": (lambda app: tasks.tasks(app, 1), {"s3.GetObject": 1, "s3.ListObjectsV2": 1}, 0),
    "tasks by key": (lambda app: tasks.tasks(app, 1, parse("key:7")), {
        "dynamodb.BatchGetItem": 1, "s3.GetObject": 1, "s3.ListObjectsV2": 1,
    }, 5),
    "throughput": (throughput.throughput, {"dynamodb.Query": 2}, 1),
    "throughput of a week": (lambda app: throughput.throughput(app, "7d"), {"dynamodb.Query": 9}, 4.5),
    "failures": (lambda app: failures.failures(app, 1), {"dynamodb.GetItem": 1, "dynamodb.Query": 4}, 3),
    "failures of three days": (lambda app: failures.failures(app, 3), {"dynamodb.GetItem": 1, "dynamodb.Query": 12}, 7),
    "task": (lambda app: task.task(app, "odd"), {"dynamodb.GetItem": 2}, 2),
    "waiting task": (lambda app: task.task(app, "waits", quick=True), {
        "dynamodb.GetItem": 5, "s3.GetObject": 1, "s3.ListObjectsV2": 1, "sqs.GetQueueAttributes": 1,
    }, 5),
    "whole task": (lambda app: task.task(app, "parent", days=1), {"dynamodb.GetItem": 2, "s3.GetObject": 1, "s3.ListObjectsV2": 1}, 2),
    "canvas": (lambda app: canvas.canvas(app, "parent", 1), {"dynamodb.GetItem": 1, "s3.GetObject": 1, "s3.ListObjectsV2": 1}, 1),
    "trace": (lambda app: trace.trace(app, "child", 1), {"s3.GetObject": 1, "s3.ListObjectsV2": 1}, 0),
    "events": (lambda app: tail.events(app, 1), {"s3.GetObject": 1, "s3.ListObjectsV2": 1}, 0),
    "changes": (lambda app: stage_changes.changes(app, 1), {"s3.GetObject": 1, "s3.ListObjectsV2": 1}, 0),
    "costs": (lambda app: costs.costs(app, 1), {"s3.GetObject": 1, "s3.ListObjectsV2": 1}, 0),
    "now": (now.now, {
        "cloudwatch.GetMetricData": 1, "dynamodb.BatchGetItem": 2, "dynamodb.GetItem": 5,
        "dynamodb.Query": 5, "lambda.GetEventSourceMapping": 1, "s3.GetObject": 1,
        "s3.ListObjectsV2": 1, "sqs.GetQueueAttributes": 2,
    }, 24.5),
    "now without history": (lambda app: now.now(app, days=0), {
        "cloudwatch.GetMetricData": 1, "dynamodb.BatchGetItem": 2, "dynamodb.GetItem": 5,
        "dynamodb.Query": 5, "lambda.GetEventSourceMapping": 1,
        "sqs.GetQueueAttributes": 2,
    }, 24.5),
}  # fmt: skip
"""Each view with the calls and the read units of DynamoDB that it may cost on this stage, at midnight: a window spans one day more."""
SETTLED = ("task", "whole task", "canvas", "trace", "throughput", "throughput of a week")


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_reads_so_much_and_says_so(app: Sedano, name: str) -> None:
    view, calls, units = VIEWS[name]
    about: About = view(app).about
    assert (about.at, dict(about.reads.calls), about.reads.units) == (NOW, calls, units)
    assert about.certainty == ("settled" if name in SETTLED else "live")


@pytest.mark.parametrize("world", ["moto"], indirect=True)
@pytest.mark.parametrize("name", VIEWS)
def test_over_aws_a_view_makes_the_calls_that_it_prints(app: Sedano, resources: Resources, name: str) -> None:
    session = session_of(resources)
    calls, table = session.calls, resources.settings["SEDANO_CONTROL_TABLE"]
    unknown = DynamoSchedules(session.client("dynamodb"), table)  # its definitions are not known yet, as in a new process
    app.attach(replace(app.outlet.ports, schedules=unknown))
    before = Counter(calls)
    printed = Counter(VIEWS[name][0](app).about.reads.calls)
    free = Counter({"lambda.GetEventSourceMapping": 1})  # the stage of these tests names no mapping, so no call is made for it
    assert Counter(calls) - before == printed - free


def test_every_world_shows_the_same(app: Sedano) -> None:
    seen = now.now(app)
    assert [(one.kind, one.name) for one in seen.needs] == [
        ("parked", "parked"), ("failures", "larder.fill"), ("circuit", "door"), ("schedule", "larder.dust"), ("worker", "host.9"),
        ("paused", "default"),
    ]  # fmt: skip
    assert seen.needs[1].sentence.startswith("larder.fill failed once with ValueError (test_views.py:")
    assert seen.needs[1].sentence.endswith(" in _fill), last at 2026-01-01 00:00:00Z: task odd")
    assert now.now(app, days=0).needs == seen.needs
    assert seen.needs[5].sentence == "the queue default is paused by ana: bad deploy; 1 message waits"
    assert (seen.by_state, seen.workers) == ({"FAILURE": 1, "SUCCESS": 2}, {"ACTIVE": 1, "LOST": 1})
    assert {(one.id, one.state, one.queue) for one in seen.latest} == {
        ("odd", "FAILURE", "default"), ("parent", "SUCCESS", "default"), ("child", "SUCCESS", "default"),
    }  # fmt: skip
    (row,) = queues.queues(app).rows
    assert (row.queue, row.wait, row.run, row.paused) == ("default", 1, 0, True)
    assert [(one.name, one.state, one.holds) for one in workers.workers(app).rows] == [("host.1", "ACTIVE", ()), ("host.9", "LOST", ())]
    (door,) = circuits.circuits(app).rows
    assert (door.name, door.open, door.cause, door.tasks) == ("door", True, "3 × failure within 60 s", ("larder.fill",))


def test_a_queue_that_is_old_needs_a_person(app: Sedano) -> None:
    ports = app.outlet.ports
    for age, is_old in ((899.0, False), (900.0, True), (None, False)):
        consumers: Any = OldQueues(ports.consumers, age)
        app.attach(replace(ports, consumers=consumers))
        seen = now.now(app, days=0)
        (row,) = seen.queues
        assert row.age == age
        assert [(one.name, one.sentence, one.query) for one in seen.needs if one.kind == "queue"] == [
            ("default", "the queue default is behind: its oldest message has waited for 15 minutes", "queue:default")
        ] * is_old
        assert seen.notes == now.now(app, days=0).notes == ()


@pytest.mark.parametrize("error", [NotAllowed("the reason", "cloudwatch:GetMetricData"), Unavailable("the reason")])
def test_an_age_that_may_not_or_cannot_be_read_is_unknown_and_the_reason_is_named(app: Sedano, error: SedanoError) -> None:
    ports = app.outlet.ports
    refused: Any = OldQueues(ports.consumers, error)
    app.attach(replace(ports, consumers=refused))
    view = queues.queues(app)
    assert [one.age for one in view.rows] == [None]
    assert now.now(app, days=0).notes == view.notes == ("The ages of queues are unknown: the reason",)


class OldQueues:
    """Consumers that say this *age* of each queue, or refuse to."""

    def __init__(self, inner: Any, age: float | Exception | None) -> None:
        self.load, self.limit, self.age = inner.load, inner.limit, age

    def ages(self, asked: Sequence[str]) -> dict[str, float | None]:
        """Say it."""
        if isinstance(self.age, Exception):
            raise self.age
        return dict.fromkeys(asked, self.age)


def test_a_lock_a_permit_and_a_schedule_are_shown_with_what_fences_and_delays_them(app: Sedano) -> None:
    seen = locks.held(app, ["nightly", "other"])
    assert [one[:5] for one in seen.rows] == [("nightly", True, "host.1", 7, NOW + 30)]
    assert seen.missing == ("other",)
    assert [one for one in seen.permits if one.number == 1] == [
        locks.PermitRow(task="larder.weigh", number=1, token=9, owner="weigh w", expires=NOW + 5, most=2, waiting=0)
    ]
    assert seen.circuits == circuits.circuits(app).rows
    found = schedules.schedules(app, 2)
    (row,) = found.rows
    assert (row.schedule, row.late, row.next) == ("larder.dust", True, NOW + 3_600)
    assert [one.utc for one in found.moments["larder.dust"]] == ["2026-01-01T01:00:00+00:00", "2026-01-01T02:00:00+00:00"]


def test_a_rate_shows_its_reserved_slots_and_an_election_its_candidates(app: Sedano) -> None:
    seen = locks.held(app, ["election/e1", "election/none"])
    assert seen.rates == (locks.RateRow("larder.brew", "1 in 10 s", 3, NOW + 40),)
    assert seen.elections == (
        locks.ElectionRow(
            election="e1", topic="keys", state="OPEN", candidates=("host.2", "host.1"), awaited=("host.3",), winner="", term=0
        ),
    )  # fmt: skip
    assert seen.missing == ("election/none",)
    ports, found = app.outlet.ports, app.outlet.ports.elections.read("e1")
    assert found is not None
    assert ports.elections.open(closed(found._replace(election_id="e2"), "t-2", int(NOW * 1_000)), NOW).done
    (ended,) = locks.locks(app, ["election/e2"]).elections
    assert (ended.state, ended.winner, ended.awaited, ended.candidates) == ("CLOSED", "host.2", (), ("host.2", "host.1"))


def test_who_asked_first_for_a_lock_that_is_held_is_shown(app: Sedano) -> None:
    assert app.outlet.ports.leases.want(LOCK, "host.7")
    (row,) = locks.locks(app, ["nightly"]).rows
    assert (row.held, row.owner, row.next) == (True, "host.1", "host.7")


def test_a_task_is_shown_with_its_attempts_its_children_and_its_own_frame(app: Sedano) -> None:
    parent = task.task(app, "parent", days=1)
    assert (parent.state, parent.name, [one.id for one in parent.children]) == ("SUCCESS", "larder.stock", ["child"])
    assert [(one.number, one.state, one.worker) for one in parent.attempts] == [(0, "SUCCESS", "host.1")]
    assert task.task(app, "child", days=1).parent == "parent"
    odd = task.task(app, "odd", days=1)
    assert (odd.frames[-1].function, odd.frames[-1].own) == ("_fill", True)
    assert odd.record is not None
    assert odd.record["error"]["message"] == "3 does not fit"
    (group,) = failures.failures(app, 1).groups
    assert (group.task, group.error, group.number, group.example) == ("larder.fill", "ValueError", 1, "odd")
    assert group.where.startswith("test_views.py:")
    assert [(box.depth, box.task.id, box.critical) for box in canvas.canvas(app, "parent", 1).boxes] == [
        (0, "parent", True), (1, "child", True),
    ]  # fmt: skip


def test_the_last_events_the_changes_and_the_costs_are_the_same_in_every_world(app: Sedano) -> None:
    last = tail.events(app, 1, ["odd"])
    assert [(one.type, one.name, one.error) for one in last.events[:1]] == [("task-failed", "larder.fill", "ValueError('3 does not fit')")]
    assert {one.type for one in last.events} == {"task-sent", "task-received", "task-started", "task-failed"}
    seen = costs.costs(app, 1)
    assert {(one.name, one.queue, one.basis, one.tasks, one.attempts) for one in seen.tasks if one.tasks} == {
        ("larder.fill", "default", "measured", 2, 2), ("larder.stock", "default", "measured", 1, 1),
    }  # fmt: skip
    assert [(one.root, one.name, one.tasks) for one in seen.canvases] == [("parent", "larder.stock", 2)]
    assert seen.workers.invocations == 2
    (change,) = stage_changes.changes(app, 1).rows
    assert change == StageChange(NOW, person(), "pause", "queue=default", "bad deploy", 1, 0)


def test_a_keyed_task_is_found_before_and_after_its_events_are_in_the_history(app: Sedano) -> None:
    def told(text: str) -> tasks.TasksView:
        return tasks.tasks(app, 1, parse(text))

    app.send_task("larder.weigh", ("ab",), dedup_key="order-7")
    assert told("key:order-7").found == 0, "neither a worker nor the recorder has seen it"
    worker = Worker(app.registry, app.outlet.ports, Host("host.1", 1), SETTINGS, None)
    app.control.resume(queue="default")
    handed = received(app.outlet.ports, command_queue("default"))
    assert worker.work(handed, NOW + 900) == []
    (ran,) = told("key:order-7").rows
    assert (ran.id, ran.name, ran.state) == (dedup_id("larder.weigh", "order-7"), "larder.weigh", "SUCCESS")
    assert (told("key:order-7").kept, told("key:order-7 state:FAILURE").found, told("key:order-8").found) == (1, 0, 0)
    recorded = received(app.outlet.ports, RECORDS)
    assert Recorder(app.outlet.ports, Host("host.2", 2)).record(recorded, NOW + 900) == []
    seen = told("key:order-7 name:weigh")
    assert (seen.kept, [(one.id, one.state) for one in seen.rows]) == (0, [(ran.id, "SUCCESS")])


def test_a_redacted_view_holds_nothing_that_a_task_was_given_or_returned(app: Sedano) -> None:
    for one in ("odd", "parent", "child"):
        shown = str(plain(task.task(app, one, days=1, redact=True)))
        assert "does not fit" not in shown
        assert "raise ValueError" not in shown
    open_view = task.task(app, "odd", days=1)
    assert "does not fit" in str(plain(open_view))
    hidden = task.task(app, "parent", redact=True).record
    assert hidden is not None
    assert hidden["result"] == task.HIDDEN
