"""Planted faults of circuits: writes without their conditions, workers that do not ask, count too much, or wait for a wrong clock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial

from sedano.aws.expressions import memos
from sedano.engine.batch import Batch, Job
from sedano.engine.circuits import Circuits
from sedano.model import circuits as rule
from sedano.model.circuits import Breaker, Circuit
from sedano.model.memos import Memo
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.circuits import CircuitWorld, Planted
from tests.simulation.weaken import each


class NeverAsks(Circuits):
    """Knows of a circuit what it wrote itself."""

    def _read(self, breakers: Iterable[Breaker]) -> None:
        """Ask nobody."""


class LetsEverybodyIn(Circuits):
    """Runs whatever comes."""

    def _admit(self, job: Job, now: float, batch: Batch) -> Job | None:
        return job

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> None:
        """Let it begin."""


class WaitsForTheFuture(Circuits):
    """Takes a circuit that was opened before its clock ran backwards for open until that moment comes again."""

    def _admit(self, job: Job, now: float, batch: Batch) -> Job | None:
        breaker = job.task.circuit
        if breaker is not None and now < self._circuit(breaker).since:
            self._mine[breaker.name] = self._circuit(breaker)._replace(since=now)
        return super()._admit(job, now, batch)


class CountsWhileOpen(Circuits):
    """Counts failures of what began before a trip, and trips again."""

    def _change(self, breaker: Breaker, change: Callable[[Circuit], Circuit]) -> bool:
        return super()._change(breaker, lambda circuit: change(circuit._replace(until=min(circuit.until, circuit.since))))


class ForgetsNothing(Circuits):
    """Counts failures however long they are ago."""

    def _failed(self, breaker: Breaker, mark: str, batch: Batch) -> None:
        super()._failed(replace(breaker, window=86_400.0), mark, batch)


class OpensForLong(Circuits):
    """Keeps a circuit open ten times as long as declared."""

    def _failed(self, breaker: Breaker, mark: str, batch: Batch) -> None:
        super()._failed(replace(breaker, open_for=10 * breaker.open_for, open_most=10 * breaker.open_most), mark, batch)


class ClosesAfterASuccess(Circuits):
    """Closes a circuit when something that began before the trip ends well."""

    def _succeeded(self, breaker: Breaker) -> None:
        self._change(breaker, rule.closed)


class WritesOverOthers(Circuits):
    """Writes its own failure where another's came first."""

    def _change_shared(self, name: str, change: Callable[[Circuit], Circuit]) -> None:
        if name not in self._memos:
            super()._change_shared(name, change)
            return
        after, seen = change(self._mine[name]), self._memos[name]
        for _ in range(2):
            answer = self._ports.memos.change(Memo(seen.name, rule.to_text(after), self._ports.entropy.nonce()), seen)
            if answer.done:
                break
            seen = answer.memo
        self._take_over(answer.memo, name)


class TellsWhatItDidNotWrite(Circuits):
    """Tells of a trip before it is written, and whoever wrote it."""

    def _change_shared(self, name: str, change: Callable[[Circuit], Circuit]) -> None:
        before = self._mine.get(name, Circuit(name))
        if change(before).since != before.since:
            self._ports.telemetry.count("CircuitsTripped", circuit=name)
        super()._change_shared(name, change)


def stages() -> dict[str, Stage]:
    """Return the worlds of circuits with each of the faults, by name."""
    writes = {"CHANGE": memos.CHANGE, "CHANGE_ABSENT": memos.CHANGE_ABSENT}
    planted = {name: Planted(rewrite=rewrite) for write in writes for name, rewrite in each(write, writes[write])}
    code: Mapping[str, type[Circuits]] = {
        "never asks": NeverAsks, "lets everybody in": LetsEverybodyIn, "waits for a clock that ran backwards": WaitsForTheFuture,
        "counts while it is open": CountsWhileOpen, "forgets no failure": ForgetsNothing, "opens for ten times as long": OpensForLong,
        "closes after a success": ClosesAfterASuccess, "writes over others": WritesOverOthers,
        "tells a trip that it did not write": TellsWhatItDidNotWrite,
    }  # fmt: skip
    planted |= {name: Planted(circuits=kind) for name, kind in code.items()}
    return {f"circuits: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return CircuitWorld(seed, fault, allowed)
