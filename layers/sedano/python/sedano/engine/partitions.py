"""A worker's fair share of partitions: read all of them, renew its own, then do one round of the pure plan (`sedano.model.partitions`).

Cost of a round: one read of all leases (a hundred per call), one write for each term that is half over, and for each change of holder.
"""

from __future__ import annotations

from collections.abc import Collection

from sedano.engine.leases import Leasing
from sedano.model import leases as lease
from sedano.model.leases import Sight, Term
from sedano.model.partitions import plan


class Partitioning:
    """The partitions that one worker holds of one set."""

    __slots__ = ("_duration", "_free", "_leasing", "_me", "_names", "_terms")

    def __init__(self, leasing: Leasing, name: str, count: int, duration: int, worker: str) -> None:
        """Hold some of the *count* partitions of *name*, each for *duration* ms, as the worker named *worker*."""
        self._leasing, self._duration, self._me = leasing, duration, worker
        self._names = [f"partition/{name}/{count}/{index}" for index in range(count)]
        self._terms: dict[int, Term] = {}
        self._free: Collection[int] = ()

    def balance(self) -> dict[int, Term]:
        """Do one round and return the terms that are held after it, by partition."""
        seen = self._leasing.observe(self._names)
        sights = {index: seen[name] for index, name in enumerate(self._names)}
        self._keep(sights)
        free = [index for index, sight in sights.items() if index not in self._terms and self._leasing.free(sight, self._me)]
        taken = {index: sight.record for index, sight in sights.items() if index not in free and sight.record is not None}
        step = plan(self._me, self._terms.keys(), taken, free, [index for index in free if index in self._free])
        self._free = free
        for index in step.give:
            self._leasing.release(self._terms.pop(index))
        for index in step.take:
            term = self._leasing.take(self._names[index], self._me, self._duration, sights[index])
            if term is not None:
                self._terms[index] = term
        if step.want is not None:
            self._leasing.want(taken[step.want], self._me)
        return dict(self._terms)

    def release(self) -> None:
        """Release all partitions, so that others need not wait for their expiry."""
        while self._terms:
            self._leasing.release(self._terms.popitem()[1])

    def _keep(self, sights: dict[int, Sight]) -> None:
        """Renew the terms that are half over; forget those that have ended."""
        now = self._leasing.moment()
        for index, term in list(self._terms.items()):
            record = sights[index].record
            renewed: Term | None = term
            if record is None or not record.held or not lease.is_mine(record, term.nonce, term.token):
                renewed = None
            elif not lease.believes(term, now) or lease.remaining(term, now) * 2 < term.duration:
                renewed = self._leasing.renew(term)
            if renewed is None:
                del self._terms[index]
            else:
                self._terms[index] = renewed
