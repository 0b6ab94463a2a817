"""The roads that a message can take through a deployed stage, each ending in what it promises; and which grant each of them is for.

A road sends as a client does, lets the stage move, and looks at what became of it. `NEEDED` says for each grant of each role
the road that shows it is needed: without the grant the road does not end as it should.
"""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from botocore.exceptions import ClientError

from sedano import Sedano
from sedano import chord as chord_of
from sedano.model.messages.lineage import derived_id
from tests.trust.driven import Driven
from tests.trust.grants import Grant

Road = Callable[[Driven, Any], None]
LARGE = "x" * 100_000
FAR = 2_000
"""Seconds: further away than a queue holds a message back."""
OVERSIZED = "{" * 1_045_000
"""No message, and too long to be parked with its reason beside it: the body goes to the blobs."""


def _tomorrows(app: Sedano) -> Any:
    """An event that only another version of the app knows."""
    other = Sedano("walks")

    @other.event
    class Tomorrow:
        text: str

    other.attach(app.outlet.ports)
    return Tomorrow


def succeeds(driven: Driven, result: Any, wait: int = 0) -> None:
    """Let the stage move, and find this result a success."""
    driven.move(wait)
    assert result.state == "SUCCESS", f"{result.state}: {driven.failures}"


def result(driven: Driven, walks: Any) -> None:
    """A task runs and its result is there."""
    succeeds(driven, walks.echo.delay("small"))


def history(driven: Driven, walks: Any) -> None:
    """What happened becomes an object of the history."""
    before = len(driven.keys("HISTORY"))
    succeeds(driven, walks.echo.delay("small"))
    assert len(driven.keys("HISTORY")) > before


def large(driven: Driven, walks: Any) -> None:
    """A large argument comes in, a large result goes out."""
    succeeds(driven, walks.echo.delay(LARGE))


def gone(driven: Driven, walks: Any) -> None:
    """A large argument that is no longer there is said to be gone, not to be forbidden."""
    found = walks.echo.delay(LARGE + "gone")
    driven.remove_objects("BLOBS")
    driven.move()
    assert found.state == "FAILURE", found.state


def chord(driven: Driven, walks: Any) -> None:
    """The last member of a chord publishes its body."""
    succeeds(driven, chord_of([walks.add.s(number, number) for number in range(4)])(walks.total.s()))


def paused(driven: Driven, walks: Any) -> None:
    """A worker that starts learns that its queue is paused."""
    walks.app.control.pause_queue("default")
    driven.cool()
    waiting = walks.echo.delay("waits")
    driven.move()
    walks.app.control.resume_queue("default")
    driven.cool()
    assert waiting.state == "PENDING", "it was held back"


def lease(driven: Driven, walks: Any) -> None:
    """A singleton, a lock, a leader, partitions."""
    succeeds(driven, walks.alone.delay(3))


def strict(driven: Driven, walks: Any) -> None:
    """A transaction that proves a lease; the control table stands for a user's own."""
    succeeds(driven, walks.strict.delay(driven.stage.environment["SEDANO_CONTROL_TABLE"]))


def election(driven: Driven, walks: Any) -> None:
    """Candidates register, the election is closed, the winner's task runs; a task asks for one as well."""
    succeeds(driven, walks.echo.s("elected").election(timeout=1), wait=2)
    succeeds(driven, walks.app.control.election("asked", "elect", "again", timeout=1), wait=2)


def workflow(driven: Driven, walks: Any) -> None:
    """A workflow runs to its end."""
    run = walks.Walk.delay(text="a bc")
    driven.move(2)
    assert run.state == "SUCCEEDED", run.state


def event(driven: Driven, walks: Any) -> None:
    """A task publishes an event, and the task that subscribed runs."""
    published = walks.measure.delay("small")
    succeeds(driven, published)
    assert walks.app.result(derived_id(published.get(timeout=0), "walks.length")).state == "SUCCESS"


def routed(driven: Driven, walks: Any) -> None:
    """What the router's invocations took comes into the history, as the worker's does."""
    before = len(driven.keys("HISTORY"))
    driven.send("events", "{")
    driven.move()
    assert walks.app
    assert len(driven.keys("HISTORY")) > before


def large_event(driven: Driven, walks: Any) -> None:
    """The same with large content."""
    told = walks.Measured.delay(text=LARGE)
    driven.move()
    assert walks.app.result(derived_id(told, "walks.length")).state == "SUCCESS"


def gone_event(driven: Driven, walks: Any) -> None:
    """The same, when the content is gone: it is set aside."""
    walks.Measured.delay(text=LARGE + "gone")
    driven.remove_objects("BLOBS")
    driven.move()
    assert driven.parked() == 1


def outside(driven: Driven, walks: Any) -> None:
    """What a program without the library sends, as a webhook or a pipe does, runs: a command, and the task that subscribed to an event."""
    ids = {kind: uuid4().hex for kind in ("commands", "events")}
    command = {"type": "sedano.command.v1", "subject": "walks.echo", "data": {"args": ["small"]}}
    happened = {"type": "sedano.event.v1", "subject": "walks.Measured", "data": {"text": "small"}}
    for kind, said in (("commands", command), ("events", happened)):
        driven.send(kind, json.dumps({"specversion": "1.0", "source": "outside", "id": ids[kind], **said}))
    succeeds(driven, walks.app.result(ids["commands"]))
    assert walks.app.result(derived_id(ids["events"], "walks.length")).get(timeout=0) == len("small")


def timer(driven: Driven, walks: Any) -> None:
    """A task asks for another in two thousand seconds: a timer stands for it."""
    succeeds(driven, walks.later.delay("late"))
    assert any(True for _ in walks.app.scheduled())


def withdrawal(driven: Driven, walks: Any) -> None:
    """A task withdraws what another asked for: its timer is deleted."""
    waiting = walks.later.delay("late")
    succeeds(driven, waiting)
    done = walks.withdraw.delay(waiting.get(timeout=0))
    succeeds(driven, done)
    assert done.get(timeout=0) is True


def parked(driven: Driven, walks: Any) -> None:
    """What no function can read is set aside by each of them."""
    assert walks.app
    for kind in ("commands", "events", "records"):
        driven.send(kind, "{")
    driven.move()
    assert driven.parked() == 3


def _marks(driven: Driven, kind: str) -> None:
    driven.forget_keys()
    driven.send(kind, "{")
    driven.move()
    assert driven.marked() == [True]


def marked_by_worker(driven: Driven, walks: Any) -> None:
    """What the worker sets aside first in a new stage bears the mark of a key that it made."""
    assert walks.app
    _marks(driven, "commands")


def marked_by_router(driven: Driven, walks: Any) -> None:
    """The same of the router."""
    assert walks.app
    _marks(driven, "events")


def marked_by_recorder(driven: Driven, walks: Any) -> None:
    """The same of the recorder."""
    assert walks.app
    _marks(driven, "records")


def oversized(driven: Driven, walks: Any) -> None:
    """The same with bodies that leave no room for the reason."""
    assert walks.app
    for kind in ("commands", "events", "records"):
        driven.send(kind, OVERSIZED)
    driven.move()
    assert driven.parked() == 3


def newer(driven: Driven, walks: Any) -> None:
    """What another version may know is held back, not set aside."""
    walks.app.send_task("tomorrows.task")
    _tomorrows(walks.app).delay(text="small")
    driven.send("records", '{"v": 99, "host": "tomorrow", "pid": 1, "rows": [], "lines": []}')
    driven.move()
    assert driven.parked() == 0


ROADS: tuple[Road, ...] = (
    result, history, large, gone, chord, paused, lease, strict, election, workflow, event, routed, large_event, gone_event, outside,
    timer, withdrawal, parked, oversized, newer, marked_by_worker, marked_by_router, marked_by_recorder,
)  # fmt: skip

NEEDED: dict[Grant, Road] = {
    Grant("worker", "sqs:ChangeMessageVisibility", "commands"): newer,
    Grant("worker", "sqs:SendMessage", "commands"): chord,
    Grant("worker", "sqs:SendMessage", "events"): event,
    Grant("worker", "sqs:SendMessage", "records"): history,
    Grant("worker", "sqs:SendMessage", "parked"): parked,
    **{
        Grant(role, f"ssm:{action}", "keys"): road
        for role, road in (("worker", marked_by_worker), ("router", marked_by_router), ("recorder", marked_by_recorder))
        for action in ("GetParameter", "PutParameter")
    },
    Grant("worker", "dynamodb:GetItem", "ledger"): chord,
    Grant("worker", "dynamodb:BatchGetItem", "ledger"): chord,
    Grant("worker", "dynamodb:PutItem", "ledger"): chord,
    Grant("worker", "dynamodb:UpdateItem", "ledger"): result,
    Grant("worker", "dynamodb:ConditionCheckItem", "ledger"): election,
    Grant("worker", "dynamodb:GetItem", "control"): paused,
    Grant("worker", "dynamodb:BatchGetItem", "control"): lease,
    Grant("worker", "dynamodb:PutItem", "control"): election,
    Grant("worker", "dynamodb:UpdateItem", "control"): lease,
    Grant("worker", "dynamodb:ConditionCheckItem", "control"): strict,
    Grant("worker", "s3:GetObject", "blobs"): large,
    Grant("worker", "s3:PutObject", "blobs"): oversized,
    Grant("worker", "scheduler:CreateSchedule", "timers"): timer,
    Grant("worker", "scheduler:DeleteSchedule", "timers"): withdrawal,
    Grant("router", "sqs:ChangeMessageVisibility", "events"): newer,
    Grant("router", "sqs:SendMessage", "commands"): event,
    Grant("router", "sqs:SendMessage", "records"): routed,
    Grant("router", "sqs:SendMessage", "parked"): parked,
    Grant("router", "s3:GetObject", "blobs"): large_event,
    Grant("router", "s3:PutObject", "blobs"): large_event,
    Grant("recorder", "sqs:ChangeMessageVisibility", "records"): newer,
    Grant("recorder", "sqs:SendMessage", "parked"): parked,
    Grant("recorder", "s3:PutObject", "blobs"): oversized,
    Grant("recorder", "s3:PutObject", "history"): history,
    Grant("recorder", "dynamodb:PutItem", "control"): history,
}


def walk(road: Road, driven: Driven, walks: Any) -> list[str]:
    """Take a road from a clean start; what went wrong on it: a promise that was not kept, a call that was denied."""
    driven.forget()
    try:
        road(driven, walks)
    except (AssertionError, ClientError) as broken:
        return [f"{road.__name__}: {broken}", *driven.denied()]
    return [*driven.failures, *driven.denied()]
