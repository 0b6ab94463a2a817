"""The ledger's own change log: every write to the table in the order in which it happened, kept by the table and not by sedano.

It is the demo's witness. What workers say of themselves cannot prove that nothing ran twice; a table's change log (DynamoDB
Streams) shows each accepted write with what stood there before and after, so a second end of a task would be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from sedano.model import states

TASK = "TASK#"
AT_ONCE = 1000
Image = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Held:
    """A task as one write left it: its state, who holds it (the claim's nonce), and when that claim lapses (epoch ms)."""

    state: str
    nonce: str
    expires: int


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


class ChangeLog:
    """Reads the change log of one table from the moment it is made."""

    def __init__(self, dynamodb: Any, streams: Any, table: str) -> None:
        """Switch the log on for *table*, through clients of DynamoDB and of its streams."""
        view = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        arn = dynamodb.update_table(TableName=table, StreamSpecification=view)["TableDescription"]["LatestStreamArn"]
        self._streams = streams
        shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        self._next: list[str] = [
            streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
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


def change_of(record: Mapping[str, Any]) -> Change | None:
    """Return what one record of the log says of a task; None when it is about something else (a join)."""
    key = record["Keys"]["pk"]["S"]
    if not key.startswith(TASK):
        return None
    image: Image = record["NewImage"]
    before: Image | None = record.get("OldImage") or None
    return Change(unquote(key.removeprefix(TASK)), image["nm"]["S"], _held(before) if before else None, _held(image))


def _held(image: Image) -> Held:
    return Held(image["st"]["S"], image.get("nc", {"S": ""})["S"], int(image.get("exp", {"N": "0"})["N"]))
