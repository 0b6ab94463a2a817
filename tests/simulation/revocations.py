"""A world of tasks that somebody revokes: by id and by header, before, while and after they run, in the weather of tasks.

Everything is the shipped code: `engine.revocation.record`, `engine.cluster.control` and the pairs of headers on the side of whoever
revokes; claim, intake, membership and checkpoint on the side of the workers, over the shipped adapters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from sedano import current
from sedano.aws.client import keys
from sedano.aws.control import DynamoControl
from sedano.engine.batch import Held
from sedano.engine.cluster.control import Controlling
from sedano.engine.revocation.record import revoke
from sedano.engine.task_context import TaskContext
from sedano.engine.worker.execution import Execution
from sedano.engine.worker.pipeline import Worker
from sedano.errors import SedanoError, TaskRevoked
from sedano.model import pauses, states
from sedano.model.cluster.control_record import ControlRecord, pair, with_pauses, with_revoked, without
from sedano.model.messages.lamport import LamportClock
from sedano.ports import PARKED, Ports
from tests.simulation import chores
from tests.simulation.claim_referee import LEDGER, number, text
from tests.simulation.claims import COMMANDS, SETTINGS, URLS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.lambdas import Environment
from tests.simulation.network import Client, Fault, Weather
from tests.simulation.process import Process
from tests.simulation.revocation_referee import RevocationReferee
from tests.simulation.world import World

NOTHING = Planted()
OPERATOR = 1_000
STREAM = 8
KINDS = ("plain", "flaky", "hopeless", "chain", "chord", "once", "watchful", "watchful", "stream")
EXPECTED = {**chores.EXPECTED, "watchful": {"watchful": 1}, "stubborn": {"stubborn": 1}, "stream": {"plain": STREAM}}
CONTROL = "control"
PAUSE = pauses.pause(pauses.QUEUE, "default")


@chores.app.task(name="watchful")
def watchful(rounds: int) -> int:
    """Work for long, and look now and then whether to go on."""
    owner: Process = chores.greenlet.getcurrent().owner
    for _ in range(rounds):
        owner.world.sleep(1.1 + owner.world.dice.random())
        current().check()
    return rounds


@chores.app.task(name="stubborn")
def stubborn() -> None:
    """Work for a while, and fail."""
    owner: Process = chores.greenlet.getcurrent().owner
    owner.world.sleep(1 + 3 * owner.world.dice.random())
    raise ValueError("not today")


def publish(kind: str, world: World) -> None:
    """Publish one task of a *kind*, some for a tenant that may be revoked; a stream of them lasts some minutes."""
    if kind == "stream":
        for _ in range(STREAM):
            chores.plain.s(3).set(tenant=f"acme-{OPERATOR}").delay()
            world.sleep(80 * world.dice.random())
    elif kind in ("watchful", "plain") and world.dice.random() < 0.6:
        task: Any = watchful if kind == "watchful" else chores.plain
        task.s(3).set(tenant=f"acme-{OPERATOR + int(2 * world.dice.random())}").delay()
    elif kind == "watchful":
        watchful.delay(4)
    elif kind == "stubborn":
        stubborn.delay()
    else:
        chores.publish(kind)


class Watched(Execution):
    """Runs bodies, and tells *seen* of each and *looked* of each of its checkpoints."""

    seen: Callable[[Held], None]
    looked: Callable[[TaskContext, Callable[[], None]], None]

    def context(self, held: Held, deadline: float) -> TaskContext:
        """Return the context that the body of *held* sees."""
        self.seen(held)
        context = super().context(held, deadline)
        if context.checkpoint is not None:
            context.checkpoint = partial(self.looked, context, context.checkpoint)
        return context


@dataclass(frozen=True, slots=True)
class Heard:
    """The control record (`sedano.ports.ControlStore`) of one process; the referee learns what it learned."""

    inner: Any
    process: Process
    hears: Callable[[Process, ControlRecord], None]

    def read(self) -> ControlRecord:
        """Read."""
        record: ControlRecord = self.inner.read()
        self.hears(self.process, record)
        return record

    def __getattr__(self, name: str) -> Any:
        """Return what changes the record."""
        return getattr(self.inner, name)


class RevocationWorld(ClaimWorld):
    """One schedule: tasks are published, and two operators revoke what they know of."""

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        self.focus = Random(f"revocations of {seed}").choice(("any", "take-over", "take-over", "release", "retry", "stream"))
        super().__init__(seed, _plan(seed, self.focus), planted, allowed)
        self.database.watchers.clear()
        self.queues.sent_watchers.clear()
        self.queues.deleted_watchers.clear()
        self.watch = RevocationReferee(self.world, self.database, self.queues, URLS[COMMANDS], URLS[PARKED])
        self.watch.begin(frozenset(range(OPERATOR, 2 * OPERATOR)), SETTINGS.heartbeat + self.plan.limits.timeout + 5.0)
        self.referee, self.function.delivered = self.watch, self.watch.delivered
        for place in range(2):
            self._operator(OPERATOR + place, self._operate, 20 * self.world.dice.random() ** 2)

    def _operator(self, number: int, work: Callable[[Process], None], delay: float) -> None:
        """Start an operator; when it dies, another comes and lets go on what that one may have paused."""
        operator = Process(self.world, number, f"operator{number}")
        operator.actor = self.world.spawn(operator, partial(work, operator), delay=delay)
        operator.died = lambda: self._operator(number + 2, self._resume, 30.0)

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with the simulated control record."""
        client = Client(process, self.database.call, self.plan.weather, self.planted.rewrite)
        control: Any = Heard(DynamoControl(client, CONTROL), process, self.watch.hears)
        return replace(super().ports(process), control=control)

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen."""
        expected: Counter[str] = Counter()
        for kind in self.plan.kinds:
            expected.update(EXPECTED[kind])
        self.watch.at_rest(expected, SETTINGS.poison_after)

    def _publish(self) -> None:
        for kind in self.plan.kinds:
            publish(kind, self.world)
            self.world.sleep(10 * self.world.dice.random() ** 6)

    def _environment(self, number: int) -> Environment:
        found: list[Worker] = []
        shipped, planted = self.planted.worker, self.planted

        def plant(worker: Worker) -> None:
            shipped(worker)
            found.append(worker)

        self.planted = replace(planted, worker=plant)
        environment = super()._environment(number)
        self.planted = planted
        self._watch(found[0], environment.process)
        return environment

    def _watch(self, worker: Worker, process: Process) -> None:
        """Let the referee see where bodies begin and what their checkpoints say."""
        watched = Watched(*worker._execution)

        def looked(context: TaskContext, check: Callable[[], None]) -> None:
            unheard = self.world.branches["checkpoint not answered"]
            before = number(self.database.table(LEDGER).get(keys.task(context.id)), "rvk")
            try:
                check()
            except TaskRevoked:
                self.watch.checked((context.id, context.fence), before, ended=True, blind=False)
                raise
            blind = self.world.branches["checkpoint not answered"] > unheard or not process.alive
            self.watch.checked((context.id, context.fence), before, ended=False, blind=blind)

        watched.seen, watched.looked = partial(self.watch.began, process), looked
        worker._execution = watched

    def _operate(self, operator: Process) -> None:
        """Revoke some tasks by id, and one tenant or task by header for a while; say again what was not answered."""
        dice, ports = self.world.dice, self.ports(operator)
        lamport = LamportClock(lambda: int(ports.clock.now() * 1_000_000))
        controlling = Controlling(ports, lamport)
        for _ in range(1 + int((8 if self.focus == "take-over" else 4) * dice.random())):
            self.world.sleep(25 * dice.random() ** 2)
            if dice.random() < 0.1:
                self._pause(controlling)
            elif dice.random() < (0.8 if self.focus == "stream" else 0.15):
                self._header(controlling, operator)
            elif task := self._choose():
                self._revoke(ports, lamport, task, terminate=dice.random() < 0.6)

    def _choose(self) -> str:
        """Choose a task to revoke: any, or one that runs, often just when its claim is over and another worker takes it."""
        dice, table = self.world.dice, self.database.table(LEDGER)
        running = [key for key, item in table.items() if key.startswith(keys.TASK) and text(item, "st") == states.RUNNING]
        if running and dice.random() < 0.7:
            key = running[int(len(running) * dice.random())]
            left = number(table[key], "exp") / 1000 - self.world.now
            if dice.random() < (0.9 if self.focus == "take-over" else 0.2):
                self.world.sleep(max(0.0, left) + 0.9 + 1.2 * dice.random())
            return key.removeprefix(keys.TASK)
        known = sorted(self.watch.names)
        return known[int(len(known) * dice.random())] if known else ""

    def _pause(self, controlling: Controlling) -> None:
        """Pause the queue for a while, mostly short, sometimes for longer than a queue counts receipts, and let it go on at last."""
        dice = self.world.dice
        self._change(controlling, lambda paused: pauses.with_pause(paused, PAUSE, self.world.now))
        self.world.branches["paused"] += 1
        self.world.sleep(100 * dice.random() if dice.random() < 0.9 else 5_000 * dice.random())
        self._go_on(controlling)

    def _resume(self, operator: Process) -> None:
        ports = self.ports(operator)
        self._go_on(Controlling(ports, LamportClock(lambda: int(ports.clock.now() * 1_000_000))))

    def _go_on(self, controlling: Controlling) -> None:
        self._change(controlling, lambda paused: pauses.without_pause(paused, PAUSE.kind, PAUSE.name, self.world.now))

    def _change(self, controlling: Controlling, alter: Callable[[Collection[str]], frozenset[str]]) -> None:
        """Pause the queue or let it go on, and say so until it is answered."""
        while True:
            try:
                controlling.change(lambda record, clock, nonce: with_pauses(record, alter(record.paused), clock, nonce))
                return
            except SedanoError:
                self.world.branches["pause not answered"] += 1
                self.world.sleep(10 * self.world.dice.random())

    def _revoke(self, ports: Ports, lamport: LamportClock, task: str, *, terminate: bool) -> None:
        for _ in range(3):
            try:
                self.watch.answered(task, terminate, revoke(ports, lamport, task, terminate=terminate))
                return
            except SedanoError:
                self.world.branches["revocation not answered"] += 1

    def _header(self, controlling: Controlling, operator: Process) -> None:
        name = f"acme-{operator.number}"
        found = pair("tenant", name)
        for revoked, alter in ((True, with_revoked), (False, without)):
            try:
                controlling.change(lambda record, clock, nonce, alter=alter: alter(record, found, clock, nonce))
                self.watch.stands(found, revoked=revoked)
            except SedanoError:
                self.world.branches["change of headers not answered"] += 1
            if self.world.dice.random() < 0.5:
                return
            self.world.sleep(150 * self.world.dice.random() ** 2)


def _plan(seed: int, focus: str) -> Plan:
    """Draw what the schedule of *seed* is about: any tasks, or claims that run out, or that never begin, or attempts that fail."""
    dice, plan = Random(f"revocations of {seed} by kind"), plan_of(seed)
    if focus == "any":
        return replace(plan, kinds=tuple(dice.choice(KINDS) for _ in range(dice.choice((1, 1, 2, 3)))))
    if focus == "take-over":
        weather = Weather(0.2, (Fault.CRASH_AFTER, Fault.DELAYED))
        limits = replace(plan.limits, timeout=6.0, visibility=2.0, environments=3)
        return replace(plan, kinds=("watchful", "watchful"), weather=weather, limits=limits, calm_after=60.0)
    weather = replace(plan.weather, chance=min(plan.weather.chance, 0.1))
    if focus == "stream":
        return replace(plan, kinds=("stream",), weather=weather, calm_after=60.0)
    if focus == "retry":
        return replace(plan, kinds=("stubborn", "stubborn"), weather=weather)
    return replace(plan, kinds=("watchful",) * 4, limits=replace(plan.limits, timeout=10.0, batch=5, environments=1), weather=weather)
