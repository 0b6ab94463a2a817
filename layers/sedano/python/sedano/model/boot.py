"""Boot steps: in which order they start, what a failure blocks, and when a failed step is tried again. Pure.

B1: a step starts after all steps that its `after` names.
B2: a mandatory step never follows an optional one, so a process whose optional steps fail is degraded and never stuck.
B3: a failure blocks the descendants of its step alone; every other step starts.
B4: the pause before the next try doubles, and the number of tries is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from sedano.errors import OptionError

FIRST_S = 1.0
"""Seconds between the first failure of a step and its second try."""
LONGEST_S = 300.0
"""The longest pause between two tries."""
MOST_ATTEMPTS = 100
MOST_TIMEOUT_S = 900.0
ATTEMPTS = 5
"""How often an optional step is tried unless it says otherwise; a mandatory one is tried once."""
WAITING, STARTED, FAILED, GIVEN_UP, BLOCKED = "waiting", "started", "failed", "given up", "blocked"


class BootStep(NamedTuple):
    """A boot step: the names of the steps *after* which it starts, and how often and how long (s) it is tried."""

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
    """How far a step is: its *state*, how often it was *tried*, and from when on it may be tried again (*due*, epoch s)."""

    state: str = WAITING
    tried: int = 0
    due: float = 0.0


NEW = StepProgress()
Standings = Mapping[str, StepProgress]


def step(name: str, after: Iterable[str], optional: bool, timeout: float | None, attempts: int | None) -> BootStep:
    """Return the step with these options.

    Raises:
        OptionError: an option cannot be honoured.
    """
    names = () if isinstance(after, str) else tuple(after)
    if isinstance(after, str) or not all(map(_is_name, names)):
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


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def ordered(steps: Iterable[BootStep]) -> tuple[BootStep, ...]:
    """Return *steps* in the order in which they start: each after those that it names, else as they were declared.

    Raises:
        OptionError: a step names one that does not exist, a mandatory step follows an optional one, or steps wait for one another.
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
            raise OptionError(f"boot step {one.name}: after={name!r} names none of the steps {tuple(steps)}")
        if steps[name].optional and not one.optional:
            words = f"boot step {one.name} is mandatory and starts after {name}, which is optional"
            raise OptionError(f"{words}; write optional=True for {one.name}, or make {name} mandatory")


def circle(steps: Mapping[str, BootStep]) -> list[str]:
    """Return names of *steps* that wait for one another, each before the one for which it waits, or an empty list.

    Steps that are named and not among *steps* are not looked at.
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
    """Return the first step of *order* that is to be tried at *now* (epoch s), or None. *busy*: a try of these has not ended."""
    return next((one for one in order if one.name not in busy and _may_start(one, standings, now)), None)


def _may_start(one: BootStep, standings: Standings, now: float) -> bool:
    mine = standings.get(one.name, NEW)
    is_due = mine.state == WAITING or (mine.state == FAILED and mine.due <= now)
    return is_due and all(standings.get(name, NEW).state == STARTED for name in one.after)


def started(standing: StepProgress) -> StepProgress:
    """Return how far a step is after a try that succeeded."""
    return StepProgress(STARTED, standing.tried + 1)


def failed(one: BootStep, standing: StepProgress, now: float) -> StepProgress:
    """Return how far a step is after a try that failed at *now* (epoch s)."""
    tried = standing.tried + 1
    return StepProgress(GIVEN_UP, tried) if tried >= one.attempts else StepProgress(FAILED, tried, now + backoff(tried))


def hastened(standings: Standings) -> dict[str, StepProgress]:
    """Return *standings* with each step that failed, or was given up, due at once; it has all of its attempts again."""
    return {name: StepProgress(FAILED, 0, 0.0) if mine.state in (FAILED, GIVEN_UP) else mine for name, mine in standings.items()}


def backoff(tried: int) -> float:
    """Return the seconds between the failure number *tried* (from 1) and the next try."""
    return LONGEST_S if tried > MOST_ATTEMPTS else min(LONGEST_S, FIRST_S * 2.0 ** (tried - 1))


def refusal(order: Iterable[BootStep], standings: Standings) -> str | None:
    """Return the name of a mandatory step that was given up, for which the process must not start; None without one."""
    return next((one.name for one in order if not one.optional and standings.get(one.name, NEW).state == GIVEN_UP), None)


def awaited(order: Iterable[BootStep], standings: Standings) -> float | None:
    """Return the moment (epoch s) at which a mandatory step is tried again, for which the process waits; None without one."""
    found = (standings.get(one.name, NEW) for one in order if not one.optional)
    return min((mine.due for mine in found if mine.state == FAILED), default=None)


def states(order: Iterable[BootStep], standings: Standings) -> dict[str, str]:
    """Return the state of each step by its name; one that waits for a step that failed is blocked."""
    found: dict[str, str] = {}
    for one in order:
        state = standings.get(one.name, NEW).state
        stuck = any(found.get(name) in (FAILED, GIVEN_UP, BLOCKED) for name in one.after)
        found[one.name] = BLOCKED if state == WAITING and stuck else state
    return found
