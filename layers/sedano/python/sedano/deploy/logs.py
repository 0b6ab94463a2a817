"""The log lines of a stage's functions, oldest first, and those that follow."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from botocore import exceptions
from botocore.exceptions import ClientError

from sedano.deploy.clients import DEPLOY_ROLE, Clients
from sedano.deploy.failure import DeployError
from sedano.deploy.stack_events import described

_GROUP, _FUNCTION = "AWS::Logs::LogGroup", "AWS::Lambda::Function"
_DEFAULT_GROUP = "/aws/lambda/"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
_AGO = re.compile(r"(\d{1,6})([smhd])")
#: A line that arrives this much later than a newer one is still found.
LATE_MS = 30_000
#: The seconds between two readings.
PAUSE_S = 2.0
_TRANSPORT = (exceptions.ConnectionError, exceptions.HTTPClientError)
_PASSING = frozenset({"ThrottlingException", "ServiceUnavailableException", "InternalFailure", "RequestTimeout"})


class LogLine(NamedTuple):
    """One line: its time (epoch s), the function that wrote it, and its text."""

    at: float
    function: str
    text: str


def seconds(text: str) -> float:
    """Return the seconds of a time such as `90s`, `10m`, `2h` or `1d`.

    Raises:
        ValueError: the text is not such a time.
    """
    found = _AGO.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time; write 90s, 10m, 2h or 1d")
    return int(found[1]) * _UNITS[found[2]]


def groups(clients: Clients, stage: str) -> dict[str, str]:
    """Return the log groups of the stage's functions, by the function's short name such as `worker`.

    Raises:
        DeployError: the stage is not deployed.
    """
    cloudformation, name = clients.client("cloudformation", DEPLOY_ROLE), f"sedano-{stage}-core"
    if described(cloudformation, name) is None:
        place = f"account {clients.where.account} in {clients.where.region}"
        raise DeployError(f"the stage {stage} is not deployed in {place}: give --stage the name of one that is")
    found: dict[str, str] = {}
    for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=name):
        for one in page["StackResourceSummaries"]:
            if one["ResourceType"] == _GROUP and one.get("PhysicalResourceId"):
                found[_short(one["LogicalResourceId"])] = one["PhysicalResourceId"]
    return dict(sorted(found.items()))


def lines(
    clients: Clients,
    groups: dict[str, str],
    since: float,
    *,
    follow: bool = False,
    say: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[LogLine]:
    """Yield the lines of *groups* that were written after *since* (epoch s), each once.

    *follow*: go on for ever. If AWS does not answer meanwhile, *say* gets one line, and the next reading begins where the last complete one
    ended.
    """
    logs, seen, start, silent = clients.client("logs"), dict[str, int](), int(since * 1000), False
    while True:
        fresh: list[tuple[LogLine, int, str]] = []
        try:
            fresh = [one for function, group in groups.items() for one in _read(logs, function, group, start)]
            silent = False
        except (*_TRANSPORT, ClientError) as error:
            if not (follow and _passes(error)):
                raise
            if not silent:
                say(f"AWS does not answer: {error}; reading again every {PAUSE_S:g} s")
            silent = True
        for line, at, event in sorted(fresh):
            if event not in seen:
                seen[event] = at
                yield line
        if not follow:
            return
        start = max(start, max(seen.values(), default=start) - LATE_MS)
        seen = {event: at for event, at in seen.items() if at >= start}
        sleep(PAUSE_S)


def _read(logs: Any, function: str, group: str, start: int) -> Iterator[tuple[LogLine, int, str]]:
    """Yield the lines of a group since *start* (epoch ms), each with its time in ms and its identity."""
    try:
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=start):
            for event in page["events"]:
                at, text = event["timestamp"], event["message"].rstrip("\n")
                yield LogLine(at / 1000, function, text), at, _identity(function, event)
    except logs.exceptions.ResourceNotFoundException:
        return  # the function was never invoked


def _passes(error: Exception) -> bool:
    """Return whether the same call may succeed later: no answer, or one that asks for patience."""
    return not isinstance(error, ClientError) or error.response["Error"]["Code"] in _PASSING


def _identity(function: str, event: dict[str, Any]) -> str:
    """Return the id of an event, or its stream, time and text on an endpoint without ids."""
    return str(event.get("eventId") or (function, event["logStreamName"], event["timestamp"], event["message"]))


def _short(logical: str) -> str:
    """Return the function's name in the logical id of its log group: `WorkerLogs1A2B3C4D` is that of `worker`."""
    return re.sub(r"(LogGroup|Logs?)?[0-9A-F]{8}$", "", logical).lower() or logical
