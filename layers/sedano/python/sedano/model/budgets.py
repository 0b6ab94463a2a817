"""The concurrency budget and its autoscaler: how much may run at once, from the numbers of waiting and running tasks. Pure.

The CEP's algorithm. More tasks wait than may run: the first time the limit grows by that number; after the cool-down, while there are
still more, it grows exponentially: by ``2 ** (exponent × increases)``, rounded up. Fewer tasks than the limit: it shrinks to the number of
running tasks, including those that could start at once. After each change nothing changes for a cool-down, which doubles with each change
in a row up to a limit (Celery 4 looks every second, and thrashes). A look after the cool-down that finds nothing to change ends the row.

`tracking` is an alternative to it: as many as there is work for, AWS's target tracking with the target that no task waits. Any function
with the signature of `Strategy` can take their place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

from sedano.errors import ConfigurationError, OptionError
from sedano.model.memos import moment, parts
from sedano.model.number_ranges import is_count, is_number

MOST = 10_000
LONGEST_S = 86_400.0
SKEW_S = 5.0


@dataclass(frozen=True, slots=True)
class Budget:
    """The range of a limit, and the speed with which it follows the backlog.

    Args:
        least, most: the limit stays between them.
        cooldown: seconds after a change in which nothing is changed; *cooldown_growth* times as long after each further change in a
            row, *cooldown_most* seconds at most.
        exponent: the limit grows by ``2 ** (exponent × increases)`` at each increase after the first.

    Raises:
        OptionError: it cannot be honoured; the message names the field.
    """

    least: int = 1
    most: int = 1_000
    cooldown: float = 60.0
    cooldown_growth: float = 2.0
    cooldown_most: float = 600.0
    exponent: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what cannot be honoured, naming the field."""
        for name, value in (("least", self.least), ("most", self.most)):
            if not is_count(value, 1, MOST):
                raise OptionError(f"{name}: {value!r} is not a whole number from 1 to {MOST}")
        if self.least > self.most:
            raise OptionError(f"least: {self.least} is more than most, {self.most}")
        _require("cooldown", self.cooldown, 0.0, LONGEST_S)
        _require("cooldown_growth", self.cooldown_growth, 1.0, 100.0)
        _require("cooldown_most", self.cooldown_most, self.cooldown, LONGEST_S)
        _require("exponent", self.exponent, 0.0, 10.0)


class Load(NamedTuple):
    """The load: tasks that wait and could run, and tasks that run."""

    waiting: int
    running: int


class Level(NamedTuple):
    """The limit now. *increases*: how often it grew in a row; *changes* in a row; changed at *at*, to stay so until *until* (epoch s).

    *applied*: the controller that decided it has also set it.
    """

    limit: int
    increases: int = 0
    changes: int = 0
    at: float = 0.0
    until: float = 0.0
    applied: bool = True


Strategy = Callable[[Budget, Level, Load, float], Level]
"""Returns the level after a look at the load, at a moment in epoch seconds. Pure: it may be asked twice."""


def rests(level: Level, now: float) -> bool:
    """Return whether *level* still rests after its change; a clock that ran backwards keeps nothing at rest."""
    return level.at - SKEW_S <= now < level.until


def pause(budget: Budget, level: Level) -> float:
    """Return for how many seconds a change of *level* rests: longer with each change in a row."""
    return min(budget.cooldown * budget.cooldown_growth ** min(level.changes, 64), budget.cooldown_most)


def scaled(budget: Budget, level: Level, load: Load, now: float) -> Level:
    """Return the level after a look at *load* at *now*: the CEP's algorithm."""
    if rests(level, now):
        return level
    wanted, increases = level.limit, 0
    if load.waiting > level.limit:
        increases = level.increases + 1
        grown = level.limit + load.waiting if increases == 1 else ceil(level.limit * 2.0 ** min(budget.exponent * increases, 30.0))
        wanted = max(grown, level.limit)
    elif load.waiting + load.running < level.limit:
        wanted = load.waiting + load.running
    wanted = min(max(wanted, budget.least), budget.most)
    if wanted == level.limit:
        return level._replace(changes=0, increases=increases and level.increases) if level.changes or level.increases else level
    return Level(wanted, increases, level.changes + 1, now, now + pause(budget, level))


def tracking(budget: Budget, level: Level, load: Load, now: float) -> Level:
    """Return the level after a look at *load* at *now*: as many as wait and run, and then nothing for ``cooldown`` seconds."""
    if rests(level, now):
        return level
    wanted = min(max(load.waiting + load.running, budget.least), budget.most)
    return level if wanted == level.limit else Level(wanted, 0, 0, now, now + budget.cooldown)


Named = Literal["cep", "tracking"]
NAMED: Mapping[str, Strategy] = {"cep": scaled, "tracking": tracking}
"""The strategies, by name."""


def to_text(level: Level) -> str:
    """Return *level* as JSON text."""
    return json.dumps(level, separators=(",", ":"))


def from_text(text: str) -> Level:
    """Return the level that `to_text` wrote.

    Raises:
        ConfigurationError: it is no such text; another version may have written it.
    """
    try:
        limit, increases, changes, at, until, applied = parts(text)
        return Level(
            limit=int(limit), increases=int(increases), changes=int(changes), at=moment(at), until=moment(until), applied=bool(applied),
        )  # fmt: skip
    except (TypeError, ValueError, OverflowError) as wrong:
        raise ConfigurationError(f"a budget in the control table cannot be read: {wrong}") from None


def _require(name: str, value: object, least: float, most: float) -> None:
    if not is_number(value, least, most):
        raise OptionError(f"{name}: {value!r} is not a number from {least:g} to {most:g}")
