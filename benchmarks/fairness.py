"""How long a quiet tenant waits behind a noisy one: a queue with several consumers, simulated message by message.

The rules are those that AWS documents of fair queues (SQS Developer Guide, "How Amazon SQS fair queues work"): a tenant is noisy while
more than a tenth of the messages in flight, and at least 30, are its own, or while its recent share of all processing time is above a
tenth; messages of quiet tenants are delivered first, those of noisy ones when no others wait. Without these rules the oldest message is
delivered first. A message in service is never returned. "Recent" is simulated as the last minute; AWS calls its thresholds approximate.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

SHARE, LEAST, RECENT_S = 0.1, 30, 60.0
SERVICE_S = 0.5
"""The mean time that a task takes; exponentially distributed, so that some take long."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """*tenants* tenants that each publish *each* messages a second, and one that publishes *noise* times as many, unless *noise* is 0."""

    tenants: int
    each: float
    noise: float


@dataclass(slots=True)
class Played:
    """One simulated queue: the messages in flight, the recent processing time of each tenant, and the waiting messages."""

    fair: bool
    waiting: deque[tuple[float, int]] = field(default_factory=deque)
    noisy_waiting: deque[tuple[float, int]] = field(default_factory=deque)
    flight: Counter[int] = field(default_factory=Counter)
    spent: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    recent: deque[tuple[float, int, float]] = field(default_factory=deque)
    busy: int = 0
    total: float = 0.0

    def is_noisy(self, tenant: int) -> bool:
        """Return whether *tenant* takes more than its share, by the documented rules."""
        crowds = self.flight[tenant] >= LEAST and self.flight[tenant] > SHARE * self.busy
        return crowds or (self.total > RECENT_S / 2 and self.spent[tenant] > SHARE * self.total)

    def took(self, now: float, tenant: int, seconds: float) -> None:
        """Add the time that a task took, and remove times that are older than a minute."""
        self.recent.append((now, tenant, seconds))
        self.spent[tenant] += seconds
        self.total += seconds
        while self.recent and self.recent[0][0] < now - RECENT_S:
            _, other, old = self.recent.popleft()
            self.spent[other] -= old
            self.total -= old

    def next(self) -> tuple[float, int] | None:
        """Take the next message: the oldest of a quiet tenant, else the oldest of a noisy one."""
        if not self.fair:
            return self.waiting.popleft() if self.waiting else None
        while self.waiting:
            found = self.waiting.popleft()
            if not self.is_noisy(found[1]):
                return found
            self.noisy_waiting.append(found)
        return self.noisy_waiting.popleft() if self.noisy_waiting else None


def waits(crowd: Crowd, consumers: int, *, fair: bool, seconds: float, seed: int) -> list[tuple[float, float]]:
    """Return how long each message of the quiet tenants waited and took, in *seconds* of a queue with *consumers* consumers."""
    dice, queue = Random(seed), Played(fair)
    arrivals = _arrivals(crowd, seconds, dice)
    ends: list[tuple[float, int, float]] = []
    found: list[tuple[float, float]] = []
    place = 0
    while place < len(arrivals):
        if ends and ends[0][0] <= arrivals[place][0]:
            now, tenant, took = heapq.heappop(ends)
            queue.busy -= 1
            queue.flight[tenant] -= 1
            queue.took(now, tenant, took)
        else:
            now, tenant = arrivals[place]
            queue.waiting.append((now, tenant))
            place += 1
        while queue.busy < consumers and (taken := queue.next()) is not None:
            took = _begin(queue, ends, now, taken, dice)
            if taken[1]:
                found.append((now - taken[0], took))
    return found


def _begin(queue: Played, ends: list[tuple[float, int, float]], now: float, taken: tuple[float, int], dice: Random) -> float:
    took = dice.expovariate(1 / SERVICE_S)
    queue.busy += 1
    queue.flight[taken[1]] += 1
    heapq.heappush(ends, (now + took, taken[1], took))
    return took


def _arrivals(crowd: Crowd, seconds: float, dice: Random) -> list[tuple[float, int]]:
    """Return the time and the tenant of each message, in order; the noisy tenant is number 0."""
    rates = dict.fromkeys(range(1, crowd.tenants + 1), crowd.each) | ({0: crowd.each * crowd.noise} if crowd.noise else {})
    found: list[tuple[float, int]] = []
    for tenant, rate in rates.items():
        now = dice.expovariate(rate)
        while now < seconds:
            found.append((now, tenant))
            now += dice.expovariate(rate)
    return sorted(found)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this *share* of *values* does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
