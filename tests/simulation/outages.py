"""A world of outages: stores and queues are away for a second to a day, clocks are wrong by up to ten minutes, and tasks wait for it all.

The shipped worker, router and recorder run over the ports in memory on one virtual clock. Of each port that a worker calls, windows drawn
from the seed are not answered; a queue that is away takes and hands out nothing. Each delivery meets a fresh worker, so nothing that a
worker remembers is needed, and each worker's clock is wrong by up to 300 s, which is what SigV4 lets pass: two of them differ by up to ten
minutes.

The referee (`at_rest`): after the last outage every task ends with the value that it would have had without any (E2), and one recorded
effect (E1); nothing is parked, poisoned or a dead letter (L1); `explain` answers for each task that waits when the last outage ends (L2);
and while the queues take messages, nothing waits in flight for longer than a short wait or a visibility timeout (L3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from random import Random
from typing import Any

from sedano import chain, chord
from sedano.engine.cluster.explanation import explain
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.deferrals import SHORT_S
from sedano.ports import PARKED, Ports
from tests.stories.processes import COMMANDS, INVOCATION_S, WORKED, Processes
from tests.stories.shop import Shop
from tests.stories.stage import VISIBILITY_S, in_memory

AWAY = ("ledger", "blobs", "control", "members", "queues")
LENGTHS = (1.0, 60.0, 600.0, 7_200.0, 86_400.0)
SKEW_S = 300.0
REST_S = 3 * 86_400.0
"""How long after the last outage everything has ended: a message that could not be sent anew is hidden for up to five times its age."""
SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)


class Broken(AssertionError):
    """A promise did not hold."""


class Wrong:
    """A clock that is wrong by *error* seconds."""

    def __init__(self, clock: Any, error: float) -> None:
        """Be wrong by *error*."""
        self._clock, self._error = clock, error

    def now(self) -> float:
        """The wrong time."""
        return float(self._clock.now() + self._error)

    def __getattr__(self, name: str) -> Any:
        """Everything else is right."""
        return getattr(self._clock, name)


class Away:
    """A port that does not answer within its *windows*; a queue is away for what is sent and held, for nothing is received meanwhile."""

    def __init__(self, port: Any, windows: list[tuple[float, float]], now: Callable[[], float]) -> None:
        """Stand before *port*."""
        self._port, self._windows, self._now = port, windows, now

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """Return the operation, which may be away."""
        method = getattr(self._port, operation)
        if not callable(method):
            return method  # type: ignore[no-any-return]

        def called(*args: Any, **kwargs: Any) -> Any:
            if any(begin <= self._now() < end for begin, end in self._windows):
                raise Unavailable("away")
            return method(*args, **kwargs)

        return called


class OutageWorld:
    """One schedule of *seed*; *plant* changes each worker: a planted fault."""

    def __init__(self, seed: int, plant: Callable[[Any], None] = lambda _: None) -> None:
        """Publish, and draw the outages."""
        self.dice, self.stage, self.shop = Random(f"outages of {seed}"), in_memory(), Shop()
        self.shop.task("kept", len, delivery="record_once")
        self.processes = Processes(self.stage, self.shop.app, SETTINGS, plant)
        self.start = self.stage.clock.now()
        self.windows: dict[str, list[tuple[float, float]]] = {port: [] for port in AWAY}
        for port in self.dice.sample(AWAY, self.dice.randrange(1, 4)):
            begin = self.start + self.dice.choice((0.0, 1.0, 100.0)) * self.dice.random()
            self.windows[port].append((begin, begin + self.dice.choice(LENGTHS) * (0.5 + self.dice.random())))
        self.end = max(end for windows in self.windows.values() for _, end in windows)
        self.results = self._published()

    def _published(self) -> list[tuple[Any, Any]]:
        """Return each result with the value that it must have in the end."""
        shop = self.shop
        kinds: tuple[Callable[[], tuple[Any, Any]], ...] = (
            lambda: (shop.add.delay(1, 2), 3),
            lambda: (shop.big.delay("x" * 70_000), "x" * 70_000 + "!"),
            lambda: (chain(shop.add.s(1, 1), shop.add.s(1)).delay(), 3),
            lambda: (chord([shop.add.s(n, n) for n in range(3)], shop.total.s()).delay(), 6),
            lambda: (shop.app.signature("kept", ("four",)).delay(), 4),
        )
        return [self.dice.choice(kinds)() for _ in range(self.dice.randrange(2, 6))]

    def run(self) -> OutageWorld:
        """Play the outages, then let everything come to rest, and judge."""
        stage = self.stage
        while stage.clock.now() < self.end:
            self._round()
        for result, _ in self.results:
            if not explain(stage.ports, ("default", "bulk"), result.id).sentence:
                raise Broken(f"L2: nothing explains why {result.id} waits")
        stage.pass_time(1.0)
        while stage.clock.now() < self.end + REST_S and stage.hidden_for(WORKED) is not None:
            self._round()
        self.at_rest()
        return self

    def _round(self) -> None:
        """Let a fresh worker work off what is visible, or let time pass until something is."""
        stage, now = self.stage, self.stage.clock.now
        every = {one.name: getattr(stage.ports, one.name) for one in fields(Ports)}
        broken = {port: Away(every[port], windows, now) for port, windows in self.windows.items()}
        error = SKEW_S * (2 * self.dice.random() - 1)
        self.processes.invocation = INVOCATION_S + error  # a deadline is told by the worker's own clock
        self.processes.restart(replace(Ports(**{**every, **broken}), clock=Wrong(stage.clock, error)))
        self.processes.feed = stage.ports.queues
        away = any(begin <= now() < end for begin, end in self.windows["queues"])
        if not away and self.processes.step():
            self._waiting()
            return
        hidden = stage.hidden_for(WORKED)
        ends = [end for windows in self.windows.values() for _, end in windows if end > now()]
        stage.pass_time(max(0.001, min([hidden if hidden is not None and not away else 86_400.0, *(end - now() for end in ends)]) + 0.001))

    def _waiting(self) -> None:
        """Judge what is in flight (L3): while queues take messages, nothing is hidden for longer than a short wait or a visibility."""
        if any(begin <= self.stage.clock.now() for begin, _ in self.windows["queues"]):
            return
        load, hidden = self.stage.ports.consumers.load(COMMANDS), self.stage.hidden_for([COMMANDS])
        if load.running and load.waiting == 0 and hidden is not None and hidden > max(SHORT_S, VISIBILITY_S):
            raise Broken(f"L3: {load.running} messages wait in flight for {hidden:.0f} s")

    def at_rest(self) -> None:
        """Judge the end (E1, E2, L1)."""
        parked = [message.attributes["reason"] for message in self.stage.peek(PARKED)]
        if parked or self.stage.dead():
            raise Broken(f"L1: set aside: {parked}, dead letters: {len(self.stage.dead())}")
        for result, value in self.results:
            if result.state != states.SUCCESS or result.get(timeout=1) != value:
                told = explain(self.stage.ports, ("default", "bulk"), result.id)
                raise Broken(f"E2: {result.id} is {result.state} {REST_S:.0f} s after the last outage: {told.sentence}")
        ends = [end.task_id for end in self.stage.audit.ends]
        if len(ends) != len(set(ends)):
            raise Broken("E1: a task has more than one recorded effect")
