"""Pauses: of a queue, a task, a tenant, a circuit, one task by its id; at once or in a window of time, until it is resumed. Pure.

The control record holds pauses as texts, because every worker reads it: the name of a queue alone, or ``kind=name``, or
``kind=name start until`` with moments in whole epoch seconds, 0 for none. Names hold no spaces, so the three cannot be confused.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import NamedTuple

from sedano.errors import OptionError
from sedano.model.memos import PAUSE, memo_name, parts
from sedano.model.messages.attributes import is_name
from sedano.model.messages.message import Command

QUEUE, TASK, TENANT, CIRCUIT, ID = "queue", "task", "tenant", "circuit", "id"
KINDS = (QUEUE, TASK, TENANT, CIRCUIT, ID)


class Pause(NamedTuple):
    """One pause of what *kind* and *name* say; in force from *start* (epoch s; 0: from the beginning) to *until* (0: until it goes on)."""

    kind: str
    name: str
    start: int = 0
    until: int = 0

    def holds(self, now: float) -> bool:
        """Return whether it is in force at *now* (epoch s)."""
        return self.start <= now and (not self.until or now < self.until)

    @property
    def text(self) -> str:
        """This pause as the control record holds it."""
        if self.start or self.until:
            return f"{self.kind}={self.name} {self.start} {self.until}"
        return self.name if self.kind == QUEUE else f"{self.kind}={self.name}"


class PauseCause(NamedTuple):
    """The person *by* whom something was paused, and the *reason*; both empty: not known."""

    by: str = ""
    reason: str = ""

    @property
    def text(self) -> str:
        """This cause as its memo holds it; empty where nothing is known."""
        return json.dumps([self.by, self.reason]) if self.by or self.reason else ""

    @property
    def sentence(self) -> str:
        """This cause as the end of a sentence: ``by ana: bad deploy``; empty where nothing is known."""
        return f"{f'by {self.by}' if self.by else ''}{f': {self.reason}' if self.reason else ''}".removeprefix(": ")


def cause_of(text: str) -> PauseCause:
    """Return the cause that the *text* of a memo holds; the empty one where the text is none."""
    try:
        found = parts(text)
    except ValueError:
        return PauseCause()
    is_cause = isinstance(found, list) and len(found) == 2 and all(isinstance(one, str) for one in found)
    return PauseCause(*found) if is_cause else PauseCause()


def cause_name(kind: str, name: str) -> str:
    """Return the name of the memo that holds the cause of the pause of *kind* and *name*."""
    return memo_name(PAUSE, f"{kind}={name}")


def pause(kind: str, name: str, start: float = 0.0, until: float = 0.0) -> Pause:
    """Return the pause of what *kind* and *name* say, in force from *start* to *until* (epoch s; 0: without a beginning, an end).

    Raises:
        OptionError: it can never be in force, or nothing can have that name.
    """
    if kind not in KINDS:
        raise OptionError(f"{kind}: none of {', '.join(KINDS)}")
    if not is_name(name) or "=" in name:
        raise OptionError(f"{kind}: {name!r} is not 1 to 256 characters without spaces, control characters and =")
    if until and until <= start:
        raise OptionError(f"until: {until:.0f} is not after start, {start:.0f}")
    return Pause(kind, name, int(start), -int(-until // 1))


def parsed(text: str) -> Pause | None:
    """Return the pause that *text* says; None when a newer version wrote it."""
    first, *window = text.split(" ")
    kind, separator, name = first.partition("=")
    if not separator:
        kind, name = QUEUE, first
    if kind not in KINDS or len(window) not in (0, 2) or not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in window):
        return None
    return Pause(kind, name, *map(int, window))


def in_force(paused: Collection[str], now: float) -> list[Pause]:
    """Return those of the texts *paused* that are in force at *now*."""
    return [found for found in map(parsed, paused) if found is not None and found.holds(now)]


def queues_of(paused: Collection[str], now: float) -> frozenset[str]:
    """Return the names of the queues that are paused at *now*."""
    return frozenset(found.name for found in in_force(paused, now) if found.kind == QUEUE)


def pausing(paused: Collection[str], command: Command, circuit: str, now: float) -> Pause | None:
    """Return what pauses *command*, whose circuit has the name *circuit* (empty: none), at *now*; None: nothing but its queue may."""
    borne = {TASK: command.task, TENANT: command.tenant, ID: command.task_id, CIRCUIT: circuit or None}
    return next((found for found in in_force(paused, now) if borne.get(found.kind) == found.name), None)


def with_pause(paused: Collection[str], new: Pause, now: float) -> frozenset[str]:
    """Return *paused* with *new* in place of any other pause of the same thing; pauses that are over are removed."""
    return without_pause(paused, new.kind, new.name, now) | {new.text}


def without_pause(paused: Collection[str], kind: str, name: str, now: float) -> frozenset[str]:
    """Return *paused* without any pause of *kind* and *name*; pauses that are over are removed."""
    return frozenset(text for text in paused if not _goes(parsed(text), kind, name, now))


def _goes(found: Pause | None, kind: str, name: str, now: float) -> bool:
    return found is not None and ((found.kind, found.name) == (kind, name) or 0 < found.until <= now)
