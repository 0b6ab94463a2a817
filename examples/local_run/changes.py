"""The ledger's own change log: every write to the table in its order, recorded by the table and not by sedano.

It is the demo's witness. The reports of the workers cannot prove that nothing ran twice; a table's change log (DynamoDB Streams)
has each accepted write with the item before and after it, so it would show a second end of a task.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote

from sedano.model import states

TASK = "TASK#"
NAMELESS = {"S": ""}
"""The name of a task that was revoked before a worker received it."""
AT_ONCE = 1000
_OWNER = re.compile(r"\.(\d+)\.[0-9a-f]{8}(\.\d+)?$")
"""The end of a worker's name: its process id and eight random digits; the number of a lane follows in a process of `sedano worker`."""
Image = Mapping[str, Mapping[str, Any]]
Claims = Mapping[int, frozenset[str]]
"""Claimed tasks, by the moment (epoch ms) at which their claims expire: all claims of one invocation expire together."""


@dataclass(frozen=True, slots=True)
class Held:
    """A task after one write: its state, the nonce of its claim, and the moment at which that claim expires (epoch ms)."""

    state: str
    nonce: str
    expires: int
    owner: str = ""
    """The name of the worker that claimed it last."""

    @property
    def process(self) -> int | None:
        """The process of `sedano worker` that claimed it last; None: a function."""
        return process_of(self.owner)


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
    """Enable a change log of *table*, and return its name."""
    view = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    name: str = dynamodb.update_table(TableName=table, StreamSpecification=view)["TableDescription"]["LatestStreamArn"]
    return name


class Changes(Protocol):
    """A source of the changes that were added since the last read."""

    def follow(self) -> list[Change]:
        """Return them."""


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
        """Read the changes that were added since the last read, keep them, and return them."""
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
    """The tasks that are claimed at this moment, according to the change log."""

    def __init__(self, log: Changes) -> None:
        """Follow *log*."""
        self._log = log
        self._held: dict[str, Held] = {}

    def at_work(self, now: float) -> set[int]:
        """Return the process ids of the functions that hold claims at *now* (epoch s), according to the last `claims`."""
        held = [one.owner for one in self._held.values() if one.process is None and one.expires > now * 1000]
        return {int(found[1]) for found in map(_OWNER.search, held) if found}

    def processes_at_work(self, now: float) -> set[int]:
        """Read the log, and return the ids of the processes of `sedano worker` that hold claims at *now* (epoch s)."""
        self._look()
        return {one.process for one in self._held.values() if one.process is not None and one.expires > now * 1000}

    def claims(self) -> Claims:
        """Read the log, and return the tasks that functions hold now, by the moment (epoch ms) at which their claims expire."""
        self._look()
        held: dict[int, set[str]] = defaultdict(set)
        for task, one in self._held.items():
            if one.process is None:
                held[one.expires].add(task)
        return {lapse: frozenset(tasks) for lapse, tasks in held.items()}

    def _look(self) -> None:
        for change in self._log.follow():
            self._held.pop(change.task_id, None)
            if change.after.state == states.RUNNING:
                self._held[change.task_id] = change.after


def process_of(owner: str) -> int | None:
    """Return the process of `sedano worker` that the worker called *owner* is a lane of; None: it is a function."""
    found = _OWNER.search(owner)
    return int(found[1]) if found and found[2] else None


def abandoned(before: Claims, after: Claims) -> set[int]:
    """Return the expiry of each invocation's claims that made no progress between two reads: none was recorded, none was added."""
    return {lapse for lapse, tasks in after.items() if before.get(lapse) == tasks}


def change_of(record: Mapping[str, Any]) -> Change | None:
    """Return the change of a task in one record of the log; None if the record is about something else (a join)."""
    key = record["Keys"]["pk"]["S"]
    if not key.startswith(TASK):
        return None
    image: Image = record["NewImage"]
    before: Image | None = record.get("OldImage") or None
    return Change(unquote(key.removeprefix(TASK)), image.get("nm", NAMELESS)["S"], _held(before) if before else None, _held(image))


def _held(image: Image) -> Held:
    nonce, owner = (image.get(name, {"S": ""})["S"] for name in ("nc", "own"))
    return Held(image["st"]["S"], nonce, int(image.get("exp", {"N": "0"})["N"]), owner)
