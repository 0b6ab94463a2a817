"""The outer side of a contest: contenders in their own processes, measured in turns, A B C A B C, on the same machine at the same time.

A busy machine slows all of them alike, so the median of the rounds' ratios is compared; the figures are the median and the least
disturbed round.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of one round, in seconds for each task."""

    cpu: float
    wall: float


class Contestant:
    """One contender's process (see `benchmarks.contenders.serving`)."""

    def __init__(self, module: str, variant: str, environment: Mapping[str, str] | None = None) -> None:
        """Start it; *environment* replaces this process's."""
        command = [sys.executable, "-m", f"benchmarks.contenders.{module}", variant]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment)

    def ready(self) -> bool:
        """Wait until it is ready; False if it cannot start, for example because it is not installed."""
        return self._answer() == "ready"

    def sample(self, tasks: int) -> Sample:
        """Measure *tasks* tasks."""
        self._stream("stdin").write(f"{tasks}\n")
        self._stream("stdin").flush()
        answer = json.loads(self._answer())
        return Sample(answer["cpu"] / tasks, answer["wall"] / tasks)

    def close(self) -> None:
        """End the process."""
        self._stream("stdin").close()
        self._stream("stdout").close()
        self._process.kill()
        self._process.wait()

    def _answer(self) -> str:
        line: str = self._stream("stdout").readline()
        return line.strip()

    def _stream(self, name: str) -> Any:
        return getattr(self._process, name)


def contest(
    contenders: Mapping[str, tuple[str, str]], tasks: int, rounds: int, progress: Callable[[], None],
    environment: Mapping[str, str] | None = None,
) -> dict[str, list[Sample]]:  # fmt: skip
    """Return the samples of each contender (module and variant by name); one that cannot start has none."""
    running = {name: Contestant(*which, environment) for name, which in contenders.items()}
    try:
        ready = {name: one for name, one in running.items() if one.ready()}
        return in_turns({name: _asking(one, tasks) for name, one in ready.items()}, rounds, progress)
    finally:
        for one in running.values():
            one.close()


def in_turns(asked: Mapping[str, Callable[[], S]], rounds: int, progress: Callable[[], None]) -> dict[str, list[S]]:
    """Return *rounds* samples of each, taken in turns."""
    samples: dict[str, list[S]] = {name: [] for name in asked}
    for _ in range(rounds):
        for name, sample in asked.items():
            samples[name].append(sample())
        progress()
    return samples


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def _asking(one: Contestant, tasks: int) -> Callable[[], Sample]:
    return lambda: one.sample(tasks)
