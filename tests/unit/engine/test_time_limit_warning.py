"""The warning at 80 % of a function's time limit: when it is due, and how the one thread that watches waits for it."""

import threading
import time
from collections.abc import Iterable

import pytest

from sedano import memory
from sedano.engine.task_context import TaskContext
from sedano.engine.worker.time_limit_warning import ENDING, SHORTER, WARNED_AT, Overtime
from sedano.model.messages.message import Command


class Watched(Overtime):
    """The watch over an invocation with one body; its thread does nothing but say with which limit it began."""

    def __init__(self) -> None:
        """Run one body."""
        self.clock, self.telemetry, self.running = memory.VirtualClock(100.0), memory.MemoryTelemetry(), True
        super().__init__(self.bodies, self.clock, self.telemetry)
        self.began = threading.Semaphore(0)
        self.watches: list[float] = []

    def bodies(self) -> Iterable[TaskContext]:
        """Return the body, if it runs."""
        return [TaskContext(Command("m", "t", "body", "test@host", 0.0, 1, attempt=2), 1, 30.0, 1)] if self.running else []

    def watching(self, seconds: float) -> int:
        """Begin an invocation; return how many threads watch by now."""
        self.begin(seconds)
        self.began.acquire(timeout=0.05)
        return len(self.watches)

    def _watch(self, shortest: float) -> None:
        self.watches.append(shortest)
        self.began.release()


def test_a_body_is_reported_from_80_percent_of_its_functions_limit_on_and_not_before() -> None:
    overtime = Watched()
    overtime.watching(60.0)
    overtime.clock.advance(47.5)
    assert overtime.look() == 0.5
    assert overtime.telemetry.lines == []
    overtime.clock.advance(0.5)
    assert overtime.look() == 48.0
    (line,) = overtime.telemetry.lines
    assert (line.level, line.message) == ("warning", ENDING)
    fields = line.fields
    assert (fields["task"], fields["task_id"], fields["attempt"], fields["limit"]) == ("body", "t", 2, 60.0)
    overtime.clock.advance(1.0)
    overtime.look()
    assert len(overtime.telemetry.lines) == 1
    assert (WARNED_AT, f"{WARNED_AT:.0%}".replace("%", " %") in ENDING) == (0.8, True)


def test_nothing_is_reported_of_an_invocation_that_has_ended() -> None:
    overtime = Watched()
    overtime.watching(60.0)
    overtime.end()
    overtime.clock.advance(59.0)
    assert overtime.look() == 48.0
    assert overtime.telemetry.lines == []


def test_the_watch_looks_again_as_soon_as_the_shortest_invocation_may_need_it() -> None:
    overtime = Watched()
    assert [overtime.watching(seconds) for seconds in (60.0, SHORTER * 60.0, SHORTER * 60.0 - 0.001, 60.0)] == [1, 1, 2, 2]
    assert overtime.watches == [60.0, SHORTER * 60.0 - 0.001]
    assert SHORTER == 0.9
    overtime.clock.advance(1.0)
    assert overtime.look() == pytest.approx(WARNED_AT * (SHORTER * 60.0 - 0.001)), "although this one has longer"


class Looking(Overtime):
    """A watch that looks at once, and ends after three looks: another one watches then."""

    def __init__(self) -> None:
        """Have looked at nothing."""
        super().__init__(list, memory.VirtualClock(0.0), memory.MemoryTelemetry())
        self.looks: list[float] = []

    def look(self) -> float:
        """Look, and wait a little."""
        self.looks.append(time.monotonic())
        if len(self.looks) == 3:
            self._shortest = 30.0
        return 0.02


def test_the_thread_sleeps_between_two_looks_and_ends_when_another_one_watches() -> None:
    watch = Looking()
    watch._shortest, began = 60.0, time.monotonic()
    watch._watch(60.0)
    assert len(watch.looks) == 3
    assert time.monotonic() - began >= 0.06
