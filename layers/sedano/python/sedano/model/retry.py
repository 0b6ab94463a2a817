"""The retry policy of a failing task: the number of retries and the pauses between them. On by default, always limited, with jitter.

The names are those of the CEP and of kombu (`max_retries`, `interval_start`, `interval_step`, `interval_max`). The pause grows linearly by
the step and exponentially by the back-off; full jitter randomises it (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog
2015).

A policy has one of two limits. Up to 19 retries, the limit of executions is `MAX_EXECUTIONS`, also for a task whose sections or
replacements each count from one again. A policy that asks for more, or for no limit (``max_retries=None``), has the limit that a message
can carry, `MOST_EXECUTIONS`. Only such a policy leads to attempts that workers of versions before it refuse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from sedano.errors import OptionError

MAX_EXECUTIONS = 20
"""The most executions of one task whose policy does not ask for more."""
MOST_EXECUTIONS = 1_000_000
"""The most executions of one task, for any policy: the largest attempt and count of a section that a message carries."""
MAX_BACKOFF = 100
MAX_PAUSE_S = 86_400
"""The longest pause (s): a day. A timer keeps the message for a pause of more than 900 s."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry policy, of a task (``@app.task(retry=Retry(…))``) or of a section of its body (``with retry(…):``).

    Args:
        max_retries: the most consecutive retries: 0 to 19 for most tasks, up to 999 999 for one that waits for something for long, or
            None for 999 999.
        interval_start: seconds before the first retry.
        interval_step: seconds added for each further retry.
        interval_max: the longest pause in seconds (at most 86 400).
        backoff: factor by which `interval_start` grows at each retry.
        jitter: choose each pause randomly in [0, pause).

    Raises:
        OptionError: a field is not valid; the message names it.
    """

    max_retries: int | None = 3
    interval_start: float = 1.0
    interval_step: float = 0.0
    interval_max: float = 300.0
    backoff: float = 2.0
    jitter: bool = True

    def __post_init__(self) -> None:
        """Raise `OptionError` for a field that is not valid."""
        for name in ("max_retries", "interval_start", "interval_step", "interval_max", "backoff"):
            given = self.most_retries if name == "max_retries" else getattr(self, name)
            if not isinstance(given, int if name == "max_retries" else int | float) or isinstance(given, bool):
                raise OptionError(f"{name}: expected a {'whole ' if name == 'max_retries' else ''}number, got {given!r}")
        if not isinstance(self.jitter, bool):
            raise OptionError(f"jitter: expected True or False, got {self.jitter!r}")
        if not 0 <= self.most_retries < MOST_EXECUTIONS:
            raise OptionError(f"max_retries: {self.max_retries} is not between 0 and {MOST_EXECUTIONS - 1}; write None for no limit")
        for name in ("interval_start", "interval_step", "interval_max"):
            if not 0 <= getattr(self, name) <= MAX_PAUSE_S:
                raise OptionError(f"{name}: {getattr(self, name)} is not between 0 and {MAX_PAUSE_S} seconds")
        if not 1 <= self.backoff <= MAX_BACKOFF:
            raise OptionError(f"backoff: {self.backoff} is not between 1 and {MAX_BACKOFF}")

    @property
    def most_retries(self) -> int:
        """The most consecutive retries as a number."""
        return MOST_EXECUTIONS - 1 if self.max_retries is None else self.max_retries

    @property
    def most_executions(self) -> int:
        """The most executions of a task under this policy, those before replacements and in other sections included."""
        return MAX_EXECUTIONS if self.most_retries < MAX_EXECUTIONS else MOST_EXECUTIONS

    def pause(self, retries: int, unit: float) -> float:
        """Return the seconds to wait before the retry after *retries* earlier ones; *unit* in [0, 1) is the randomness."""
        try:
            grown = self.interval_start * float(self.backoff) ** retries
        except OverflowError:
            grown = math.inf if self.interval_start else 0.0
        full = min(self.interval_max, grown + self.interval_step * retries)
        return full * unit if self.jitter else full


def policy_of(given: object, default: Retry) -> Retry:
    """Return the policy that an option *given* names: `NEVER` for False, *default* for True and None.

    Raises:
        OptionError: it is not a policy.
    """
    if given is None or given is True:
        return default
    if given is False:
        return NEVER
    if not isinstance(given, Retry):
        raise OptionError(f"retry: {given!r} is not a retry policy; give a sedano.Retry(…), or False for no retries")
    return given


class Mark(NamedTuple):
    """How an exception that a body raises is to be judged: *poisonous*, or under the *policy* of the *section* that it left."""

    poisonous: bool = False
    section: int = 0
    policy: Retry | None = None


_MARK = "__sedano_mark__"


def mark(error: Exception, mark: Mark) -> None:
    """Mark *error*, unless it has a mark: the innermost section decides."""
    if not isinstance(getattr(error, _MARK, None), Mark):
        setattr(error, _MARK, mark)


def mark_of(error: BaseException) -> Mark:
    """Return the mark that *error* carries, or an empty one; that of an exception alone in its group is the inner one."""
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1 and (inner := mark_of(error.exceptions[0])) != Mark():
        return inner
    found = getattr(error, _MARK, None)
    return found if isinstance(found, Mark) else Mark()


NEVER = Retry(max_retries=0)
DEFAULT = Retry()
