"""A timer: a message for a time beyond the maximum delay of a queue (900 s on SQS), up to a year ahead.

EventBridge Scheduler is exact to the minute, so a timer fires early (`EARLY_S`), and its message is in an envelope with the exact time. The
worker that receives the envelope sends the message with a delay for the remaining seconds, which is exact to a second. The name of a timer
is the id of its task, and for a retry the id and its number, so that a timer that is set twice exists once.

A worker's role may create schedules in the group of the timers, and IAM has no condition on the content of a schedule. A timer is a
schedule of one form (`sedano.aws.timers`): it fires once, deletes itself, and sends its message to a queue of the stage under the role of
the timers. A schedule of another form is foreign, and `foreign` returns each difference.
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
"""How many seconds before its time a timer fires: Scheduler needs up to 60 s, and a queue and a function some more."""
DEPTH = 2
"""The most nested containers of an envelope: it is one object; a second level is read so that an error can name it."""
_ONCE = re.compile(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)")
ONLY = frozenset({"Arn", "RoleArn", "Input", "RetryPolicy", "DeadLetterConfig"})
"""The fields of a timer's target; other fields (a message group, parameters of other services) are foreign."""
_NAME = re.compile(r"[0-9A-Za-z_.-]{1,64}")


class Timer(NamedTuple):
    """Sends *body* for *tenant* to *queue* (its key), so that it can be received from *at* on (epoch s); *name* is the name of the timer.
    """

    name: str
    at: float
    queue: str
    body: str
    tenant: str | None = None

    @property
    def fires(self) -> float:
        """The time at which it fires (epoch s)."""
        return self.at - EARLY_S


def timer_name(task_id: str, attempt: int) -> str:
    """Return the name of the timer of *attempt* of a task: its id, and for a retry the id and its number.

    An id that is not valid as a schedule's name (longer than 64 characters, or with characters other than letters, digits, `_`, `.` and
    `-`) is replaced by its digest.
    """
    name = f"{task_id}.{attempt}" if attempt else task_id
    return name if _NAME.fullmatch(name) else "sha256." + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:57]


def sealed(timer: Timer) -> str:
    """Return the envelope of *timer* as a message.

    It does not contain `<aws.`, the prefix of the keywords that Scheduler replaces in an input. Only this prefix is escaped: if every `<`
    was escaped, a message full of them would grow sixfold, beyond the 256 KB that Scheduler accepts.
    """
    head = json.dumps({"id": timer.name, "at": timer.at, "queue": timer.queue, "tenant": timer.tenant, "message": timer.body})
    return TIMER_OPENING + head[1:].replace("<aws.", "\\u003caws.")


def opened(body: str) -> Timer:
    """Return the timer in the envelope *body*; all its fields have values that `sealed` could have written.

    Raises:
        MessageRefused: *body* is not a valid envelope; the error names the field.
    """
    parts = load(body, MAX_BYTES, DEPTH, "timer")
    if type(parts) is not dict:
        raise MessageRefused(refusals.SCHEMA, "timer", "the envelope of a timer is a JSON object")
    at: Any = parts.get("at")
    tenant = parts.get("tenant")
    texts = [parts.get(name) for name in ("id", "queue", "message")]
    for name, text in zip(("id", "queue", "message"), texts, strict=True):
        if type(text) is not str or not text:
            raise _refused(name, text, "a string")
    if type(at) not in (int, float) or not 0 <= at <= LAST_SECOND:
        raise _refused("at", at, "a time in epoch seconds, from 1970 to 9999")
    if tenant is not None and (type(tenant) is not str or not is_tenant(tenant)):
        raise _refused("tenant", tenant, f"1 to {LONGEST_TENANT} visible ASCII characters, or null")
    return Timer(str(texts[0]), float(at), str(texts[1]), str(texts[2]), tenant)


def _refused(name: str, value: object, wanted: str) -> MessageRefused:
    return MessageRefused(refusals.SCHEMA, f"timer.{name}", f"{shown(value)} is not {wanted}")


class Foreign(NamedTuple):
    """A schedule that is not a timer: its *name*, *state*, when it fires (*expression*), its *target* and *role*, and its differences from
    a timer (*why*).
    """

    name: str
    state: str
    expression: str
    target: str
    role: str
    why: tuple[str, ...]


def foreign(schedule: Mapping[str, Any], role: str, queues: Collection[str], undelivered: str) -> Foreign | None:
    """Return the foreign schedule if *schedule* (a response of GetSchedule) is not a timer, else None.

    Args:
        schedule: the response.
        role: the ARN of the timers' role.
        queues: the ARNs of the stage's queues.
        undelivered: the ARN of the queue for messages that Scheduler cannot deliver; empty if the stage has no such queue.
    """
    target: Mapping[str, Any] = schedule.get("Target") or {}
    name, expression = str(schedule.get("Name", "")), str(schedule.get("ScheduleExpression", ""))
    arn, sender, letters = (str(found or "") for found in (target.get("Arn"), target.get("RoleArn"), _letters(target)))
    why = [
        *([f"recurs: {expression}"] if not _ONCE.fullmatch(expression) else ()),
        *(["is not deleted after it has fired"] if schedule.get("ActionAfterCompletion") != "DELETE" else ()),
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
