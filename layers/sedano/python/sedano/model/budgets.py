"""The concurrency budget and its autoscaler: a concurrency limit that follows the numbers of waiting and running tasks. Pure.

The CEP's algorithm: If more tasks wait than may run, the limit first grows by the surplus. If there still is a surplus after the cool-down,
it grows exponentially, by ``2 ** (exponent × increases)``, rounded up. If there are fewer tasks than the limit, it shrinks to the number of
running tasks, including those that could start at once. After each change, the limit does not change for a cool-down, which doubles with
each consecutive change up to a maximum (Celery 4 adjusts every second, and thrashes). If an evaluation after the cool-down does not change
the limit, the series of consecutive changes ends.

`tracking` is an alternative: the limit is the number of waiting and running tasks, which is AWS's target tracking with a target of no
waiting tasks. Any function with the signature of `Strategy` can be used instead.
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
        least, most: the range of the limit.
        cooldown: seconds after a change without another change; it is *cooldown_growth* times as long after each consecutive change, and at
            most *cooldown_most* seconds.
        exponent: the limit grows by ``2 ** (exponent × increases)`` at each increase after the first.

    Raises:
        OptionError: a field is not valid; the message names it.
    """

    least: int = 1
    most: int = 1_000
    cooldown: float = 60.0
    cooldown_growth: float = 2.0
    cooldown_most: float = 600.0
    exponent: float = 0.5

    def __post_init__(self) -> None:
        """Raise `OptionError` for a field that is not valid."""
        for name, value in (("least", self.least), ("most", self.most)):
            if not is_count(value, 1, MOST):
                raise OptionError(f"{name}: {value!r} is not a whole number from 1 to {MOST}")
        if self.least > self.most:
            raise OptionError(f"least: {self.least} is greater than most, {self.most}")
        _require("cooldown", self.cooldown, 0.0, LONGEST_S)
        _require("cooldown_growth", self.cooldown_growth, 1.0, 100.0)
        _require("cooldown_most", self.cooldown_most, self.cooldown, LONGEST_S)
        _require("exponent", self.exponent, 0.0, 10.0)


class Load(NamedTuple):
    """The number of tasks that wait and could run, and of tasks that run."""

    waiting: int
    running: int


class Level(NamedTuple):
    """The current limit. *increases* and *changes* count consecutive ones; *at* is the time of the last change, and *until* the end of its
    cool-down (epoch s).

    *applied*: whether the controller that decided the limit has also set it.
    """

    limit: int
    increases: int = 0
    changes: int = 0
    at: float = 0.0
    until: float = 0.0
    applied: bool = True


Strategy = Callable[[Budget, Level, Load, float], Level]
"""Returns the level for a load at a time in epoch seconds. It must be pure, because it may be called twice."""


def rests(level: Level, now: float) -> bool:
    """Return whether *level* is still in its cool-down; a clock that was set back ends the cool-down."""
    return level.at - SKEW_S <= now < level.until


def pause(budget: Budget, level: Level) -> float:
    """Return the cool-down in seconds after a change of *level*, which grows with each consecutive change."""
    return min(budget.cooldown * budget.cooldown_growth ** min(level.changes, 64), budget.cooldown_most)


def scaled(budget: Budget, level: Level, load: Load, now: float) -> Level:
    """Return the level for *load* at *now*, by the CEP's algorithm."""
    if rests(level, now):
        return level
    wanted, increases = min(load.waiting + load.running, level.limit), 0
    if load.waiting > level.limit:
        increases = level.increases + 1
        grown = level.limit + load.waiting if increases == 1 else ceil(level.limit * 2.0 ** min(budget.exponent * increases, 30.0))
        wanted = max(grown, level.limit)
    wanted = min(max(wanted, budget.least), budget.most)
    if wanted == level.limit:
        return level._replace(changes=0, increases=increases and level.increases) if level.changes or level.increases else level
    return Level(wanted, increases, level.changes + 1, now, now + pause(budget, level))


def tracking(budget: Budget, level: Level, load: Load, now: float) -> Level:
    """Return the level for *load* at *now*: the number of waiting and running tasks, with a constant ``cooldown``."""
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
        ConfigurationError: *text* is not valid; another version may have written it.
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
