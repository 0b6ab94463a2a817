"""The decisions of a round of the controller, from its observations. Pure: equal observations lead to equal decisions, and repeating them
has no further effect.

Each decision is one conditional write; the write of a second controller is refused, and it does nothing
(`sedano.engine.cluster.controller`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.model import budgets as budget
from sedano.model import health, states
from sedano.model.budgets import Budget, Level, Load, Strategy, scaled
from sedano.model.cluster import members as cluster
from sedano.model.cluster.forecast import foreseen
from sedano.model.cluster.members import MemberRecord
from sedano.model.health import Health, HealthCheck
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages.message import NOTHING

STUCK_S = 3_600.0
"""Seconds. A claim that expired this long ago was not taken over by its message; it is reported as stuck."""
APPLY_AGAIN_S = 30.0
"""Seconds. A limit that was decided this long ago and is not in force is applied again: its controller died in between, a late call of
another controller overwrote it, or a deployment set the template's value.
"""


class QueueBudget(NamedTuple):
    """The *budget* of one queue in invocations, its scaling *strategy*, and the number of messages in one invocation (*batch*)."""

    budget: Budget
    strategy: Strategy = scaled
    batch: int = 10


class Seen(NamedTuple):
    """The observations of a round. Levels, loads and the *limits* in force (None: unknown) are by queue; *paused* queues are not scaled.
    *bursts*: the most occurrences of periodic tasks that are due within a round, by queue (`sedano.model.cluster.forecast`). *wished*:
    Lambda's share of the queues with a total concurrency, which a strategy does not change (`sedano.model.cluster.scale`).
    """

    now: float
    members: Sequence[MemberRecord]
    records: Mapping[str, TaskRecord]
    loads: Mapping[str, Load]
    levels: Mapping[str, Level]
    health: Mapping[str, Health]
    paused: frozenset[str] = frozenset()
    limits: Mapping[str, int | None] = NOTHING
    bursts: Mapping[str, int] = NOTHING
    wished: Mapping[str, int] = NOTHING


class Lost(NamedTuple):
    """The worker *name* is lost: its claim expired at *lapsed* (epoch s); *clock* is that of its last heartbeat."""

    name: str
    lapsed: float
    clock: int


class Stuck(NamedTuple):
    """No worker takes over the claim of *task_id*, which *owner* held until *since* (epoch s), because its message no longer exists."""

    task_id: str
    owner: str
    since: float


class Scale(NamedTuple):
    """Change the level of *queue* from *seen* to *level*."""

    queue: str
    seen: Level
    level: Level


class Decisions(NamedTuple):
    """The decisions. *ask*: the names of the checks whose event must be published; *apply*: limits that were decided and are not in force.
    """

    lost: tuple[Lost, ...]
    stuck: tuple[Stuck, ...]
    scale: tuple[Scale, ...]
    apply: tuple[Scale, ...]
    ask: tuple[str, ...]


def decide(budgets: Mapping[str, QueueBudget], checks: Mapping[str, HealthCheck], seen: Seen) -> Decisions:
    """Return the decisions for the observations *seen*, with the *budgets* of queues and the shared *checks*, both by name."""
    lost = [_lost(member, seen) for member in seen.members]
    stuck = [_stuck(record, seen.now) for record in seen.records.values()]
    free = [queue for queue in sorted(budgets) if queue not in seen.paused and queue not in seen.wished]
    shared = sorted(seen.wished.keys() & seen.levels)
    found = [*(_scale(queue, budgets[queue], seen) for queue in free), *(_wished(queue, seen) for queue in shared)]
    moves = [move for move in found if move is not None]
    moved = {move.queue for move in moves}
    late = [
        Scale(queue, level, level._replace(at=seen.now, applied=False))
        for queue, level in sorted(seen.levels.items())
        if (queue in budgets or queue in seen.wished) and queue not in moved and _is_late(level, seen.limits.get(queue), seen.now)
    ]
    ask = [name for name, check in sorted(checks.items()) if health.to_ask(check, seen.health.get(name, Health(name)), seen.now)]
    return Decisions(tuple(filter(None, lost)), tuple(filter(None, stuck)), tuple(moves), tuple(late), tuple(ask))


def _is_late(level: Level, in_force: int | None, now: float) -> bool:
    """Return whether *level* should be *in_force* at *now* and is not. A level with a time in the future was decided before the clock was
    set back.
    """
    is_fresh = level.at - budget.SKEW_S <= now <= level.at + APPLY_AGAIN_S
    return not is_fresh and (not level.applied or in_force not in (None, level.limit))


def _lost(member: MemberRecord, seen: Seen) -> Lost | None:
    if member.state == cluster.LOST or cluster.state_of(member, seen.records, seen.now) != cluster.LOST:
        return None
    return Lost(member.name, min(record.expires for record in cluster.held(member, seen.records)), member.clock)


def _stuck(record: TaskRecord, now: float) -> Stuck | None:
    if record.state != states.RUNNING or now - record.expires < STUCK_S:
        return None
    return Stuck(record.task_id, record.owner, record.expires)


def _wished(queue: str, seen: Seen) -> Scale | None:
    """Set Lambda's share of a scaled queue, at once and without a cool-down."""
    level, limit = seen.levels[queue], seen.wished[queue]
    return Scale(queue, level, Level(limit=limit, at=seen.now, applied=False)) if level.limit != limit else None


def _scale(queue: str, rule: QueueBudget, seen: Seen) -> Scale | None:
    """Decide in invocations: those for the waiting messages, those that are busy with messages in flight, and those that periodic tasks
    will need.
    """
    level, load = seen.levels[queue], seen.loads[queue]
    invocations = Load(-(-load.waiting // rule.batch), min(-(-load.running // rule.batch), level.limit))
    after = rule.strategy(rule.budget, level, invocations, seen.now)
    after = foreseen(rule.budget, level, after, invocations, -(-seen.bursts.get(queue, 0) // rule.batch), seen.now)
    if after.limit != level.limit:
        return Scale(queue, level, after._replace(applied=False))
    return Scale(queue, level, after) if after != level else None
