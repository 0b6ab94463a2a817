"""The ledger in the tables `task`, `chord` and `arrival`: each write of `sedano.aws.expressions.tasks` is one statement of the same name,
with the same conjuncts in its WHERE; that module has the theory and the invariants.

| expressions.tasks | here |
|---|---|
| `attribute_not_exists(pk) OR c` | INSERT … ON CONFLICT DO UPDATE … WHERE c |
| `attribute_not_exists(rvk)`, `rvk < :rvk` | `asked = 0`, `asked < ?` |
| `ADD mks :mks` | the union, computed in the same transaction |
| a refusal brings the item in the way | the row is read in the same transaction |
| RECORD_FAILURE, KEEP_FAILURE | RECORD, KEEP: four columns more, empty where nothing failed, and a partial index over them |
| `REMOVE tri, tat` | the columns stay, and the query leaves out the row by its state |
| ARRIVE: `ADD done :children, failed :fallen` | a row for each child; `failed` only rises |

The own-write rule holds here too: a row with the mark of this call is its own earlier write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from sedano.errors import SedanoError, Unavailable
from sedano.model import packs, states
from sedano.model.canvas.join import Arrival, Arrived, Join, Node
from sedano.model.ledger import outcome_text as tail
from sedano.model.ledger.failures import LISTED, FailedTask, day_of, failed_task, latest
from sedano.model.ledger.records import (
    RECORD_LIFETIME_S,
    Claim,
    ClaimAnswer,
    Claimed,
    Extension,
    Outcome,
    RecordAnswer,
    Recorded,
    TaskRecord,
)
from sedano.model.messages.message import BlobRef
from sedano.ports import Clock
from sedano.sqlite.store import Store

CLAIM = """
INSERT INTO task (id, state, attempt, fence, claims, nonce, message, expires, clock, name, owner, ttl)
VALUES (?, 'RUNNING', ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET state = 'RUNNING', fence = fence + 1, claims = 1, nonce = excluded.nonce, message = excluded.message,
    expires = excluded.expires, clock = excluded.clock, name = excluded.name, owner = excluded.owner, ttl = excluded.ttl
WHERE state IN ('PENDING', 'RETRY') AND attempt = excluded.attempt AND asked = 0
RETURNING *"""
RECLAIM = """
UPDATE task SET state = 'RUNNING', fence = fence + 1, claims = 1, nonce = ?, message = ?, expires = ?, clock = ?, name = ?, owner = ?,
    ttl = ?
WHERE id = ? AND attempt = ? AND state IN ('PENDING', 'RETRY') AND asked = 0
RETURNING *"""
STEAL = """
UPDATE task SET fence = fence + 1, claims = claims + 1, nonce = ?, message = ?, expires = ?, clock = ?, name = ?, owner = ?, ttl = ?
WHERE id = ? AND attempt = ? AND state = 'RUNNING' AND fence = ? AND nonce = ? AND expires = ?
RETURNING *"""
EXTEND = """
UPDATE task SET expires = ?, ttl = ?
WHERE id = ? AND state = 'RUNNING' AND nonce = ? AND fence = ? AND expires < ?
RETURNING *"""
RECORD = """
UPDATE task SET state = ?, attempt = ?, clock = ?, name = ?, result = ?, tail = ?, ttl = ?, failed_day = ?, failed = ?, error = ?, place = ?
WHERE id = ? AND state = 'RUNNING' AND nonce = ? AND fence = ?"""
KEEP = """
INSERT INTO task (id, state, attempt, clock, name, result, tail, ttl, failed_day, failed, error, place, nonce, message)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, attempt = excluded.attempt, clock = excluded.clock, name = excluded.name,
    result = excluded.result, tail = excluded.tail, ttl = excluded.ttl, failed_day = excluded.failed_day, failed = excluded.failed,
    error = excluded.error, place = excluded.place, nonce = excluded.nonce, message = excluded.message
WHERE state = 'PENDING' OR (state = 'RETRY' AND attempt = excluded.attempt)"""
RESERVE = """
INSERT INTO task (id, state, attempt, message, reserved, ttl) VALUES (?, 'PENDING', 0, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET attempt = 0, message = excluded.message, reserved = excluded.reserved, ttl = excluded.ttl
WHERE state = 'PENDING' AND reserved < ?"""
REVOKE = """
INSERT INTO task (id, state, attempt, clock, ttl) VALUES (?, 'REVOKED', 0, ?, ?)
ON CONFLICT (id) DO UPDATE SET state = 'REVOKED', message = '', clock = excluded.clock, result = '', tail = '', ttl = excluded.ttl
WHERE state IN ('PENDING', 'RETRY')"""
ASK = "UPDATE task SET asked = ? WHERE id = ? AND state = 'RUNNING' AND asked < ?"
MARK = """
INSERT INTO task (id, state, attempt, marks, ttl) VALUES (?, 'PENDING', 0, ?, ?)
ON CONFLICT (id) DO UPDATE SET marks = excluded.marks, ttl = excluded.ttl WHERE state IN ('PENDING', 'RETRY', 'RUNNING')"""
FORGET_IN = "UPDATE task SET result = ? WHERE id = ? AND state = 'SUCCESS' AND result = ?"
SHOW = "UPDATE task SET custom = ? WHERE id = ? AND state = 'RUNNING' AND fence = ?"
_ENDED = ", ".join(f"'{state}'" for state in sorted(states.TERMINAL))
FOLLOW = f"UPDATE task SET followed = 1 WHERE id = ? AND message = ? AND state IN ({_ENDED})"  # noqa: S608 - our own words
_LISTED = ", ".join(f"'{state}'" for state in sorted(LISTED))
FAILURES = f"""
SELECT id, state, name, attempt, failed, error, place FROM task WHERE failed_day = ? AND failed_day <> '' AND state IN ({_LISTED})
ORDER BY failed DESC, id DESC LIMIT ?"""  # noqa: S608 - our own words
FORGET = f"UPDATE task SET result = '', tail = '', error = '', place = '', custom = '', forgotten = 1 WHERE id = ? AND state IN ({_ENDED})"  # noqa: S608 - our own words
OPEN_JOIN = "INSERT INTO chord VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
ARRIVE = """
INSERT INTO arrival VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET failed = max(failed, excluded.failed), ttl = excluded.ttl"""
_READ = "SELECT * FROM task WHERE id = ?"
_NODE = "SELECT child, failed FROM arrival WHERE chord = ? AND node = ?"


class SqliteLedger:
    """The ledger over one SQLite file; *clock* decides only when joins may be deleted."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Use *store*; nothing is opened yet."""
        self._store, self._clock = store, clock

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Grant each claim where no record exists (unless it must), or where one is PENDING or RETRY at the same attempt."""
        with self._store.changing() as database:
            return [_claim(database, claim) for claim in claims]

    def steal(self, claim: Claim, seen: TaskRecord) -> ClaimAnswer:
        """Grant *claim* where the record is still exactly the expired claim that was *seen*."""
        with self._store.changing() as database:
            sight = (claim.task_id, claim.attempt, seen.fence, seen.nonce, _ms(seen.expires))
            return _held(database, claim, database.execute(STEAL, (*_hold(claim), *sight)).fetchall())

    def extend(self, extensions: Sequence[Extension]) -> list[ClaimAnswer]:
        """Let each claim end later where its nonce and fence still hold the task; never earlier."""
        with self._store.changing() as database:
            return [_extend(database, extension) for extension in extensions]

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record each outcome where its nonce and fence still hold the task; an own earlier write counts."""
        with self._store.changing() as database:
            return [record_in(database, outcome) for outcome in outcomes]

    def keep(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record each terminal outcome where no record exists, or the record has no holder."""
        with self._store.changing() as database:
            return [keep_in(database, outcome) for outcome in outcomes]

    def reserve(self, task_id: str, message_id: str, now: float, until: float) -> TaskRecord | None:
        """Reserve a task id as PENDING until *until*; return None when reserved, else the record in the way."""
        with self._store.changing() as database:
            done = database.execute(RESERVE, (task_id, message_id, _ms(until), ttl(until), _ms(now))).rowcount
            record = None if done else _found(database, task_id)
        mine = record is not None and record.state == states.PENDING and record.message_id == message_id
        return None if mine else record

    def revoke(self, task_id: str, clock: int, at: float) -> TaskRecord | None:
        """End a task that has no holder as REVOKED; return None if it is ended, else the record in the way."""
        with self._store.changing() as database:
            done = database.execute(REVOKE, (task_id, str(clock), ttl(at))).rowcount
            record = None if done else _found(database, task_id)
        return None if record is None or record.state == states.REVOKED else record

    def ask(self, task_id: str, what: int) -> bool:
        """Ask the holder of a running task to stop; return whether it has been asked that, or more."""
        with self._store.changing() as database:
            done = database.execute(ASK, (what, task_id, what)).rowcount
            record = None if done else _found(database, task_id)
        return bool(done) or (record is not None and record.state == states.RUNNING and record.asked >= what)

    def mark(self, pack_id: str, marks: Collection[int], at: float) -> TaskRecord:
        """Add *marks* to a pack that has not ended; return its record, or the one in the way."""
        with self._store.changing() as database:
            seen = _found(database, pack_id)
            whole = sorted((seen.marks if seen is not None else frozenset()) | frozenset(marks))
            database.execute(MARK, (pack_id, " ".join(map(str, whole)), ttl(at)))
            return _found(database, pack_id) or TaskRecord(pack_id, states.PENDING)

    def show(self, task_id: str, fence: int, custom: str) -> bool:
        """Replace the custom state of a task that runs under *fence*; return whether it still does."""
        with self._store.changing() as database:
            return bool(database.execute(SHOW, (custom, task_id, fence)).rowcount)

    def follow(self, task_id: str, message_id: str) -> None:
        """Note that everything was sent that follows the end of a task, if the message *message_id* ended it."""
        with self._store.changing() as database:
            database.execute(FOLLOW, (task_id, message_id))

    def read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        """Return the records that exist, by task id; those of a pack's members from the pack."""
        return packs.read_with_members(self._read, task_ids)

    def _read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        found = (row for task_id in dict.fromkeys(task_ids) for row in self._store.rows(_READ, task_id))
        return {record.task_id: record for record in map(task_record, found)}

    def failures(self, day: str, most: int) -> list[FailedTask]:
        """Return at most *most* of the tasks that failed on *day*, the latest first."""
        rows = self._store.rows(FAILURES, day, most)
        return latest([_failed_task(*row) for row in rows], most)

    def forget(self, task_ids: Sequence[str]) -> None:
        """Drop result, error and outbox of terminal records; the records themselves stay until they age out."""
        with self._store.changing() as database:
            database.executemany(FORGET, [(task_id,) for task_id in task_ids])
            for pack_id, places in packs.packed(task_ids).items():
                pack = _found(database, pack_id)
                text = packs.forgotten_in(pack, places) if pack is not None else None
                if pack is not None and text is not None:
                    database.execute(FORGET_IN, (text, pack_id, pack.result))

    def open_join(self, join: Join) -> None:
        """Open a join where it is not open yet; opening it again changes nothing."""
        ref = join.body_ref or BlobRef("", 0)
        until = ttl(self._clock.now())
        with self._store.changing() as database:
            database.execute(OPEN_JOIN, (join.join_id, join.size, join.body, join.queue, ref.digest, ref.size, until))

    def arrive(self, arrivals: Sequence[Arrival]) -> list[Arrived | SedanoError]:
        """Add each arrival to its node's sets; arrivals of one call at the same node see each other."""
        until = ttl(self._clock.now())
        rows = [(one.join_id, one.node.key, one.child, int(one.failed), until) for one in arrivals]
        with self._store.changing() as database:
            database.executemany(ARRIVE, rows)
            return [_arrived(database.execute(_NODE, row[:2]).fetchall()) for row in rows]

    def read_join(self, join_id: str) -> Join | None:
        """Return an open join."""
        rows = self._store.rows("SELECT id, size, body, queue, digest, bytes FROM chord WHERE id = ?", join_id)
        for found, size, body, queue, digest, length in rows:
            return Join(found, size, body, queue, BlobRef(digest, length) if digest else None)
        return None

    def read_nodes(self, join_id: str, nodes: Sequence[Node]) -> list[Arrived]:
        """Return the sets of these nodes of a join."""
        return [_arrived(self._store.rows(_NODE, join_id, node.key)) for node in nodes]


def ttl(seconds: float) -> int:
    """Return when a record that was last needed at *seconds* (epoch) may be deleted."""
    return int(seconds) + RECORD_LIFETIME_S


def task_record(row: Sequence[Any]) -> TaskRecord:
    """Return the record that a row of `task` holds."""
    text = row[16]
    rest = tail.read(text) if text else tail.EMPTY
    return TaskRecord(
        task_id=row[0], state=states.read_state(row[1]), attempt=row[2], fence=row[3], claims=row[4], nonce=row[5], message_id=row[6],
        expires=row[7] / 1000, clock=int(row[8]), name=row[9], owner=row[10], asked=row[11], reserved=row[12] / 1000,
        forgotten=bool(row[13]), result=row[15] or None, result_ref=rest.result_ref, error=rest.error, outbox=rest.outbox,
        outbox_ref=rest.outbox_ref, not_before=rest.not_before, section=rest.section, added=rest.added, call=rest.call,
        custom=row[21], followed=bool(row[22]), marks=frozenset(map(int, row[23].split())),
    )  # fmt: skip


def _failed_task(task_id: str, state: str, name: str, attempt: int, failed: int, error: str, place: str) -> FailedTask:
    return FailedTask(
        task_id=task_id, state=states.read_state(state), name=name, attempt=attempt, at=failed / 1000, error=error, where=place
    )  # fmt: skip


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _found(database: sqlite3.Connection, task_id: str) -> TaskRecord | None:
    return next(map(task_record, database.execute(_READ, (task_id,)).fetchall()), None)


def _hold(claim: Claim) -> tuple[Any, ...]:
    """Return the values that every claim and steal writes."""
    return (
        claim.nonce, claim.message_id, _ms(claim.expires), str(claim.clock), claim.name, claim.owner, ttl(claim.expires),
    )  # fmt: skip


def _claim(database: sqlite3.Connection, claim: Claim) -> ClaimAnswer:
    if claim.must_exist:
        rows = database.execute(RECLAIM, (*_hold(claim), claim.task_id, claim.attempt)).fetchall()
    else:
        first = packs.LEFT_FENCE if claim.left else packs.FENCE
        rows = database.execute(CLAIM, (claim.task_id, claim.attempt, first, *_hold(claim))).fetchall()
    return _held(database, claim, rows)


def _held(database: sqlite3.Connection, claim: Claim, rows: list[Any]) -> ClaimAnswer:
    """Return the answer to a claim or a steal that wrote *rows*."""
    if rows:
        return Claimed(True, task_record(rows[0]))
    try:
        record = _found(database, claim.task_id)
    except Unavailable as error:
        return error.as_answer()
    return Claimed(record is not None and record.state == states.RUNNING and record.nonce == claim.nonce, record)


def _extend(database: sqlite3.Connection, extension: Extension) -> ClaimAnswer:
    until = _ms(extension.expires)
    sight = (extension.task_id, extension.nonce, extension.fence, until)
    rows = database.execute(EXTEND, (until, ttl(extension.expires), *sight)).fetchall()
    if rows:
        return Claimed(True, task_record(rows[0]))
    try:
        record = _found(database, extension.task_id)
    except Unavailable as error:
        return error.as_answer()
    mine = record is not None and (record.state, record.nonce, record.fence) == (states.RUNNING, extension.nonce, extension.fence)
    return Claimed(mine, record)


def record_in(database: sqlite3.Connection, outcome: Outcome) -> RecordAnswer:
    """Record *outcome* in the transaction of *database*."""
    text = tail.write(outcome)
    refused = tail.too_large(outcome, text)
    if refused is not None:
        return refused
    done = database.execute(RECORD, (*_end(outcome, text), outcome.task_id, outcome.nonce, outcome.fence)).rowcount
    return Recorded(True) if done else _refused(database, outcome, fenced=True)


def keep_in(database: sqlite3.Connection, outcome: Outcome) -> RecordAnswer:
    """Keep *outcome* in the transaction of *database*."""
    text = tail.write(outcome)
    refused = tail.too_large(outcome, text)
    if refused is not None:
        return refused
    done = database.execute(KEEP, (outcome.task_id, *_end(outcome, text), outcome.nonce, outcome.message_id)).rowcount
    return Recorded(True) if done else _refused(database, outcome, fenced=False)


def _attempt(outcome: Outcome) -> int:
    return outcome.next_attempt if outcome.state == states.RETRY else outcome.attempt


def _end(outcome: Outcome, text: str) -> tuple[Any, ...]:
    """Return the values that RECORD and KEEP write."""
    failed = failed_task(outcome)
    entry = ("", 0, "", "") if failed is None else (day_of(failed.at), _ms(failed.at), failed.error, failed.where)
    return (
        outcome.state, _attempt(outcome), str(outcome.clock), outcome.name, outcome.result or "", text, ttl(outcome.at), *entry,
    )  # fmt: skip


def _refused(database: sqlite3.Connection, outcome: Outcome, *, fenced: bool) -> RecordAnswer:
    """Return the answer for an outcome that was not written: accepted if an earlier write of the same call recorded it."""
    try:
        record = _found(database, outcome.task_id)
    except Unavailable as error:
        return error.as_answer()
    if record is None:
        return Recorded(False)
    own = (record.state, record.nonce, record.attempt) == (outcome.state, outcome.nonce, _attempt(outcome))
    own = own and (not fenced or record.fence == outcome.fence)
    return Recorded(True) if own else Recorded(False, record)


def _arrived(rows: Sequence[Sequence[int]]) -> Arrived:
    return Arrived(frozenset(child for child, _ in rows), frozenset(child for child, failed in rows if failed))
