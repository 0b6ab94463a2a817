"""Runs over one history that are interleaved call by call, that crash, lose their leases, and whose requests are late or lost.

Each run is plain code over the shipped `History`; it gives way before and after every call to a store. What happens there is drawn from a
seed: the next run goes on, time passes, a run dies, an answer is lost, a request arrives later. A *referee* reads the pointer after every
step: parts are only ever added, and what readers see is whole.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import greenlet

from sedano import memory
from sedano.engine.history.commits import History
from sedano.engine.leases import Leasing
from sedano.errors import LeaseTaken, SedanoError, Unavailable
from sedano.memory.archive import MemoryArchive
from sedano.model.history import manifests as rule
from sedano.model.history.manifests import Snapshot
from sedano.ports import Leases, Ports
from sedano.ports.archive import Archive

DURATION_MS = 30_000
ROWS = "rows.json"
Run = Callable[["Runner"], None]


class Crash(greenlet.GreenletExit):
    """The process dies here; nothing of it runs any more."""


class Giving:
    """Stands before a port and gives way at each of its calls."""

    def __init__(self, port: Any, world: "Commits") -> None:
        self._port, self._world = port, world

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._port, name)
        if name in {"time", "place"}:
            return operation
        if name == "names":
            return lambda *given: iter(self._world.called(name, lambda: list(operation(*given))))
        return lambda *given: self._world.called(name, lambda: operation(*given))


@dataclass
class Runner:
    """One process at work on the history."""

    number: int
    history: History
    world: "Commits"


@dataclass
class Commits:
    """A history, its runs, and what befalls them; *shared* are the stores that outlive every run."""

    seed: int
    archive: Archive
    leases: Callable[[memory.VirtualClock], Leases]
    kind: type[History] = History
    clock: memory.VirtualClock = field(default_factory=lambda: memory.VirtualClock(memory.START))
    landed: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    weather: float = 0.08
    steps: int = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.hub = greenlet.getcurrent()
        self.late: list[Callable[[], object]] = []
        self.dead: set[object] = set()
        self.seen = Snapshot()
        self.ports: Ports = replace(memory.ports(seed=self.seed), clock=self.clock, leases=self.leases(self.clock))

    def runner(self, number: int, *, calm: bool = False) -> Runner:
        """Return a process with its own view of the leases."""
        ports = self.ports if calm else replace(self.ports, leases=Giving(self.ports.leases, self))
        archive: Any = self.archive if calm else Giving(self.archive, self)
        return Runner(number, self.kind(archive, Leasing(ports), f"run-{number}", DURATION_MS), self)

    def called(self, name: str, call: Callable[[], Any]) -> Any:
        """Make *call* between two chances for everybody else; in bad weather it or its answer gets lost, or it comes late."""
        if greenlet.getcurrent() in self.dead:
            raise Crash
        self.hub.switch()
        luck = self.dice.random() / self.weather if name != "names" else 9.0
        if luck < 0.3:
            raise Unavailable(f"{name}: the request was lost")
        if luck < 0.5 and name in {"swap", "put_once", "take", "release"}:
            self.late.append(call)
            raise Unavailable(f"{name}: the request is late")
        answer = call()
        if luck < 1:
            raise Unavailable(f"{name}: the answer was lost")
        self.hub.switch()
        return answer

    def play(self, runs: list[Run]) -> None:
        """Let *runs* go on in turns until all of them ended, then let what is late arrive."""
        actors = [self._actor(number, run) for number, run in enumerate(runs)]
        try:
            self._go_on(actors)
        finally:
            for actor in actors:
                self._kill(actor)

    def _go_on(self, actors: list[greenlet.greenlet]) -> None:
        while actors:
            actor = self.dice.choice(actors)
            fate = self.dice.random()
            if fate < self.weather / 4:
                self._kill(actor)
            elif fate < self.weather and self.late:
                self.late.pop(self.dice.randrange(len(self.late)))()
            elif fate < self.weather * 1.5:
                self.clock.advance(self.dice.choice([1.0, 10.0, 45.0]))
            else:
                actor.switch()
            self.watch()
            actors = [actor for actor in actors if not actor.dead]
        while self.late:
            self.late.pop()()
            self.watch()

    def _kill(self, actor: greenlet.greenlet) -> None:
        """Let a process die where it is: it makes no call any more, not even to give its lease back."""
        self.dead.add(actor)
        if not actor.dead:
            actor.throw(Crash)

    def _actor(self, number: int, run: Run) -> greenlet.greenlet:
        def body() -> None:
            try:
                run(self.runner(number))
            except SedanoError as error:
                self.told.append(type(error).__name__)

        return greenlet.greenlet(body, parent=self.hub)

    def watch(self) -> None:
        """Read the current snapshot as a reader does: what was there is still there, in its order, and whole."""
        self.steps += 1
        now = reading(self.archive)
        assert now.parts[: len(self.seen.parts)] == self.seen.parts, "a part that was committed is gone"
        assert now.version >= self.seen.version, "the history went back"
        if now != self.seen:
            names = [name for part in now.parts for name in rows(self.archive, part.prefix)]
            assert len(names) == len(set(names)), "a landed file was taken in twice"
            assert sorted(rows(self.archive, now.base)) == sorted(names[: self._within_base(now)]), "the base is not its parts"
        self.seen = now

    def _within_base(self, now: Snapshot) -> int:
        return sum(len(rows(self.archive, part.prefix)) for part in now.parts[: now.settled])


def reading(archive: Archive) -> Snapshot:
    """Return the current snapshot, without any help of the code that is under test."""
    kept = archive.read(rule.POINTER)
    manifest = json.loads(kept.data)["manifest"] if kept is not None else ""
    shown = archive.read(manifest) if manifest else None
    assert shown is not None or not manifest, "the pointer shows a manifest that is not there"
    return rule.read_snapshot(shown.data) if shown is not None else Snapshot()


def rows(archive: Archive, prefix: str) -> list[str]:
    """Return the landed files whose rows lie below *prefix*."""
    kept = archive.read(prefix + ROWS) if prefix else None
    assert kept is not None or not prefix, f"a snapshot names {prefix}, and nothing is there"
    return json.loads(kept.data) if kept is not None else []


def build(runner: Runner) -> None:
    """Take in what is new."""
    history = runner.history
    with history.edition() as edition:
        taken = history.taken_in(edition.seen)
        new = {name: mark for name, mark in runner.world.landed.items() if name not in taken}
        history.archive.put_once(edition.prefix + ROWS, json.dumps(sorted(new)).encode())
        history.extend(edition, new)


def compact(runner: Runner) -> None:
    """Merge all parts into a base."""
    history = runner.history
    with history.edition() as edition:
        merged = [name for part in edition.seen.parts for name in rows(history.archive, part.prefix)]
        history.archive.put_once(edition.prefix + ROWS, json.dumps(merged).encode())
        history.settle(edition)


def collect(runner: Runner) -> None:
    """Delete what nobody needs: nothing is kept for readers of older snapshots, which is the hardest case."""
    runner.history.collect(0)


def land(runner: Runner) -> None:
    """More files arrive."""
    world = runner.world
    for _ in range(3):
        world.landed[f"file-{len(world.landed)}"] = "mark"
        world.hub.switch()


RUNS: tuple[Run, ...] = (build, build, build, compact, compact, collect, land)


def episodes(seed: int, count: int, world: Callable[[int], Commits]) -> Iterator[Commits]:
    """Play *count* episodes and let each end in good weather: then every landed file is in the history once."""
    for number in range(count):
        one = world(seed + number)
        one.landed.update({f"file-{n}": "mark" for n in range(2)})
        one.play([build, build, *one.dice.choices(RUNS, k=one.dice.randint(1, 5))])
        one.clock.advance(10 * DURATION_MS / 1000)
        settled_down(one)
        yield one


def settled_down(world: Commits) -> None:
    """Run once more with nothing in the way, and hold the outcome to what landed."""
    last = world.runner(99, calm=True)
    for run in (build, compact, collect):
        insisted(last, run)
        world.clock.advance(10 * DURATION_MS / 1000)
        world.watch()
    names = [name for part in world.seen.parts for name in rows(world.archive, part.prefix)]
    assert sorted(names) == sorted(world.landed), "landed and never taken in, or taken in twice"
    left = {rule.term_of(filed.name) for filed in world.archive.names(rule.DATA)}
    assert left == {rule.term_of(prefix) for prefix in world.seen.prefixes}, "what no snapshot names was not collected"


def insisted(runner: Runner, run: Run) -> None:
    """Run, and when a dead run's lease is in the way, watch it for its duration and run again."""
    try:
        run(runner)
    except LeaseTaken:
        runner.world.clock.advance(2 * DURATION_MS / 1000)
        run(runner)


def in_memory(seed: int, kind: type[History] = History) -> Commits:
    """A world over dicts."""
    clock = memory.VirtualClock(memory.START)
    return Commits(seed, MemoryArchive(clock), memory.MemoryLeases, kind, clock)
