"""Leases in the table `lease`: each write of `sedano.aws.expressions.leases` is one statement of the same name, with the same conjuncts.

`attribute_not_exists(want)` is `want = ''`; the list `queued` is the rows of `waiting`, in the order of their numbers, so `size(queued)`
is their count and `queued[0]` the first of them. All processes of a file have one clock, the machine's, so it is the store's clock too.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from sedano.errors import OptionError
from sedano.model.leases import Leased, LeaseRecord, Term, is_mine
from sedano.model.store_clock import Interval
from sedano.ports import Clock
from sedano.sqlite.store import Store
from sedano.sqlite.wait_lists import WAITING, called, waits

LEASE_LIFETIME_S = 8 * 86_400
"""How long a released lease is remembered: its token must outlive every request that was sent under it."""
PLACE = "lease:"
TAKE_ABSENT = """
INSERT INTO lease (token, nonce, owner, version, duration, expires, held, name) VALUES (?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING"""
TAKE = """
UPDATE lease SET token = ?, nonce = ?, owner = ?, version = ?, duration = ?, expires = ?, held = 1, want = '', ttl = NULL
WHERE name = ? AND token = ? AND version = ?"""
RENEW = """
UPDATE lease SET expires = ?, version = version + 1
WHERE name = ? AND nonce = ? AND token = ? AND held AND expires <= ?"""
RELEASE = """
UPDATE lease SET held = 0, expires = ?, ttl = ?, version = version + 1
WHERE name = ? AND nonce = ? AND token = ? AND held"""
WANT = "UPDATE lease SET want = ? WHERE name = ? AND token = ? AND held AND (want = '' OR want IN (?, ?))"
HELD = "SELECT 1 FROM lease WHERE name = ? AND token = ? AND held"
CALL = "UPDATE lease SET want = ? WHERE name = ?"
_READ = f"SELECT name, token, nonce, owner, version, held, duration, expires, want, {WAITING} FROM lease WHERE name = ?"  # noqa: S608 - ours


class SqliteLeases:
    """The leases of one deployment over one SQLite file; the store's clock is the given one, exactly."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Use *store*; nothing is opened yet."""
        self._store, self._clock = store, clock

    def time(self) -> Interval:
        """Return what the clock shows, exactly."""
        now = round(self._clock.now() * 1000)
        return Interval(now, now)

    def read(self, names: Sequence[str]) -> dict[str, LeaseRecord]:
        """Return the leases that exist, by name."""
        rows = (row for name in dict.fromkeys(names) for row in self._store.rows(_READ, PLACE + name, name))
        return {record.name: record for record in map(_record, rows)}

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Write *grant* where the lease is still exactly what was *seen*."""
        values = (grant.token, grant.nonce, grant.owner, grant.version, grant.duration, grant.expires, grant.name)
        sight = () if seen is None else (seen.token, seen.version)
        with self._store.changing() as database:
            done = database.execute(TAKE_ABSENT if seen is None else TAKE, (*values, *sight)).rowcount
            record = _found(database, grant.name)
        return Leased(bool(done) or (record is not None and record.held and is_mine(record, grant.nonce, grant.token)), record)

    def renew(self, term: Term, expires: int) -> Leased:
        """Extend the lease of *term* where it still holds; never shorten it."""
        with self._store.changing() as database:
            done = database.execute(RENEW, (expires, term.name, term.nonce, term.token, expires)).rowcount
            record = _found(database, term.name)
        return Leased(bool(done) or (record is not None and record.held and is_mine(record, term.nonce, term.token)), record)

    def release(self, term: Term, reserved: int) -> Leased:
        """Give the lease back where *term* still holds it."""
        until = reserved // 1000 + LEASE_LIFETIME_S
        with self._store.changing() as database:
            done = database.execute(RELEASE, (reserved, until, term.name, term.nonce, term.token)).rowcount
            record = _found(database, term.name)
        return Leased(bool(done) or (record is not None and not record.held and is_mine(record, term.nonce, term.token)), record)

    def want(self, seen: LeaseRecord, who: str) -> bool:
        """Ask the holder of *seen* for the lease, in the place of the asker that was seen."""
        with self._store.changing() as database:
            return bool(database.execute(WANT, (who, seen.name, seen.token, who, seen.want or who)).rowcount)

    def wait(self, seen: LeaseRecord, message: str) -> bool:
        """Leave *message* to be woken when the lease is released."""
        with self._store.changing() as database:
            held = database.execute(HELD, (seen.name, seen.token)).fetchall()
            return bool(held) and waits(database, PLACE + seen.name, message)

    def call(self, released: LeaseRecord, who: str) -> bool:
        """Remove the first waiting message, if it is still the first, and keep the lease for *who*."""
        with self._store.changing() as database:
            done = called(database, PLACE + released.name, released.waiting[0])
            if done:
                database.execute(CALL, (who, released.name))
            return done

    def proof(self, term: Term) -> Mapping[str, Any]:
        """Refuse: a file has no transactions that others take part in."""
        raise OptionError(f"lease {term.name!r}: leases in a SQLite file cannot take part in a transaction of another database")


def _found(database: sqlite3.Connection, name: str) -> LeaseRecord | None:
    return next(map(_record, database.execute(_READ, (PLACE + name, name)).fetchall()), None)


def _record(row: Sequence[Any]) -> LeaseRecord:
    return LeaseRecord(
        name=row[0], token=row[1], nonce=row[2], owner=row[3], version=row[4], held=bool(row[5]), duration=row[6], expires=row[7],
        want=row[8], waiting=tuple(json.loads(row[9])),
    )  # fmt: skip
