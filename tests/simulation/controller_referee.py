"""The referee of controllers: watches every write of a level, a check and a lost member, and every call that sets a limit.

A1, refinement: a level is written only as the rule has it, on the level that stood there and by a clock that is right; so it changes at
most once a cool-down, whoever decides. A2: a limit is set by who has just won its decision, once, and called applied by nobody else. A3: in
the end the limit in force is the one that was decided, whatever came late or was deployed. A4: a check is asked for once in its period, by
who won that. A5: a worker is written down as lost when a claim of its own has run out and it has said nothing since. A6: of a queue that
was paused before a round began, that round changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from sedano.aws.client import keys
from sedano.model import budgets as budget
from sedano.model import health, states
from sedano.model.budgets import Budget, Level, Load
from sedano.model.cluster.controller import APPLY_AGAIN_S, QueueBudget
from sedano.model.cluster.members import ACTIVE, LOST
from sedano.model.health import Health, HealthCheck
from sedano.model.memos import BUDGET, HEALTH, memo_name
from tests.simulation.claim_referee import LEDGER, number, text
from tests.simulation.dynamodb import Change
from tests.simulation.process import Process

CONTROL = "control"
QUEUE = "bulk"
RULE = QueueBudget(Budget(least=2, most=100, cooldown=60))
CHECK = HealthCheck("mail", every=60.0, shared=True)
LEVEL_KEY, CHECK_KEY = keys.memo(memo_name(BUDGET, QUEUE)), keys.memo(memo_name(HEALTH, CHECK.name))
MOST_WAITING = 2_001
AHEAD_S, BEHIND_S = 1.0, 400.0
"""By how much a moment that is written down may be ahead of the truth; and behind it, since a round may be held up on the way."""


class ToldConsumers:
    """Consumers (`sedano.ports.Consumers`); who sets a limit is told to *setting* first."""

    def __init__(self, inner: Any, setting: Callable[[int], None]) -> None:
        """Stand for *inner*."""
        self._inner, self._setting = inner, setting

    def set_limit(self, queue: str, limit: int) -> None:
        """Set it."""
        self._setting(limit)
        self._inner.set_limit(queue, limit)

    def __getattr__(self, operation: str) -> Any:
        """Return what changes nothing."""
        return getattr(self._inner, operation)


class ControllerReferee:
    """Watches one world; *plane* says which limit is in force."""

    def __init__(self, world: Any, plane: Any) -> None:
        """Watch from now on."""
        self.world, self.plane = world, plane
        self.level = Level(plane.limit)
        self.owed: dict[str, int] = {}
        self.set: set[tuple[str, int]] = set()
        self.asked: Counter[str] = Counter()
        self.began: dict[str, float] = {}
        self.paused_at = float("inf")
        self.claims: defaultdict[str, set[int]] = defaultdict(set)

    def told(self, process: Process, consumers: Any) -> ToldConsumers:
        """Return *consumers* of *process*, watched."""
        return ToldConsumers(consumers, lambda limit: self._setting(process.mark, limit))

    def announced(self, process: Process) -> Callable[[str], object]:
        """Return what *process* announces by."""

        def announce(_name: str) -> None:
            self._require(self.asked[process.mark] > 0, "A4", "{} asked for a check and had not won that", process.mark)
            self.asked[process.mark] -= 1
            self.world.branches["check asked for"] += 1

        return announce

    def begun(self, process: Process) -> None:
        """Note that a round begins."""
        self.began[process.mark] = self.world.now

    def changed(self, change: Change) -> None:
        """Judge a write."""
        if change.table == LEDGER and text(change.new, "st") == states.RUNNING:
            self.claims[text(change.new, "own")].add(number(change.new, "exp"))
        elif change.key == LEVEL_KEY:
            self._level_changed(budget.from_text(text(change.new, "memo")), change.author[1])
        elif change.key == CHECK_KEY:
            old = health.from_text(text(change.old, "memo")) if change.old is not None else Health(CHECK.name)
            self._check_changed(old, health.from_text(text(change.new, "memo")), change.author[1])
        elif change.key == keys.CONTROL:
            self.paused_at = self.world.now if change.new is not None and change.new["paused"]["L"] else float("inf")
        elif change.key.startswith(keys.MEMBER) and text(change.new, "st") == LOST and change.author[0].name == "controller":
            self._lost(change)

    def at_rest(self) -> None:
        """Judge what is left (A3)."""
        self._require(self.level.applied, "A3", "{} was decided and nobody set it", self.level)
        self._require(self.plane.limit == self.level.limit, "A3", "{} is in force, decided was {}", self.plane.limit, self.level)

    def _require(self, holds: bool, promise: str, what: str, *about: Any) -> None:
        if not holds:
            self.world.fail(promise, what.format(*about))

    def _level_changed(self, new: Level, mark: str) -> None:
        old, self.level = self.level, new
        if new == old._replace(applied=True):
            self._require((mark, old.limit) in self.set, "A2", "{} called {} applied and had not set it", mark, old.limit)
            return
        self._timely(new.at, mark, old.at)
        if new == old._replace(at=new.at, applied=False):
            fresh = old.at - budget.SKEW_S <= new.at <= old.at + APPLY_AGAIN_S
            self._require(not fresh, "A1", "{} set {} again after {:.1f} s", mark, old.limit, new.at - old.at)
            self.world.branches["limit set again"] += 1
        else:
            self._require(self._is_by_the_rule(old, new), "A1", "{} made {} of {}", mark, new, old)
            paused = self.paused_at < self.began.get(mark, 0.0)
            self._require(not paused or new.limit == old.limit, "A6", "{} scaled a queue that is paused", mark)
            self.world.branches["limit decided"] += new.limit != old.limit
        if not new.applied:
            self.owed[mark] = new.limit

    def _is_by_the_rule(self, old: Level, new: Level) -> bool:
        """Tell whether the rule may make *new* of *old*: another limit for some load, or, after the cool-down, the end of a row."""
        if new.limit == old.limit:
            return self.world.now >= old.until - AHEAD_S and new in (old._replace(changes=0, increases=some) for some in (0, old.increases))
        loads = (Load(-(-waiting // RULE.batch), 0) for waiting in range(0, MOST_WAITING, RULE.batch))
        return any(RULE.strategy(RULE.budget, old, load, new.at)._replace(applied=False) == new for load in loads)

    def _timely(self, at: float, mark: str, before: float) -> None:
        off = at - self.world.now
        self._require(at == before or -BEHIND_S <= off <= AHEAD_S, "A1", "{} decided by a clock that is {:.0f} s off", mark, off)

    def _setting(self, mark: str, limit: int) -> None:
        self._require(self.owed.pop(mark, None) == limit, "A2", "{} sets {} and has not won that", mark, limit)
        self.set.add((mark, limit))
        self.world.branches["limit set"] += 1

    def _check_changed(self, old: Health, new: Health, mark: str) -> None:
        self._timely(new.asked, mark, old.asked)
        due = new == old._replace(asked=new.asked) and health.to_ask(CHECK, old, new.asked)
        self._require(due, "A4", "{} made {} of {}", mark, new, old)
        self.asked[mark] += 1

    def _lost(self, change: Change) -> None:
        name, seen = text(change.new, "nm"), number(change.old, "seen")
        ran_out = [until for until in self.claims[name] if seen < until < (self.world.now + AHEAD_S) * 1000]
        self._require(text(change.old, "st") == ACTIVE and bool(ran_out), "A5", "{} is written down as lost", name)
        self.world.branches["written down as lost"] += 1
