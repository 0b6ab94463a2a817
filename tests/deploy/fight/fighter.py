"""One of many processes that fight on a real endpoint: over leases that guard a prize, slots, permits, tasks, and elections.

A write may be planted that loses its condition, by its name; then more of what brings that to light is done: leases or claims are
outlived.
When the fight is over it only works, until nothing is left and it is told.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from sedano import guards, memory
from sedano.api.leases import Lease
from sedano.aws.client.faults import AWS_ERRORS
from sedano.aws.client.session import Session
from sedano.aws.elections import DynamoElections
from sedano.aws.expressions import leases, limits, tasks
from sedano.aws.leases import DynamoLeases
from sedano.aws.ledger import DynamoLedger
from sedano.aws.limits import DynamoLimits
from sedano.aws.machine import SystemClock, SystemEntropy
from sedano.aws.members import DynamoMembers
from sedano.aws.queues import SqsQueues
from sedano.aws.settings import from_environment
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import FencedOff, LeaseLost, LeaseTaken, SedanoError
from sedano.model.history.run_rows import Host
from sedano.ports import Ports, command_queue
from tests.deploy.fight import chores
from tests.deploy.fight.journal import Journal
from tests.deploy.fight.told import Rewrite, ToldClient, ToldLeases, anyway, as_it_is

LEASE_S = 2.0
INVOCATION_S, BATCH = 3.0, 3
PRIZES, SLOTS = 2, 3
COMMANDS = command_queue("default")
LATE_S = 4.0
"""How long somebody is late who outlives a lease."""
PLANTED: dict[str, Rewrite] = {
    "": as_it_is, "RELEASE": anyway(leases.RELEASE), "RECORD": anyway(tasks.RECORD), "GIVE_BACK": anyway(limits.GIVE_BACK),
}  # fmt: skip


class Habits(NamedTuple):
    """What a process does how often: turns up to *publish* publish, up to *work* work, others take a lease.

    *late*: leases that are outlived; *long*: bodies that outlive their claim; *shared*: publications under permits beside six others.
    """

    publish: float = 0.15
    work: float = 0.6
    late: float = 0.12
    long: float = 0.08
    shared: int = 1


HABITS = {
    "": Habits(), "RELEASE": Habits(work=0.3, late=0.8), "RECORD": Habits(work=0.95, long=0.5),
    "GIVE_BACK": Habits(publish=0.12, work=1.0, long=0.4, shared=60),
}  # fmt: skip
"""By what is planted: what brings the loss of its condition to light is that somebody is late while others want the same."""


class Entropy(SystemEntropy):
    """Nonces that say who drew them, in which invocation: the referees read off a nonce to whom it belongs."""

    __slots__ = ("_drawn", "invocation", "number")

    def __init__(self, number: str) -> None:
        """Draw for the process *number*."""
        self.number, self.invocation, self._drawn = number, 0, 0

    def nonce(self) -> str:
        """Return a fresh nonce."""
        self._drawn += 1
        return f"{self.number}.{self.invocation}~{self._drawn}"


class Fighter:
    """One process."""

    def __init__(self, number: str, journal: Journal, planted: str) -> None:
        """Connect to what the environment names."""
        settings, session, clock = from_environment(os.environ), Session(), SystemClock()
        self.journal, self.dice, self.entropy = journal, random.Random(number), Entropy(number)
        self.habits = HABITS[planted]
        chores.Pace.long, chores.Pace.shared = self.habits.long, self.habits.shared
        self.dynamodb = ToldClient(session.client("dynamodb"), journal, PLANTED[planted])
        self.control, ledger = settings.control_table, settings.ledger_table
        queues = SqsQueues(ToldClient(session.client("sqs"), journal), settings.queues)
        told: Any = ToldLeases(DynamoLeases(self.dynamodb, self.control, clock), journal)
        self.ports: Ports = replace(
            memory.ports(), ledger=DynamoLedger(self.dynamodb, ledger, lanes=1), queues=queues, leases=told,
            members=DynamoMembers(self.dynamodb, self.control), elections=DynamoElections(self.dynamodb, self.control, ledger),
            limits=DynamoLimits(self.dynamodb, self.control), clock=clock, entropy=self.entropy,
        )  # fmt: skip
        chores.Place.client, chores.Place.table, chores.Place.journal = self.dynamodb, self.control, journal
        chores.app.attach(self.ports)
        self.worker = Worker(chores.app.registry, self.ports, Host(f"fighter{number}", 1), WorkerSettings(lanes=0, heartbeat=3.0), None)

    def fight(self, end: float, connection: Connection) -> None:
        """Fight until *end* (monotonic), then work until *connection* says something."""
        while time.monotonic() < end:
            self._try(self._turn)
        chores.Pace.long = 0.0
        while not connection.poll():
            if not self._try(self._work):
                time.sleep(0.4)

    def _try(self, turn: Callable[[], bool]) -> bool:
        """Take a turn; where the endpoint does not answer, nothing is lost."""
        try:
            return turn()
        except (SedanoError, *AWS_ERRORS) as away:
            self.journal.write("unavailable", why=str(away))
            return False

    def _turn(self) -> bool:
        self.entropy.invocation += 1
        drawn = self.dice.random()
        if drawn < self.habits.publish:
            chores.publish(self.dice)
        elif drawn < self.habits.work:
            self._work()
        elif self.dice.random() < 0.5:
            self._acquire(f"prize/{self.dice.randrange(PRIZES)}", self.dice.uniform(0, 2))
        else:
            self._acquire(f"slot/{self.dice.randrange(SLOTS)}", 0.0)
        return True

    def _acquire(self, name: str, timeout: float) -> None:
        lock = chores.app.lock(name, duration=LEASE_S, timeout=timeout, fair=self.dice.random() < 0.3)
        try:
            self._hold(lock.acquire())
        except LeaseTaken:
            return

    def _hold(self, lease: Lease) -> None:
        """Believe, renew, write to what the lease protects, and sometimes outlive it."""
        begun, left = time.monotonic(), lease.remaining
        self.journal.write("holds", lease=lease.name, token=lease.token, begun=begun, until=begun + left)
        time.sleep(self.dice.uniform(0, 0.3))
        try:
            lease.renew()
            now = time.monotonic()
            self.journal.write("holds", lease=lease.name, token=lease.token, begun=begun, until=now + lease.remaining)
            # to hold a lease for some time, now and then for too long, is the subject here
            time.sleep(LATE_S if self.dice.random() < self.habits.late else 0.2 * self.dice.random())
        except LeaseLost:
            self.journal.write("lost", lease=lease.name, token=lease.token)
        self._write(lease)
        self.journal.write("over", lease=lease.name, token=lease.token)
        lease.release()

    def _write(self, lease: Lease) -> None:
        values = {":by": {"S": self.entropy.number}}
        update = {"TableName": self.control, "Key": {"pk": {"S": f"RESOURCE#{lease.name}"}}, "UpdateExpression": "SET writer = :by"}
        try:
            guards.update_item(self.dynamodb, lease, ExpressionAttributeValues=values, **update)
        except FencedOff:
            self.journal.write("fenced off", lease=lease.name, token=lease.token)

    def _work(self) -> bool:
        """Do for one batch of messages what Lambda's event source does; return whether there was any."""
        self.entropy.invocation += 1
        deliveries = self.ports.queues.receive(COMMANDS, BATCH)
        if not deliveries:
            return False
        mark = f"{self.entropy.number}.{self.entropy.invocation}"
        until = time.time() + INVOCATION_S
        self.journal.write("given", mark=mark, until=until, bodies=[delivery.body for delivery in deliveries])
        back = {delivery.message_id for delivery in self.worker.work(deliveries, until)}
        done = [delivery for delivery in deliveries if delivery.message_id not in back]
        if done:
            self.ports.queues.delete(done)
        return True


def main(number: str, path: Path, planted: str, environment: Mapping[str, str], connection: Connection) -> None:
    """Say that it is ready, hear until when to fight (monotonic), fight, and work on until it hears that it shall stop."""
    os.environ.update(environment)
    fighter = Fighter(number, Journal(path, number), planted)
    connection.send("ready")
    fighter.fight(connection.recv(), connection)
