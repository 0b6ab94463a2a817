"""The events of the history, each once, from the lines that the recorder wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sedano.model.history.event_order import Stamp, stamp


def event_lines(blobs: Iterable[bytes]) -> tuple[dict[Stamp, Mapping[str, Any]], int]:
    """Return the events (decoded JSON) of *blobs* by their place in the total order, and the number of unreadable lines."""
    found: dict[Stamp, Mapping[str, Any]] = {}
    unreadable = 0
    for line in (line for blob in blobs for line in blob.splitlines()):
        try:
            event = json.loads(line)
            found[stamp({"uuid": "", **event})] = event  # an event of a worker has no task
        except (ValueError, RecursionError, TypeError):
            unreadable += 1
    return found, unreadable
