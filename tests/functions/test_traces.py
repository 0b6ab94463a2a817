"""The traces of the deployed worker: what an invocation exports has arrived when the invocation ends."""

import json
from collections.abc import Iterator

import pytest

from sedano.aws.settings import command_addresses
from sedano.errors import ConfigurationError
from tests.conformance.collector import Collector
from tests.functions.conftest import Functions, environment, handler_of
from tests.functions.corner import add

FUNCTION = {"AWS_LAMBDA_FUNCTION_NAME": "sedano-worker"}


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector beside the function."""
    made = Collector()
    yield made
    made.close()


def default(functions: Functions) -> str:
    """The URL of the queue of its tasks."""
    return command_addresses(functions.resources.settings)["default"]


def test_the_spans_of_an_invocation_arrive_before_it_ends(functions: Functions, collector: Collector) -> None:
    with environment({**FUNCTION, "SEDANO_TRACES": f"otlp://{collector.address}"}):
        functions.handlers["worker"] = handler_of("worker")
        result = add.delay(2, 3)
        assert functions.run("worker", functions.event(default(functions))) == []
        assert result.get(timeout=1) == 5
    name = add.name
    assert [one["name"] for one in collector.spans()] == [f"publish {name}", "wait in default", name]


def test_a_collector_that_is_away_costs_no_task(functions: Functions, capsys: pytest.CaptureFixture[str]) -> None:
    with environment({**FUNCTION, "SEDANO_TRACES": "otlp://127.0.0.1:1", "SEDANO_LOGS": "json"}):
        functions.handlers["worker"] = handler_of("worker")
        result = add.delay(2, 3)
        assert functions.run("worker", functions.event(default(functions))) == []
        assert result.get(timeout=1) == 5
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert [line["fields"] for line in lines if line.get("message") == "spans were lost, because they could not be sent"] == [{"spans": 3}]
    assert any("TasksSucceeded" in line for line in lines), "its metrics are in CloudWatch's format as before"


def test_a_name_that_is_not_known_ends_the_start_of_the_function(functions: Functions) -> None:
    with environment({**FUNCTION, "SEDANO_LOGS": "journald"}), pytest.raises(ConfigurationError, match="write powertools or json"):
        handler_of("worker")
    assert functions.handlers
