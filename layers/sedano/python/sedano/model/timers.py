"""A timer: a message that is sent at a moment beyond what a queue can hold back (900 s on SQS), up to a year away.

EventBridge Scheduler keeps to the minute, so a timer fires early (`EARLY_S`) and its message travels in an envelope that says the moment.
The worker that receives the envelope lets the queue hold the message back for the seconds that are left: that is exact to a second.
Its name is the id of its task, and of each retry of it one of its own, so that setting a timer twice sets one.
"""

from __future__ import annotations

import hashlib
import json
import re
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
