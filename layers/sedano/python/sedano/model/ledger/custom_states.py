"""States of a user's own: what a running body shows of its progress, kept in its task's record until the body ends. Pure.

The text holds the fence of the claim under which it was written. So what an earlier attempt showed, or a worker whose claim was taken over,
is never read as the progress of the attempt that runs now, and no other write of the record has to clear it.

Source of the idea: Celery's custom states (`Task.update_state`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sedano.errors import OptionError, TooLarge
from sedano.model import states
from sedano.model.ledger.records import TaskRecord

MOST_BYTES = 1_000
"""The longest text: a record of up to 1 KB is one write unit of DynamoDB, and every later write of the record pays for it."""
_TAKEN = frozenset({*states.ROWS, states.RECEIVED, states.STARTED, states.REJECTED, states.IGNORED})
_IS_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,39}").fullmatch
_OWN = "give a name of your own in capitals, such as 'PROGRESS'"


class CustomState(NamedTuple):
    """The *state* that a running body shows, with its *meta*: JSON values by name."""

    state: str
    meta: Mapping[str, Any]


def custom_state_text(fence: int, state: object, meta: object) -> str:
    """Return the text of the custom *state* with its *meta*, shown under the claim with *fence*.

    Raises:
        OptionError: *state* is not a name of the user's own, or *meta* is not a mapping of JSON values.
        TooLarge: the text is longer than `MOST_BYTES`.
    """
    if not isinstance(state, str) or _IS_NAME(state) is None:
        raise OptionError(f"state: {state!r:.60} is not the name of a state; {_OWN}")
    if state in _TAKEN:
        raise OptionError(f"state: {state!r} is a state of the task's life, which its worker records; {_OWN}")
    if meta is not None and not (isinstance(meta, Mapping) and all(isinstance(name, str) for name in meta)):
        raise OptionError(f"meta: {meta!r:.60} is not a mapping from names to values")
    try:
        text = json.dumps([fence, state, dict(meta or {})], allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(f"meta: a value cannot be written as JSON: {error}") from None
    if len(text) > MOST_BYTES:
        raise TooLarge(f"meta: {len(text)} bytes as JSON; a state and its meta may have {MOST_BYTES} together")
    return text


def custom_state_of(record: TaskRecord) -> CustomState | None:
    """Return what the body that runs now shows; None if none runs, or if it shows nothing."""
    if record.state != states.RUNNING:
        return None
    try:
        fence, state, meta = json.loads(record.custom)
    except (ValueError, TypeError, RecursionError):  # it shows nothing, or a newer version wrote it
        return None
    return CustomState(state, meta) if fence == record.fence and isinstance(state, str) and isinstance(meta, dict) else None
