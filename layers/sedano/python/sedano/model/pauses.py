"""Pauses of a queue, a task, a tenant, a circuit, or one task by its id: immediate or in a window of time, until they are resumed. Pure.

The control record, which every worker reads, contains pauses as strings: only the name of a queue, or ``kind=name``, or
``kind=name start until`` with times in whole epoch seconds, 0 for none. Names do not contain spaces, so the three forms cannot be confused.
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
    """One pause of the target *kind* and *name*, in force from *start* (epoch s; 0: immediately) to *until* (0: until it is resumed)."""

    kind: str
    name: str
    start: int = 0
    until: int = 0

    def holds(self, now: float) -> bool:
        """Return whether it is in force at *now* (epoch s)."""
        return self.start <= now and (not self.until or now < self.until)

    @property
    def text(self) -> str:
        """This pause as a string of the control record."""
        if self.start or self.until:
            return f"{self.kind}={self.name} {self.start} {self.until}"
        return self.name if self.kind == QUEUE else f"{self.kind}={self.name}"


class PauseCause(NamedTuple):
    """The person *by* whom the target was paused, and the *reason*; empty if unknown."""

    by: str = ""
    reason: str = ""

    @property
    def text(self) -> str:
        """This cause as the text of its memo; empty if unknown."""
        return json.dumps([self.by, self.reason]) if self.by or self.reason else ""

    @property
    def sentence(self) -> str:
        """This cause as the end of a sentence: ``by ana: bad deploy``; empty if unknown."""
        return f"{f'by {self.by}' if self.by else ''}{f': {self.reason}' if self.reason else ''}".removeprefix(": ")


def cause_of(text: str) -> PauseCause:
    """Return the cause in the *text* of a memo; an empty cause if *text* is not valid."""
    try:
        found = parts(text)
    except ValueError:
        return PauseCause()
    is_cause = isinstance(found, list) and len(found) == 2 and all(isinstance(one, str) for one in found)
    return PauseCause(*found) if is_cause else PauseCause()


def cause_name(kind: str, name: str) -> str:
    """Return the name of the memo with the cause of the pause of *kind* and *name*."""
    return memo_name(PAUSE, f"{kind}={name}")


def pause(kind: str, name: str, start: float = 0.0, until: float = 0.0) -> Pause:
    """Return the pause of the target *kind* and *name*, in force from *start* to *until* (epoch s; 0: no beginning, or no end).

    Raises:
        OptionError: the kind or the name is not valid, or the end is not after the start.
    """
    if kind not in KINDS:
        raise OptionError(f"{kind}: not one of {', '.join(KINDS)}")
    if not is_name(name) or "=" in name:
        raise OptionError(f"{kind}: {name!r} is not 1 to 256 characters without spaces, control characters and =")
    if until and until <= start:
        raise OptionError(f"until: {until:.0f} is not after start, {start:.0f}")
    return Pause(kind, name, int(start), -int(-until // 1))


def parsed(text: str) -> Pause | None:
    """Return the pause in *text*; None if a newer version wrote it."""
    first, *window = text.split(" ")
    kind, separator, name = first.partition("=")
    if not separator:
        kind, name = QUEUE, first
    if kind not in KINDS or len(window) not in (0, 2) or not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in window):
        return None
    return Pause(kind, name, *map(int, window))


def in_force(paused: Collection[str], now: float) -> list[Pause]:
    """Return the pauses in the strings *paused* that are in force at *now*."""
    return [found for found in map(parsed, paused) if found is not None and found.holds(now)]


def queues_of(paused: Collection[str], now: float) -> frozenset[str]:
    """Return the names of the queues that are paused at *now*."""
    return frozenset(found.name for found in in_force(paused, now) if found.kind == QUEUE)


def pausing(paused: Collection[str], command: Command, circuit: str, now: float) -> Pause | None:
    """Return the pause of *command* at *now*; *circuit* is the name of its circuit, or empty. Pauses of its queue are not considered; None
    if there is no other.
    """
    borne = {TASK: command.task, TENANT: command.tenant, ID: command.task_id, CIRCUIT: circuit or None}
    return next((found for found in in_force(paused, now) if borne.get(found.kind) == found.name), None)


def with_pause(paused: Collection[str], new: Pause, now: float) -> frozenset[str]:
    """Return *paused* with *new*, which replaces another pause of the same target; expired pauses are removed."""
    return without_pause(paused, new.kind, new.name, now) | {new.text}


def without_pause(paused: Collection[str], kind: str, name: str, now: float) -> frozenset[str]:
    """Return *paused* without pauses of *kind* and *name*; expired pauses are removed."""
    return frozenset(text for text in paused if not _goes(parsed(text), kind, name, now))


def _goes(found: Pause | None, kind: str, name: str, now: float) -> bool:
    return found is not None and ((found.kind, found.name) == (kind, name) or 0 < found.until <= now)
