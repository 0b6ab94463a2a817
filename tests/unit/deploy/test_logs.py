"""`sedano logs --follow` yields each line once: those that arrive, and those that were written while AWS did not answer."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from sedano.deploy import logs
from sedano.deploy.account import Target
from sedano.deploy.clients import Clients

WHERE = Target("123456789012", "eu-central-1")
GROUPS = {"router": "/of/router", "worker": "/of/worker"}
BEGAN_MS = 1_800_000_000_123
UNREACHABLE = EndpointConnectionError(endpoint_url="https://logs.eu-central-1.amazonaws.com")


def _refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "FilterLogEvents")


class Missing(ClientError):
    """What the client of the logs raises for a group that does not exist."""


class Logs:
    """CloudWatch Logs with pages of one line each; a call that is to fail does so after its first page."""

    class exceptions:  # noqa: N801 - named as botocore names it
        """The errors of the client."""

        ResourceNotFoundException = Missing

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.events: list[tuple[str, int, str]] = []

    def get_paginator(self, operation: str) -> "Logs":
        """Return the pages of the only operation that is called."""
        assert operation == "filter_log_events"
        return self

    def paginate(self, *, logGroupName: str, startTime: int) -> Iterator[Any]:  # noqa: N803 - the names of the service
        """Yield the lines of a group since a time (epoch ms), as the service does: the oldest first."""
        found = sorted((at, number, text) for number, (group, at, text) in enumerate(self.events) if group == logGroupName)
        for page, (at, number, text) in enumerate(one for one in found if one[0] >= startTime):
            if page and self.failures:
                raise self.failures.pop()
            yield {"events": [{"eventId": str(number), "logStreamName": "one", "timestamp": at, "message": f"{text}\n"}]}


class Stage(Clients):
    """The logs of a stage, and what the reader of its lines said."""

    def __init__(self) -> None:
        super().__init__(boto3.Session(region_name=WHERE.region), WHERE, print)
        self.said: list[str] = []
        self.logs = Logs()

    def client(self, service: str, role: str = "") -> Any:
        """Return the client of the logs, which are read with the caller's own rights."""
        assert (service, role) == ("logs", "")
        return self.logs

    def write(self, function: str, text: str, at_ms: int) -> None:
        """Let a function write a line."""
        self.logs.events.append((GROUPS[function], at_ms, text))

    def followed(self, *between: Callable[[], object], since: float = BEGAN_MS / 1000) -> list[str]:
        """Return the texts that a reader gets that does one of *between* at each pause, and is ended at the one after them."""
        todo, found = iter(between), list[str]()

        def sleep(_: float) -> None:
            do = next(todo, None)
            if do is None:
                raise KeyboardInterrupt
            do()

        with suppress(KeyboardInterrupt):
            for line in logs.lines(self, GROUPS, since, follow=True, say=self.said.append, sleep=sleep):
                found.append(line.text)
        return found


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.write("worker", "older", BEGAN_MS - 1)
    made.write("worker", "first", BEGAN_MS)
    made.write("router", "second", BEGAN_MS + 1)
    made.write("worker", "third", BEGAN_MS + 2)
    return made


def _nothing() -> None:
    """Let a round pass."""


def test_lines_that_arrive_are_printed_once_and_a_late_one_too(stage: Stage) -> None:
    arrived = stage.followed(
        lambda: stage.write("router", "fourth", BEGAN_MS + 5_000),
        _nothing,
        lambda: stage.write("worker", "late", BEGAN_MS + 3),
        _nothing,
    )
    assert arrived == ["first", "second", "third", "fourth", "late"]
    assert stage.said == []


@pytest.mark.parametrize("failure", [UNREACHABLE, _refusal("ThrottlingException")])
def test_an_interrupted_call_neither_repeats_nor_loses_a_line(stage: Stage, failure: Exception) -> None:
    def interrupt() -> None:
        stage.write("worker", "fourth", BEGAN_MS + 4)
        stage.logs.failures.extend([failure, failure])

    arrived = stage.followed(interrupt, _nothing, lambda: stage.write("worker", "fifth", BEGAN_MS + 5), _nothing)
    assert arrived == ["first", "second", "third", "fourth", "fifth"]
    assert stage.logs.failures == []
    (said,) = stage.said
    assert said.startswith("AWS does not answer: ")


def test_a_refusal_that_does_not_pass_ends_it(stage: Stage) -> None:
    stage.logs.failures.append(_refusal("AccessDeniedException"))
    with pytest.raises(ClientError, match="AccessDeniedException"):
        list(logs.lines(stage, GROUPS, 0.0, follow=True, sleep=lambda _: None))


def test_without_follow_a_failure_is_raised(stage: Stage) -> None:
    stage.logs.failures.append(UNREACHABLE)
    with pytest.raises(EndpointConnectionError):
        list(logs.lines(stage, GROUPS, 0.0))


def test_a_line_in_the_millisecond_in_which_the_reading_begins_is_not_repeated() -> None:
    """The service compares milliseconds: such a line is older than the beginning, and is read again each time."""
    stage = Stage()
    stage.write("worker", "first", BEGAN_MS)
    assert stage.followed(_nothing, _nothing, since=BEGAN_MS / 1000 + 0.0004) == ["first"]
