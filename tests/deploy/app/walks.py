"""An application that takes a message down every road there is: large values, a chord, an event, leases, elections, a workflow.

It has what the scheduler and the controller work for, too: a schedule, a budget, shared health checks, a shared circuit; and a limit.
"""

import os
import signal
import time
from pathlib import Path
from typing import Any

import boto3

from sedano import Breaker, Sedano, chord, current, every, guards
from sedano.api.health import HEALTHY
from sedano.streams import QueueMessage, StreamRecord, TableChange
from sedano.webhooks import WebhookRequest, standard_webhooks
from sedano.workflow import Input, Step, Workflow, each, own

app = Sedano("walks")
app.budget("default", most=40, cooldown=0.0)
mail, web = (app.health_check(name, every=3_600.0, shared=True) for name in ("mail", "web"))


@mail
@web
def answers() -> str:
    """The state of either."""
    return HEALTHY


@app.periodic(every(days=365), schedule="yearly", args=("comes round",))
@app.task
def echo(text: str) -> str:
    """What it was given."""
    return text


@app.task
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@app.task
def total(values: list[int]) -> int:
    """The sum of a chord's results."""
    return sum(values)


@app.task(singleton=True)
def alone(partitions: int) -> list[int]:
    """How many leases of each kind one run may hold: a singleton's, a lock's, a leader's, partitions."""
    shared, leader = app.partitions("walk", partitions), app.leader("walk")
    with app.lock("walk") as lease:
        held = [current().token > 0, lease.valid(), leader.lead() is not None, len(shared.balance())]
    shared.release()
    leader.resign()
    return [int(number) for number in held]


@app.election_topic("lead", on_winner=True)
def lead(action: str) -> str:
    """What the winner of an election was asked for."""
    current().check()
    return action


@app.election_topic("elect")
def elect(action: str) -> str:
    """The id of an election that a task asks for."""
    return echo.s(action).election(timeout=1).id


@app.event
class Measured:
    """Something was measured."""

    text: str


@Measured.subscribe
@app.task
def length(text: str) -> int:
    """How long what was measured is."""
    return len(text)


@app.webhook("walks", verify=standard_webhooks())
def measured(request: WebhookRequest) -> Any:
    """What a sender measured."""
    return Measured(text=request.json()["text"])


@app.stream("clicks")
@app.stream("notes")
@app.stream("orders")
@app.task
def heard(record: TableChange | StreamRecord | QueueMessage) -> int:
    """How long what a stream told is, as it came."""
    return len(str(record))


@app.task
def measure(text: str) -> str:
    """The id of an event that a task publishes."""
    return Measured.delay(text=text)


@app.task
def later(text: str) -> str:
    """The id of a task that waits for longer than a queue holds it."""
    return echo.apply_async((text,), countdown=2_000).id


@app.task
def withdraw(task_id: str) -> bool:
    """Whether a task that waits was withdrawn."""
    return app.scheduled().cancel(task_id)


@app.task
def strict(table: str) -> bool:
    """Whether a write went through that a transaction makes only while a lock is held."""
    with app.lock("strict") as lease:
        guards.transact(boto3.client("dynamodb"), lease, [{"Put": {"TableName": table, "Item": {"pk": {"S": "strict"}}}}])
    return True


@app.task
def words(text: str) -> list[str]:
    """Its words."""
    return text.split()


@app.task(retry=False)
def fail(text: str) -> str:
    """Nothing, unless it is given nothing."""
    if text:
        raise ValueError("as asked")
    return text


@app.task(retry=False, circuit=Breaker(failures=2, shared=True))
def frail(text: str) -> str:
    """What it was given, unless that is to fail."""
    if text == "fails":
        raise ValueError("as asked")
    return text


@app.task(rate="60/m")
def paced(number: int) -> tuple[float, int]:
    """When it started, and in which process."""
    assert number >= 0
    return time.time(), os.getpid()


@app.task(concurrency=1)
def alone_with(path: str) -> int:
    """The process that it ran in, which is written to a file that is not there yet; then it never ends by itself."""
    place = Path(path)
    if not place.exists():
        place.write_text(str(os.getpid()))
        signal.pause()
    return os.getpid()


class Walk(Workflow, app=app):
    """Every road of a workflow: a large input, a map, a condition, a failure, a compensation."""

    text = Input(str)
    echoed = Step(echo.s(text), compensate=echo.s(own))
    words = Step(words.s(echoed))
    lengths = Step(length.s(each(words)), time_limit=600)
    longest = Step(total.s(lengths))
    failed = Step(fail.s("x"), when=longest > 10)


def sums(numbers: range) -> int:
    """A chord's result, from the client's side."""
    return chord([add.s(number, number) for number in numbers])(total.s()).get(timeout=60)
