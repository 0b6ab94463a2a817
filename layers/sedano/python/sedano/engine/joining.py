"""Arriving at a join: each ended member adds itself to its shard; the last one publishes the body (PROTOCOLS §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sedano.engine.batch import Job
from sedano.engine.drafts import Addressed, Composer
from sedano.engine.launching import body_of
from sedano.errors import SedanoError, Unavailable
from sedano.model.join import Arrival, Arrived, Node, is_full, path
from sedano.model.messages import Member
from sedano.ports import Ports


@dataclass(frozen=True, slots=True)
class Ending:
    """A job that ended; *failed* when it did not succeed."""

    job: Job
    failed: bool


Answer = Addressed | SedanoError | None
"""The body to publish, what went wrong, or None: others are still missing."""


@dataclass(frozen=True, slots=True)
class Joining:
    """Arrives at joins."""

    ports: Ports
    composer: Composer

    def arrive(self, endings: Sequence[Ending]) -> list[tuple[Job, Answer]]:
        """Let each ended member arrive, all levels up while nodes are full, and return what follows for each."""
        pending = [(e, _member(e), path(_member(e).index, _member(e).size)) for e in endings]
        answers: list[tuple[Job, Answer]] = []
        level = 0
        while pending:
            arrived = self._arrived([_arrival(e, m, steps[level], level) for e, m, steps in pending])
            higher: dict[tuple[str, Node], tuple[Ending, Member, tuple[tuple[Node, int], ...]]] = {}
            for one, now in zip(pending, arrived, strict=True):
                node, key = one[2][level][0], (one[1].join_id, one[2][level][0])
                if isinstance(now, SedanoError):
                    answers.append((one[0].job, now))
                elif not is_full(node, now) or key in higher:
                    answers.append((one[0].job, None))
                else:
                    higher[key] = one
            full = [one for one in higher.values() if level + 1 == len(one[2])]
            answers += [(ending.job, self._body(member.join_id)) for ending, member, _ in full]
            pending, level = [one for one in higher.values() if level + 1 < len(one[2])], level + 1
        return answers

    def _arrived(self, arrivals: Sequence[Arrival]) -> Sequence[Arrived | SedanoError]:
        try:
            return self.ports.ledger.arrive(arrivals)
        except SedanoError as error:
            return [error] * len(arrivals)

    def _body(self, join_id: str) -> Answer:
        try:
            join = self.ports.ledger.read_join(join_id)
            if join is None:
                return Unavailable(f"the join {join_id} is full but cannot be read yet")
            return self.composer.compose(*body_of(join))
        except SedanoError as error:
            return error


def _arrival(ending: Ending, member: Member, step: tuple[Node, int], level: int) -> Arrival:
    return Arrival(member.join_id, step[0], step[1], ending.failed and level == 0)


def _member(ending: Ending) -> Member:
    member = ending.job.command.member
    if member is None:
        raise ValueError("not a member of a join")
    return member
