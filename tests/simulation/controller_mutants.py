"""Planted faults of controllers: writes without their conditions, calls that nobody won, clocks that are believed, nothing put right."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import Any

from sedano.aws.expressions import memos
from sedano.engine.cluster.controller import Controller
from sedano.model.budgets import Level
from sedano.model.cluster.controller import Decisions, Scale, Seen
from sedano.model.memos import HEALTH, memo_name
from sedano.ports import Ports, command_queue
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.controllers import ControllerWorld, PlantedController
from tests.simulation.weaken import each


class NeverLooksAgain(Controller):
    """Takes what was decided for what is in force."""

    def _in_force(self, queue: str) -> int | None:
        return None


class SetsFirst(Controller):
    """Sets a limit before it has won the decision."""

    def _scale(self, scale: Scale) -> bool:
        if not scale.level.applied:
            self._ports.consumers.set_limit(command_queue(scale.queue), scale.level.limit)
        return self._written(scale.queue, scale.level)


class CallsItApplied(Controller):
    """Calls a limit applied and leaves the call to others."""

    def _scale(self, scale: Scale) -> bool:
        won = self._written(scale.queue, scale.level)
        return won and not scale.level.applied and self._written(scale.queue, scale.level._replace(applied=True))


class LeavesWhatDied(Controller):
    """Applies nothing that another decided."""

    def decided(self, seen: Seen) -> Decisions:
        """Decide."""
        return super().decided(seen)._replace(apply=())


class KnowsNoPause(Controller):
    """Scales what is paused."""

    def decided(self, seen: Seen) -> Decisions:
        """Decide."""
        return super().decided(seen._replace(paused=frozenset()))


class KnowsNoCooldown(Controller):
    """Decides anew at each look."""

    def decided(self, seen: Seen) -> Decisions:
        """Decide."""
        levels = {queue: level._replace(until=0.0) for queue, level in seen.levels.items()}
        return super().decided(seen._replace(levels=levels))


class AsksWithoutWinning(Controller):
    """Announces what it decided, whoever wrote it down."""

    def _ask(self, name: str) -> bool:
        super()._ask(name)
        self._announce(self._checks[name].spec.expired)
        return True


class AsksWhereAnothersClockIsAhead(Controller):
    """Takes what was asked for a moment later, by another's clock, for what was never asked for."""

    def _ask(self, name: str) -> bool:
        memo = self._ports.memos.read([memo_name(HEALTH, name)])
        asked = [float(one.text.rpartition(",")[2].rstrip("]")) for one in memo.values()]
        if asked and asked[0] > self._ports.clock.now():
            self._announce(self._checks[name].spec.expired)
            return True
        return super()._ask(name)


class Forgets(Controller):
    """Takes each level for one that nobody has changed yet."""

    def _levels(self, queues: Collection[str]) -> dict[str, Level]:
        found = super()._levels(queues)
        return {queue: level._replace(at=0.0, until=0.0, changes=0) for queue, level in found.items()}


def _own_clock(ports: Ports) -> Ports:
    """Return *ports* under which a controller believes its machine's clock, whatever the table's answers say."""
    clock: Any = ports.clock
    return replace(ports, clock=getattr(clock, "_own", clock))


def stages() -> dict[str, Stage]:
    """Return the worlds of controllers with each of the faults, by name."""
    writes = {"CHANGE": memos.CHANGE, "CHANGE_ABSENT": memos.CHANGE_ABSENT}
    planted = {name: PlantedController(rewrite=rewrite) for write in writes for name, rewrite in each(write, writes[write])}
    code: Mapping[str, type[Controller]] = {
        "never looks what is in force": NeverLooksAgain, "sets a limit before it has won": SetsFirst,
        "calls applied what it did not set": CallsItApplied, "leaves what died to itself": LeavesWhatDied,
        "scales what is paused": KnowsNoPause, "knows no cool-down": KnowsNoCooldown, "asks without having won": AsksWithoutWinning,
        "asks again where a clock is ahead": AsksWhereAnothersClockIsAhead, "forgets when a level changed": Forgets,
    }  # fmt: skip
    planted |= {name: PlantedController(controller=kind) for name, kind in code.items()}
    planted |= {"believes its own clock": PlantedController(ports=_own_clock)}
    return {f"controllers: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: PlantedController, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return ControllerWorld(seed, fault, allowed)
