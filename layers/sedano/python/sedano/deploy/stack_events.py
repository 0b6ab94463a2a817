"""Follows CloudFormation at work on one stack, by its events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from sedano.deploy import states
from sedano.deploy.clients import Say
from sedano.deploy.progress import StackProgress

#: The first pause between two polls of CloudFormation, the longest one, and the time after which a line of progress is written again.
FIRST_PAUSE_S, LONGEST_PAUSE_S, BETWEEN_LINES_S = 0.2, 3.0, 15.0


def described(cloudformation: Any, name: str) -> dict[str, Any] | None:
    """Return the stack of this *name* as CloudFormation describes it; None when it does not exist."""
    try:
        (found,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if _is_absence(error):
            return None
        raise
    return dict(found)


def newest(cloudformation: Any, name: str) -> str:
    """Return the id of the newest event of the stack *name*; empty when it has none."""
    events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    return str(events[0]["EventId"]) if events else ""


def follow(cloudformation: Any, name: str, progress: StackProgress, seen: str, say: Say, sleep: Callable[[float], None]) -> str:
    """Report the progress of CloudFormation on the stack *name* until it has ended; return the last state.

    Args:
        cloudformation: the client.
        name: the name of the stack, or its id, which also finds a deleted stack.
        progress: counts the resources.
        seen: the id of the newest event from before.
        say: takes each line.
        sleep: waits for some seconds.
    """
    pause, silent = FIRST_PAUSE_S, 0.0
    while True:
        found = described(cloudformation, name)
        events = _events(cloudformation, name, seen)
        seen = events[-1]["EventId"] if events else seen
        for failure in progress.take(events):
            say(f"{progress.stack}  failed: {failure}")
        status = str(found["StackStatus"]) if found else states.GONE
        if states.is_settled(status):
            say(f"{progress.line()}  {status}")
            return status
        if silent >= BETWEEN_LINES_S:
            say(progress.line())
            silent = 0.0
        sleep(pause)
        silent += pause
        pause = min(pause * 1.5, LONGEST_PAUSE_S)


def _events(cloudformation: Any, name: str, seen: str) -> list[dict[str, Any]]:
    """Return the events after the one that was *seen* last, oldest first."""
    found: list[dict[str, Any]] = []
    try:
        for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=name):
            for event in page["StackEvents"]:
                if event["EventId"] == seen:
                    return found[::-1]
                found.append(event)
    except ClientError as error:
        if not _is_absence(error):
            raise
    return found[::-1]


def _is_absence(error: ClientError) -> bool:
    return error.response["Error"]["Code"] == "ValidationError" and "does not exist" in str(error)
