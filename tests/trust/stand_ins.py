"""Roads on which AWS itself acts in the name of a role; here a stand-in becomes the role and does what the service does, no more.

The local endpoint does all of this by itself, and asks for no grant. What stands in for a service takes whatever it is told from what
is deployed: the role, the target and the message of a schedule, the queue of a mapping.
"""

import json
from typing import Any

from tests.trust.driven import Driven
from tests.trust.grants import Grant
from tests.trust.roads import FAR, Road, succeeds

CONSUMERS = {"worker": "commands", "router": "events", "recorder": "records"}
MINUTES = {"eachminute": "scheduler", "controleachminute": "controller"}


def _timer(driven: Driven, walks: Any) -> tuple[Any, dict[str, Any]]:
    """A task that waits for its timer, and the target of that; the timer itself is taken away."""
    waiting = walks.echo.apply_async(("late",), countdown=FAR)
    group = driven.stage.environment["SEDANO_TIMERS_GROUP"]
    (schedule,) = [one for one in driven.schedules(group) if waiting.id in one["Target"]["Input"]]
    driven.client("scheduler").delete_schedule(GroupName=group, Name=schedule["Name"])
    return waiting, schedule["Target"]


def _sent(driven: Driven, target: dict[str, Any], arn: str) -> None:
    """EventBridge Scheduler sends the message of a schedule to the queue `arn`, under the role that the schedule names."""
    role = next(name for name, physical in driven.roles.items() if target["RoleArn"].endswith(f"/{physical}"))
    driven.become(role, "sqs").send_message(QueueUrl=driven.url(arn), MessageBody=target["Input"])


def fired(driven: Driven, walks: Any) -> None:
    """A timer's message goes to the queue of its task, early, and the task waits there for its moment."""
    waiting, target = _timer(driven, walks)
    _sent(driven, target, target["Arn"])
    driven.move()
    assert waiting.state == "PENDING", "its moment is to come"
    assert driven.waiting("commands") == 1


def undelivered(driven: Driven, walks: Any) -> None:
    """What cannot be sent for a day is put among the parked messages."""
    _, target = _timer(driven, walks)
    _sent(driven, target, target["DeadLetterConfig"]["Arn"])
    assert driven.parked() == 1


def minute(driven: Driven, walks: Any) -> None:
    """Each minute the scheduler and the controller are invoked."""
    assert walks.app
    for role, function in MINUTES.items():
        name = driven.functions[function]
        (target,) = [one["Target"] for one in driven.schedules() if name in one["Target"]["Arn"]]
        assert target["RoleArn"].endswith(f"/{driven.roles[role]}")
        answer = driven.become(role, "lambda").invoke(FunctionName=target["Arn"])
        assert "FunctionError" not in answer, json.load(answer["Payload"])


def polled(driven: Driven, walks: Any) -> None:
    """Lambda takes messages from the queues that feed a function, and deletes those that are done with."""
    succeeds(driven, walks.echo.delay("a first batch"))
    for function, kind in CONSUMERS.items():
        driven.send(kind, "{")
        url, sqs = driven.url(driven.arn(kind)), driven.become(function, "sqs")
        sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        assert driven.waiting(kind) == 0


ROADS: tuple[Road, ...] = (fired, undelivered, minute, polled)
NEEDED: dict[Grant, Road] = {
    Grant("timers", "sqs:SendMessage", "commands"): fired,
    Grant("timers", "sqs:SendMessage", "parked"): undelivered,
    **{Grant(role, "lambda:InvokeFunction", function): minute for role, function in MINUTES.items()},
    **{
        Grant(function, f"sqs:{action}", kind): polled
        for function, kind in CONSUMERS.items()
        for action in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
    },
}
