"""Circuit breakers: a task that failed too often does not run for a while, and is then tried again. Pure.

This is the CEP's Circuit Breaking with the usual terms (Nygard, "Release It!", 2007): a circuit is *closed* while tasks run, and *open*
while they may not. It trips, that is opens, if within a window the task itself failed unexpectedly too often, or one of its health checks
was in a certain state too often. It closes automatically. If it trips again without a success in between, it may stay open for longer each
time. Many trips within a period are logged as errors instead of warnings, until it has not tripped for long enough.

The failure of a run that began before a trip has no effect after it: it gives no new information. A clock that was set back does not keep a
circuit open for longer: a circuit with an opening time in the future counts as closed.
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
"""The largest difference (s) of two machines' clocks: a mark that is further in the future was written before the clock was set back."""
LONGEST_S = 86_400.0
MOST_MARKS = 100
"""The highest threshold: the circuit stores each failure."""
Growth = Literal["none", "linear", "exponential"]
OnOpen = Literal["wait", "fail"]
Checks = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Breaker:
    """The conditions under which a circuit trips, and the time for which it stays open. All periods are in seconds.

    Args:
        failures: the number of unexpected failures of the task, without a success in between, that trips it; 0: failures do not trip it.
        checks: for each health check, and each of its states, the number of reports within the window that trips it:
            ``{"payments": {"unhealthy": 2, "degraded": 10}}``.
        window: older failures do not count.
        open_for: how long it stays open; with *growth* ``linear`` or ``exponential``, longer for each consecutive trip without a success in
            between, and at most *open_most*.
        errors_after: from this number of trips within *errors_within* on, trips are logged as errors, until *calm_after* has passed without
            a trip.
        on_open: the behaviour of a task while the circuit is open: ``wait`` (as a message, until it closes) or ``fail``.
        shared: one circuit for all workers, at the cost of a read for each invocation and a write for each failure; otherwise each worker
            has one in memory.
        name: the name of the circuit, by default that of the task; tasks with the same name share a circuit.

    Raises:
        OptionError: a field is not valid; the message names it.
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
        """Raise `OptionError` for a field that is not valid."""
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
        """Return how many marks of this kind within the window trip the circuit; 0 means that they do not trip it."""
        if mark == FAILURE:
            return self.failures
        check, _, state = mark.rpartition(":")
        return self.checks.get(check, {}).get(state, 0)

    def period(self, row: int) -> float:
        """Return how many seconds consecutive trip number *row* (from 1) keeps the circuit open."""
        if self.growth == "none":
            return self.open_for
        grown = self.open_for * row if self.growth == "linear" else self.open_for * 2.0 ** min(row - 1, 64)
        return min(grown, self.open_most)


class Circuit(NamedTuple):
    """One circuit. *marks* are the times and kinds of failures; *since* and *until* are the times at which it opened and closes (epoch s,
    0: it never tripped).

    *row*: the number of consecutive trips without a success in between; *trips*: the times of the latest trips; *loud*: until when trips
    are logged as errors.
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
        """Whether a success would not change the circuit."""
        return not self.row and not any(kind == FAILURE for _, kind in self.marks)


class Noted(NamedTuple):
    """The effect of a failure: the changed *circuit*, whether it *tripped*, and the log *level*, ``warning`` or ``error``."""

    circuit: Circuit
    tripped: bool = False
    level: str = "warning"


def failed(breaker: Breaker, circuit: Circuit, mark: str, now: float) -> Noted:
    """Return the effect on *circuit* of a failure of the kind *mark* at *now*."""
    needed = breaker.threshold(mark)
    if not needed or circuit.is_open(now):
        return Noted(circuit)
    marks = (*_recent(circuit.marks, now, breaker.window), (now, mark))[-MOST_MARKS:]
    count = sum(kind == mark for _, kind in marks)
    if count < needed:
        return Noted(circuit._replace(marks=marks))
    return _tripped(breaker, circuit, f"{count} × {mark} within {breaker.window:g} s", now)


def succeeded(circuit: Circuit) -> Circuit:
    """Return *circuit* after a success of the task: earlier failures no longer count together with later ones."""
    return circuit._replace(marks=tuple(mark for mark in circuit.marks if mark[1] != FAILURE), row=0)


def closed(circuit: Circuit) -> Circuit:
    """Return *circuit* after an operator closed it, without its earlier failures."""
    return Circuit(circuit.name, trips=circuit.trips)


def to_text(circuit: Circuit) -> str:
    """Return *circuit* as JSON text."""
    return json.dumps(circuit, separators=(",", ":"))


def from_text(text: str) -> Circuit:
    """Return the circuit that `to_text` wrote.

    Raises:
        ConfigurationError: *text* is not valid; another version may have written it.
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
