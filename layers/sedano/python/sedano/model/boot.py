"""Boot steps: the order in which they start, the steps that a failure blocks, and the time of the next attempt. Pure.

B1: a step starts after all steps in its `after`. B2: a mandatory step never follows an optional one, so failed optional steps degrade a
process but never block it. B3: a failure blocks only the descendants of its step; all other steps start. B4: the pause before the next
attempt doubles, and the number of attempts is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from sedano.errors import OptionError

FIRST_S = 1.0
"""Seconds between the first failure of a step and its second attempt."""
LONGEST_S = 300.0
"""The longest pause (s) between two attempts."""
MOST_ATTEMPTS = 100
MOST_TIMEOUT_S = 900.0
ATTEMPTS = 5
"""The default number of attempts of an optional step; the default of a mandatory one is 1."""
WAITING, STARTED, FAILED, GIVEN_UP, BLOCKED = "waiting", "started", "failed", "given up", "blocked"


class BootStep(NamedTuple):
    """A boot step: the names of the steps *after* which it starts, its number of *attempts*, and the *timeout* (s) of an attempt."""

    name: str
    after: tuple[str, ...] = ()
    optional: bool = False
    timeout: float | None = None
    attempts: int = 1


class DeclaredStep(NamedTuple):
    """A declared step and the *function* that starts it; a generator stops it after its `yield`."""

    step: BootStep
    function: Callable[[], Any]


class StepProgress(NamedTuple):
    """The progress of a step: its *state*, the number of its attempts (*tried*), and the time from which it may be tried again (*due*,
    epoch s).
    """

    state: str = WAITING
    tried: int = 0
    due: float = 0.0


NEW = StepProgress()
Standings = Mapping[str, StepProgress]


def step(name: str, after: Iterable[str], optional: bool, timeout: float | None, attempts: int | None) -> BootStep:
    """Return the step with these options.

    Raises:
        OptionError: an option is not valid.
    """
    names = tuple(after) if _is_list(after) else ()
    if not (_is_list(after) and all(map(_is_name, names))):
        raise OptionError(f"boot step {name}: after={after!r}; write a list of the names of steps, such as after=['database']")
    if name in names:
        raise OptionError(f"boot step {name}: it starts after itself; remove {name!r} from after=")
    if not isinstance(optional, bool):
        raise OptionError(f"boot step {name}: optional={optional!r}; write True or False")
    if timeout is not None and not (_is_number(timeout) and 0 < timeout <= MOST_TIMEOUT_S):
        raise OptionError(f"boot step {name}: timeout={timeout!r}; write seconds, more than 0 and at most {MOST_TIMEOUT_S:.0f}")
    tries = attempts if attempts is not None else ATTEMPTS if optional else 1
    if not (_is_number(tries) and tries in range(1, MOST_ATTEMPTS + 1)):
        raise OptionError(f"boot step {name}: attempts={attempts!r}; write a whole number from 1 to {MOST_ATTEMPTS}")
    return BootStep(name, names, optional, timeout, tries)


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def ordered(steps: Iterable[BootStep]) -> tuple[BootStep, ...]:
    """Return *steps* in the order in which they start: each after the steps in its `after`, otherwise in the order of declaration.

    Raises:
        OptionError: a step in `after` does not exist, a mandatory step follows an optional one, or steps wait for one another.
    """
    left = {one.name: one for one in steps}
    for one in left.values():
        _check(one, left)
    order: dict[str, BootStep] = {}
    while left:
        free = next((one for one in left.values() if order.keys() >= {*one.after}), None)
        if free is None:
            raise OptionError(f"boot steps wait for one another: {' → '.join(circle(left))}; remove one of these names from after=")
        order[free.name] = left.pop(free.name)
    return tuple(order.values())


def _check(one: BootStep, steps: Mapping[str, BootStep]) -> None:
    for name in one.after:
        if name not in steps:
            raise OptionError(f"boot step {one.name}: after={name!r} is not one of the steps {tuple(steps)}")
        if steps[name].optional and not one.optional:
            words = f"boot step {one.name} is mandatory and starts after {name}, which is optional"
            raise OptionError(f"{words}; write optional=True for {one.name}, or make {name} mandatory")


def circle(steps: Mapping[str, BootStep]) -> list[str]:
    """Return the names of *steps* that form a cycle, each before the step for which it waits, or an empty list.

    Names in `after` that are not in *steps* are ignored.
    """
    left = dict(steps)
    while free := [name for name, one in left.items() if not left.keys() & {*one.after}]:
        for name in free:
            del left[name]
    path = list(left)[:1]
    while path and path[-1] not in path[:-1]:
        path.append(next(name for name in left[path[-1]].after if name in left))
    return path[path.index(path[-1]) :] if path else []


def next_step(order: Iterable[BootStep], standings: Standings, now: float, busy: AbstractSet[str] = frozenset()) -> BootStep | None:
    """Return the first step of *order* that is due at *now* (epoch s), or None. *busy*: the steps with an attempt in progress."""
    return next((one for one in order if one.name not in busy and _may_start(one, standings, now)), None)


def _may_start(one: BootStep, standings: Standings, now: float) -> bool:
    mine = standings.get(one.name, NEW)
    is_due = mine.state == WAITING or (mine.state == FAILED and mine.due <= now)
    return is_due and all(standings.get(name, NEW).state == STARTED for name in one.after)


def started(standing: StepProgress) -> StepProgress:
    """Return the progress of a step after a successful attempt."""
    return StepProgress(STARTED, standing.tried + 1)


def failed(one: BootStep, standing: StepProgress, now: float) -> StepProgress:
    """Return the progress of a step after an attempt that failed at *now* (epoch s)."""
    tried = standing.tried + 1
    return StepProgress(GIVEN_UP, tried) if tried >= one.attempts else StepProgress(FAILED, tried, now + backoff(tried))


def hastened(standings: Standings) -> dict[str, StepProgress]:
    """Return *standings* with all failed or given-up steps due at once, with their full number of attempts."""
    return {name: StepProgress(FAILED) if mine.state in (FAILED, GIVEN_UP) else mine for name, mine in standings.items()}


def backoff(tried: int) -> float:
    """Return the seconds between failure number *tried* (from 1) and the next attempt."""
    return min(LONGEST_S, FIRST_S * 2.0 ** min(tried - 1, MOST_ATTEMPTS))


def failures_in_a_row(failures: int, seconds: float) -> int:
    """Return the number of failures in a row, after *failures* before: a run that lasted longer than the longest pause ends the row."""
    return 1 if seconds > LONGEST_S else failures + 1


def refusal(order: Iterable[BootStep], standings: Standings) -> str | None:
    """Return the name of a mandatory step that was given up, so that the process must not start; None if all can still succeed."""
    return next((one.name for one in order if not one.optional and standings.get(one.name, NEW).state == GIVEN_UP), None)


def awaited(order: Iterable[BootStep], standings: Standings) -> float | None:
    """Return the time (epoch s) of the next attempt of a mandatory step, for which the process waits; None if it waits for none."""
    found = (standings.get(one.name, NEW) for one in order if not one.optional)
    return min((mine.due for mine in found if mine.state == FAILED), default=None)


def states(order: Iterable[BootStep], standings: Standings) -> dict[str, str]:
    """Return the state of each step by its name; a step that waits for a failed step is blocked."""
    found: dict[str, str] = {}
    for one in order:
        is_blocked = any(found.get(name) in (FAILED, GIVEN_UP, BLOCKED) for name in one.after)
        found[one.name] = BLOCKED if is_blocked else standings.get(one.name, NEW).state
    return found
