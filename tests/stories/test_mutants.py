"""Each planted fault is caught by a story: what these tests assert is that the stories fail."""

import pytest

from sedano import chord
from tests.stories import mutants
from tests.stories.kept import assert_effects, succeeded
from tests.stories.mutants import Delegating
from tests.stories.processes import LONG_S, Mutation, Processes, untouched
from tests.stories.scenarios import SCENARIOS, Scenario
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, Crash, Watch, away, tapped
from tests.stories.test_zombies import EFFECTS, haunt, packed

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def told_with(scenario: Scenario, mutate: Mutation) -> list[str]:
    """Tell a story with mutated workers that die at each call; return the calls at which it fails."""
    caught = []
    at = 0
    while True:
        stage, shop, watch = in_memory(), Shop(), Watch(at, "after", Crash, OUTSIDE)
        processes = Processes(stage, shop.app, mutate=mutate)
        processes.invocation = LONG_S
        scenario.publish(shop)
        processes.restart(tapped(stage.ports, watch))
        if not _survives(stage, scenario, processes):
            caught.append(watch.calls[at])
        if not watch.fired:
            return caught
        at += 1


def _survives(stage: Stage, scenario: Scenario, processes: Processes) -> bool:
    try:
        try:
            processes.drain()
        except Crash:
            processes.recover()
        assert_effects(stage, scenario.effects, scenario.parked)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("name", ["plain", "retry", "outbox and event"])
def test_the_engine_itself_is_not_caught(name: str) -> None:
    assert told_with(BY_NAME[name], untouched) == []


@pytest.mark.parametrize(
    ("mutate", "name", "call"),
    [
        (mutants.claiming(mutants.AcknowledgesWhileRunning), "plain", "ledger.claim"),
        (mutants.following(mutants.NeverFollowsAgain), "outbox and event", "ledger.record"),
        (mutants.following(mutants.NeverRetriesAgain), "retry", "ledger.record"),
        (mutants.following(mutants.FollowsUnderFreshIds), "outbox and event", "queues.send"),
    ],
    ids=["acknowledges while running", "never follows again", "never retries again", "follows under fresh ids"],
)
def test_a_crash_finds_a_step_that(mutate: Mutation, name: str, call: str) -> None:
    assert call in told_with(BY_NAME[name], mutate)


def test_a_service_that_is_away_finds_a_step_that_acknowledges_unfollowed() -> None:
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app, mutate=mutants.following(mutants.AcknowledgesUnfollowed))
    chord([shop.add.s(1, 1)])(shop.total.s())
    ledger_away = Watch(-1, "before", away, frozenset({"ledger"}))
    processes.restart(tapped(stage.ports, ledger_away))
    ledger_away.at = next(n for n, call in enumerate(_calls_of_a_chord()) if call == "ledger.arrive")
    processes.drain()
    with pytest.raises(AssertionError):
        assert_effects(stage, succeeded(launch=1, add=1, total=1))


def _calls_of_a_chord() -> list[str]:
    stage, shop, watch = in_memory(), Shop(), Watch(ports=frozenset({"ledger"}))
    processes = Processes(stage, shop.app)
    chord([shop.add.s(1, 1)])(shop.total.s())
    processes.restart(tapped(stage.ports, watch))
    processes.drain()
    return watch.calls


def test_a_zombie_finds_a_worker_that_follows_before_it_records() -> None:
    stage, shop = in_memory(), Shop()
    haunt(stage, shop, mutants.follows_before_it_records)
    assert "tea under fence 1" in packed(stage)


def test_a_zombie_finds_a_ledger_without_fences() -> None:
    stage, shop = in_memory(), Shop()
    stage.ports = mutants.on_ledger(stage.ports, mutants.Unfenced)
    haunt(stage, shop)
    assert "tea under fence 1" in packed(stage)
    assert stage.audit.effects() != EFFECTS


@pytest.mark.parametrize(("kind", "name"), [(mutants.NeverSteals, "plain"), (mutants.CountsArrivals, "chord")])
def test_a_crash_finds_a_ledger_that(kind: type[Delegating], name: str) -> None:
    scenario, caught, at = BY_NAME[name], 0, 0
    while True:
        stage, shop, watch = in_memory(), Shop(), Watch(at, "after", Crash, OUTSIDE)
        stage.ports = mutants.on_ledger(stage.ports, kind)
        processes = Processes(stage, shop.app)
        scenario.publish(shop)
        processes.restart(tapped(stage.ports, watch))
        caught += not _survives(stage, scenario, processes)
        if not watch.fired:
            break
        at += 1
    assert caught > 0
