"""A service that is away at any one call, or whose answer is lost, costs a redelivery and nothing else; nothing is thrown."""

import pytest

from tests.stories.kept import assert_effects, assert_history_tells_what_the_ledger_holds
from tests.stories.scenarios import SCENARIOS, Scenario
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, SIDES, Side, Watch, away, tapped

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=[s.name for s in SCENARIOS])


def disturb(
    scenario: Scenario, stage: Stage, at: int, side: Side, ports: frozenset[str] = OUTSIDE, times: int = 1
) -> Watch:
    """Walk the scenario with calls of its processes that are not answered; Lambda's own feeding is not disturbed."""
    watch = Watch(at, side, away, ports, times=times)
    _, processes = scenario.begin(stage)
    processes.restart(tapped(stage.ports, watch))
    processes.feed = stage.ports.queues
    processes.drain()
    return watch


@every_scenario
def test_a_call_without_an_answer_loses_nothing_doubles_nothing_and_throws_nothing(scenario: Scenario) -> None:
    calls = disturb(scenario, in_memory(), -1, "before").calls
    assert len(calls) >= 4
    for at, call in enumerate(calls):
        for side in SIDES:
            stage = in_memory()
            try:
                assert disturb(scenario, stage, at, side).fired
                assert_effects(stage, scenario.effects, scenario.parked)
                if call != "queues.send":
                    assert_history_tells_what_the_ledger_holds(stage)
            except AssertionError as broken:
                raise AssertionError(f"away {side} call {at}, {call}: {broken}") from broken


OUTAGE = 12
"""Calls in a row that are not answered."""


@pytest.mark.parametrize("port", sorted(OUTSIDE))
@every_scenario
def test_a_service_that_is_away_for_a_while_costs_time_and_nothing_else(scenario: Scenario, port: str) -> None:
    undisturbed = disturb(scenario, in_memory(), -1, "before", frozenset({port}), 0).calls
    for at in range(len(undisturbed)):
        stage = in_memory()
        disturb(scenario, stage, at, "before", frozenset({port}), OUTAGE)
        try:
            assert_effects(stage, scenario.effects, scenario.parked)
        except AssertionError as broken:
            raise AssertionError(f"away from call {at}, {undisturbed[at]}: {broken}") from broken
