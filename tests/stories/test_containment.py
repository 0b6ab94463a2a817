"""An exception that no rule foresaw costs one message, which is set aside as `unexpected`; nothing is lost and nothing is doubled.

Each story breaks one call of a port with an exception that is none of sedano's, as a defect or a page of HTML instead of an answer would.
"""

import pytest

from sedano.ports import PARKED, Outgoing
from tests.stories.kept import assert_effects
from tests.stories.scenarios import SCENARIOS, Scenario
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, SIDES, Side, Watch, tapped
from tests.stories.test_crash import calls_of

FEED = ("queues.receive", "queues.delete")
"""What the event source mapping calls, not an engine."""
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=[s.name for s in SCENARIOS])


def unforeseen() -> BaseException:
    """What no rule expects; its text must not be seen anywhere."""
    return RuntimeError("a secret of 4711")


def redrive(stage: Stage) -> int:
    """Send what was set aside as unexpected to where it came from, as an operator does when the cause is mended."""
    parked = stage.ports.queues.receive(PARKED)
    again = [one for one in parked if one.attributes["reason"] == "unexpected"]
    for one in again:
        stage.ports.queues.send(one.attributes["queue"], [Outgoing(one.body)])
    stage.ports.queues.delete(again)
    for one in parked:
        stage.ports.queues.hold(one, 0.0)
    return len(again)


def surprise(scenario: Scenario, at: int, side: Side) -> Stage:
    """Walk the scenario with an unforeseen exception at one call, send again what was set aside for it, and check what was kept."""
    stage, watch = in_memory(), Watch(at, side, unforeseen, OUTSIDE)
    _, processes = scenario.begin(stage)
    processes.restart(tapped(stage.ports, watch))
    processes.drain()
    assert watch.fired
    for _ in range(10):
        if not redrive(stage):
            break
        processes.recover()
    assert_effects(stage, scenario.effects, scenario.parked)
    return stage


@every_scenario
def test_an_unforeseen_exception_at_any_call_leaves_no_engine_and_loses_and_doubles_nothing(scenario: Scenario) -> None:
    calls = calls_of(scenario, in_memory(), OUTSIDE)
    for at, call in enumerate(calls):
        if call in FEED:
            continue
        for side in SIDES:
            try:
                stage = surprise(scenario, at, side)
            except Exception as broken:
                raise AssertionError(f"raised {side} call {at}, {call}: {type(broken).__name__}: {broken}") from broken
            assert stage.telemetry.counted("UnexpectedErrors") >= 1, f"{side} {call} was not counted"
            assert "4711" not in repr(stage.telemetry.lines), "an exception's text is a value"
