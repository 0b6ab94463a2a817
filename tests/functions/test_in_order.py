"""Order on the deployed handler: over a FIFO queue of SQS, DynamoDB and S3 on moto, with invocations that die in the middle."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sedano.model import states
from tests.functions import yard
from tests.functions.conftest import Event, Functions, environment
from tests.functions.test_handlers import queues
from tests.plugins.resources import Resources

ROUNDS = 40


@pytest.fixture
def functions(resources: Resources, settings: Mapping[str, str]) -> Iterator[Functions]:
    """The functions of the yard, started cold."""
    with environment({**settings, "SEDANO_APP": "tests.functions.yard:app"}):
        yield Functions(resources)
    for noted in (yard.began, yard.fails, yard.dies):
        noted.clear()


def invoked(functions: Functions, url: str, event: Event, seconds: float = 3.0) -> list[str]:
    """Invoke the worker with *event* and delete what it does not report; return what it reports. Where it dies, the next one is cold.

    What a dead invocation held is hidden for its visibility timeout, which is not waited for here: it comes again at once.
    """
    try:
        failed = functions.run("worker", event, seconds)
    except yard.Killed:
        for record in event["Records"]:
            functions.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=0)
        functions.restart()
        return [record["messageId"] for record in event["Records"]]
    for record in event["Records"]:
        if record["messageId"] not in failed:
            functions.sqs.delete_message(QueueUrl=url, ReceiptHandle=record["receiptHandle"])
    return failed


def played(functions: Functions, url: str, results: list[Any]) -> None:
    """Let the worker work until all *results* are there."""
    for _ in range(ROUNDS):
        event = functions.event(url, wait=1)
        if event["Records"]:
            invoked(functions, url, event)
        elif all(result.ready() for result in results):
            return
    raise AssertionError(f"not done after {ROUNDS} rounds: {[result.state for result in results]}")


def test_calls_of_a_key_run_in_their_order_though_one_is_tried_again_and_an_invocation_dies(functions: Functions) -> None:
    url = queues(functions)["orders.fifo"]
    yard.fails.add(("a", 1))
    yard.dies.add(("b", 0))
    results = [yard.ship.delay(key, step) for step in range(3) for key in ("a", "b")]
    played(functions, url, results)
    assert {result.state for result in results} == {states.SUCCESS}
    for key, tried in (("a", [0, 1, 1, 2]), ("b", [0, 0, 1, 2])):
        assert [step for one, step in yard.began if one == key] == tried
    assert (functions.count(url), functions.count(queues(functions)["parked"])) == (0, 0)


def test_who_must_wait_is_reported_with_those_behind_it_and_keeps_its_place(functions: Functions) -> None:
    url = queues(functions)["orders.fifo"]
    yard.stop.delay("a")
    behind, other = yard.ship.delay("a", 1), yard.ship.delay("b", 1)
    event = functions.event(url, wait=1)
    assert len(event["Records"]) == 3
    assert len(invoked(functions, url, event)) == 2
    assert (behind.state, other.state) == (states.PENDING, states.SUCCESS)
    assert functions.event(url, wait=1)["Records"] == [], "the first of its key is hidden, and those behind it wait for it"
