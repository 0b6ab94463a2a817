"""The rule of boot steps over random graphs: order, what a failure blocks, and when a process refuses to start."""

import random
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sedano.errors import OptionError
from sedano.model import boot
from sedano.model.boot import BLOCKED, FAILED, GIVEN_UP, NEW, STARTED, BootStep, StepProgress

GRAPHS = 10_000
SEED = 18


class Game(NamedTuple):
    """A random graph of steps in the order of their declaration, and which of them fail how often in a row."""

    steps: list[BootStep]
    failures: dict[str, int]


def game(dice: random.Random) -> Game:
    """Return a graph without circles of at most 12 steps, in which no mandatory step follows an optional one."""
    optional = [dice.random() < 0.5 for _ in range(dice.randrange(1, 13))]
    steps = []
    for number, may_fail in enumerate(optional):
        before = [f"s{other}" for other in range(number) if dice.random() < 0.3 and (may_fail or not optional[other])]
        steps.append(BootStep(f"s{number}", tuple(before), may_fail, attempts=dice.randrange(1, 4)))
    failures = {one.name: dice.randrange(1, 5) for one in steps if dice.random() < 0.2}
    dice.shuffle(steps)
    return Game(steps, failures)


def ancestors(name: str, steps: Mapping[str, BootStep]) -> set[str]:
    """Return all that must have started before *name*, by a search that shares nothing with the rule."""
    found: set[str] = set()
    front = [*steps[name].after]
    while front:
        one = front.pop()
        if one not in found:
            found.add(one)
            front += steps[one].after
    return found


class Played(NamedTuple):
    """What became of a game: the steps in the order in which they started, their standings, the one that refused, all tries."""

    started: list[str]
    standings: dict[str, StepProgress]
    refused: str | None
    tries: list[tuple[str, float]]


def play(one: Game, rule: Any) -> Played:
    """Start the steps of a game as the engine does, until nothing is due any more or the process refuses to start."""
    order, left = rule.ordered(one.steps), dict(one.failures)
    played, now = Played([], {}, None, []), 0.0
    for _ in range(1_000):
        step = rule.next_step(order, played.standings, now)
        if step is None:
            due = [mine.due for name, mine in played.standings.items() if mine.state == FAILED]
            if not due or min(due) <= now:
                return played
            now = max(now, min(due))
            continue
        played.tries.append((step.name, now))
        before = played.standings.get(step.name, NEW)
        if left.get(step.name, 0):
            left[step.name] -= 1
            played.standings[step.name] = rule.failed(step, before, now)
        else:
            played.standings[step.name] = rule.started(before)
            played.started.append(step.name)
        if (refused := rule.refusal(order, played.standings)) is not None:
            return played._replace(refused=refused)
    raise AssertionError("it goes on without an end")


def broken(one: Game, rule: Any) -> list[str]:
    """Return the promises that the rule breaks in a game."""
    played, steps = play(one, rule), {step.name: step for step in one.steps}
    lost = {name for name, times in one.failures.items() if times >= steps[name].attempts}
    stuck = {name for name in steps if ancestors(name, steps) & lost}
    whole = set(steps) - lost - stuck
    places = {name: place for place, name in enumerate(played.started)}
    states = rule.states(rule.ordered(one.steps), played.standings)
    counts = {name: [at for tried, at in played.tries if tried == name] for name in steps}
    pauses = [(name, late - early, n) for name, at in counts.items() for n, (early, late) in enumerate(pairwise(at), 1)]
    mandatory = {name for name in lost if not steps[name].optional}
    promises = {
        "order": all(places.get(before, 99) < places[name] for name in places for before in steps[name].after),
        "once": len(places) == len(played.started),
        "refusal": (played.refused is not None) == bool(mandatory) and (played.refused is None or played.refused in mandatory),
        "all that can start": played.refused is not None or set(places) == whole,
        "blocked alone": played.refused is not None or {n for n, state in states.items() if state == BLOCKED} == stuck,
        "given up": played.refused is not None or {n for n, state in states.items() if state == GIVEN_UP} == lost - stuck,
        "bounded": all(len(at) <= steps[name].attempts for name, at in counts.items()),
        "patience": all(pause >= 2 ** (number - 1) for _, pause, number in pauses),
    }
    return [name for name, holds in promises.items() if not holds]


def test_ten_thousand_random_graphs_keep_every_promise() -> None:
    dice = random.Random(SEED)
    ends = {"whole": 0, "degraded": 0, "refused": 0}
    for number in range(GRAPHS):
        one = game(dice)
        assert broken(one, boot) == [], f"seed {SEED}, graph {number}: {one}"
        played = play(one, boot)
        ends["refused" if played.refused else "whole" if len(played.started) == len(one.steps) else "degraded"] += 1
    assert min(ends.values()) > GRAPHS / 20, ends  # each way to end is played often


class Planted:
    """The rule with one function replaced."""

    def __init__(self, **faults: Callable[..., Any]) -> None:
        """Replace these functions."""
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        return self._faults.get(name) or getattr(boot, name)


def eager(order: Iterable[BootStep], standings: Mapping[str, StepProgress], now: float, busy: Any = ()) -> BootStep | None:
    """Start a step although those before it have not started."""
    return next((one for one in order if standings.get(one.name, NEW).state == boot.WAITING), None) or boot.next_step(order, standings, now)


def halting(order: Iterable[BootStep], standings: Mapping[str, StepProgress], now: float, busy: Any = ()) -> BootStep | None:
    """Start nothing more once a step has failed."""
    return None if any(mine.state in (FAILED, GIVEN_UP) for mine in standings.values()) else boot.next_step(order, standings, now)


def hasty(one: BootStep, standing: StepProgress, now: float) -> StepProgress:
    """Try again at once."""
    return boot.failed(one, standing, now)._replace(due=now)


def endless(one: BootStep, standing: StepProgress, now: float) -> StepProgress:
    """Try once more than was said."""
    return boot.failed(one._replace(attempts=one.attempts + 1), standing, now)


def wrong_order(steps: Iterable[BootStep]) -> tuple[BootStep, ...]:
    """Take the reverse order."""
    return boot.ordered(steps)[::-1]


PLANTED = {
    "order": Planted(next_step=eager),
    "all that can start": Planted(next_step=halting),
    "patience": Planted(failed=hasty),
    "bounded": Planted(failed=endless),
    "refusal": Planted(refusal=lambda order, standings: next((n for n, one in standings.items() if one.state == GIVEN_UP), None)),
    "blocked alone": Planted(states=lambda order, standings: {one.name: standings.get(one.name, NEW).state for one in order}),
    "given up": Planted(states=lambda order, standings: boot.states(wrong_order(order), {})),
}


@pytest.mark.parametrize("promise", PLANTED)
def test_a_planted_fault_breaks_its_promise(promise: str) -> None:
    dice = random.Random(SEED)
    assert any(promise in broken(game(dice), PLANTED[promise]) for _ in range(300))


def test_steps_without_a_name_before_them_keep_the_order_of_their_declaration() -> None:
    steps = [BootStep("c"), BootStep("a", ("b",)), BootStep("b"), BootStep("d")]
    assert [one.name for one in boot.ordered(steps)] == ["c", "b", "a", "d"]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=10, unique=True), st.integers(0, 5))
def test_a_circle_is_refused_with_its_path(ring: list[int], tail: int) -> None:
    tails = {f"t{n}": (f"s{ring[0]}",) for n in range(tail)}
    after = tails | {f"s{one}": (f"s{ring[place - 1]}",) for place, one in enumerate(ring)}
    steps = {name: BootStep(name, before) for name, before in after.items()}
    path = boot.circle(steps)
    assert path[0] == path[-1]
    assert len(path) == len(ring) + 1
    assert {*path} == {f"s{one}" for one in ring}
    assert all(late in after[early] for early, late in pairwise(path))
    with pytest.raises(OptionError, match=r"wait for one another: s\d → .*; remove one of these names"):
        boot.ordered(steps.values())


def test_steps_that_name_missing_ones_are_no_circle() -> None:
    assert boot.circle({"a": BootStep("a", ("later",))}) == []


def test_a_circle_is_named_without_the_steps_that_wait_for_nothing() -> None:
    steps = {"free": BootStep("free"), "a": BootStep("a", ("free", "b")), "b": BootStep("b", ("free", "a"))}
    assert boot.circle(steps) == ["a", "b", "a"]


def test_an_unknown_name_is_refused_with_those_that_exist() -> None:
    with pytest.raises(OptionError, match=r"boot step a: after='bb' is not one of the steps \('a', 'b'\)"):
        boot.ordered([BootStep("a", ("bb",)), BootStep("b")])


def test_a_mandatory_step_after_an_optional_one_is_refused() -> None:
    with pytest.raises(OptionError, match="a is mandatory and starts after b, which is optional; write optional=True for a, or make b"):
        boot.ordered([BootStep("a", ("b",)), BootStep("b", optional=True)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"after": "database"}, "write a list of the names"),
        ({"after": 7}, "write a list of the names"),
        ({"after": [7]}, "write a list of the names"),
        ({"after": [""]}, "write a list of the names"),
        ({"after": ["mine"]}, "it starts after itself"),
        ({"optional": 1}, "optional=1; write True or False"),
        ({"timeout": 0}, "timeout=0; write seconds, more than 0 and at most 900"),
        ({"timeout": 900.5}, "more than 0 and at most 900"),
        ({"timeout": "5"}, "more than 0 and at most 900"),
        ({"timeout": True}, "more than 0 and at most 900"),
        ({"attempts": 0}, "attempts=0; write a whole number from 1 to 100"),
        ({"attempts": 101}, "a whole number from 1 to 100"),
        ({"attempts": 1.5}, "a whole number from 1 to 100"),
        ({"attempts": "5"}, "a whole number from 1 to 100"),
        ({"attempts": True}, "a whole number from 1 to 100"),
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused(options: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"after": (), "optional": False, "timeout": None, "attempts": None, **options}
    with pytest.raises(OptionError, match=words):
        boot.step("mine", **given)


def test_the_limits_of_the_options_are_accepted() -> None:
    assert boot.step("a", ["b"], True, 900, 100) == BootStep("a", ("b",), True, 900, 100)
    assert boot.step("a", (), True, 0.001, 1).attempts == 1


def test_an_optional_step_is_tried_five_times_and_a_mandatory_one_once() -> None:
    assert boot.step("a", (), True, None, None).attempts == boot.ATTEMPTS == 5
    assert boot.step("a", (), False, None, None).attempts == 1


def test_the_pause_doubles_up_to_five_minutes() -> None:
    assert [boot.backoff(tried) for tried in (1, 2, 3, 9, 10, 100, 10_000)] == [1, 2, 4, 256, 300, 300, 300]


def test_a_step_is_not_due_before_its_moment_nor_while_a_try_goes_on() -> None:
    one = BootStep("a", optional=True, attempts=2)
    after = {"a": boot.failed(one, NEW, 100.0)}
    assert after["a"] == StepProgress(FAILED, 1, 101.0)
    assert boot.next_step([one], after, 100.9) is None
    assert boot.next_step([one], after, 101.0) == one
    assert boot.next_step([one], after, 101.0, {"a"}) is None
    assert boot.failed(one, after["a"], 101.0) == StepProgress(GIVEN_UP, 2)
    assert boot.started(after["a"]) == StepProgress(STARTED, 2)


def test_the_process_waits_for_the_earliest_mandatory_step_alone() -> None:
    order = [BootStep("a", attempts=3), BootStep("b", attempts=3), BootStep("c", optional=True, attempts=3), BootStep("d")]
    standings = {"a": StepProgress(FAILED, 1, 9.0), "b": StepProgress(FAILED, 1, 7.0), "c": StepProgress(FAILED, 1, 5.0)}
    assert boot.awaited(order, standings) == 7.0
    assert boot.awaited(order[2:], standings) is None


def test_what_a_failed_step_blocks_is_shown_down_to_the_last_descendant() -> None:
    steps = [BootStep("a", optional=True), BootStep("b", ("a",), True), BootStep("c", ("b",), True), BootStep("d", optional=True)]
    order = boot.ordered(steps)
    assert boot.states(order, {"a": StepProgress(FAILED, 1, 9.0), "d": StepProgress(STARTED, 1)}) == {
        "a": FAILED, "b": BLOCKED, "c": BLOCKED, "d": STARTED,
    }  # fmt: skip


def test_a_step_that_failed_or_was_given_up_is_due_at_once_with_all_its_attempts_and_one_that_started_stays_so() -> None:
    standings = {"a": StepProgress(FAILED, 2, 9.0), "b": StepProgress(GIVEN_UP, 5), "c": StepProgress(STARTED, 3), "d": NEW}
    again = boot.hastened(standings)
    assert again == {"a": StepProgress(FAILED, 0, 0.0), "b": StepProgress(FAILED, 0, 0.0), "c": StepProgress(STARTED, 3), "d": NEW}


def test_failures_are_in_a_row_unless_a_run_lasts_longer_than_the_longest_pause() -> None:
    assert [boot.failures_in_a_row(0, 0.0), boot.failures_in_a_row(4, 300.0), boot.failures_in_a_row(4, 300.5)] == [1, 5, 1]
