"""Planted faults of membership: its writes with a conjunct dropped, and watchers that take silence for death or see no claims."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import Any

from sedano.aws.expressions import members
from sedano.model.cluster.members import LOST, MemberRecord
from sedano.model.ledger.records import TaskRecord
from sedano.ports import Ports
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import Planted
from tests.simulation.members import MemberWorld
from tests.simulation.weaken import each
from tests.stories import mutants as stories

SILENT_S = 60.0


class SilenceIsDeath(stories.Delegating):
    """Members of which each that is silent for a minute counts as lost."""

    clock: Any = None

    def read(self) -> list[MemberRecord]:
        """Read."""
        now = self.clock.now()
        found: list[MemberRecord] = self.inner.read()
        return [member._replace(state=LOST) if now - member.seen > SILENT_S else member for member in found]


class SeesNoClaims(stories.Delegating):
    """A ledger whose records have no holder when they are read."""

    def read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        """Read nothing."""
        return {}


def _silence(ports: Ports) -> Ports:
    members_port: Any = SilenceIsDeath(ports.members)
    members_port.clock = ports.clock
    return replace(ports, members=members_port)


def stages() -> dict[str, Stage]:
    """Return the worlds of members with each of the faults, by name."""
    named = {"BEAT": members.BEAT, "LOSE": members.LOSE}
    planted = {name: Planted(rewrite=rewrite) for write in named for name, rewrite in each(write, named[write])}
    planted |= {
        "takes silence for death": Planted(ports=_silence),
        "sees no claims": Planted(ports=lambda ports: stories.on_ledger(ports, SeesNoClaims)),
    }
    return {f"members: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return MemberWorld(seed, fault, allowed)
