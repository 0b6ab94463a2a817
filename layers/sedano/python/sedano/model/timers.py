"""A timer: a message that is sent at a moment beyond what a queue can hold back (900 s on SQS), up to a year away.

EventBridge Scheduler keeps to the minute, so a timer fires early (`EARLY_S`) and its message travels in an envelope that says the moment.
The worker that receives the envelope lets the queue hold the message back for the seconds that are left: that is exact to a second.
Its name is the id of its task, and of each retry of it one of its own, so that setting a timer twice sets one.

A worker's role may create schedules in the group of the timers, and IAM has no condition on what a schedule holds. A timer is a schedule of
one shape (`sedano.aws.timers`): it fires once, deletes itself, and has a queue of the stage send its own message under the role of the
timers. A schedule that differs is foreign, and `foreign` names each difference.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.attributes import LONGEST_TENANT, is_tenant
from sedano.model.messages.message import TIMER_OPENING
from sedano.model.messages.strict_json import MAX_BYTES, load, shown
from sedano.model.messages.timestamps import LAST_SECOND

EARLY_S = 90
"""Seconds before its moment at which a timer is to fire: Scheduler takes up to 60 of them, and a queue and a function some."""
DEPTH = 2
"""The containers of an envelope inside one another: it is one object, and a second level is read to name what is wrong with it."""
_ONCE = re.compile(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)")
ONLY = frozenset({"Arn", "RoleArn", "Input", "RetryPolicy", "DeadLetterConfig"})
"""The fields of a timer's target; other fields (a group of messages, parameters of other services) are foreign."""
_NAME = re.compile(r"[0-9A-Za-z_.-]{1,64}")


class Timer(NamedTuple):
    """Send *body* for *tenant* to *queue* (its key) so that it can be received from *at* on (epoch s); *name* is the task's id."""

    name: str
    at: float
    queue: str
    body: str
    tenant: str | None = None

    @property
    def fires(self) -> float:
        """When it is to fire (epoch s)."""
        return self.at - EARLY_S


def timer_name(task_id: str, attempt: int) -> str:
    """Return the name of the timer of *attempt* of a task: its id, and for a retry the id and its number.

    An id that is not valid as a schedule's name (longer than 64 characters, or with others than letters, digits, `_`, `.` and `-`) becomes
    its digest.
    """
    name = f"{task_id}.{attempt}" if attempt else task_id
    return name if _NAME.fullmatch(name) else "sha256." + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:57]


def sealed(timer: Timer) -> str:
    """Return the envelope of *timer* as a message.

    It holds no `<aws.`, with which the keywords begin that Scheduler replaces in an input. Only that is escaped: with every `<` escaped a
    message full of them would grow sixfold, beyond the 256 KB that Scheduler takes.
    """
    head = json.dumps({"id": timer.name, "at": timer.at, "queue": timer.queue, "tenant": timer.tenant, "message": timer.body})
    return TIMER_OPENING + head[1:].replace("<aws.", "\\u003caws.")


def opened(body: str) -> Timer:
    """Return the timer whose envelope *body* is; every field of it is one that `sealed` may have written.

    Raises:
        MessageRefused: it is none; the field is named.
    """
    parts = load(body, MAX_BYTES, DEPTH, "timer")
    if type(parts) is not dict:
        raise MessageRefused(refusals.SCHEMA, "timer", "the envelope of a timer is a JSON object")
    at: Any = parts.get("at")
    tenant = parts.get("tenant")
    texts = [parts.get(name) for name in ("id", "queue", "message")]
    for name, text in zip(("id", "queue", "message"), texts, strict=True):
        if type(text) is not str or not text:
            raise _refused(name, text, "a text")
    if type(at) not in (int, float) or not 0 <= at <= LAST_SECOND:
        raise _refused("at", at, "a moment in epoch seconds, from 1970 to 9999")
    if tenant is not None and (type(tenant) is not str or not is_tenant(tenant)):
        raise _refused("tenant", tenant, f"1 to {LONGEST_TENANT} visible ASCII characters, or null")
    return Timer(str(texts[0]), float(at), str(texts[1]), str(texts[2]), tenant)


def _refused(name: str, value: object, wanted: str) -> MessageRefused:
    return MessageRefused(refusals.SCHEMA, f"timer.{name}", f"{shown(value)} is not {wanted}")


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
