"""A process that dies before or after any call of any port loses nothing and doubles nothing."""

import pytest

from tests.stories.conftest import Stages
from tests.stories.kept import assert_kept
from tests.stories.processes import INVOCATION_S, LONG_S
from tests.stories.scenarios import SCENARIOS, Scenario
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import ALL, OUTSIDE, SIDES, Crash, Side, Watch, tapped

EARLY = [s for s in SCENARIOS if s.name in ("plain", "retry", "outbox and event", "chord", "expired")]
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=[s.name for s in SCENARIOS])


def calls_of(scenario: Scenario, stage: Stage, ports: frozenset[str]) -> list[str]:
    """Walk the scenario undisturbed and return the calls that its processes made."""
    watch = Watch(ports=ports)
    _, processes = scenario.begin(stage)
    processes.restart(tapped(stage.ports, watch))
    processes.drain()
    assert_kept(stage, scenario.effects, scenario.parked)
    return watch.calls


def sides_of(call: str) -> tuple[Side, ...]:
    """After a call that leaves nothing behind is before the next one."""
    return SIDES if call.partition(".")[0] in OUTSIDE else ("before",)


def crash(scenario: Scenario, stage: Stage, at: int, side: Side, ports: frozenset[str], invocation: float = INVOCATION_S) -> Watch:
    """Walk the scenario, die at one call, let new processes take over, and check what was kept."""
    watch = Watch(at, side, ports=ports)
    _, processes = scenario.begin(stage)
    processes.invocation = invocation

    def live() -> None:
        processes.restart(tapped(stage.ports, watch))  # a worker asks for the time while it is built
        processes.drain()

    with pytest.raises(Crash):
        live()
    processes.recover()
    assert_kept(stage, scenario.effects, scenario.parked)
    return watch


@every_scenario
def test_a_crash_at_any_call_loses_nothing_and_doubles_nothing(scenario: Scenario) -> None:
    calls = calls_of(scenario, in_memory(), ALL)
    assert len(calls) >= scenario.calls
    for at, call in enumerate(calls):
        for side in sides_of(call):
            try:
                watch = crash(scenario, in_memory(), at, side, ALL)
            except AssertionError as broken:
                raise AssertionError(f"crashed {side} call {at}, {call}: {broken}") from broken
            assert watch.fired


@pytest.mark.parametrize("scenario", EARLY, ids=[s.name for s in EARLY])
def test_a_message_that_comes_again_before_the_dead_holders_claim_ends_waits_for_it(scenario: Scenario) -> None:
    calls = calls_of(scenario, in_memory(), OUTSIDE)
    assert "ledger.claim" in calls
    for at in range(len(calls)):
        assert crash(scenario, in_memory(), at, "after", OUTSIDE, LONG_S).fired


WRITES = ("ledger.claim", "ledger.record", "ledger.keep", "ledger.arrive", "ledger.open_join", "queues.send")
ON_MOTO = [s for s in SCENARIOS if s.name in ("plain", "retry", "outbox and event", "chord", "recorded once")]


@pytest.mark.parametrize("scenario", ON_MOTO, ids=[s.name for s in ON_MOTO])
def test_a_crash_after_any_write_to_aws_loses_nothing_and_doubles_nothing(scenario: Scenario, moto_stages: Stages) -> None:
    with moto_stages() as stage:
        calls = calls_of(scenario, stage, OUTSIDE)
    points = [at for at, call in enumerate(calls) if call in WRITES]
    assert len(points) >= 3
    for at in points:
        with moto_stages() as stage:
            assert crash(scenario, stage, at, "after", OUTSIDE).fired
