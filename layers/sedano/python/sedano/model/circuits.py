"""Circuit breakers: a task that has failed too often is left alone for a while, then tried again. Pure.

The CEP's Circuit Breaking in the field's words (Nygard, "Release It!", 2007): a circuit is *closed* while tasks run, *open* while they may
not. It trips, that is opens, when within a window the task itself failed unexpectedly too often, or one of the health checks that it
watches was in some state too often. It closes automatically; where it trips again and nothing succeeded in between, it may stay open for
longer each time. Many trips within a while are logged as errors instead of warnings, until it has been calm for long enough.

A run that began before a trip and fails after it changes nothing: it says no more than what tripped the circuit. A clock that runs
backwards never keeps a circuit open for longer: one that was opened in the future counts as closed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from sedano.errors import ConfigurationError, OptionError
from sedano.model.memos import moment, parts
from sedano.model.number_ranges import is_count, is_number

FAILURE = "failure"
"""The mark of an unexpected failure of the task itself; that of a health check is ``check:state``."""
SKEW_S = 5.0
"""Clocks of two machines differ by less: a mark that is later than now by more was written before the clock ran backwards."""
LONGEST_S = 86_400.0
MOST_MARKS = 100
"""The most failures that a threshold may count: the circuit remembers each."""
Growth = Literal["none", "linear", "exponential"]
OnOpen = Literal["wait", "fail"]
Checks = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Breaker:
    """When a circuit trips, and for how long. All periods are seconds.

    Args:
        failures: unexpected failures of the task, with no success in between, that trip it; 0: they never do.
        checks: for each health check that it watches, and each state of that, how often within the window trips it:
            ``{"payments": {"unhealthy": 2, "degraded": 10}}``.
        window: an older failure is forgotten.
        open_for: how long it stays open; with *growth* ``linear`` or ``exponential`` longer for each trip after which nothing
            succeeded, *open_most* at most.
        errors_after: so many trips within *errors_within* are logged as errors, until *calm_after* has passed since.
        on_open: what becomes of a task that finds it open: ``wait`` (as a message, until it closes) or ``fail``.
        shared: one circuit for all workers, which costs a read an invocation and a write a failure; otherwise one a worker, in memory.
        name: several tasks with one name share a circuit; by default the task's.

    Raises:
        OptionError: it cannot be honoured; the message names the field.
    """

    failures: int = 3
    checks: Checks = field(default_factory=dict)
    window: float = 60.0
    open_for: float = 30.0
    growth: Growth = "none"
    open_most: float = 3_600.0
    errors_after: int = 3
    errors_within: float = 300.0
    calm_after: float = 1_800.0
    on_open: OnOpen = "wait"
    shared: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be honoured, naming the field."""
        for name in ("window", "open_for", "open_most", "errors_within", "calm_after"):
            value = getattr(self, name)
            if not is_number(value, 0, LONGEST_S) or not value:
                raise OptionError(f"{name}: {value!r} is not a number of seconds above 0, at most {LONGEST_S:.0f}")
        if self.open_most < self.open_for:
            raise OptionError(f"open_most: {self.open_most} is shorter than open_for, {self.open_for}")
        _require_count("failures", self.failures, 0)
        _require_count("errors_after", self.errors_after, 1)
        for option, known in (("growth", Growth), ("on_open", OnOpen)):
            if getattr(self, option) not in get_args(known):
                raise OptionError(f"{option}: {getattr(self, option)!r} is not one of {', '.join(get_args(known))}")
        for check, states in self.checks.items():
            for state, count in states.items():
                _require_count(f"checks: {check}: {state}", count, 1)

    def threshold(self, mark: str) -> int:
        """Return how many marks of this kind within the window trip the circuit; 0: they never do."""
        if mark == FAILURE:
            return self.failures
        check, _, state = mark.rpartition(":")
        return self.checks.get(check, {}).get(state, 0)

    def period(self, row: int) -> float:
        """Return for how long the *row*-th trip in a row (from 1) keeps the circuit open, in seconds."""
        if self.growth == "none":
            return self.open_for
        grown = self.open_for * row if self.growth == "linear" else self.open_for * 2.0 ** min(row - 1, 64)
        return min(grown, self.open_most)


class Circuit(NamedTuple):
    """One circuit. *marks* are the moments and kinds of failures; *since* and *until* when it opened and closes (epoch s, 0: never
    tripped).

    *row*: trips in a row, with no success in between; *trips*: moments of the latest; *loud*: until when trips are logged as errors.
    """

    name: str
    marks: tuple[tuple[float, str], ...] = ()
    since: float = 0.0
    until: float = 0.0
    cause: str = ""
    row: int = 0
    trips: tuple[float, ...] = ()
    loud: float = 0.0

    def is_open(self, now: float) -> bool:
        """Return whether its tasks may not run at *now* (epoch s)."""
        return self.since - SKEW_S <= now < self.until

    @property
    def is_clean(self) -> bool:
        """Whether a success would change nothing."""
        return not self.row and not any(kind == FAILURE for _, kind in self.marks)


class Noted(NamedTuple):
    """The effect of a failure: the *circuit*, and whether it *tripped*; *level*: the log level, ``warning`` or ``error``."""

    circuit: Circuit
    tripped: bool = False
    level: str = "warning"


def failed(breaker: Breaker, circuit: Circuit, mark: str, now: float) -> Noted:
    """Return what a failure of the kind *mark* at *now* does to *circuit*."""
    needed = breaker.threshold(mark)
    if not needed or circuit.is_open(now):
        return Noted(circuit)
    marks = (*_recent(circuit.marks, now, breaker.window), (now, mark))[-MOST_MARKS:]
    count = sum(kind == mark for _, kind in marks)
    if count < needed:
        return Noted(circuit._replace(marks=marks))
    return _tripped(breaker, circuit, f"{count} × {mark} within {breaker.window:g} s", now)


def succeeded(circuit: Circuit) -> Circuit:
    """Return *circuit* after a success of the task: failures before it are not in a row with later ones."""
    return circuit._replace(marks=tuple(mark for mark in circuit.marks if mark[1] != FAILURE), row=0)


def closed(circuit: Circuit) -> Circuit:
    """Return *circuit* as closed by hand, without its earlier failures."""
    return Circuit(circuit.name, trips=circuit.trips)


def to_text(circuit: Circuit) -> str:
    """Return *circuit* as JSON text."""
    return json.dumps(circuit, separators=(",", ":"))


def from_text(text: str) -> Circuit:
    """Return the circuit that `to_text` wrote.

    Raises:
        ConfigurationError: it is no such text; another version may have written it.
    """
    try:
        name, marks, since, until, cause, row, trips, loud = parts(text)
        found = tuple((moment(at), str(kind)) for at, kind in marks)
        tripped = tuple(moment(at) for at in trips)
        return Circuit(
            name=str(name), marks=found, since=moment(since), until=moment(until), cause=str(cause), row=int(row), trips=tripped,
            loud=moment(loud),
        )  # fmt: skip
    except (TypeError, ValueError, OverflowError) as wrong:
        raise ConfigurationError(f"a circuit in the control table cannot be read: {wrong}") from None


def _tripped(breaker: Breaker, circuit: Circuit, cause: str, now: float) -> Noted:
    trips = (*(at for at in circuit.trips if now - breaker.errors_within < at <= now + SKEW_S), now)[-MOST_MARKS:]
    loud = now + breaker.calm_after if len(trips) >= breaker.errors_after else circuit.loud
    row = circuit.row + 1
    opened = Circuit(name=circuit.name, marks=(), since=now, until=now + breaker.period(row), cause=cause, row=row, trips=trips, loud=loud)
    return Noted(opened, True, "error" if now < loud <= now + breaker.calm_after else "warning")


def _recent(marks: tuple[tuple[float, str], ...], now: float, window: float) -> list[tuple[float, str]]:
    return [mark for mark in marks if now - window < mark[0] <= now + SKEW_S]


def _require_count(field_name: str, value: object, least: int) -> None:
    if not is_count(value, least, MOST_MARKS):
        raise OptionError(f"{field_name}: {value!r} is not a whole number from {least} to {MOST_MARKS}")
