"""The ledger's own change log: every write to the table in the order in which it happened, kept by the table and not by sedano.

It is the demo's witness. What workers say of themselves cannot prove that nothing ran twice; a table's change log (DynamoDB
Streams) shows each accepted write with what stood there before and after, so a second end of a task would be seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from sedano.model import states

TASK = "TASK#"
NAMELESS = {"S": ""}
"""The name of a task that was revoked before a worker met it."""
AT_ONCE = 1000
Image = Mapping[str, Mapping[str, Any]]
Claims = Mapping[int, frozenset[str]]
"""Tasks that are held, by the moment (epoch ms) at which their claims lapse: all claims of one invocation lapse together."""


@dataclass(frozen=True, slots=True)
class Held:
    """A task as one write left it: its state, who holds it (the claim's nonce), and when that claim lapses (epoch ms)."""

    state: str
    nonce: str
    expires: int
    owner: str = ""
    """The name of the worker that claimed it last."""


@dataclass(frozen=True, slots=True)
class Change:
    """One accepted write to a task's record; *before* is None for the first."""

    task_id: str
    name: str
    before: Held | None
    after: Held

    @property
    def is_end(self) -> bool:
        """Whether the write recorded a terminal state."""
        return self.after.state in states.TERMINAL

    @property
    def is_steal(self) -> bool:
        """Whether the write took the task over from a holder that had not recorded."""
        running = self.before is not None and self.before.state == self.after.state == states.RUNNING
        return running and self.before is not None and self.before.nonce != self.after.nonce


def switch_on(dynamodb: Any, table: str) -> str:
    """Let *table* keep a change log from now on and return the log's name."""
    view = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    name: str = dynamodb.update_table(TableName=table, StreamSpecification=view)["TableDescription"]["LatestStreamArn"]
    return name


class ChangeLog:
    """Reads one change log from its beginning, each change once."""

    def __init__(self, streams: Any, name: str) -> None:
        """Read the log called *name* through *streams*, a client of DynamoDB's streams."""
        self._streams = streams
        shards = streams.describe_stream(StreamArn=name)["StreamDescription"]["Shards"]
        self._next: list[str] = [
            streams.get_shard_iterator(StreamArn=name, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
            for shard in shards
        ]
        self.changes: list[Change] = []

    def follow(self) -> list[Change]:
        """Read what was added since the last time, keep it, and return it."""
        fresh = [change for shard in range(len(self._next)) for change in self._read(shard)]
        self.changes += fresh
        return fresh

    def _read(self, shard: int) -> Iterator[Change]:
        while True:
            answer = self._streams.get_records(ShardIterator=self._next[shard], Limit=AT_ONCE)
            self._next[shard] = answer.get("NextShardIterator") or self._next[shard]
            for record in answer["Records"]:
                change = change_of(record["dynamodb"])
                if change is not None:
                    yield change
            if not answer["Records"]:
                return


class Holders:
    """Which tasks are held at this moment, as the change log tells."""

    def __init__(self, log: ChangeLog) -> None:
        """Follow *log*."""
        self._log = log
        self._lapses: dict[str, int] = {}
        self._owners: dict[str, str] = {}

    def at_work(self, now: float) -> set[int]:
        """Return the process ids of the workers that hold claims at *now* (epoch s), by the look of the last `claims`."""
        held = [owner for task, owner in self._owners.items() if self._lapses.get(task, 0) > now * 1000]
        return {int(owner.split(".")[-2]) for owner in held}

    def claims(self) -> Claims:
        """Return the tasks that are held now, by the moment (epoch ms) at which their claims lapse."""
        for change in self._log.follow():
            self._lapses.pop(change.task_id, None)
            self._owners.pop(change.task_id, None)
            if change.after.state == states.RUNNING:
                self._lapses[change.task_id], self._owners[change.task_id] = change.after.expires, change.after.owner
        held: dict[int, set[str]] = defaultdict(set)
        for task, lapse in self._lapses.items():
            held[lapse].add(task)
        return {lapse: frozenset(tasks) for lapse, tasks in held.items()}


def abandoned(before: Claims, after: Claims) -> set[int]:
    """Return the moments of lapse of those claims on which nobody worked between two looks: none was recorded, none was added."""
    return {lapse for lapse, tasks in after.items() if before.get(lapse) == tasks}


def change_of(record: Mapping[str, Any]) -> Change | None:
    """Return what one record of the log says of a task; None when it is about something else (a join)."""
    key = record["Keys"]["pk"]["S"]
    if not key.startswith(TASK):
        return None
    image: Image = record["NewImage"]
    before: Image | None = record.get("OldImage") or None
    return Change(unquote(key.removeprefix(TASK)), image.get("nm", NAMELESS)["S"], _held(before) if before else None, _held(image))


def _held(image: Image) -> Held:
    nonce, owner = (image.get(name, {"S": ""})["S"] for name in ("nc", "own"))
    return Held(image["st"]["S"], nonce, int(image.get("exp", {"N": "0"})["N"]), owner)
