"""A world of backlogs: many messages of one task have to wait, in a queue that hands out nothing once too many are in flight.

SQS stops handing out messages at 120 000 in flight. Here 200 000 messages wait for one cause (a paused task or tenant, a limit of none, a
circuit that is open because what it guards is broken, a ledger that is away), and every tenth virtual minute one task that has no reason to
wait is published to the same queue. `scale` makes both numbers smaller by the same factor.

The referee: the task without a reason ends while the others wait, within the time that the workers need to look at everything once (B1);
never as many messages are in flight as the queue allows (B2); when the cause is over, every task ends with one effect and nothing is set
aside (B3), after the longest wait and the work itself (B4); `explain` tells why one of the crowd waits (B5).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from sedano import Breaker, Retry, Sedano, memory
from sedano.engine.cluster.explanation import explain
from sedano.engine.history.recorder import Recorder
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model import states
from sedano.model.deferrals import LONGEST_S
from sedano.model.history.run_rows import Host
from sedano.ports import PARKED, RECORDS, Delivery, command_queue
from tests.simulation.outages import Away, Broken

WHOLE = 200_000
MOST_IN_FLIGHT = 120_000
A_SECOND = 1_000
"""How many messages the workers look at in a second."""
HELD_S = 3 * 3_600.0
"""How long the cause lasts."""
SLACK_S, MINUTE_S = 120.0, 60.0
MOST_PROBES = 60
"""How many tasks may fail to find out that what their circuit guards is still broken."""
VISIBILITY_S, RECEIVES = 300.0, 25
COMMANDS = command_queue("default")
SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)
CAUSES = ("task", "tenant", "circuit", "concurrency", "ledger")


class Crowded(memory.MemoryQueues):
    """Queues of which one hands out nothing while *most* of its messages are in flight, as SQS does."""

    def __init__(self, clock: memory.VirtualClock, most: int) -> None:
        """Allow *most* messages in flight."""
        super().__init__(clock, memory.queue_keys(("default",)), VISIBILITY_S, RECEIVES)
        self.most, self.peak, self._time = most, 0, clock
        self._until: dict[str, float] = {}
        self._ends: list[tuple[float, str]] = []

    def flying(self) -> int:
        """Return how many messages are in flight now."""
        while self._ends and self._ends[0][0] <= self._time.now():
            end, name = heapq.heappop(self._ends)
            if self._until.get(name) == end:
                del self._until[name]
        return len(self._until)

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Receive, where not too many are in flight."""
        if queue != COMMANDS:
            return super().receive(queue, most, wait)
        found = super().receive(queue, min(most, self.most - self.flying()), wait) if self.flying() < self.most else []
        for delivery in found:
            self._hide(delivery, VISIBILITY_S)
        self.peak = max(self.peak, len(self._until))
        return found

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Delete: what is gone is not in flight."""
        super().delete(deliveries)
        for delivery in deliveries:
            self._until.pop(delivery.message_id, None)

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Hide for longer, or show."""
        super().hold(delivery, seconds)
        if delivery.queue == COMMANDS:
            self._hide(delivery, -int(-seconds // 1))

    def _hide(self, delivery: Delivery, seconds: float) -> None:
        end = self._until[delivery.message_id] = self._time.now() + seconds
        heapq.heappush(self._ends, (end, delivery.message_id))


class BacklogWorld:
    """One run of *cause*; *seed* draws what is random; *plant* changes the worker: a planted fault."""

    def __init__(self, cause: str, seed: int = 0, scale: float = 1.0, plant: Callable[[Any], None] = lambda _: None) -> None:
        """Publish the crowd, and let the cause begin."""
        self.cause, self.number, self.ran = cause, max(20, round(WHOLE * scale)), Counter[str]()
        ports = memory.ports(("default",), seed)
        assert isinstance(ports.clock, memory.VirtualClock)
        self.clock, self.dice = ports.clock, Random(f"{cause} of {seed}")
        self.queues = Crowded(self.clock, max(12, round(MOST_IN_FLIGHT * scale)))
        self.start, self.end = self.clock.now(), self.clock.now() + HELD_S
        ledger = Away(ports.ledger, [(self.start + 1.0, self.end)] if cause == "ledger" else [], self.clock.now)
        consumers, timers = memory.MemoryConsumers(self.queues), memory.MemoryTimers(self.clock, self.queues)
        self.ports = replace(ports, queues=self.queues, ledger=ledger, consumers=consumers, timers=timers)
        self.pace = A_SECOND * scale
        self.app = self._app()
        self.app.attach(self.ports)
        self.worker = Worker(self.app.registry, self.ports, Host("worker.1", 1), SETTINGS, self.app.run_loop())
        self.recorder = Recorder(self.ports, Host("recorder.1", 2))
        plant(self.worker)
        self.quick: list[tuple[float, Any]] = []
        self._begin()
        with self.app.batch():
            self.slow = [self.app.signature("slow", (n,)).apply_async(tenant="acme") for n in range(self.number)]

    def _app(self) -> Sedano:
        app = Sedano("backlog", retry=Retry(max_retries=0))
        options: dict[str, Any] = {"circuit": Breaker(failures=1, open_for=600)} if self.cause == "circuit" else {}
        options |= {"concurrency": 1} if self.cause == "concurrency" else {}

        @app.task(name="slow", **options)
        def slow(n: int) -> None:
            if self.cause == "circuit" and self.clock.now() < self.end:
                raise RuntimeError("what the circuit guards is broken")
            self.ran[f"slow {n}"] += 1

        @app.task(name="quick")
        def quick(n: int) -> None:
            self.ran[f"quick {n}"] += 1

        return app

    def _begin(self) -> None:
        control = self.app.control
        if self.cause == "concurrency":
            control.concurrency("slow", 0)
        elif self.cause in ("task", "tenant"):
            control.pause(**{self.cause: "acme" if self.cause == "tenant" else "slow"})

    def _finish(self) -> None:
        control = self.app.control
        if self.cause == "concurrency":
            control.concurrency("slow", 1)
        elif self.cause in ("task", "tenant"):
            control.resume(**{self.cause: "acme" if self.cause == "tenant" else "slow"})

    def run(self) -> BacklogWorld:
        """Let the cause last, then end, and judge."""
        while self.clock.now() < self.end:
            if self.cause != "ledger" and round((self.clock.now() - self.start) / MINUTE_S) % 10 == 0:
                self._publish()
            self._minute()
        self._explained()
        self._finish()
        over = self.clock.now() + LONGEST_S + 2 * self.number / self.pace + SLACK_S
        while self.clock.now() < over and self.queues.depth(COMMANDS):
            self._minute()
        self._at_rest()
        return self

    def _publish(self) -> None:
        """Publish one task that has no reason to wait; it must end once the workers have looked at everything."""
        n = len(self.quick)
        self.quick.append((self.clock.now(), self.app.signature("quick", (n,)).delay()))

    def _minute(self) -> None:
        """Let the workers look at what is visible, at their pace, for a minute."""
        minute = self.clock.now() + MINUTE_S
        while self.clock.now() < minute:
            found = self._batch()
            if not found:
                break
            self.clock.advance(found / self.pace)
        if self.queues.peak >= self.queues.most:
            raise Broken(f"B2: {self.queues.peak} messages are in flight, as many as the queue allows")
        if self.clock.now() < minute:
            self.clock.advance(minute - self.clock.now())
        most = self.number / self.pace + SLACK_S + MINUTE_S
        for n, (moment, _) in enumerate(self.quick):
            if not self.ran[f"quick {n}"] and self.clock.now() - moment > most:
                raise Broken(f"B1: a task without a reason to wait has not begun after {self.clock.now() - moment:.0f} s")

    def _batch(self) -> int:
        deliveries = self.queues.receive(COMMANDS)
        if deliveries:
            back = {one.message_id for one in self.worker.work(deliveries, self.clock.now() + 30.0)}
            self.queues.delete([one for one in deliveries if one.message_id not in back])
        while records := self.queues.receive(RECORDS):
            self.recorder.record(records, self.clock.now() + 30.0)
            self.queues.delete(records)
        return len(deliveries)

    def _explained(self) -> None:
        """Judge what is told of one that waits (B5)."""
        told = explain(self.ports, ("default",), self.slow[-1].id)
        words = {"task": "paused", "tenant": "paused", "circuit": "circuit", "concurrency": "concurrency", "ledger": ""}[self.cause]
        if words not in told.sentence:
            raise Broken(f"B5: a task that waits for {self.cause} is explained as: {told.sentence}")

    def _at_rest(self) -> None:
        """Judge the end (B3, B4)."""
        left, aside = self.queues.depth(COMMANDS), len(self.queues.peek(PARKED)) + len(self.queues.dead(COMMANDS))
        if left or aside:
            raise Broken(f"B3, B4: {left} messages are left after all that time, {aside} are set aside or dead letters")
        broken = [result for result in self.slow if result.state == states.FAILURE]
        if len(broken) > (MOST_PROBES if self.cause == "circuit" else 0):
            raise Broken(f"B3: {len(broken)} tasks failed")
        ends = Counter(self.ran.values())
        if ends != {1: self.number + len(self.quick) - len(broken)}:
            raise Broken(f"B3: not every task has one effect: {ends}")
