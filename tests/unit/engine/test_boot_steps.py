"""The boot steps of one process alone: each attempt, its time limit, what is logged of it, and the stop."""

import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, memory
from sedano.engine.boot import Boot as Steps
from sedano.engine.boot import BoundedCall
from sedano.errors import BootFailed
from sedano.model.boot import BLOCKED, FAILED, STARTED, WAITING
from tests.unit.engine.gated import advance

SECONDS = 60.0


class Process:
    """The steps of one process, in memory: *lines* has what they do, and those in *broken* fail."""

    def __init__(self, clock: memory.VirtualClock | None = None) -> None:
        """Declare nothing yet."""
        self.app, self.telemetry = Sedano("boot"), memory.MemoryTelemetry()
        ports = memory.ports()
        self.ports = replace(ports, telemetry=self.telemetry, clock=clock or ports.clock)
        self.lines: list[str] = []
        self.broken: set[str] = set()
        self.gate = threading.Event()
        """What a slow step waits for."""

    def step(self, name: str, **options: Any) -> None:
        """Declare the step *name*, with a start and a stop."""

        def both() -> Iterator[None]:
            self.begun(name)
            yield
            self.lines.append(f"-{name}")

        self.app.boot(name=name, **options)(both)

    def begun(self, name: str) -> None:
        """Note that the step *name* starts, or that it fails."""
        self.lines.append(name)
        if name in self.broken:
            raise OSError(f"{name} is away")

    def slow(self, **options: Any) -> None:
        """Declare the optional step `slow`, which has not ended after its timeout."""

        def both() -> Iterator[None]:
            assert self.gate.wait(SECONDS)
            self.begun("slow")
            yield
            self.lines.append("-slow")

        self.app.boot(name="slow", optional=True, timeout=0.001, **options)(both)

    def steps(self) -> Steps:
        """Return the steps, of which none has started."""
        return Steps(self.app.registry, self.ports)

    def let_end(self) -> None:
        """Let the slow step end, and wait for it."""
        thread = next(one for one in threading.enumerate() if one.name == "sedano-boot-slow")
        self.gate.set()
        thread.join(SECONDS)

    def told(self, level: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the lines of *level* and their fields."""
        return [(line.message, dict(line.fields)) for line in self.telemetry.lines if line.level == level]


@pytest.fixture
def process() -> Process:
    """A process without steps."""
    return Process()


def test_a_call_without_a_time_limit_runs_on_the_thread_of_its_caller() -> None:
    call = BoundedCall("a", threading.current_thread)
    assert call.run(None) is True
    assert call.value is threading.current_thread()


def test_a_call_that_ends_within_its_time_limit_is_waited_for() -> None:
    never = threading.Event()
    call = BoundedCall("a", lambda: never.wait(0.02))
    assert call.run(SECONDS) is True
    assert call.value is False


def test_a_call_beyond_its_time_limit_is_not_waited_for() -> None:
    gate = threading.Event()
    call = BoundedCall("a", lambda: gate.wait(SECONDS))
    assert call.run(0.001) is False
    gate.set()


def test_a_call_that_exits_on_its_own_thread_has_failed() -> None:
    call = BoundedCall("a", sys.exit)
    assert call.run(SECONDS) is True
    assert isinstance(call.error, SystemExit)


def test_a_second_begin_tries_no_step_again(process: Process) -> None:
    process.step("cache", optional=True)
    process.broken.add("cache")
    steps = process.steps()
    steps.begin()
    advance(process.ports, 600)
    steps.begin()
    assert process.lines == ["cache"]


def test_the_hooks_of_a_worker_start_are_called_after_its_steps(process: Process) -> None:
    process.step("database")
    process.app.on_worker_start(lambda: process.lines.append("hook"))
    process.steps().begin()
    assert process.lines == ["database", "hook"]


def test_a_mandatory_failure_stops_what_had_started(process: Process) -> None:
    process.step("database")
    process.step("cache", after=["database"])
    process.broken.add("cache")
    with pytest.raises(BootFailed, match="boot step cache: OSError: cache is away"):
        process.steps().begin()
    assert process.lines == ["database", "cache", "-database"]


def test_a_look_before_the_begin_or_after_the_end_starts_nothing(process: Process) -> None:
    process.step("cache", optional=True)
    process.broken.add("cache")
    steps = process.steps()
    steps.look()
    assert (steps.states(), process.lines) == ({"cache": WAITING}, [])
    steps.begin()
    steps.end()
    advance(process.ports, 600)
    steps.look()
    assert process.lines == ["cache"]


def test_one_look_alone_is_hastened(process: Process) -> None:
    process.step("cache", optional=True)
    process.broken.add("cache")
    steps = process.steps()
    steps.begin()
    steps.hasten()
    steps.look()
    assert process.lines == ["cache"] * 2
    steps.look()
    assert process.lines == ["cache"] * 2


def test_a_step_without_a_yield_has_nothing_to_stop(process: Process) -> None:
    process.app.boot(name="ask")(lambda: process.lines.append("ask"))
    steps = process.steps()
    steps.begin()
    steps.end()
    assert (process.lines, process.telemetry.lines) == (["ask"], [])


def test_the_stop_of_a_step_with_two_yields_closes_it(process: Process) -> None:
    def twice() -> Iterator[None]:
        try:
            yield
            yield
        finally:
            process.lines.append("closed")

    process.app.boot(twice)
    steps = process.steps()
    steps.begin()
    steps.end()
    assert process.lines == ["closed"]
    ((words, fields),) = process.told("error")
    assert words == "a boot step failed while it was stopped; the others are stopped"
    assert fields["error"].startswith("RuntimeError: it has a second yield")


def test_a_stop_beyond_the_timeout_of_its_step_is_logged_and_the_others_stop(process: Process) -> None:
    process.step("database")

    def endless() -> Iterator[None]:
        yield
        assert process.gate.wait(SECONDS)

    process.app.boot(after=["database"], timeout=0.1)(endless)
    steps = process.steps()
    steps.begin()
    steps.end()
    process.gate.set()
    assert process.told("error") == [("a boot step has not stopped within its timeout", {"step": "endless"})]
    assert process.lines == ["database", "-database"]


def test_the_steps_that_have_not_started_are_returned_with_the_reason_of_their_last_failure(process: Process) -> None:
    process.step("database")
    process.step("cache", optional=True)
    process.step("warm", after=["cache"], optional=True)
    process.broken.add("cache")
    steps = process.steps()
    steps.begin()
    assert steps.unstarted() == {"cache": (FAILED, "OSError: cache is away"), "warm": (BLOCKED, "")}


class Noting(memory.VirtualClock):
    """A clock that notes how long was slept, and moves on by *pace* seconds whenever it is read."""

    def __init__(self, pace: float) -> None:
        """Show the year 2026."""
        super().__init__(memory.START)
        self.slept: list[float] = []
        self.pace = pace

    def now(self) -> float:
        """Return seconds since the epoch."""
        self.advance(self.pace)
        return super().now()

    def sleep(self, seconds: float) -> None:
        """Move on by *seconds*."""
        self.slept.append(round(seconds, 6))
        super().sleep(seconds)


@pytest.mark.parametrize(("pace", "slept"), [(0.0, 0.75), (0.4, 0.0)])
def test_a_process_waits_for_a_mandatory_step_until_it_is_due_and_no_longer(pace: float, slept: float) -> None:
    clock = Noting(pace)
    process = Process(clock)
    process.step("first", attempts=2)
    process.broken.add("first")
    process.app.boot(name="second", optional=True)(process.broken.clear)
    if not pace:
        process.app.boot(name="third")(lambda: clock.advance(0.25))
    process.steps().begin()
    assert process.lines == ["first", "first"]
    assert clock.slept == [slept]


def test_a_step_that_starts_after_its_timeout_is_logged_and_stopped_with_the_others(process: Process) -> None:
    process.slow()
    steps = process.steps()
    steps.begin()
    process.let_end()
    steps.end()
    assert process.lines == ["slow", "-slow"]
    assert process.told("info") == [("a boot step has started after its timeout", {"step": "slow"})]
    assert [words for words, _ in process.told("warning")] == ["a boot step failed; it is tried again later"]
    assert steps.states() == {"slow": STARTED}


def test_a_step_that_fails_after_its_timeout_is_tried_again(process: Process) -> None:
    process.slow()
    process.broken.add("slow")
    steps = process.steps()
    steps.begin()
    process.let_end()
    steps.look()
    assert (steps.states(), process.lines) == ({"slow": FAILED}, ["slow"])
    process.broken.clear()
    advance(process.ports, 600)
    steps.look()
    assert (steps.states(), process.lines) == ({"slow": STARTED}, ["slow", "slow"])


def test_a_second_end_does_not_log_again_that_a_step_has_not_ended(process: Process) -> None:
    process.slow(attempts=1)
    steps = process.steps()
    steps.begin()
    steps.end()
    steps.end()
    assert process.told("warning") == [("a boot step has not ended; its code after yield does not run", {"step": "slow"})]
    process.let_end()
