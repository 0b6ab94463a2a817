"""Many messages and few permits, in virtual time: the messages end about when the permits allow, and none sleeps while all are free."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import greenlet
import pytest

from sedano import memory
from sedano.engine.batch import Batch
from sedano.engine.limits.concurrency import AGAIN_S, PermitRequest, Permitting
from sedano.model.deferrals import WAITED, Waited, waited, written
from sedano.ports import Delivery
from tests.unit.engine.gated import QUEUE, batch, job

CALL_S, POLL_S, INVOCATION_S = 0.007, 0.15, 60.0
LONGEST_WAIT_S = 1.5 * AGAIN_S
"""The longest first wait of a message that is not in line."""


@dataclass
class Sent:
    """A message in the queue: when it is *visible*, its receipts and its earlier waits."""

    visible: float
    receives: int = 0
    receipt: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


class Load(NamedTuple):
    """So many *messages*, bodies of so many *seconds*, under a *limit*, for so many *workers*."""

    limit: int
    messages: int
    seconds: float
    workers: int

    @property
    def ideal(self) -> float:
        """The time (s) of workers that lose none."""
        return self.messages * self.seconds / self.limit


class Slow:
    """Stands for a port whose calls take a moment, during which others act."""

    def __init__(self, port: Any, sleep: Callable[[float], None]) -> None:
        """Pass each call on to *port* after a *sleep*."""
        self.port, self.sleep = port, sleep

    def __getattr__(self, operation: str) -> Any:
        """Return the operation."""

        def called(*args: Any) -> Any:
            self.sleep(CALL_S)
            return getattr(self.port, operation)(*args)

        return called


class Rush:
    """A queue of messages, and workers that serve it one message at a time until it is empty."""

    def __init__(self, load: Load, seed: int) -> None:
        """Publish all messages at once."""
        self.load, self.random, self.hub = load, random.Random(seed), greenlet.getcurrent()
        self.ports = replace(memory.ports(), entropy=memory.SeededEntropy(seed))
        self.clock: Any = self.ports.clock
        self.began = self.ports.clock.now()
        self.sent = {str(number): Sent(self.began) for number in range(load.messages)}
        self.seen = [(self.began, name) for name in self.sent]
        self.due: list[tuple[float, int, Callable[[], Any]]] = []
        self.running, self.receipts, self.idle_since = 0, 0, self.began
        self.most, self.ended, self.idle = 0, 0.0, 0.0
        self.slow = replace(self.ports, limits=Slow(self.ports.limits, self.sleep), queues=Slow(self, self.sleep))

    def play(self) -> None:
        """Let the workers serve the queue until it is empty."""
        for number in range(self.load.workers):
            self.at(self.random.random() * POLL_S, greenlet.greenlet(lambda number=number: self.serve(f"worker {number}")).switch)
        while self.due:
            then, _, go = heapq.heappop(self.due)
            self.clock.advance(max(0.0, then - self.ports.clock.now()))
            go()

    def serve(self, name: str) -> None:
        """Serve the queue as the worker *name*."""
        permits = Permitting(self.slow, name)
        while self.sent:
            delivery = self.receive()
            if delivery is None:
                self.sleep(POLL_S)
                continue
            now = batch(self.ports, INVOCATION_S)
            going = permits.admit(PermitRequest("only/", [job("x")._replace(delivery=delivery)], self.load.limit, 1), now)
            self.send_anew(now)
            if going:
                self.run(delivery)
            permits.release(now)

    def run(self, delivery: Delivery) -> None:
        """Run a body."""
        if not self.running:
            self.idle = max(self.idle, self.ports.clock.now() - self.idle_since)
        self.running += 1
        self.most = max(self.most, self.running)
        self.sleep(self.load.seconds * (0.5 + self.random.random()))
        self.running -= 1
        self.idle_since = self.ports.clock.now()
        del self.sent[delivery.message_id]
        self.ended = self.idle_since - self.began

    def receive(self) -> Delivery | None:
        """Return a message that is visible."""
        while self.seen and self.seen[0][0] <= self.ports.clock.now():
            visible, name = heapq.heappop(self.seen)
            one = self.sent.get(name)
            if one is not None and one.visible == visible:
                self.receipts += 1
                one.receives, one.receipt = one.receives + 1, f"receipt {self.receipts}"
                self.show(name, INVOCATION_S)
                return Delivery(QUEUE, name, one.receipt, "{}", one.receives, 0.0, one.attributes)
        return None

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Show the message of *delivery* in so many *seconds*, unless it was received since."""
        one = self.sent.get(delivery.message_id)
        if one is not None and one.receipt == delivery.receipt:
            self.show(delivery.message_id, seconds)

    def send_anew(self, now: Batch) -> None:
        """Send what was put off again."""
        for name, one in now.deferred.items():
            before = waited(self.sent[name].attributes)
            self.sent[name] = Sent(0.0, attributes={WAITED: written(Waited(before.times + 1, before.runs))})
            self.show(name, one.seconds or 0.0)

    def show(self, name: str, seconds: float) -> None:
        """Show the message *name* in so many *seconds*."""
        self.sent[name].visible = self.ports.clock.now() + seconds
        heapq.heappush(self.seen, (self.sent[name].visible, name))

    def sleep(self, seconds: float) -> None:
        """Let the others act for so many *seconds*."""
        self.at(seconds, greenlet.getcurrent().switch)
        self.hub.switch()

    def at(self, seconds: float, go: Callable[[], Any]) -> None:
        """Call *go* in so many *seconds*."""
        heapq.heappush(self.due, (self.ports.clock.now() + seconds, self.random.getrandbits(40), go))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("load", [Load(20, 150, 5.0, 40), Load(100, 500, 2.0, 150), Load(10, 60, 5.0, 25), Load(1, 12, 2.0, 15)])
def test_messages_end_about_when_the_permits_allow(load: Load, seed: int) -> None:
    rush = Rush(load, seed)
    rush.play()
    assert (rush.sent, rush.most) == ({}, load.limit)
    assert rush.ended <= 1.15 * load.ideal + LONGEST_WAIT_S, f"{rush.ended:.1f} s instead of {load.ideal:.1f} s"
    assert rush.idle <= LONGEST_WAIT_S, f"messages waited for {rush.idle:.1f} s while all permits were free"
