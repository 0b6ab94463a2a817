"""The store of limits or of leases is away at any one call, or loses its answer; and a burst goes on in the next batch."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, memory
from sedano.model import states
from sedano.model.limits.concurrency import Permit
from sedano.model.limits.rate import Line, LineChanged, Paces
from sedano.ports import PARKED
from tests.stories.processes import Processes
from tests.stories.stage import QUEUES, Stage, in_memory
from tests.stories.taps import SIDES, Side, Watch, away, tapped

LIMITS: dict[str, dict[str, Any]] = {
    "permits": {"concurrency": 1},
    "a rate": {"rate": "2/s", "burst": 2},
    "a rate and permits": {"rate": ("4/s", "60/m"), "burst": (1, 2), "concurrency": 2},
    "a singleton": {"singleton": True},
}


class Limited:
    """An app with one limited task, over *stage*."""

    def __init__(self, stage: Stage, **options: Any) -> None:
        """Declare the task with *options*."""
        self.stage, self.app, self.ran = stage, Sedano("limited", queues=QUEUES), list[tuple[float, int]]()
        self.only = self.app.task(name="only", retry=False, **options)(self._body)
        self.processes = Processes(stage, self.app)

    def _body(self, number: int) -> None:
        self.ran.append((self.stage.clock.now(), number))


def disturbed(options: dict[str, Any], watch: Watch) -> list[str]:
    """Run six tasks while a call of the limits is not answered; return the calls."""
    limited = Limited(in_memory(), **options)
    limited.processes.restart(tapped(limited.stage.ports, watch))
    limited.processes.feed = limited.stage.ports.queues
    results = []
    for first in (0, 3):
        results += [limited.only.delay(number) for number in range(first, first + 3)]
        limited.processes.step()
    limited.processes.drain()
    assert sorted(number for _, number in limited.ran) == list(range(6))
    assert {result.state for result in results} == {states.SUCCESS}
    assert limited.stage.peek(PARKED) == []
    return watch.calls


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_that_is_not_answered_costs_time_and_no_task(name: str, side: Side) -> None:
    asked = frozenset({"limits", "leases"})
    calls = disturbed(LIMITS[name], Watch(-1, side, away, asked))
    assert len(calls) >= 2
    for at, call in enumerate(calls):
        watch = Watch(at, side, away, asked)
        try:
            disturbed(LIMITS[name], watch)
        except AssertionError as broken:
            raise AssertionError(f"away {side} call {at}, {call}: {broken}") from broken
        assert watch.fired


class Slow(memory.MemoryLimits):
    """Limits whose first line takes ten minutes to begin."""

    def __init__(self, stage: Stage) -> None:
        """Let the time of *stage* pass."""
        super().__init__()
        self._stage, self._left = stage, 600.0

    def begin(self, name: str, line: Line, limits: Paces) -> LineChanged:
        """Begin the line, and answer late."""
        answer = super().begin(name, line, limits)
        self._stage.pass_time(self._left)
        self._left = 0.0
        return answer


def test_a_slot_that_passed_while_it_was_asked_for_is_not_used_and_its_task_comes_again() -> None:
    limited = Limited(in_memory(), rate="1/s")
    result = limited.only.delay(1)
    limited.processes.restart(replace(limited.stage.ports, limits=Slow(limited.stage)))
    limited.processes.step()
    assert limited.ran == []
    limited.processes.drain()
    assert (len(limited.ran), result.state) == (1, states.SUCCESS)


def test_a_batch_that_finds_every_permit_held_waits_and_runs_whole() -> None:
    limited = Limited(in_memory(), concurrency=1)
    now = int(limited.stage.clock.now() * 1000)
    assert limited.stage.ports.limits.take("only/", Permit(0, now, "n", "another", now + 60_000), "", now).done
    for number in range(4):
        limited.only.delay(number)
    limited.processes.step()
    assert limited.ran == []
    assert limited.stage.telemetry.counted("PermitsBusy", task="only") == 4
    limited.processes.drain()
    assert sorted(number for _, number in limited.ran) == list(range(4))
    assert limited.ran[0][0] * 1000 >= now + 60_000
    assert limited.stage.peek(PARKED) == []


@pytest.mark.parametrize("per", [{}, {"per": "worker"}], ids=["of all", "of each worker"])
def test_what_is_left_of_a_burst_is_used_by_the_next_batch_and_no_more(per: dict[str, str]) -> None:
    limited = Limited(in_memory(), rate="1/m", burst=3, **per)
    began = limited.stage.clock.now()
    for numbers in ((0, 1), (2, 3)):
        for number in numbers:
            limited.only.delay(number)
        limited.processes.step()
    assert [number for _, number in limited.ran] == [0, 1, 2]
    limited.processes.drain()
    moment, number = limited.ran[3]
    assert (number, moment - began) == (3, pytest.approx(60, abs=1))
