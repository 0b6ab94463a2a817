"""Controllers that look at one schedule at once, die, sleep and have wrong clocks, over a network that loses no message but copies and
delays them; and a referee who knows what had to run. A seed decides everything."""

import random
from collections import Counter
from collections.abc import Iterator

from sedano.model.schedules.schedule import Occurrence, Schedule, State, decided, occurrence, published
from sedano.model.schedules.timetable import Cron, Every, Timetable, between

START, LENGTH_S = 1_774_746_000, 900
"""From 2026-03-29 01:00 UTC on, when clocks in Europe leap."""

TABLES: tuple[Timetable, ...] = (
    Every(10), Every(45, START), Every(60), Cron("*/2 * * * *"), Cron("*/5 3 * * *", "Europe/Berlin", "skip"),
)  # fmt: skip


class Play:
    """One simulated schedule: three controllers, one store, a claim for each task id."""

    def __init__(self, seed: int, *, derive: bool = True) -> None:
        """Draw the schedule; *derive*: ids are derived, as they are; a planted fault draws them instead."""
        self.dice = random.Random(seed)
        table = self.dice.choice(TABLES)
        self.schedule = Schedule("s", table, self.dice.choice([0, 0, 7]), None, coalesce=False).checked()
        self.state, self.version, self.now = State(START), 0, START
        self.claimed: Counter[str] = Counter()
        self.ran: Counter[int] = Counter()
        self.waiting: list[tuple[float, str, Occurrence]] = []
        self.derive = derive

    def run(self) -> list[str]:
        """Play it to the end; return what went wrong."""
        controllers = [self._controller() for _ in range(3)]
        while self.now < START + LENGTH_S:
            self.now += self.dice.choice([0, 0, 1, 5, 20, 60])
            number = self.dice.randrange(3)
            if self.dice.random() < 0.15:
                controllers[number] = self._controller()  # it died where it stood
            next(controllers[number])
            self._deliver()
        quiet = self._controller()
        for _ in range(1_000):
            next(quiet)
        self.now += 10_000
        self._deliver()
        return self._judged()

    def _controller(self) -> Iterator[None]:
        """One controller, which may stop after each step; its clock is wrong by up to a second."""
        skew = self.dice.uniform(-1, 1)
        while True:
            seen, version = self.state, self.version
            yield
            planned = decided(self.schedule, seen, self.now + skew)
            if planned != seen:
                if not self._swapped(planned, version):
                    continue
                seen, version = planned, version + 1
                yield
            for moment in seen.pending:
                self._publish(moment)
                yield
            if seen.pending:
                self._swapped(published(seen), version)
            yield

    def _swapped(self, new: State, version: int) -> bool:
        if version != self.version:
            return False
        self.state, self.version = new, version + 1
        return True

    def _publish(self, moment: int) -> None:
        found = occurrence(self.schedule, moment)
        task_id = found.task_id if self.derive else f"{self.dice.random()}"
        for _ in range(self.dice.choice([1, 1, 2])):
            self.waiting.append((max(found.runs_at, self.now) + self.dice.choice([0, 0, 1, 400]), task_id, found))

    def _deliver(self) -> None:
        """Let every message that is due meet its claim."""
        for at, task_id, found in self.waiting:
            if at <= self.now:
                self.claimed[task_id] += 1
                self.ran[found.scheduled] += self.claimed[task_id] == 1
        self.waiting = [message for message in self.waiting if message[0] > self.now]

    def _judged(self) -> list[str]:
        due = Counter(between(self.schedule.timetable, START, self.state.cursor))
        wrong = [f"{moment} ran {self.ran[moment]} times" for moment in {*due, *self.ran} if self.ran[moment] != due[moment]]
        left = [*between(self.schedule.timetable, self.state.cursor, START + LENGTH_S)]
        return [*wrong, f"{left} were not decided"] if left else wrong
