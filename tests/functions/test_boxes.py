"""Boxed tasks on the deployed handler: over SQS, DynamoDB and S3 on moto, with a process that stays warm between invocations."""

from collections.abc import Iterator, Mapping

import pytest

from sedano.model import states
from tests.functions.conftest import Functions, environment
from tests.functions.crate import app, box
from tests.functions.test_handlers import queues
from tests.plugins.resources import Resources
from tests.stories.test_boxes import until_gone


@pytest.fixture
def functions(resources: Resources, settings: Mapping[str, str]) -> Iterator[Functions]:
    """The functions of the crate, started cold; their processes end with the test."""
    with environment({**settings, "SEDANO_APP": "tests.functions.crate:app"}):
        yield Functions(resources)
    app.attach(None)


def test_a_process_answers_several_invocations_without_the_credentials_of_the_function(functions: Functions) -> None:
    url, told = queues(functions)["default"], []
    for _ in range(3):
        result = box.delay("about")
        assert functions.run("worker", functions.event(url)) == []
        told.append(result.get(timeout=1))
    assert [one["calls"] for one in told] == [1, 2, 3]
    assert len({one["pid"] for one in told}) == 1
    assert not [name for name in told[0]["environ"] if name.startswith(("AWS_", "SEDANO_"))]


def test_a_program_that_hangs_until_its_invocation_ends_is_killed_and_its_message_is_delivered_again(functions: Functions) -> None:
    url = queues(functions)["default"]
    before = box.delay("about")
    functions.run("worker", functions.event(url))
    hung = box.delay("hang")
    event = functions.event(url)
    assert functions.run("worker", event, seconds=2.5) == [event["Records"][0]["messageId"]]
    assert hung.state not in states.TERMINAL
    until_gone(before.get(timeout=1)["pid"])
