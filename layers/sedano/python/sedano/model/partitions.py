"""The distribution of partitions over workers: each worker decides alone, from data that all workers can see.

A partition is a lease. Workers see the holders and the requests, so each can compute the number of workers and the fair share. No partition
is taken away: a worker takes free partitions up to its share, asks the most loaded worker for one if that has at least two more, and gives
one away if a worker with at least two fewer asks for it. So loads converge in steps of one and never oscillate.

Rendezvous hashing (Thaler and Ravishankar 1998) determines the free partition to try first, so workers that start together try different
ones, and a worker that returns gets its old ones.

A worker that asked and holds nothing counts as a worker, because it may have just started. It may also have died since: then the share of
the others is too small, and a partition remains free. So a partition that was already free in the previous round is taken beyond that
share, one at a time, up to the fair share among the holders.

P1: a partition has at most one holder (guaranteed by the lease), and in a stable state the loads differ by at most one from the fair share.

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
    """The next moves: partitions to *give* to the workers that asked, partitions to *take* in this order, and the one to ask for (*want*;
    None: none).
    """

    give: Sequence[int]
    take: Sequence[int]
    want: int | None


def fair_share(count: int, workers: int) -> int:
    """Return the most of *count* partitions that one of *workers* should hold."""
    return -(-count // workers)


def preference(worker: str, partition: int) -> bytes:
    """Return the preference of *worker* for *partition*, which is the same on every machine."""
    return blake2b(f"{worker}\0{partition}".encode(), digest_size=8).digest()


def plan(me: str, mine: Collection[int], taken: Mapping[int, LeaseRecord], free: Collection[int], idle: Collection[int] = ()) -> Plan:
    """Return the next moves of the worker *me*, which holds *mine*.

    *taken* are the held partitions, including *mine*, with their leases; *free* are those that may be taken; *idle* are the free ones that
    could already have been taken in the previous round.
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
    """Return the partitions of *mine* for the workers that asked, as long as these have at least two fewer."""
    given: list[int] = []
    for index in sorted(mine):
        asker = taken[index].want if index in taken else ""
        if asker and load[me] >= load[asker] + 2:
            given.append(index)
            load[me] -= 1
            load[asker] += 1
    return given


def _want(me: str, taken: Mapping[int, LeaseRecord], load: Counter[str]) -> int | None:
    """Return the partition of the most loaded worker to ask for, if that worker has at least two more than *me*.

    It is one without a request, or with an outdated request, because the requester now has as many as *me*.
    """
    loaded = min(load, key=lambda worker: (-load[worker], worker))
    if load[loaded] < load[me] + 2:
        return None
    open_ones = [index for index, record in taken.items() if record.owner == loaded and (not record.want or load[record.want] > load[me])]
    return max(open_ones, key=lambda index: preference(me, index), default=None)
