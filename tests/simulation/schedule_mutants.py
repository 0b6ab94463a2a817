"""Planted faults of schedulers: writes without their conditions, drawn ids, what is crossed off too early, clocks that lead back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from sedano.aws.expressions import schedules
from sedano.aws.schedules import DynamoSchedules, _Defined, _Stored
from sedano.engine.schedules.scheduler import Accepted, Alter, Scheduler
from sedano.errors import SedanoError
from sedano.model.schedules.agenda import Agenda, AgendaChanged, Periodic, write_definitions
from sedano.ports import Ports
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.schedules import LENGTH_S, PlantedScheduler, ScheduleWorld
from tests.simulation.weaken import without


class Through:
    """Stands before the agendas and changes what is written."""

    def __init__(self, inner: Any) -> None:
        """Stand before *inner*."""
        self.inner = inner

    def read(self) -> list[Any]:
        """Read as it is."""
        found: list[Any] = self.inner.read()
        return found

    def change(self, agenda: Agenda, seen: Agenda) -> AgendaChanged:
        """Write what `alter` makes of it."""
        periodics = {name: self.alter(one, seen.periodics.get(name)) for name, one in agenda.periodics.items()}
        answer: AgendaChanged = self.inner.change(agenda._replace(periodics=periodics), seen)
        return answer

    def alter(self, periodic: Periodic, seen: Periodic | None) -> Periodic:
        """Return *periodic* with the fault in it."""
        raise NotImplementedError


class Rewinds(Through):
    """Counts from its own clock, wherever the cursor stood."""

    def alter(self, periodic: Periodic, seen: Periodic | None) -> Periodic:
        """Set the cursor back."""
        state = periodic.state
        return periodic._replace(state=state._replace(cursor=state.cursor - 100)) if seen is not None else periodic


class WritesNothingDown(Through):
    """Moves the cursor on and keeps to itself what is to be published."""

    def alter(self, periodic: Periodic, seen: Periodic | None) -> Periodic:
        """Leave the pending moments out."""
        return periodic._replace(state=periodic.state._replace(pending=()))


class KeepsTheLastOnly(Through):
    """Coalesces what was not asked to be."""

    def alter(self, periodic: Periodic, seen: Periodic | None) -> Periodic:
        """Leave all pending moments out but the last."""
        return periodic._replace(state=periodic.state._replace(pending=periodic.state.pending[-1:]))


class SkipsAhead(Through):
    """Moves the cursor further than it has decided."""

    def alter(self, periodic: Periodic, seen: Periodic | None) -> Periodic:
        """Set the cursor forward."""
        state, begun = periodic.state, seen.state.cursor if seen is not None else periodic.state.cursor
        return periodic._replace(state=state._replace(cursor=state.cursor + 50 * (state.cursor > begun)))


class DrawsIds(Scheduler):
    """Publishes each time under another id."""

    def publish(self, found: Periodic, moments: Sequence[int]) -> list[SedanoError | None]:
        """Publish under a name that nobody else has."""
        renamed = found._replace(schedule=found.schedule._replace(name=self._ports.entropy.uuid()))
        return super().publish(renamed, moments)


class PublishesAtOnce(Scheduler):
    """Sends what comes in a minute without holding it back."""

    def publish(self, found: Periodic, moments: Sequence[int]) -> list[SedanoError | None]:
        """Publish as if it were later."""
        ahead = replace(self._ports, clock=_Ahead(self._ports.clock))
        return Scheduler(ahead, self._lamport, "ahead").publish(found, moments)


class _Ahead:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def now(self) -> float:
        return float(self.inner.now()) + LENGTH_S

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class CrossesOffFirst(Scheduler):
    """Crosses off what it is going to publish."""

    def _publish(self, found: Periodic) -> dict[int, SedanoError | None]:
        return dict.fromkeys(found.state.pending)

    def _cross_off(self, agenda: Agenda, accepted: Accepted) -> None:
        super()._cross_off(agenda, accepted)
        for one in agenda.periodics.values():
            super()._publish(one)


class CrossesOffAnyway(Scheduler):
    """Crosses off what no queue accepted."""

    def _publish(self, found: Periodic) -> dict[int, SedanoError | None]:
        return {**dict.fromkeys(found.state.pending), **super()._publish(found)}


class WritesOverOthers(Scheduler):
    """Takes what it read an hour ago for what is there: its plan replaces whatever stands in the way."""

    def _swapped(self, seen: Agenda, alter: Alter) -> AgendaChanged:
        new = alter(seen)
        if new == seen:
            return AgendaChanged(False, seen)
        standing = self._ports.schedules.read()[seen.number]
        return self._ports.schedules.change(new._replace(nonce=self._ports.entropy.nonce()), standing)


class PublishesUnclaimed(Scheduler):
    """Publishes what is pending, whoever has claimed it."""

    def _swapped(self, seen: Agenda, alter: Alter) -> AgendaChanged:
        return super()._swapped(seen, alter)._replace(done=True)


class NeverTakesOver(Scheduler):
    """Leaves to a dead scheduler what that one has claimed."""

    def _swapped(self, seen: Agenda, alter: Alter) -> AgendaChanged:
        def patient(agenda: Agenda) -> Agenda:
            new = alter(agenda)
            return agenda if agenda.held and new._replace(held=agenda.held) == agenda else new

        return super()._swapped(seen, patient)


class NeverReadsAgain(DynamoSchedules):
    """Takes the definitions that it read first for those of all times."""

    def _learn(self, known: dict[int, Any], numbers: Sequence[int]) -> None:
        before = {number: known[number] for number in numbers if number in known}
        super()._learn(known, numbers)
        known.update({number: known[number]._replace(periodics=one.periodics) for number, one in before.items()})


class Misplaces(DynamoSchedules):
    """Writes states alone, whatever has changed."""

    def change(self, agenda: Agenda, seen: Agenda) -> AgendaChanged:
        """Take the new definitions for the stored ones."""
        digest = sha256(write_definitions(agenda).encode()).hexdigest()[:16]
        self._defined[agenda.number] = _Defined(digest, dict(agenda.periodics))
        self._stored[agenda.number] = _Stored(seen.nonce, digest)
        return super().change(agenda, seen)


def _apart(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a transaction without the definitions, which their writer takes for written."""
    return {**asked, "TransactItems": asked["TransactItems"][1:]} if "TransactItems" in asked else asked


def _through(kind: type[Through]) -> PlantedScheduler:
    def mutate(ports: Ports) -> Ports:
        faulty: Any = kind(ports.schedules)
        return replace(ports, schedules=faulty)

    return PlantedScheduler(ports=mutate)


def _own_clock(ports: Ports) -> Ports:
    """Return *ports* under which a scheduler believes its machine's clock, whatever the table's answers say."""
    clock: Any = ports.clock
    return replace(ports, clock=getattr(clock, "_own", clock))


def stages() -> dict[str, Stage]:
    """Return the worlds of periodic tasks with each of the faults, by name."""
    planted: Mapping[str, PlantedScheduler] = {
        "MOVE without a condition": PlantedScheduler(rewrite=without(schedules.MOVE)),
        "MOVE of what changed": PlantedScheduler(rewrite=without(schedules.MOVE, "nc = :seen")),
        "CHANGE without a condition": PlantedScheduler(rewrite=without(schedules.CHANGE)),
        "CHANGE_ABSENT without a condition": PlantedScheduler(rewrite=without(schedules.CHANGE_ABSENT)),
        "an operator replaces what an older scheduler reads": PlantedScheduler(converts=True),
        "counts from its own clock": _through(Rewinds),
        "writes nothing down": _through(WritesNothingDown),
        "coalesces what was not asked to be": _through(KeepsTheLastOnly),
        "moves the cursor further than it decided": _through(SkipsAhead),
        "draws ids": PlantedScheduler(scheduler=DrawsIds),
        "publishes at once": PlantedScheduler(scheduler=PublishesAtOnce),
        "crosses off before it publishes": PlantedScheduler(scheduler=CrossesOffFirst),
        "crosses off what was not accepted": PlantedScheduler(scheduler=CrossesOffAnyway),
        "believes its own clock": PlantedScheduler(ports=_own_clock),
        "publishes without a claim": PlantedScheduler(scheduler=PublishesUnclaimed),
        "never takes over": PlantedScheduler(scheduler=NeverTakesOver),
        "writes over others": PlantedScheduler(scheduler=WritesOverOthers),
        "never reads definitions again": PlantedScheduler(store=NeverReadsAgain),
        "writes definitions and states apart": PlantedScheduler(rewrite=_apart),
        "takes states for those of other definitions": PlantedScheduler(
            store=Misplaces, rewrite=without(schedules.MOVE, "dg = :dg")
        ),
    }
    return {f"schedules: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: PlantedScheduler, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return ScheduleWorld(seed, fault, allowed)
