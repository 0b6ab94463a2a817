"""Which worker should hold which partition: each worker decides for itself, from what all of them can see.

A partition is a lease. Workers see the holders and the requests, so each can compute their number and a fair share. No worker is
forced: a worker takes what is free up to its share, asks the most loaded for one when that has at least two more, and gives one away when a
worker with at least two fewer asks for it. So loads approach each other by steps of one and never oscillate.

Which of the free ones to try first is decided by rendezvous hashing (Thaler and Ravishankar 1998), so workers that start together try
different ones, and a worker that returns finds its old ones.

A worker that asked and holds nothing counts as a worker, because it may have just started. It may also have died since: then the others'
share is too small, and a partition stays free. So what was free in the round before as well is taken beyond that share, one at a time, up
to the share of those who hold something.

P1: at most one holder a partition (that is the lease's promise), and the loads differ by at most one from the fair share when all is quiet.

>>> fair_share(32, 5)
7
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from sedano.model.leases import LeaseRecord


class Plan(NamedTuple):
    """The next moves: *give* these back to the workers that asked, *take* these in this order, ask for *want* (None: ask for nothing)."""

    give: Sequence[int]
    take: Sequence[int]
    want: int | None


def fair_share(count: int, workers: int) -> int:
    """Return how many of *count* partitions one of *workers* should hold at most."""
    return -(-count // workers)


def preference(worker: str, partition: int) -> bytes:
    """Return how much *worker* prefers *partition*: the same on every machine."""
    return blake2b(f"{worker}\0{partition}".encode(), digest_size=8).digest()


def plan(me: str, mine: Collection[int], taken: Mapping[int, LeaseRecord], free: Collection[int], idle: Collection[int] = ()) -> Plan:
    """Return the next moves of the worker *me*, which holds *mine*.

    *taken* are the held partitions, mine too, by their leases; *free* are those that may be taken, *idle* those of
    them that might have been taken in the round before.
    """
    load = Counter({me: len(mine)})
    load.update(record.owner for index, record in taken.items() if index not in mine)
    askers = {record.want for record in taken.values() if record.want}
    holders = len(load)
    for asker in askers:
        load[asker] += 0
    share = fair_share(len(taken) + len(free), len(load))
    give = _give(me, mine, taken, load)
    room = 0 if give else max(0, share - len(mine))
    take = sorted(free, key=lambda index: preference(me, index), reverse=True)[:room]
    if not take and not give and len(mine) < fair_share(len(taken) + len(free), holders):
        take = sorted(idle, key=lambda index: preference(me, index), reverse=True)[:1]
    asked = any(record.want == me and load[record.owner] >= load[me] + 2 for record in taken.values())
    want = None if take or give or asked else _want(me, taken, load)
    return Plan(give, take, want)


def _give(me: str, mine: Collection[int], taken: Mapping[int, LeaseRecord], load: Counter[str]) -> list[int]:
    """Return which of *mine* go to those who asked, while they have at least two fewer."""
    given: list[int] = []
    for index in sorted(mine):
        asker = taken[index].want if index in taken else ""
        if asker and asker != me and load[me] >= load[asker] + 2:
            given.append(index)
            load[me] -= 1
            load[asker] += 1
    return given


def _want(me: str, taken: Mapping[int, LeaseRecord], load: Counter[str]) -> int | None:
    """Return a partition of the most loaded worker to ask for, when that worker has at least two more than *me*.

    One without a request, or whose requester now has as many as *me*, so that the request is out of date.
    """
    loaded = min(load, key=lambda worker: (-load[worker], worker))
    if load[loaded] < load[me] + 2:
        return None
    open_ones = [index for index, record in taken.items() if record.owner == loaded and (not record.want or load[record.want] > load[me])]
    return max(open_ones, key=lambda index: preference(me, index), default=None)
