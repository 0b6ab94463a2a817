"""Arrivals at a join: each ended member adds itself to its shard; the last one publishes the follow-ups (PROTOCOLS §4).

Several members of one batch may fill a node together. One of them then represents all, and no other is finished before it. Otherwise a
message might already be acknowledged, by a worker that had a copy and saw the node before it was full, and would not be delivered again for
its follow-ups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sedano.engine.batch import Job
from sedano.engine.canvas.continuation import Conducting, Cut
from sedano.engine.canvas.lost_pages import PATIENCE
from sedano.engine.drafts import Addressed
from sedano.engine.unexpected_errors import unexpected
from sedano.errors import MessageRefused, SedanoError, Unavailable
from sedano.model.canvas.join import Arrival, Arrived, Join, Node, is_full, path
from sedano.model.deferrals import waited
from sedano.model.messages.message import JoinMember
from sedano.ports import Ports


@dataclass(frozen=True, slots=True)
class Ending:
    """A job by which a *member* ended; *failed* when it did not succeed."""

    job: Job
    member: JoinMember
    failed: bool


Answer = Addressed | JoinMember | Cut | SedanoError | Job | None
"""The follow-ups of the join, its arrivals elsewhere, its end without a plan, its error, the job that answers for this one, or None: others
are missing."""
Waiting = tuple[Ending, tuple[tuple[Node, int], ...]]
"""An ending and its way up the join's tree."""


@dataclass(frozen=True, slots=True)
class Joining:
    """Arrives at joins."""

    ports: Ports
    conducting: Conducting

    def arrive(self, endings: Sequence[Ending]) -> list[tuple[Job, Answer]]:
        """Let each ended member arrive, all levels up while nodes are full, and return what follows for each."""
        pending: list[Waiting] = [(e, path(e.member.index, e.member.size)) for e in endings]
        answers: list[tuple[Job, Answer]] = []
        level = 0
        while pending:
            arrived = self._arrived([_arrival(e, steps[level], level) for e, steps in pending])
            higher: dict[tuple[str, Node], Waiting] = {}
            for one, now in zip(pending, arrived, strict=True):
                node, key = one[1][level][0], (one[0].member.join_id, one[1][level][0])
                if isinstance(now, SedanoError):
                    answers.append((one[0].job, now))
                elif not is_full(node, now):
                    answers.append((one[0].job, None))
                elif key in higher:
                    answers.append((one[0].job, higher[key][0].job))
                else:
                    higher[key] = one
            full = [one for one in higher.values() if level + 1 == len(one[1])]
            answers += [(ending.job, self._continued(ending.member.join_id, ending.job)) for ending, _ in full]
            pending, level = [one for one in higher.values() if level + 1 < len(one[1])], level + 1
        further = [Ending(job, answer, False) for job, answer in answers if isinstance(answer, JoinMember)]
        return [*answers, *self.arrive(further)] if further else answers

    def _arrived(self, arrivals: Sequence[Arrival]) -> Sequence[Arrived | SedanoError]:
        try:
            return self.ports.ledger.arrive(arrivals)
        except SedanoError as error:
            return [error] * len(arrivals)

    def _continued(self, join_id: str, job: Job) -> Answer:
        try:
            join = self.ports.ledger.read_join(join_id)
            if join is None:
                return Unavailable(f"the join {join_id} is full, but cannot be read yet")
            return self._followed(join, job)
        except SedanoError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the last resort: the other joins go on
            return unexpected(self.ports.telemetry, error)

    def _followed(self, join: Join, job: Job) -> Answer:
        """Return the follow-ups of *join*; if its plan is not found, *job* waits a few times before the plan counts as lost."""
        try:
            return self.conducting.continued(join)
        except MessageRefused as lost:
            if waited(job.delivery.attributes).times + job.delivery.receives <= PATIENCE:
                return Unavailable(f"the plan of the join {join.join_id} is not found: {lost}")
            return self.conducting.cut(join, lost, job)


def _arrival(ending: Ending, step: tuple[Node, int], level: int) -> Arrival:
    return Arrival(ending.member.join_id, step[0], step[1], ending.failed and level == 0)
