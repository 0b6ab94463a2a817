"""The ledger in one DynamoDB table: `sedano.ports.Ledger` by the writes of `sedano.aws.expressions`.

Promises: no write needs a read before it; a refused write returns the item that made it fail; an own write whose answer was lost is
recognised; a task whose item is unavailable or too large gets its own error and does not affect the rest of its batch. Only a fault of all
of them (a missing table, a denied action) raises, as `ConfigurationError`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sedano.aws import ledger_items as items
from sedano.aws.client import keys
from sedano.aws.client.parallel_calls import ParallelCalls
from sedano.aws.client.table import Table
from sedano.aws.expressions import Write, tasks
from sedano.errors import SedanoError, TooLarge, Unavailable
from sedano.model import packs, states
from sedano.model.canvas.join import Arrival, Arrived, Join, Node
from sedano.model.ledger import outcome_text as tail
from sedano.model.ledger.records import Claim, ClaimAnswer, Claimed, Extension, Outcome, RecordAnswer, Recorded, TaskRecord

if TYPE_CHECKING:
    from sedano.model.ledger.failures import FailedTask

LANES = 5
"""How many calls of one batch go out at a time: ten claims cost two waits instead of ten."""


FORGETS = 5
"""How often one call tries to drop results of a pack while other calls do the same."""


class DynamoLedger:
    """The ledger over DynamoDB.

    Args:
        client: a botocore DynamoDB client.
        table: the table's name; its partition key is `pk` (a string), its TTL attribute `ttl`.
        lanes: calls of one batch that go out at a time; 1 keeps everything on the caller's thread.
        now: seconds since the epoch; decides only when joins may be deleted.
    """

    def __init__(self, client: Any, table: str, lanes: int = LANES, now: Callable[[], float] = time.time) -> None:
        """Use *table* through *client*; no call is made yet."""
        self._table = Table(client, table)
        self._lanes = ParallelCalls(lanes)
        self._now = now

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Grant each claim where no record exists (unless it must), or where one is PENDING or RETRY at the same attempt."""
        return self._lanes.each(self._claim, claims, [claim.task_id for claim in claims])

    def steal(self, claim: Claim, seen: TaskRecord) -> ClaimAnswer:
        """Grant *claim* where the record is still exactly the expired claim that was *seen*."""
        values = items.claim_values(claim)
        values[":try"] = {"N": str(claim.attempt)}
        values[":att"] = {"N": str(seen.fence)}
        values[":seen"] = {"S": seen.nonce}
        values[":lapsed"] = {"N": items.whole_ms(seen.expires)}
        return self._hold(tasks.STEAL, claim, values)

    def extend(self, extensions: Sequence[Extension]) -> list[ClaimAnswer]:
        """Let each claim end later where its nonce and fence still hold the task; never earlier."""
        return self._lanes.each(self._extend, extensions, [extension.task_id for extension in extensions])

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record each outcome where its nonce and fence still hold the task; an own earlier write counts."""
        return self._lanes.each(self._record, outcomes, [outcome.task_id for outcome in outcomes])

    def keep(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record each terminal outcome where no record exists, or one without a holder."""
        return self._lanes.each(self._keep, outcomes, [outcome.task_id for outcome in outcomes])

    def reserve(self, task_id: str, message_id: str, now: float, until: float) -> TaskRecord | None:
        """Reserve a task id as PENDING until *until*; return None when reserved, else the record in the way."""
        values = {
            ":mid": {"S": message_id},
            ":now": {"N": items.whole_ms(now)},
            ":until": {"N": items.whole_ms(until)},
            ":ttl": items.ttl(until),
        }
        done, item = self._table.update(tasks.RESERVE, keys.task(task_id), values)
        if done or item is None:
            return None
        record = items.record(task_id, item)
        return None if record.state == states.PENDING and record.message_id == message_id else record

    def revoke(self, task_id: str, clock: int, at: float) -> TaskRecord | None:
        """End a task without a holder as REVOKED; return None if it has ended so, else the record in the way."""
        values = {":clk": {"N": str(clock)}, ":ttl": items.ttl(at)}
        done, item = self._table.update(tasks.REVOKE, keys.task(task_id), values)
        if done or item is None:
            return None
        record = items.record(task_id, item)
        return None if record.state == states.REVOKED else record

    def ask(self, task_id: str, what: int) -> bool:
        """Ask the holder of a running task to stop; return whether this, or more, is now requested."""
        done, item = self._table.update(tasks.ASK, keys.task(task_id), {":rvk": {"N": str(what)}})
        if done or item is None:
            return done
        record = items.record(task_id, item)
        return record.state == states.RUNNING and record.asked >= what

    def mark(self, pack_id: str, marks: Collection[int], at: float) -> TaskRecord:
        """Add *marks* to a pack that has not ended; return its record, or the one in the way."""
        values: items.Values = {":mks": {"NS": [str(mark) for mark in sorted(marks)]}, ":ttl": items.ttl(at)}
        _, item = self._table.update(tasks.MARK, keys.task(pack_id), values, returns="ALL_NEW")
        if item is None:
            raise Unavailable(f"the record of {pack_id} was deleted meanwhile")
        return items.record(pack_id, item)

    def show(self, task_id: str, fence: int, custom: str) -> bool:
        """Replace the custom state of a task that runs under *fence*; return whether it still does."""
        done, _ = self._table.update(tasks.SHOW, keys.task(task_id), {":att": {"N": str(fence)}, ":ust": {"S": custom}})
        return done

    def follow(self, task_id: str, message_id: str) -> None:
        """Note that everything was sent that follows the end of a task, if the message *message_id* ended it."""
        self._table.update(tasks.FOLLOW, keys.task(task_id), {":mid": {"S": message_id}})

    def read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        """Return the records that exist, strongly consistent, by task id; those of a pack's members from the pack."""
        return packs.read_with_members(self._read, task_ids)

    def _read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        wanted = {keys.task(task_id): task_id for task_id in task_ids}
        found = self._table.read(list(wanted))
        return {wanted[key]: items.record(wanted[key], item) for key, item in found.items()}

    def failures(self, day: str, most: int) -> list[FailedTask] | None:
        """Return at most *most* of the tasks that failed on *day*, the latest first: one query a shard, unless a page is full."""
        from sedano.aws import failures
        from sedano.model.ledger.failures import latest

        keys_of_day = failures.shards(day)
        found = self._lanes.each(partial(failures.read, self._table, most=most), keys_of_day, [key["S"] for key in keys_of_day])
        known = [one for shard in found if shard is not None for one in shard]
        return None if None in found else latest(known, most)

    def forget(self, task_ids: Sequence[str]) -> None:
        """Drop result, error and outbox of terminal records; the records themselves stay until they age out."""
        self._lanes.each(self._forget, task_ids, task_ids)
        for pack_id, places in packs.packed(task_ids).items():
            self._forget_in(pack_id, places)

    def open_join(self, join: Join) -> None:
        """Open a join where it is not open yet; opening it again changes nothing."""
        self._table.put(tasks.OPEN_JOIN, items.join_item(keys.join(join.join_id), join, self._now()))

    def arrive(self, arrivals: Sequence[Arrival]) -> list[Arrived | SedanoError]:
        """Add each arrival to its node's sets; arrivals of one call at one node are one write."""
        nodes: dict[str, list[Arrival]] = {}
        for arrival in arrivals:
            nodes.setdefault(keys.node(arrival.join_id, arrival.node.key), []).append(arrival)
        answers = dict(zip(nodes, self._lanes.each(self._arrive, list(nodes.items()), list(nodes)), strict=True))
        return [answers[keys.node(arrival.join_id, arrival.node.key)] for arrival in arrivals]

    def read_join(self, join_id: str) -> Join | None:
        """Return an open join, strongly consistent."""
        item = self._table.read_one(keys.join(join_id))
        return items.join(item) if item is not None else None

    def read_nodes(self, join_id: str, nodes: Sequence[Node]) -> list[Arrived]:
        """Return the sets of these nodes of a join, strongly consistent, a hundred to a call."""
        wanted = [keys.node(join_id, node.key) for node in nodes]
        found = self._table.read(wanted)
        return [items.arrived(found.get(key, {})) for key in wanted]

    def _claim(self, claim: Claim) -> ClaimAnswer:
        values = items.claim_values(claim)
        values[":try"] = {"N": str(claim.attempt)}
        first = tasks.CLAIM_LEFT if claim.left else tasks.CLAIM
        return self._hold(tasks.RECLAIM if claim.must_exist else first, claim, values)

    def _hold(self, write: Write, claim: Claim, values: items.Values) -> ClaimAnswer:
        try:
            done, item = self._table.update(write, keys.task(claim.task_id), values, returns="ALL_NEW")
        except Unavailable as error:
            return error.as_answer()
        record = items.record(claim.task_id, item) if item is not None else None
        mine = record is not None and record.state == states.RUNNING and record.nonce == claim.nonce
        return Claimed(done or mine, record)

    def _extend(self, extension: Extension) -> ClaimAnswer:
        try:
            values = items.extension_values(extension)
            done, item = self._table.update(tasks.EXTEND, keys.task(extension.task_id), values, returns="ALL_NEW")
        except Unavailable as error:
            return error.as_answer()
        record = items.record(extension.task_id, item) if item is not None else None
        mine = record is not None and (record.state, record.nonce, record.fence) == (states.RUNNING, extension.nonce, extension.fence)
        return Claimed(done or mine, record)

    def _record(self, outcome: Outcome) -> RecordAnswer:
        return self._end(tasks.RECORD, outcome, {":att": {"N": str(outcome.fence)}})

    def _keep(self, outcome: Outcome) -> RecordAnswer:
        return self._end(tasks.KEEP, outcome, {":mid": {"S": outcome.message_id}})

    def _end(self, write: Write, outcome: Outcome, more: Mapping[str, Mapping[str, str]]) -> RecordAnswer:
        text = tail.write(outcome)
        refused = tail.too_large(outcome, text)
        if refused is not None:
            return refused
        if outcome.state != states.SUCCESS or outcome.attempt:
            from sedano.aws import failures

            made, entry = failures.indexed(write, outcome)
        else:
            made, entry = write, {}
        try:
            done, item = self._table.update(made, keys.task(outcome.task_id), {**items.outcome_values(outcome, text), **more, **entry})
        except (Unavailable, TooLarge) as error:
            return error.as_answer()
        if done or item is None:
            return Recorded(done)
        record = items.record(outcome.task_id, item)
        return Recorded(True) if is_own(outcome, record, claimed=write is not tasks.KEEP) else Recorded(False, record)

    def _forget(self, task_id: str) -> None:
        self._table.update(tasks.FORGET, keys.task(task_id), {})

    def _forget_in(self, pack_id: str, places: Sequence[int]) -> None:
        """Drop the results of members of a pack; another call that does the same at the same time goes first."""
        for _ in range(FORGETS):
            pack = self._read([pack_id]).get(pack_id)
            text = packs.forgotten_in(pack, places) if pack is not None else None
            if pack is None or text is None:
                return
            done, _ = self._table.update(tasks.FORGET_IN, keys.task(pack_id), {":seen": {"S": pack.result or ""}, ":res": {"S": text}})
            if done:
                return
        raise Unavailable(f"results in {pack_id} were dropped by other calls at the same time; drop them again")

    def _arrive(self, node: tuple[str, list[Arrival]]) -> Arrived | SedanoError:
        key, arrivals = node
        fallen = {str(arrival.child) for arrival in arrivals if arrival.failed}
        values: items.Values = {
            ":children": {"NS": sorted({str(arrival.child) for arrival in arrivals})},
            ":ttl": items.ttl(self._now()),
        }
        if fallen:
            values[":fallen"] = {"NS": sorted(fallen)}
        try:
            _, item = self._table.update(tasks.ARRIVE_FAILED if fallen else tasks.ARRIVE, key, values, returns="ALL_NEW")
        except Unavailable as error:
            return error.as_answer()
        return items.arrived(item or {})


def is_own(outcome: Outcome, record: TaskRecord, *, claimed: bool) -> bool:
    """Return whether *record* is what *outcome* wrote: RECORD where it is *claimed*, else KEEP."""
    mark = (record.state, record.nonce, record.attempt) == (outcome.state, outcome.nonce, items.attempt_of(outcome))
    return mark and (not claimed or record.fence == outcome.fence)
