"""The ledger over dicts: the same conditional writes as `sedano.aws.expressions`, in Python, under one lock. The oracle.

Times are kept in whole milliseconds, as the table keeps them, so a written value and the value read back compare equal everywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence

from sedano.errors import EffectRefused, SedanoError
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
from sedano.ports import Clock

_OPEN = (states.PENDING, states.RETRY)


def whole_ms(seconds: float) -> float:
    """Return *seconds* rounded to the millisecond."""
    return round(seconds * 1000) / 1000


class MemoryLedger:
    """Task records and joins in dicts."""

    def __init__(self, clock: Clock) -> None:
        """Start empty; *clock* only decides what `age_out` drops."""
        self._clock = clock
        self._records: dict[str, TaskRecord] = {}
        self._until: dict[str, float] = {}
        self._failed: dict[str, FailedTask] = {}
        self._joins: dict[str, Join] = {}
        self._nodes: dict[tuple[str, str], tuple[set[int], set[int]]] = {}
        self._lock = threading.Lock()

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Grant each claim where no record exists (unless it must), or where one is PENDING or RETRY at the same attempt."""
        with self._lock:
            return [self._claim(claim) for claim in claims]

    def steal(self, claim: Claim, seen: TaskRecord) -> ClaimAnswer:
        """Grant *claim* where the record is still exactly the expired claim that was *seen*."""
        with self._lock:
            record = self._records.get(claim.task_id)
            if record is None:
                return Claimed(False, None)
            running = record.state == states.RUNNING and record.attempt == claim.attempt
            if running and _sight(record) == _sight(seen):
                return self._hold(claim, record, record.claims + 1)
            return _mine(claim, record)

    def extend(self, extensions: Sequence[Extension]) -> list[ClaimAnswer]:
        """Let each claim end later where its nonce and fence still hold the task; never earlier."""
        with self._lock:
            return [self._extend(extension) for extension in extensions]

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record each outcome where its nonce and fence still hold the task."""
        with self._lock:
            return [self._record(outcome) for outcome in outcomes]

    def keep(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record each terminal outcome where no record exists, or one without a holder."""
        with self._lock:
            return [self._keep(outcome) for outcome in outcomes]

    def record_with(self, outcome: Outcome, claimed: bool, more: Callable[[], EffectRefused | None]) -> RecordAnswer | EffectRefused:
        """Record or keep *outcome*; if that wrote it now, call *more*, and record nothing if *more* refuses."""
        with self._lock:
            before, until = self._records.get(outcome.task_id), self._until.get(outcome.task_id)
            failed = self._failed.get(outcome.task_id)
            answer = self._record(outcome) if claimed else self._keep(outcome)
            refused = more() if self._records.get(outcome.task_id) is not before else None
            if refused is None:
                return answer
            if before is None or until is None:
                del self._records[outcome.task_id], self._until[outcome.task_id]
            else:
                self._records[outcome.task_id], self._until[outcome.task_id] = before, until
            if failed is None:
                self._failed.pop(outcome.task_id, None)
            else:
                self._failed[outcome.task_id] = failed
            return refused

    def reserve(self, task_id: str, message_id: str, now: float, until: float) -> TaskRecord | None:
        """Reserve a task id as PENDING until *until*; return None when reserved, else the record in the way."""
        with self._lock:
            record = self._records.get(task_id)
            lapsed = record is not None and record.state == states.PENDING and record.reserved < whole_ms(now)
            if record is not None and not lapsed:
                mine = record.state == states.PENDING and record.message_id == message_id
                return None if mine else record
            known = record or TaskRecord(task_id, states.PENDING)
            fresh = known._replace(attempt=0, message_id=message_id, reserved=whole_ms(until))
            self._store(fresh, until)
            return None

    def note(self, task_id: str, message_id: str, at: float) -> None:
        """Note an unknown task as PENDING: an election dispatched it."""
        with self._lock:
            if task_id not in self._records:
                self._store(TaskRecord(task_id, states.PENDING, message_id=message_id), at)

    def holds(self, task_id: str, fence: int) -> bool:
        """Return whether the task is held under *fence*."""
        with self._lock:
            record = self._records.get(task_id)
            return record is not None and (record.state, record.fence) == (states.RUNNING, fence)

    def revoke(self, task_id: str, clock: int, at: float) -> TaskRecord | None:
        """End a task without a holder as REVOKED; return None if it has ended so, else the record in the way."""
        with self._lock:
            record = self._records.get(task_id, TaskRecord(task_id, states.PENDING))
            if record.state not in _OPEN:
                return None if record.state == states.REVOKED else record
            self._store(_bare(record)._replace(state=states.REVOKED, message_id="", clock=clock), at)
            return None

    def ask(self, task_id: str, what: int) -> bool:
        """Ask the holder of a running task to stop; return whether this, or more, is now requested."""
        with self._lock:
            record = self._records.get(task_id)
            if record is None or record.state != states.RUNNING:
                return False
            self._records[task_id] = record._replace(asked=max(record.asked, what))
            return True

    def mark(self, pack_id: str, marks: Collection[int], at: float) -> TaskRecord:
        """Add *marks* to a pack that has not ended; return its record, or the one in the way."""
        with self._lock:
            record = self._records.get(pack_id, TaskRecord(pack_id, states.PENDING))
            if record.state not in states.TERMINAL:
                record = record._replace(marks=record.marks | frozenset(marks))
                self._store(record, at)
            return record

    def show(self, task_id: str, fence: int, custom: str) -> bool:
        """Replace the custom state of a task that runs under *fence*; return whether it still does."""
        with self._lock:
            record = self._records.get(task_id)
            if record is None or (record.state, record.fence) != (states.RUNNING, fence):
                return False
            self._records[task_id] = record._replace(custom=custom)
            return True

    def follow(self, task_id: str, message_id: str) -> None:
        """Note that everything was sent that follows the end of a task, if the message *message_id* ended it."""
        with self._lock:
            record = self._records.get(task_id)
            if record is not None and record.state in states.TERMINAL and record.message_id == message_id:
                self._records[task_id] = record._replace(followed=True)

    def read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        """Return the records that exist, by task id; those of a pack's members from the pack."""
        with self._lock:
            return packs.read_with_members(self._read, task_ids)

    def failures(self, day: str, most: int) -> list[FailedTask]:
        """Return at most *most* of the tasks that failed on *day*, the latest first."""
        with self._lock:
            found = [self._now_failed(one) for one in self._failed.values() if day_of(one.at) == day]
            return latest([one for one in found if one.state in LISTED], most)

    def forget(self, task_ids: Sequence[str]) -> None:
        """Drop result, error and outbox of terminal records."""
        with self._lock:
            for task_id in task_ids:
                record = self._records.get(task_id)
                if record is not None and record.state in states.TERMINAL:
                    self._records[task_id] = _bare(record)._replace(forgotten=True, custom="")
                    if task_id in self._failed:
                        self._failed[task_id] = self._failed[task_id]._replace(error="", where="")
            for pack_id, places in packs.packed(task_ids).items():
                pack = self._records.get(pack_id)
                text = packs.forgotten_in(pack, places) if pack is not None else None
                if pack is not None and text is not None:
                    self._records[pack_id] = pack._replace(result=text)

    def open_join(self, join: Join) -> None:
        """Open a join where it is not open yet."""
        with self._lock:
            self._joins.setdefault(join.join_id, join)

    def arrive(self, arrivals: Sequence[Arrival]) -> list[Arrived | SedanoError]:
        """Add each arrival to its node's sets; arrivals of one call at the same node see each other."""
        with self._lock:
            nodes = [self._nodes.setdefault((arrival.join_id, arrival.node.key), (set(), set())) for arrival in arrivals]
            for arrival, (done, failed) in zip(arrivals, nodes, strict=True):
                done.add(arrival.child)
                if arrival.failed:
                    failed.add(arrival.child)
            return [Arrived(frozenset(done), frozenset(failed)) for done, failed in nodes]

    def read_join(self, join_id: str) -> Join | None:
        """Return an open join."""
        with self._lock:
            return self._joins.get(join_id)

    def read_nodes(self, join_id: str, nodes: Sequence[Node]) -> list[Arrived]:
        """Return the sets of these nodes of a join."""
        with self._lock:
            found = [self._nodes.get((join_id, node.key), (set[int](), set[int]())) for node in nodes]
            return [Arrived(frozenset(done), frozenset(failed)) for done, failed in found]

    def age_out(self) -> list[str]:
        """Drop the records whose lifetime has passed, as the table's TTL does, and return their ids."""
        with self._lock:
            now = self._clock.now()
            aged = [task_id for task_id, until in self._until.items() if until + RECORD_LIFETIME_S <= now]
            for task_id in aged:
                del self._records[task_id], self._until[task_id]
                self._failed.pop(task_id, None)
            return aged

    def _read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        return {task_id: self._records[task_id] for task_id in task_ids if task_id in self._records}

    def _store(self, record: TaskRecord, until: float) -> None:
        kept = self._records.get(record.task_id)
        before = kept.state if kept is not None else states.PENDING
        if record.state != before and not states.may_become(before, record.state):
            raise AssertionError(f"no write changes {before} to {record.state}; see states.ROWS")
        self._records[record.task_id] = record
        self._until[record.task_id] = until

    def _claim(self, claim: Claim) -> Claimed:
        record = self._records.get(claim.task_id)
        if record is None:
            if claim.must_exist:
                return Claimed(False, None)
            fresh = TaskRecord(claim.task_id, states.PENDING)
            return self._hold(claim, fresh._replace(fence=packs.FENCE) if claim.left else fresh, 1)
        if record.state in _OPEN and record.attempt == claim.attempt and not record.asked:
            return self._hold(claim, record, 1)
        return _mine(claim, record)

    def _extend(self, extension: Extension) -> Claimed:
        record = self._records.get(extension.task_id)
        if record is None or (record.state, record.nonce, record.fence) != (states.RUNNING, extension.nonce, extension.fence):
            return Claimed(False, record)
        if record.expires < whole_ms(extension.expires):
            record = record._replace(expires=whole_ms(extension.expires))
            self._store(record, extension.expires)
        return Claimed(True, record)

    def _hold(self, claim: Claim, record: TaskRecord, claims: int) -> Claimed:
        held = record._replace(
            state=states.RUNNING,
            attempt=claim.attempt,
            fence=record.fence + 1,
            claims=claims,
            nonce=claim.nonce,
            message_id=claim.message_id,
            expires=whole_ms(claim.expires),
            clock=claim.clock,
            name=claim.name,
            owner=claim.owner,
        )
        self._store(held, claim.expires)
        return Claimed(True, held)

    def _record(self, outcome: Outcome) -> RecordAnswer:
        refused = tail.too_large(outcome, tail.write(outcome))
        if refused is not None:
            return refused
        record = self._records.get(outcome.task_id)
        if record is None or (record.nonce, record.fence) != (outcome.nonce, outcome.fence):
            return Recorded(False, record)
        if record.state == states.RUNNING:
            self._end(record, outcome)
            return Recorded(True)
        own = (record.state, record.attempt) == (outcome.state, _attempt(outcome))
        return Recorded(True) if own else Recorded(False, record)

    def _end(self, record: TaskRecord, outcome: Outcome) -> None:
        self._store(_ended(record, outcome), outcome.at)
        failed = failed_task(outcome)
        if failed is not None:
            self._failed[outcome.task_id] = failed

    def _now_failed(self, one: FailedTask) -> FailedTask:
        record = self._records[one.task_id]
        return one._replace(state=record.state, name=record.name, attempt=record.attempt)

    def _keep(self, outcome: Outcome) -> RecordAnswer:
        refused = tail.too_large(outcome, tail.write(outcome))
        if refused is not None:
            return refused
        record = self._records.get(outcome.task_id, TaskRecord(outcome.task_id, states.PENDING))
        if record.state == states.PENDING or (record.state == states.RETRY and record.attempt == outcome.attempt):
            kept = record._replace(nonce=outcome.nonce, message_id=outcome.message_id)
            self._end(kept, outcome)
            return Recorded(True)
        own = (record.state, record.nonce, record.attempt) == (outcome.state, outcome.nonce, outcome.attempt)
        return Recorded(True) if own else Recorded(False, record)


def _sight(record: TaskRecord) -> tuple[int, str, float]:
    return record.fence, record.nonce, whole_ms(record.expires)


def _mine(claim: Claim, record: TaskRecord) -> Claimed:
    return Claimed(record.state == states.RUNNING and record.nonce == claim.nonce, record)


def _attempt(outcome: Outcome) -> int:
    return outcome.next_attempt if outcome.state == states.RETRY else outcome.attempt


def _ended(record: TaskRecord, outcome: Outcome) -> TaskRecord:
    return record._replace(
        state=outcome.state,
        attempt=_attempt(outcome),
        clock=outcome.clock,
        name=outcome.name,
        result=outcome.result,
        result_ref=outcome.result_ref,
        error=outcome.error,
        outbox=outcome.outbox,
        outbox_ref=outcome.outbox_ref,
        not_before=whole_ms(outcome.not_before),
        section=outcome.section,
        added=outcome.added,
        call=outcome.call,
    )


def _bare(record: TaskRecord) -> TaskRecord:
    return record._replace(
        result=None, result_ref=None, error=None, outbox=(), outbox_ref=None, not_before=0.0, section=None, added=0, call=None,
    )  # fmt: skip
