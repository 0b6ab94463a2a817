"""Members in the table `member`: BEAT and LOSE of `sedano.aws.expressions.members`, with the same conjuncts."""

from __future__ import annotations

import json

from sedano.model.cluster.members import ACTIVE, LOST, MemberRecord
from sedano.sqlite.store import Store

MEMBER_LIFETIME_S = 3 * 86_400
"""How long a silent member is remembered."""
BEAT = """
INSERT INTO member (name, clock, state, in_flight, seen, tasks, ttl, answers, report) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET clock = excluded.clock, state = excluded.state, in_flight = excluded.in_flight, seen = excluded.seen,
    tasks = excluded.tasks, ttl = excluded.ttl, answers = excluded.answers, report = excluded.report
WHERE clock < excluded.clock"""
LOSE = "UPDATE member SET state = ?, clock = ? WHERE name = ? AND clock < ? AND state = ? AND seen < ?"
_OWN = "SELECT 1 FROM member WHERE name = ? AND state = ? AND clock = ?"
_READ = "SELECT name, clock, state, in_flight, seen, tasks, answers, report FROM member ORDER BY name"


class SqliteMembers:
    """The members of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def beat(self, member: MemberRecord) -> None:
        """Write the member's heartbeat; an older one (smaller clock) never replaces a newer one."""
        until = int(member.seen) + MEMBER_LIFETIME_S
        seen, tasks = round(member.seen * 1000), json.dumps(member.tasks)
        row = (member.name, member.clock, member.state, member.in_flight, seen, tasks, until, member.answers, member.report)
        with self._store.changing() as database:
            database.execute(BEAT, row)

    def lose(self, name: str, clock: int, lapsed: float) -> bool:
        """Mark the member as LOST if it has sent no heartbeat since *lapsed*."""
        with self._store.changing() as database:
            done = database.execute(LOSE, (LOST, clock, name, clock, ACTIVE, round(lapsed * 1000))).rowcount
            return bool(done) or bool(database.execute(_OWN, (name, LOST, clock)).fetchall())

    def read(self) -> list[MemberRecord]:
        """Return all members, by name."""
        return [
            MemberRecord(
                name=name, clock=clock, state=state, in_flight=in_flight, seen=seen / 1000, tasks=tuple(json.loads(tasks)), answers=answers,
                report=report,
            )
            for name, clock, state, in_flight, seen, tasks, answers, report in self._store.rows(_READ)
        ]
