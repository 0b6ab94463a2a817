"""Three ways in which locks over DynamoDB are commonly built, played in the lease's weather and judged by the same promises.

- *token-less*: an owner's name and an expiry; what the lock protects cannot tell an old holder from a new one.
- *released by name of the lock* (ShedLock's way): the release sets the expiry back, whoever holds the lock by then.
- *stamped at the answer* (KCL, python_dynamodb_lock): a conditional write with the owner in it, believed from when its answer came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tests.simulation.dynamodb import Change, Database
from tests.simulation.leases import plan_of
from tests.simulation.network import Client
from tests.simulation.process import Process
from tests.simulation.world import START, World

DURATION_S = 8.0
TABLE = "locks"
KEY = {"pk": {"S": "report"}}
AWS = (ClientError, BotoCoreError)


@dataclass(frozen=True, slots=True)
class Way:
    """How a lock is built: whether its release names the owner, whether belief begins with the answer, which guard it keeps."""

    owner_in_release: bool
    stamped_at_answer: bool
    guard: float


WAYS = {
    "token-less": Way(owner_in_release=True, stamped_at_answer=False, guard=1.0),
    "released by the lock's name": Way(owner_in_release=False, stamped_at_answer=False, guard=1.0),
    "stamped at the answer": Way(owner_in_release=True, stamped_at_answer=True, guard=0.0),
}


class LockWorld:
    """One schedule of processes that take one lock: `run` raises the `Violation` that it finds."""

    def __init__(self, seed: int, way: Way) -> None:
        """Set the stage of *seed*."""
        self.plan, self.way = plan_of(seed), way
        self.world = World(seed)
        self.world.calm_from = START + self.plan.calm_after
        self.database = Database()
        self.database.watchers.append(self._changed)
        self.until: dict[int, float] = {}
        self.holders: list[int] = []
        self.clocks: dict[int, Process] = {}

    def run(self) -> World:
        """Play the schedule."""
        for number in range(1, self.plan.processes + 1):
            process = Process(self.world, number, f"process{number}")
            self.clocks[number] = process
            process.actor = self.world.spawn(process, lambda process=process: self._contend(process))  # type: ignore[misc] # bound at once
        try:
            self.world.run(START + 3_600.0)
        finally:
            self.world.end()
        return self.world

    def _changed(self, change: Change) -> None:
        """Judge a write: nobody ends another's term (I7), nobody writes to the resource after its successor did (I2)."""
        author = change.author[0].number
        if change.key == "resource":
            self.holders += [author] if self.holders[-1:] != [author] else []
            if len(set(self.holders)) < len(self.holders):
                self.world.fail("I2", f"process {author} wrote after its successor did: {self.holders}")
            return
        released = change.old is not None and change.new is not None and change.new["exp"] == {"N": "0"}
        if released and change.old is not None and change.old["own"] != {"S": change.author[0].name}:
            self.world.fail("I7", f"process {author} released the lock of {change.old['own']['S']}")

    def _contend(self, process: Process) -> None:
        client = Client(process, self.database.call, self.plan.weather)
        while not self._acquire(process, client):
            self.world.sleep(1.0 + self.world.dice.random())
        self._believe(process)
        for _ in range(2):
            self.world.sleep(3.0 * self.world.dice.random())
            if self._believe(process):
                self._write(client)
        self.until.pop(process.number, None)
        values = {":zero": {"N": "0"}, ":me": {"S": process.name}}
        self._update(client, "SET exp = :zero", "own = :me" if self.way.owner_in_release else "attribute_exists(pk)", values)

    def _acquire(self, process: Process, client: Any) -> bool:
        before, now = process.clock.monotonic(), process.clock.now()
        values = {":me": {"S": process.name}, ":now": {"N": str(now)}, ":exp": {"N": str(now + DURATION_S)}}
        done = self._update(client, "SET own = :me, exp = :exp", "attribute_not_exists(pk) OR exp < :now", values)
        if done:
            began = process.clock.monotonic() if self.way.stamped_at_answer else before
            self.until[process.number] = began + DURATION_S - self.way.guard
        return done

    def _believe(self, process: Process) -> bool:
        """Judge that at most one believes (I3); return whether this one does."""
        believers = [number for number, until in self.until.items() if self._sees(number) < until]
        if len(believers) > 1 and self.way.stamped_at_answer:
            self.world.fail("I3", f"processes {believers} believe at once")
        return process.number in believers

    def _sees(self, number: int) -> float:
        process = self.clocks[number]
        return process.clock.monotonic() if process.alive else float("inf")

    def _write(self, client: Any) -> None:
        try:
            client.update_item(
                TableName=TABLE, Key={"pk": {"S": "resource"}}, UpdateExpression="SET a = :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )  # fmt: skip
        except AWS:
            return

    def _update(self, client: Any, update: str, condition: str, values: dict[str, Any]) -> bool:
        used = {name: value for name, value in values.items() if name in update + condition}
        try:
            client.update_item(
                TableName=TABLE, Key=KEY, UpdateExpression=update, ConditionExpression=condition, ExpressionAttributeValues=used
            )
        except AWS:
            return False
        return True
