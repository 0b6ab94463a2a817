"""The fight on a real endpoint: processes that are started, killed and replaced, and everything that is left to judge them by.

The endpoint's tables have streams here, so every write that was carried out is known in its order, with the item before and after.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self

import boto3

from sedano.aws.settings import command_addresses
from sedano.local.endpoint import Endpoint
from sedano.local.stage import ENDPOINT_PYTHON, stage_context
from sedano.local.synthesis import synthesise
from tests.aws_from_template import create_resources
from tests.deploy.fight import fighter
from tests.deploy.fight.journal import lines
from tests.simulation.values import Item

APP_CODE = Path(__file__).parents[1] / "app"
VISIBILITY_S = 4
PATIENCE_S = 90.0
"""So long that what is still left then will never end."""
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@dataclass(frozen=True, slots=True)
class Arena:
    """Where a fight takes place: clients, what makes another process use the same endpoint, and the settings that name its tables."""

    session: boto3.Session
    url: str
    environment: Mapping[str, str]
    settings: Mapping[str, str]

    def client(self, service: str) -> Any:
        """Return a client of *service*."""
        return self.session.client(service, endpoint_url=self.url)  # type: ignore[call-overload] # any service

    @property
    def queue(self) -> str:
        """The URL of the command queue."""
        return str(command_addresses(self.settings)["default"])


@dataclass(frozen=True, slots=True)
class Write:
    """One write that was carried out, in the order of the store."""

    order: str
    second: int
    table: str
    key: str
    old: Item | None
    new: Item | None


@dataclass(frozen=True, slots=True)
class Fight:
    """What is left: the lines of all processes, all writes in their order, how many were killed, messages of *queue* that never ended."""

    queue: str
    lines: list[dict[str, Any]]
    writes: list[Write]
    killed: int
    left: int


@contextmanager
def standing_arena(directory: Path) -> Iterator[Arena]:
    """Give an arena on an endpoint of its own, until the `with` statement ends."""
    with Endpoint(ENDPOINT_PYTHON, directory) as endpoint:
        assembly = synthesise(stage_context("tiny:app", APP_CODE), directory / "cdk.out")
        settings = create_resources(assembly, endpoint.session(), endpoint_url=endpoint.url, prefix="fight-")
        yield Arena(endpoint.session(), endpoint.url, endpoint.environment, settings)


class Fighters:
    """The processes of one fight; all come from one that has everything loaded, so that a new one costs little."""

    def __init__(self, arena: Arena, directory: Path, planted: str) -> None:
        """Start nobody yet. *directory* is for the journals."""
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([fighter.__name__])
        self._environment = {**arena.environment, **arena.settings}
        self._directory, self._planted = directory, planted
        self._running: list[tuple[BaseProcess, Any, Path]] = []
        self._started = 0

    def ready(self, count: int) -> list[Any]:
        """Start *count* processes; return connections to them when they are ready to hear until when to fight."""
        fresh = []
        for _ in range(count):
            ours, theirs = self._context.Pipe()
            path = self._directory / f"{self._started}.journal"
            process = self._context.Process(target=fighter.main, args=(str(self._started), path, self._planted, self._environment, theirs))
            process.start()
            self._started += 1
            self._running.append((process, ours, path))
            fresh.append(ours)
        for connection in fresh:
            assert connection.recv() == "ready"
        return fresh

    def kill_one(self, dice: random.Random) -> None:
        """Kill one of them: every second time one that holds a permit, as far as its journal tells."""
        holders = [place for place, (_, _, path) in enumerate(self._running) if dice.random() < 0.5 and _is_inside(path)]
        process, _, _ = self._running.pop(holders[0] if holders else dice.randrange(len(self._running)))
        process.kill()
        process.join()

    def stop(self) -> None:
        """Let all of them end."""
        for process, connection, _ in self._running:
            assert process.exitcode is None, "a process of the fight ended before it was told to; its traceback is on stderr"
            connection.send("stop")
        for process, _, _ in self._running:
            process.join(60)
            assert process.exitcode == 0, "a process of the fight failed; its traceback is on stderr"

    def __enter__(self) -> Self:
        """Give them."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nobody behind."""
        for process, _, _ in self._running:
            process.kill()


def fight(arena: Arena, directory: Path, seconds: float, processes: int = 16, kills: int = 6, planted: str = "") -> Fight:
    """Let *processes* fight for *seconds*, of which *kills* are killed with SIGKILL and replaced; then let them finish their work.

    Where a fault is *planted*, work is left undone: whether it does harm is known by then.
    """
    _prepare(arena)
    with Fighters(arena, directory, planted) as fighters:
        connections = fighters.ready(processes)
        end = time.monotonic() + seconds
        for connection in connections:
            connection.send(end)
        dice = random.Random(f"{seconds} {processes} {kills}")
        for _ in range(kills):
            time.sleep(seconds / (kills + 1))  # real time is the subject here, not a means to wait for something
            fighters.kill_one(dice)
            fighters.ready(1)[0].send(end)
        time.sleep(max(0.0, end - time.monotonic()))
        left = _at_rest(arena, 0.0 if planted else PATIENCE_S)
        fighters.stop()
    told = [line for path in sorted(directory.glob("*.journal")) for line in lines(path)]
    return Fight(arena.queue, told, _writes(arena), kills, left)


def _is_inside(journal: Path) -> bool:
    """Return whether the writer of this journal is in a body that holds a permit."""
    stays = [line["kind"] for line in lines(journal) if line["kind"] in ("enters", "leaves")]
    return stays[-1:] == ["enters"]


def _prepare(arena: Arena) -> None:
    dynamodb = arena.client("dynamodb")
    for name in ("SEDANO_CONTROL_TABLE", "SEDANO_LEDGER_TABLE"):
        dynamodb.update_table(TableName=arena.settings[name], StreamSpecification=STREAM)
    arena.client("sqs").set_queue_attributes(QueueUrl=arena.queue, Attributes={"VisibilityTimeout": str(VISIBILITY_S)})


def _at_rest(arena: Arena, patience: float) -> int:
    """Wait until no message is left, or for *patience* (s); return how many are left."""
    sqs, end = arena.client("sqs"), time.monotonic() + patience
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"]
    while True:
        found = sqs.get_queue_attributes(QueueUrl=arena.queue, AttributeNames=names)["Attributes"]
        left = sum(map(int, found.values()))
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.5)


def _writes(arena: Arena) -> list[Write]:
    found: list[Write] = []
    for table, name in (("control", "SEDANO_CONTROL_TABLE"), ("ledger", "SEDANO_LEDGER_TABLE")):
        found += (_write(table, record["dynamodb"]) for record in _records(arena, arena.settings[name]))
    return sorted(found, key=lambda write: write.order)


def _records(arena: Arena, table: str) -> Iterator[dict[str, Any]]:
    streams = arena.client("dynamodbstreams")
    arn = streams.list_streams(TableName=table)["Streams"][0]["StreamArn"]
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        asked = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = streams.get_shard_iterator(**asked)["ShardIterator"]
        while iterator:
            answer = streams.get_records(ShardIterator=iterator)
            yield from answer["Records"]
            iterator = answer.get("NextShardIterator") if answer["Records"] else None


def _write(table: str, record: dict[str, Any]) -> Write:
    second = int(record["ApproximateCreationDateTime"].timestamp())
    return Write(
        record["SequenceNumber"], second, table, record["Keys"]["pk"]["S"], record.get("OldImage"), record.get("NewImage")
    )
