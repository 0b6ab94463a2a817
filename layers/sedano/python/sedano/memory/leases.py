"""Leases over a dict: the writes of `sedano.aws.expressions.leases`, in Python, under one lock. The oracle of the conformance suites."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sedano.errors import OptionError
from sedano.model.leases import MOST_WAITING, Leased, LeaseRecord, Term, is_mine
from sedano.model.store_clock import Interval
from sedano.ports import Clock

LEASE_LIFETIME_MS = 8 * 86_400_000
"""How long a released lease is remembered: its token must outlive every request that was sent under it."""


class MemoryLeases:
    """Leases in a dict by name; the store's clock is the given one, exactly."""

    def __init__(self, clock: Clock) -> None:
        """Start empty."""
        self._clock = clock
        self._kept: dict[str, LeaseRecord] = {}
        self._until: dict[str, int] = {}
        self._lock = threading.Lock()

    def time(self) -> Interval:
        """Return what the clock shows, exactly."""
        now = round(self._clock.now() * 1000)
        return Interval(now, now)

    def read(self, names: Sequence[str]) -> dict[str, LeaseRecord]:
        """Return the leases that exist, by name."""
        with self._lock:
            return {name: self._kept[name] for name in names if name in self._kept}

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Write *grant* where the lease is still exactly what was *seen*."""
        with self._lock:
            record = self._kept.get(grant.name)
            if _mark(record) == _mark(seen):
                waiting = record.waiting if record is not None else ()
                return self._keep(grant._replace(want="", waiting=waiting))
            held = record is not None and record.held and is_mine(record, grant.nonce, grant.token)
            return Leased(held, record)

    def renew(self, term: Term, expires: int) -> Leased:
        """Extend the lease of *term* where it still holds; never shorten it."""
        with self._lock:
            record = self._kept.get(term.name)
            if record is None or not (record.held and is_mine(record, term.nonce, term.token)):
                return Leased(False, record)
            if record.expires > expires:
                return Leased(True, record)
            return self._keep(record._replace(expires=expires, version=record.version + 1))

    def release(self, term: Term, reserved: int) -> Leased:
        """Give the lease back where *term* still holds it."""
        with self._lock:
            record = self._kept.get(term.name)
            if record is None or (record.nonce, record.token) != (term.nonce, term.token):
                return Leased(False, record)
            if not record.held:
                return Leased(True, record)
            self._until[term.name] = reserved + LEASE_LIFETIME_MS
            return self._keep(record._replace(held=False, expires=reserved, version=record.version + 1))

    def want(self, seen: LeaseRecord, who: str) -> bool:
        """Ask the holder of *seen* for the lease, in the place of the asker that was seen."""
        with self._lock:
            record = self._kept.get(seen.name)
            if record is None or not record.held or record.token != seen.token or record.want not in ("", who, seen.want):
                return False
            self._kept[seen.name] = record._replace(want=who)
            return True

    def wait(self, seen: LeaseRecord, message: str) -> bool:
        """Leave *message* to be woken when the lease is released."""
        with self._lock:
            record = self._kept.get(seen.name)
            if record is None or not record.held or record.token != seen.token or len(record.waiting) >= MOST_WAITING:
                return False
            self._kept[seen.name] = record._replace(waiting=(*record.waiting, message))
            return True

    def call(self, released: LeaseRecord, who: str) -> bool:
        """Remove the first waiting message, if it is still the first, and keep the lease for *who*."""
        with self._lock:
            record = self._kept.get(released.name)
            if record is None or not record.waiting or record.waiting[0] != released.waiting[0]:
                return False
            self._kept[released.name] = record._replace(waiting=record.waiting[1:], want=who)
            return True

    def proof(self, term: Term) -> Mapping[str, Any]:
        """Raise `OptionError`: memory has no transactions."""
        raise OptionError(f"lease {term.name!r}: leases in memory cannot take part in a transaction of a database")

    def age_out(self) -> list[str]:
        """Delete the released leases that have expired, as the table's TTL does, and return their names."""
        with self._lock:
            now = self._clock.now() * 1000
            aged = [name for name, until in self._until.items() if until <= now]
            for name in aged:
                del self._kept[name], self._until[name]
            return aged

    def records(self) -> list[LeaseRecord]:
        """Return every lease, by name, as `restore` accepts them."""
        with self._lock:
            return [self._kept[name] for name in sorted(self._kept)]

    def restore(self, records: Iterable[LeaseRecord]) -> None:
        """Hold exactly these leases."""
        with self._lock:
            self._kept = {record.name: record for record in records}

    def _keep(self, record: LeaseRecord) -> Leased:
        self._kept[record.name] = record
        if record.held:
            self._until.pop(record.name, None)
        return Leased(True, record)


def _mark(record: LeaseRecord | None) -> tuple[int, int] | None:
    return (record.token, record.version) if record is not None else None
