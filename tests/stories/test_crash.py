"""A process that dies before or after any call of any port loses nothing and doubles nothing."""

import pytest

from tests.stories.kept import assert_kept
from tests.stories.scenarios import SCENARIOS, Scenario
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import ALL, SIDES, Crash, Side, Watch, tapped

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=[s.name for s in SCENARIOS])


def calls_of(scenario: Scenario, stage: Stage, ports: frozenset[str]) -> list[str]:
    """Walk the scenario undisturbed and return the calls that its processes made."""
    watch = Watch(ports=ports)
    _, processes = scenario.begin(stage)
    processes.restart(tapped(stage.ports, watch))
    processes.drain()
    assert_kept(stage, scenario.effects, scenario.parked)
    return watch.calls


def crash(scenario: Scenario, stage: Stage, at: int, side: Side, ports: frozenset[str]) -> Watch:
    """Walk the scenario, die at one call, let new processes take over, and check what was kept."""
    watch = Watch(at, side, ports=ports)
    _, processes = scenario.begin(stage)
    processes.restart(tapped(stage.ports, watch))
    with pytest.raises(Crash):
        processes.drain()
    processes.recover()
    assert_kept(stage, scenario.effects, scenario.parked)
    return watch


@every_scenario
def test_a_crash_at_any_call_loses_nothing_and_doubles_nothing(scenario: Scenario) -> None:
    calls = calls_of(scenario, in_memory(), ALL)
    assert len(calls) >= scenario.calls
    for at, call in enumerate(calls):
        for side in SIDES:
            try:
                watch = crash(scenario, in_memory(), at, side, ALL)
            except AssertionError as broken:
                raise AssertionError(f"crashed {side} call {at}, {call}: {broken}") from broken
            assert watch.fired
