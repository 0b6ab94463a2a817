"""A world of hosts whose queue shows a message again long before a body ends: claims and visibilities are extended while bodies run.

The tasks, the ledger and the weather are those of `tests.simulation.claims`. The workers have `WorkerSettings(visibility=)`, take batches
whose bodies often last longer than that, and extend on a second thread: an actor of the same process, that stands still and dies with it.

The referee judges beyond that of claims: an extension changes nothing but the end of the claim, by its holder, and for later (I7); nobody
takes over what was extended before its new end (E9); and a body begins only while its claim, by its worker's own clock, or without a claim
the visibility of its message, lasts (X1). Some hosts are cut, as by a drain that took too long: their claims are let go while their bodies
run on. That two workers never believe to hold one claim is searched whole (`exhaustive.extensions`): it takes a copy, a stall and clocks
that differ, all within a second, which no seed draws.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from random import Random

import greenlet

from sedano.aws.client import keys
from sedano.engine.task_context import CURRENT
from sedano.engine.worker.claim_extension import Beat
from sedano.engine.worker.pipeline import Worker
from sedano.errors import SedanoError
from sedano.host import functions
from sedano.model import states
from sedano.model.history.run_rows import Host
from tests.simulation import chores
from tests.simulation.claim_referee import ClaimReferee, number, text
from tests.simulation.claims import COMMANDS, NOTHING, SETTINGS, ClaimWorld, Plan, Planted
from tests.simulation.dynamodb import Change
from tests.simulation.lambdas import Environment, Limits
from tests.simulation.network import Fault, Weather
from tests.simulation.process import Process
from tests.simulation.sqs import Message
from tests.simulation.values import Item
from tests.simulation.world import Actor, World

LASTS_S = 120.0
"""How long a host works off one batch at the most."""
SLEEPS = 0.15
"""The chance that a machine sleeps while a body runs."""
CUT = 0.03
"""The chance that a host is cut while a body runs."""
WAIT_S = 0.1


def plan_of(seed: int) -> Plan:
    """Draw what the schedule of *seed* is about."""
    dice = Random(f"extensions of {seed}")
    kinds = tuple(dice.choice(chores.KINDS) for _ in range(dice.choice((1, 3, 5, 7))))
    limits = Limits(LASTS_S, dice.choice((4.0, 6.0, 10.0)), dice.choice((2, 5, 10)), dice.choice((2, 2, 3)), dice.choice((0.0, 0.2)))
    weather = Weather(dice.choice((0.05, 0.1, 0.2, 0.4)), tuple(dice.sample(tuple(Fault), dice.choice((1, 2, 3, 4)))))
    return Plan(kinds, limits, weather, calm_after=60.0, skew=dice.choice((0.0, 0.2, 0.8)))


class HostProcess(Process):
    """A process of two threads, that works and extends. *begins* is told of every body; *visibility*: of what it receives."""

    begins: Callable[[Process], None]
    worker: Worker

    def __init__(self, world: World, number: int, name: str, visibility: float) -> None:
        """Be born now."""
        super().__init__(world, number, name)
        self.visibility, self.thaws = visibility, 0.0
        self.extends: Actor | None = None

    def takes(self) -> float:
        """Take up to three times as long as a message stays invisible, half of the time; some machines sleep before the body ends."""
        self.begins(self)
        if self.world.strikes(CUT) is not None:
            self.cut()
        draw = self.world.draw
        seconds = 0.5 * draw() if draw() < 0.5 else 3 * self.visibility * draw()
        if self.world.strikes(SLEEPS) is None:
            return seconds
        self.world.branches["a machine sleeps"] += 1
        self.world.sleep(seconds)
        self.pause(3 * self.visibility * draw(), stops=draw() < 0.5)
        return 0.0

    def pause(self, seconds: float, *, stops: bool) -> None:
        """Stand still, with both threads."""
        self.thaws = max(self.thaws, self.world.now + seconds)
        super().pause(seconds, stops=stops)

    def cut(self) -> None:
        """Let go of the claims, as a process does whose drain is over before its bodies are."""
        self.world.branches["a host is cut"] += 1
        try:
            self.worker.cut()
        except SedanoError:
            self.world.branches["claims were not let go"] += 1

    def die(self) -> None:
        """Stop both threads for good: the one that plays at once, the other at its next turn."""
        self.alive = False
        self.world.note(self.number, "dies")
        self.world.at(self.world.now, self.died)
        left = [actor for actor in (self.actor, self.extends) if actor is not None and not actor.over]
        mine = [actor for actor in left if actor.stage is greenlet.getcurrent()]
        for actor in left:
            if actor not in mine:
                self.world.at(self.world.now, lambda actor=actor: actor.over or actor.stop())  # type: ignore[misc]
        if mine:
            raise greenlet.GreenletExit

    def ticker(self, seconds: float, beat: Beat) -> Callable[[], None]:
        """Call *beat* every so many seconds on the second thread, until what is returned is called."""
        over, busy = [False], [False]

        def run() -> None:
            while not over[0]:
                self.world.sleep(seconds)
                self.world.sleep(max(0.0, self.thaws - self.world.now))
                if not over[0]:
                    busy[0] = True
                    beat()
                    busy[0] = False

        def stop() -> None:
            over[0] = True
            while busy[0] and self.alive:
                self.world.sleep(WAIT_S)

        self.extends = self.world.spawn(self, run)
        return stop


class ExtensionReferee(ClaimReferee):
    """Watches one world of hosts."""

    def __init__(self, *watched: object) -> None:
        """Watch from now on."""
        super().__init__(*watched)  # type: ignore[arg-type]
        self.until: dict[tuple[str, int], int] = {}
        self.messages: defaultdict[str, defaultdict[str, list[Message]]] = defaultdict(lambda: defaultdict(list))

    def delivered(self, process: Process, messages: Sequence[Message]) -> None:
        """Remember what this invocation was given."""
        super().delivered(process, messages)
        for message in messages:
            for task in self.given[process.mark]:
                if f'"{task}"' in message.body:
                    self.messages[process.mark][task].append(message)

    def changed(self, change: Change) -> None:
        """Judge a write, and remember until when each claim lasts."""
        super().changed(change)
        if text(change.new, "st") == states.RUNNING:
            self.until[change.key, number(change.new, "att")] = number(change.new, "exp")

    def _stolen(self, task: str, old: Item | None, new: Item | None, process: Process, mark: str) -> None:
        if text(new, "nc") != text(old, "nc"):
            super()._stolen(task, old, new, process, mark)
            return
        self.world.branches["extended"] += 1
        self._require(text(new, "nc").startswith(f"{mark}~"), "I7", "{}: {} extends the claim {}", task, mark, text(new, "nc"))
        self._require(number(new, "exp") > number(old, "exp"), "I7", "{}: an extension made the claim shorter", task)
        for name in ("att", "cnt", "try", "mid"):
            self._require((new or {}).get(name) == (old or {}).get(name), "I7", "{}: an extension changed {}", task, name)

    def begins(self, process: Process) -> None:
        """Judge that a body begins while its task is its worker's (X1)."""
        context = CURRENT.get()
        assert context is not None
        if context.fence:
            end = self.until[keys.task(context.id), context.fence]
            late = process.clock.now() * 1000 - end
            self._require(late < 0, "X1", "{}: began {:.0f} ms after its claim ended", context.id, late)
            return
        found = self.messages[process.mark][context.id]
        ours = any(message.deleted or message.visible > self.world.now for message in found)
        self._require(ours, "X1", "{}: began when others could see its message", context.id)


class ExtensionWorld(ClaimWorld):
    """One schedule."""

    judge = ExtensionReferee
    referee: ExtensionReferee

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        super().__init__(seed, plan_of(seed), planted, allowed)

    def _environment(self, number: int) -> Environment:
        """Start a host's worker."""
        process = HostProcess(self.world, number, f"host{number}", self.plan.limits.visibility)
        process.begins = self.referee.begins
        process.clock.offset = self.plan.skew * (2 * self.world.dice.random() - 1)
        process.clock.rate = 1 + 1e-4 * (2 * self.world.dice.random() - 1)
        ports = self.planted.ports(self.ports(process))
        settings = SETTINGS._replace(visibility=self.plan.limits.visibility)
        worker = process.worker = Worker(self.app.registry, ports, Host(process.name, 1), settings, None, process.ticker)
        self.planted.worker(worker)
        return Environment(process, functions._handler(worker.work, ports, {"default": COMMANDS}, ""))
