"""A change of a stage by a person as an event of the history: the verb, the target, the number of things, the reason. Pure.

The event is an ordinary line of the history. Readers of tasks and of workers ignore it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sedano.model.history.event_order import stamp

STAGE_CHANGED = "stage-changed"
"""The type of the event."""
MOST_WHAT, MOST_TEXT, MOST_WORD = 1_000, 500, 100
"""The most characters of a target, of a reason or an error, and of a verb or a person."""


class StageChange(NamedTuple):
    """One change: its *verb*, its target *what*, the *reason*, the person *by* whom it was made, and the time *at* which (epoch s).

    *changed*: the number of changed things; *left*: the number of unchanged things; None: the verb does not count them. *error*: why the
    change failed.
    """

    at: float
    by: str
    verb: str
    what: str
    reason: str
    changed: int | None = None
    left: int | None = None
    error: str = ""


def fields(change: StageChange) -> dict[str, Any]:
    """Return the fields of the event of *change*, except its time; each text is cut to the length that the history keeps."""
    return {
        "by": _text(change.by, MOST_WORD), "verb": _text(change.verb, MOST_WORD), "what": _text(change.what, MOST_WHAT),
        "reason": _text(change.reason, MOST_TEXT), "changed": change.changed, "left": change.left, "error": _text(change.error, MOST_TEXT),
    }  # fmt: skip


def stage_change(event: Mapping[str, Any]) -> StageChange | None:
    """Return the change in *event* (decoded JSON); None for an event of another type, or with other fields."""
    if event.get("type") != STAGE_CHANGED:
        return None
    texts = [event.get(name, "") for name in ("by", "verb", "what", "reason", "error")]
    numbers = [event.get(name) for name in ("changed", "left")]
    if not all(isinstance(one, str) for one in texts) or not all(one is None or type(one) is int for one in numbers):
        return None
    by, verb, what, reason, error = texts
    changed, left = numbers
    return StageChange(
        at=event["timestamp"], by=by, verb=verb, what=what, reason=reason, changed=changed, left=left, error=error
    )  # fmt: skip


def stage_changes(events: Iterable[Mapping[str, Any]]) -> list[StageChange]:
    """Return the changes among *events*, the latest first. Each event must have the fields of the total order (`event_order.stamp`)."""
    ordered = sorted(events, key=lambda one: stamp({"uuid": "", **one}), reverse=True)
    return [one for one in map(stage_change, ordered) if one is not None]


def _text(text: str, most: int) -> str:
    """Return *text* in a form that every store can keep, with a mark if its end is cut off."""
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    return short.encode("utf-8", "replace").decode()
