"""Elections in the tables `election` and `candidate`: each write of `sedano.aws.expressions.elections`, with the same conjuncts.

REGISTER's `NOT contains(voters, :name)` is the primary key of `candidate`. CLOSE, HOLDS and DISPATCH are one transaction, as on DynamoDB;
HOLDS is a subquery of CLOSE.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from sedano.model.elections import CLOSED, Ballot, Election
from sedano.sqlite.ledger import ttl
from sedano.sqlite.store import Store

ELECTION_LIFETIME_S = 8 * 86_400
OPENING = "INSERT INTO election VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
REGISTER = """
INSERT INTO candidate SELECT id, ?, ? FROM election WHERE id = ? AND state = 'OPEN' ON CONFLICT DO NOTHING"""
_REGISTERED = "UPDATE election SET version = version + 1 WHERE id = ?"
HOLDS = "SELECT 1 FROM task WHERE id = ? AND state = 'RUNNING' AND fence = ?"
CLOSE = f"""
UPDATE election SET state = 'CLOSED', winner = ?, closer = ?, term = ?, until = ?
WHERE id = ? AND state = 'OPEN' AND version = ? AND EXISTS ({HOLDS})"""  # noqa: S608 - our own words
DISPATCH = "INSERT INTO task (id, state, attempt, message, ttl) VALUES (?, 'PENDING', 0, ?, ?) ON CONFLICT DO NOTHING"
PASS = """
UPDATE election SET winner = ?, term = ?, until = ?
WHERE id = ? AND state = 'CLOSED' AND winner = ? AND term = ? AND until = ?"""  # noqa: S105 - no password
_CANDIDATE = "INSERT INTO candidate VALUES (?, ?, ?)"
_READ = """
SELECT *, (SELECT json_group_object(name, clock) FROM candidate WHERE candidate.election = election.id) FROM election WHERE id = ?"""


class SqliteElections:
    """The elections of one deployment over one SQLite file, which also has its ledger, in which a close notes its task."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def open(self, election: Election, at: float) -> Ballot:
        """Create *election* if its id is new."""
        one = election
        values = (
            one.election_id, one.topic, one.task_id, one.draft, one.nonce, one.state, json.dumps(sorted(one.need)), one.version, one.winner,
            one.by, one.term, one.until, int(at) + ELECTION_LIFETIME_S,
        )  # fmt: skip
        with self._store.changing() as database:
            if database.execute(OPENING, values).rowcount:
                rows = [(one.election_id, name, str(clock)) for name, clock in one.candidates.items()]
                database.executemany(_CANDIDATE, rows)
                return Ballot(True, election)
            found = _found(database, election.election_id)
        return Ballot(found is not None and found.nonce == election.nonce, found)

    def read(self, election_id: str) -> Election | None:
        """Return the election."""
        return next(map(_election, self._store.rows(_READ, election_id)), None)

    def register(self, election_id: str, name: str, clock: int) -> Ballot:
        """Register *name* with *clock*, once, while the election is open."""
        with self._store.changing() as database:
            done = database.execute(REGISTER, (name, str(clock), election_id)).rowcount
            if done:
                database.execute(_REGISTERED, (election_id,))
            found = _found(database, election_id)
        return Ballot(bool(done) or (found is not None and found.candidates.get(name) == clock), found)

    def close(self, election: Election, at: float, fence: int) -> Ballot:
        """Close the election as *election* says, if its call is still held under *fence*, and note its task in the ledger."""
        values = (election.winner, election.by, election.term, election.until, election.election_id, election.version)
        holds = (election.by, fence)
        with self._store.changing() as database:
            done = database.execute(CLOSE, (*values, *holds)).rowcount
            if done:
                database.execute(DISPATCH, (election.task_id, election.by, ttl(at)))
            found = _found(database, election.election_id)
            held = bool(database.execute(HOLDS, holds).fetchall())
        if not held and (found is None or found.state != CLOSED):
            return Ballot(False, None)
        return Ballot(found is not None and (found.state, found.by) == (CLOSED, election.by), found)

    def advance(self, election: Election, seen: Election) -> Ballot:
        """Make the winner of *election* the leader until the time in it, if the election is still as *seen*."""
        new, old = (election.winner, election.term, election.until), (seen.winner, seen.term, seen.until)
        with self._store.changing() as database:
            done = database.execute(PASS, (*new, election.election_id, *old)).rowcount
            found = _found(database, election.election_id)
        return Ballot(bool(done) or (found is not None and (found.winner, found.term, found.until) == new), found)


def _found(database: sqlite3.Connection, election_id: str) -> Election | None:
    return next(map(_election, database.execute(_READ, (election_id,)).fetchall()), None)


def _election(row: Sequence[Any]) -> Election:
    candidates = {name: int(clock) for name, clock in json.loads(row[13]).items()}
    return Election(
        election_id=row[0], topic=row[1], task_id=row[2], draft=row[3], nonce=row[4], state=row[5], need=frozenset(json.loads(row[6])),
        candidates=candidates, version=row[7], winner=row[8], by=row[9], term=row[10], until=row[11],
    )  # fmt: skip
