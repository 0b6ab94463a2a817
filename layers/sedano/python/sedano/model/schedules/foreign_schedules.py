"""Schedules in the group of a stage's timers that are not timers: what a worker that does as a stranger says could leave behind.

A worker's role may create schedules in that group, and IAM has no condition on what a schedule holds. A timer is a schedule of one shape
(`sedano.aws.timers`): it fires once, deletes itself, and has a queue of the stage send its own message under the role of the timers. A
schedule that differs is foreign, and each difference is named.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sedano.errors import MessageRefused
from sedano.model.timers import opened

_ONCE = re.compile(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)")
ONLY = frozenset({"Arn", "RoleArn", "Input", "RetryPolicy", "DeadLetterConfig"})
"""The fields of a timer's target; other fields (a group of messages, parameters of other services) are foreign."""


class Foreign(NamedTuple):
    """A schedule that is not a timer: its *name*, *state*, when it fires (*expression*), its *target* and *role*, and what no timer has."""

    name: str
    state: str
    expression: str
    target: str
    role: str
    why: tuple[str, ...]


def foreign(schedule: Mapping[str, Any], role: str, queues: Collection[str], undelivered: str) -> Foreign | None:
    """Return why *schedule* (an answer of GetSchedule) is not a timer, or None.

    Args:
        schedule: the answer.
        role: the ARN of the timers' role.
        queues: the ARNs of the stage's queues.
        undelivered: the ARN of the queue for what Scheduler cannot deliver; empty where the stage names none.
    """
    target: Mapping[str, Any] = schedule.get("Target") or {}
    name, expression = str(schedule.get("Name", "")), str(schedule.get("ScheduleExpression", ""))
    arn, sender, letters = (str(found or "") for found in (target.get("Arn"), target.get("RoleArn"), _letters(target)))
    why = [
        *([f"recurs: {expression}"] if not _ONCE.fullmatch(expression) else ()),
        *(["stays after it has fired"] if schedule.get("ActionAfterCompletion") != "DELETE" else ()),
        *([f"target: {arn}"] if arn not in queues else ()),
        *([f"role: {sender}"] if sender != role else ()),
        *([f"undelivered: {letters}"] if letters not in ("", undelivered) else ()),
        *(f"has {extra}" for extra in sorted(target.keys() - ONLY)),
        *_of_message(name, str(target.get("Input", ""))),
    ]
    return Foreign(
        name=name, state=str(schedule.get("State", "")), expression=expression, target=arn, role=sender, why=tuple(why),
    ) if why else None


def _letters(target: Mapping[str, Any]) -> Any:
    return (target.get("DeadLetterConfig") or {}).get("Arn")


def _of_message(name: str, text: str) -> list[str]:
    try:
        timer = opened(text)
    except MessageRefused as refused:
        return [f"message: {refused}"]
    return [] if timer.name == name else [f"message: the timer {timer.name}"]
