"""The loop of the fuzzer: pick an input, mutate it, run it, keep it when it reached a branch that none before it reached.

Nothing here reads the time but to stop: with a number of executions and a seed, a run repeats to the letter.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.edges import Edges
from tests.fuzz.mutation import Mutator
from tests.fuzz.referee import CPU_S, Escape, Referee

LONGEST_KEPT = 16_384
ENOUGH = 25
"""Distinct escapes of one target after which it is not fuzzed on: they must be mended first."""
LOOK_S = 64
"""Executions between two looks at the time."""


class Target(NamedTuple):
    """What is fuzzed: *run* raises what must not happen. *seeds*: good inputs; *words*: what means something in its inputs.

    *renew* gives it a new world, after every *lives* executions. *weight*: its part of the time, relative to others; *cost*: the CPU of one
    execution, relative to a reader's.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: Sequence[bytes]
    words: Sequence[str] = ()
    is_text: bool = False
    renew: Callable[[], None] | None = None
    lives: int = 200
    weight: float = 1.0
    cost: float = 1.0
    most_cpu: float = CPU_S


@dataclass
class Figures:
    """What fuzzing one target came to."""

    target: str
    executions: int = 0
    escapes: int = 0
    edges: int = 0
    corpus: int = 0
    cpu_seconds: float = 0.0
    per_cpu_second: float = 0.0
    slowest_ms: float = 0.0
    most_ms: float = CPU_S * 1000
    peak_bytes: int = 0
    found: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Budget:
    """How long a target is fuzzed: so many *executions*, until *until* (monotonic s), or until so many distinct escapes are *enough*."""

    executions: float = float("inf")
    until: float = float("inf")
    enough: int = ENOUGH

    def is_spent(self, executions: int, escapes: int) -> bool:
        """Return whether it is over."""
        return executions >= self.executions or escapes >= self.enough or (executions % LOOK_S == 0 and time.monotonic() >= self.until)


class Corpus:
    """The inputs that reached something new; kept in *folder* when there is one."""

    def __init__(self, seeds: Iterable[bytes], folder: Path | None) -> None:
        """Begin with *seeds*, and with what earlier runs left in *folder*."""
        self.inputs = list(dict.fromkeys(seeds))
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self.inputs += [path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()]

    def add(self, data: bytes) -> None:
        """Keep *data* unless it is too long to be worth mutating."""
        if len(data) <= LONGEST_KEPT:
            self.inputs.append(data)
            if self._folder is not None:
                (self._folder / hashlib.sha256(data).hexdigest()[:20]).write_bytes(data)

    def pick(self, random: Random) -> bytes:
        """Return one, rather a late one: what was found last leads on."""
        return self.inputs[int(len(self.inputs) * random.random() ** 0.7)]


class Fuzzing:
    """Fuzzes one target."""

    def __init__(self, target: Target, seed: int, edges: Edges, build: Path | None, escapes: Path | None) -> None:
        """Draw from *seed*; keep the corpus below *build* and escapes below *escapes*, where they are given."""
        self.target, self._edges, self._escapes = target, edges, escapes
        self._random = Random(f"{seed}/{target.name}")
        self._mutator = Mutator(self._random, target.words, is_text=target.is_text)
        self._referee = Referee(target.run, target.most_cpu)
        self._corpus = Corpus(target.seeds, build / "corpus" / target.name if build is not None else None)
        self._lived: list[bytes] = []
        self.figures = Figures(target.name, most_ms=target.most_cpu * 1000)

    def fuzz(self, budget: Budget) -> Figures:
        """Fuzz until the budget is spent, and return what it came to."""
        began, figures = time.process_time(), self.figures
        self._edges.begin()
        for data in [*self._corpus.inputs]:
            self._execute(data)
        self._referee.learn()
        self._referee.measured(max(self._corpus.inputs, key=len))
        while not budget.is_spent(figures.executions, len(figures.found)):
            data = self._mutator.mutated(self._corpus.pick(self._random), self._corpus.inputs)
            if self._execute(data) is None and self._edges.grew():
                self._corpus.add(data)
        figures.cpu_seconds = round(time.process_time() - began, 3)
        figures.per_cpu_second = round(figures.executions / max(figures.cpu_seconds, 0.001), 1)
        figures.edges, figures.corpus = self._edges.reached, len(self._corpus.inputs)
        figures.slowest_ms, figures.peak_bytes = round(self._referee.slowest * 1000, 1), self._referee.largest
        return figures

    def _execute(self, data: bytes) -> Escape | None:
        if self.target.renew is not None:
            if len(self._lived) >= self.target.lives:
                self._renew()
            self._lived.append(data)
        self.figures.executions += 1
        escape = self._referee.judge(data)
        if escape is not None:
            self.figures.escapes += 1
            if escape.key not in self.figures.found:
                self._keep(escape, data)
            self._renew()
        return escape

    def _renew(self) -> None:
        self._lived.clear()
        if self.target.renew is not None:
            self.target.renew()

    def _keep(self, escape: Escape, data: bytes) -> None:
        """Write the inputs of *escape* down: the one alone when that is enough in a new world, else all since the world began."""
        lived = [*self._lived]
        self._renew()
        again = self._referee.judge(data)
        inputs = [data] if (again is not None and again.kind == escape.kind) or self.target.renew is None else lived
        name = f"{self.target.name}-{hashlib.sha256(escape.key.encode()).hexdigest()[:10]}.json"
        told = {"target": self.target.name, **escape._asdict(), "inputs": [one.decode("latin-1") for one in inputs]}
        self.figures.found[escape.key] = f"{escape.detail} ({name})"
        if self._escapes is not None:
            (self._escapes / "escapes").mkdir(parents=True, exist_ok=True)
            (self._escapes / "escapes" / name).write_text(json.dumps(told, indent=1))


def replayed(target: Target, inputs: Sequence[bytes]) -> list[Escape]:
    """Return what *inputs*, run one after the other in a new world, break."""
    if target.renew is not None:
        target.renew()
    referee = Referee(target.run, target.most_cpu)
    return [escape for data in inputs if (escape := referee.judge(data)) is not None]


def shares(targets: Sequence[Target], executions: float) -> dict[str, int]:
    """Return how many of *executions* each target gets."""
    whole = sum(target.weight / target.cost for target in targets)
    return {target.name: max(len(target.seeds) + 1, round(executions * target.weight / target.cost / whole)) for target in targets}


def summary(figures: Sequence[Figures], seconds: float, seed: int) -> dict[str, object]:
    """Return the figures of a run as they are written down."""
    return {
        "executions": sum(one.executions for one in figures), "escapes": sum(one.escapes for one in figures), "seconds": round(seconds, 1),
        "seed": seed, "targets": {one.target: {name: part for name, part in asdict(one).items() if name != "target"} for one in figures},
    }  # fmt: skip
