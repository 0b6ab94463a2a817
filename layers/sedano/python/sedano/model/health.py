"""Health checks: a dependency of a task is checked at intervals, and is in one of the declared states of its check. Pure.

The CEP's Health Checks. A state is reported by the functions of the check after the known state has *expired*, by tasks that observed it
(their requests ran under the same conditions), or by a program that monitors the dependency. A state applies to one worker, or to all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from sedano.errors import ConfigurationError, OptionError
from sedano.model.memos import moment, parts
from sedano.model.messages.attributes import is_name
from sedano.model.number_ranges import is_number

HEALTHY, DEGRADED, INSECURE, UNHEALTHY, UNAVAILABLE = "healthy", "degraded", "insecure", "unhealthy", "permanently unavailable"
STATES = (HEALTHY, DEGRADED, INSECURE, UNHEALTHY, UNAVAILABLE)
"""The CEP's five states, from best to worst."""
SKEW_S = 5.0
LEAST_S, MOST_S = 1.0, 86_400.0


class HealthCheck(NamedTuple):
    """A check: its *name*, its *states* from best to worst, and the seconds for which a found state is valid (*every*); *shared*: for all
    workers, not for one.
    """

    name: str
    states: tuple[str, ...] = STATES
    every: float = 30.0
    shared: bool = False

    @property
    def expired(self) -> str:
        """The name of the event that reports that the check is due (CEP)."""
        return f"{self.name}_expired"


class Health(NamedTuple):
    """The known state of a check: its *state* since *since*, last reported *at* (epoch s); *asked*: when its event was last published."""

    name: str
    state: str = ""
    since: float = 0.0
    at: float = 0.0
    detail: str = ""
    asked: float = 0.0


def health_check(name: str, states: Sequence[str] = STATES, every: float = 30.0, shared: bool = False) -> HealthCheck:
    """Return the check with these options.

    Raises:
        OptionError: an option is not valid.
    """
    if not _is_text(name) or not is_name(name) or ":" in name:
        raise OptionError(f"name: {name!r} is not 1 to 256 characters without spaces, colons and control characters")
    if isinstance(states, str) or len(states) < 2 or len({*states}) < len(states) or not all(map(_is_text, states)):
        raise OptionError(f"states: {states!r} are not two or more different strings, the best first")
    if not is_number(every, LEAST_S, MOST_S):
        raise OptionError(f"every: {every!r} is not a number of seconds from {LEAST_S:.0f} to {MOST_S:.0f}")
    return HealthCheck(name, tuple(states), float(every), bool(shared))


def reported(check: HealthCheck, known: Health, state: str, now: float, detail: str = "") -> Health:
    """Return the known state after *state* was reported at *now*.

    Raises:
        OptionError: the check does not declare this state.
    """
    if state not in check.states:
        raise OptionError(f"health check {check.name}: {state!r} is not one of its states {', '.join(check.states)}")
    since = known.since if known.state == state else now
    return known._replace(state=state, since=since, at=now, detail=detail[:300])


def worst(check: HealthCheck, states: Sequence[str]) -> str:
    """Return the worst of *states*: of several functions of one check, one bad result is enough."""
    return max(states, key=check.states.index)


def is_due(check: HealthCheck, known: Health, now: float) -> bool:
    """Return whether the state has expired at *now*; a state with a time in the future was reported before the clock was set back."""
    return not known.at - SKEW_S <= now < known.at + check.every


def to_ask(check: HealthCheck, known: Health, now: float) -> bool:
    """Return whether the event of the check must be published: the check is due, and its event was not published within its period."""
    return is_due(check, known, now) and not known.asked - SKEW_S <= now < known.asked + check.every


def to_text(known: Health) -> str:
    """Return *known* as JSON text."""
    return json.dumps(known, separators=(",", ":"))


def from_text(text: str) -> Health:
    """Return the state that `to_text` wrote.

    Raises:
        ConfigurationError: *text* is not valid; another version may have written it.
    """
    try:
        name, state, since, at, detail, asked = parts(text)
        return Health(name=str(name), state=str(state), since=moment(since), at=moment(at), detail=str(detail), asked=moment(asked))
    except (TypeError, ValueError, OverflowError) as wrong:
        raise ConfigurationError(f"a health check in the control table cannot be read: {wrong}") from None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
