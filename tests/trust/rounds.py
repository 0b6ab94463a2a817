"""Roads that begin by themselves, with the minute: what the scheduler and the controller do, each in a cluster that knows of nothing else.

A road sets up what a round is to find, lets one round run in the deployed function, under its own role, and looks at what became of it.
"""

import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from sedano.aws.client import keys
from sedano.model.cluster.members import ACTIVE, LOST
from sedano.model.ledger.records import Claim
from sedano.model.schedules.agenda import Periodic, ScheduledCall, agenda_of, with_periodic
from sedano.model.schedules.schedule import Schedule, State, occurrence
from sedano.model.schedules.timetable import every
from sedano.ports import MemberRecord
from tests.trust.driven import Driven
from tests.trust.grants import Grant
from tests.trust.roads import FAR, Road, succeeds

HOUR = 3_600


def alone(driven: Driven) -> None:
    """Let the control table know of no worker, no schedule, no budget, check or circuit."""
    dynamodb, table = driven.client("dynamodb"), driven.stage.environment["SEDANO_CONTROL_TABLE"]
    for page in dynamodb.get_paginator("scan").paginate(TableName=table):
        for item in page["Items"]:
            if item["pk"]["S"].startswith((keys.MEMBER, keys.AGENDA, keys.MEMO)):
                dynamodb.delete_item(TableName=table, Key={"pk": item["pk"]})


def scheduled(walks: Any, schedule: Schedule, state: State) -> None:
    """Have a periodic task of which so much was decided."""
    store = walks.app.outlet.ports.schedules
    seen = store.read()[agenda_of(schedule.name)]
    one = Periodic(schedule, ScheduledCall("walks.echo", "default", '{"args":["comes round"],"kwargs":{}}'), state)
    assert store.change(with_periodic(seen, schedule.name, one)._replace(nonce=uuid4().hex), seen).done


def _state(walks: Any, name: str) -> State:
    found: State = walks.app.outlet.ports.schedules.read()[agenda_of(name)].periodics[name].state
    return found


def _unhindered(done: Mapping[str, int]) -> None:
    assert done.get("failed") == 0, done


def periodic(driven: Driven, walks: Any) -> None:
    """A periodic task comes round, and is crossed off."""
    alone(driven)
    schedule, now = Schedule(uuid4().hex, every(days=1)), int(time.time())
    scheduled(walks, schedule, State(now, (now,)))
    _unhindered(driven.round("scheduler"))
    succeeds(driven, walks.app.result(occurrence(schedule, now).task_id))
    assert _state(walks, schedule.name).pending == ()


def _instances(driven: Driven, walks: Any, number: int) -> None:
    """Earlier occurrences, so many, have ended: they do not count any more. The last one may be of this second, and this second of a whole
    minute, so the schedule has decided it: one that it has not would come round again.
    """
    alone(driven)
    schedule, now = Schedule(uuid4().hex, every(minutes=1), max_instances=9), int(time.time())
    earlier = tuple(now - HOUR * ago for ago in range(number))
    for moment in earlier:
        succeeds(driven, walks.echo.apply_async(("ended",), task_id=occurrence(schedule, moment).task_id))
    scheduled(walks, schedule, State(now, running=earlier))
    _unhindered(driven.round("scheduler"))
    running = _state(walks, schedule.name).running
    assert not {*earlier} & {*running}, f"of {earlier}, which have ended, some still run: {running}"


def instance(driven: Driven, walks: Any) -> None:
    """An occurrence of a task that is limited to some at a time looks whether the one before has ended."""
    _instances(driven, walks, 1)


def instances(driven: Driven, walks: Any) -> None:
    """The same for several before."""
    _instances(driven, walks, 3)


def jittered(driven: Driven, walks: Any) -> None:
    """An occurrence that its jitter puts far off becomes a timer."""
    alone(driven)
    now = int(time.time())
    named = (Schedule(uuid4().hex, every(days=1), jitter=3 * HOUR) for _ in range(1_000))
    schedule = next(one for one in named if occurrence(one, now).runs_at > now + FAR)
    scheduled(walks, schedule, State(now, (now,)))
    _unhindered(driven.round("scheduler"))
    waits = occurrence(schedule, now).task_id
    assert waits in [one.task_id for one in walks.app.scheduled()]
    walks.app.scheduled().cancel(waits)


def backlog(driven: Driven, walks: Any) -> None:
    """The controller tells how much waits."""
    alone(driven)
    for number in range(3):
        walks.echo.delay(str(number))
    assert driven.round("controller")
    assert driven.round("controller"), "what a function said stands in the log when it answers the next time, at the latest"
    assert driven.counted("MessagesWaiting") >= 3


def scaled(driven: Driven, walks: Any) -> None:
    """A limit that is set too high is lowered, and raised again when much waits."""
    alone(driven)
    functions, mapping = driven.client("lambda"), driven.mappings()["commands"]
    functions.update_event_source_mapping(UUID=mapping, ScalingConfig={"MaximumConcurrency": 7})
    limits = []
    for waiting in (0, 30):
        for number in range(waiting):
            walks.echo.delay(str(number))
        assert driven.round("controller").get("scaled") == 1
        limits.append(functions.get_event_source_mapping(UUID=mapping)["ScalingConfig"]["MaximumConcurrency"])
    assert limits == [2, 5], "the least; and three invocations more for thirty messages"


def asked(driven: Driven, walks: Any) -> None:
    """Shared health checks that nobody looked at are asked for, and a worker looks."""
    alone(driven)
    assert driven.round("controller").get("asked") == 2
    driven.move()
    assert [check.read().state for check in (walks.mail, walks.web)] == ["healthy", "healthy"]
    assert driven.round("controller").get("asked") == 0, "they are known now"


def lost_worker(walks: Any, held: int) -> str:
    """The name of a worker that took so many tasks, and was never heard of again."""
    ports, name, now = walks.app.outlet.ports, uuid4().hex, time.time()
    tasks = tuple(f"{name}-{number}" for number in range(held))
    clock = walks.app.outlet.lamport.forward()
    ports.ledger.claim([Claim(task, 0, task, uuid4().hex, now - 400, clock, "walks.echo", owner=name) for task in tasks])
    ports.members.beat(MemberRecord(name, clock, ACTIVE, held, now - 500, tasks))
    return name


def _lost(driven: Driven, walks: Any, held: int) -> None:
    alone(driven)
    name = lost_worker(walks, held)
    assert driven.round("controller").get("lost") == 1
    assert [(one.name, one.state) for one in walks.app.control.members()] == [(name, LOST)]
    assert driven.round("controller").get("lost") == 0, "once is enough"


def lost(driven: Driven, walks: Any) -> None:
    """A worker that died over one task is found."""
    _lost(driven, walks, 1)


def lost_over_several(driven: Driven, walks: Any) -> None:
    """A worker that died over several is found."""
    _lost(driven, walks, 3)


def circuit(driven: Driven, walks: Any) -> None:
    """A task that fails again and again is held back by all workers, and runs when its circuit is closed; the rest goes on."""
    alone(driven)
    for _ in range(2):
        walks.frail.delay("fails")
    driven.move()
    held, other = walks.frail.delay("waits"), walks.echo.delay("goes on")
    driven.move()
    assert (held.state, other.state) == ("PENDING", "SUCCESS")
    sentence = walks.app.control.explain(held.id).sentence
    assert "circuit walks.frail is open" in sentence, sentence
    walks.app.control.resume(circuit="walks.frail")
    driven.settle(held)
    assert held.state == "SUCCESS"


ROADS: tuple[Road, ...] = (
    periodic, instance, instances, jittered, backlog, scaled, asked, lost, lost_over_several, circuit,
)  # fmt: skip
NEEDED: dict[Grant, Road] = {
    Grant("scheduler", "sqs:SendMessage", "commands"): periodic,
    Grant("scheduler", "dynamodb:BatchGetItem", "control"): periodic,
    Grant("scheduler", "dynamodb:UpdateItem", "control"): periodic,
    Grant("scheduler", "dynamodb:GetItem", "ledger"): instance,
    Grant("scheduler", "dynamodb:BatchGetItem", "ledger"): instances,
    Grant("scheduler", "scheduler:CreateSchedule", "timers"): jittered,
    Grant("controller", "sqs:GetQueueAttributes", "commands"): backlog,
    Grant("controller", "sqs:SendMessage", "events"): asked,
    Grant("controller", "dynamodb:Query", "control"): lost,
    Grant("controller", "dynamodb:GetItem", "control"): backlog,
    Grant("controller", "dynamodb:BatchGetItem", "control"): asked,
    Grant("controller", "dynamodb:UpdateItem", "control"): lost,
    Grant("controller", "dynamodb:GetItem", "ledger"): lost,
    Grant("controller", "dynamodb:BatchGetItem", "ledger"): lost_over_several,
    Grant("controller", "lambda:GetEventSourceMapping", "mapping"): scaled,
}
