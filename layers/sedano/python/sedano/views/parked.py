"""The parked messages: the number for each reason, with a sample of each. One record, for a table and for `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.engine.parked.redrive import Parked


class Reason(NamedTuple):
    """Messages from one *queue* set aside for one *reason*: how many, since when (epoch s), and a *sample* of them."""

    reason: str
    queue: str
    number: int
    oldest: float
    sample: Parked


def reasons(some: Sequence[Parked]) -> list[Reason]:
    """Return *some* by reason and queue, the most frequent first."""
    groups: dict[tuple[str, str], list[Parked]] = {}
    for one in some:
        groups.setdefault((one.reason, one.queue), []).append(one)
    found = [Reason(reason, queue, len(every), min(one.at for one in every), every[0]) for (reason, queue), every in groups.items()]
    return sorted(found, key=lambda group: (-group.number, group.reason, group.queue))
