"""How long a call may take: a publication or a read ends by its deadline, however many requests it makes.

`within` sets the deadline for what one thread or coroutine does inside the block; deadlines nest, and the earlier one holds. Code that
makes calls asks `left`: the publisher before it pauses for another attempt, the AWS clients of a program before each request
(`sedano.aws.client.call_deadlines`). A Lambda function of a deployment sets none: its invocation has a time limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sedano.errors import ConfigurationError, OptionError

PATIENCE_S = 5.0
"""How long a publication or a read may take unless the app or the environment says otherwise."""
SETTING = "SEDANO_CALL_TIMEOUT"
LEAST_S, MOST_S = 0.05, 300.0

_UNTIL: ContextVar[float | None] = ContextVar("sedano_deadline", default=None)
_PATIENCE: ContextVar[float | None] = ContextVar("sedano_patience", default=None)


@contextmanager
def within(seconds: float, now: float) -> Iterator[None]:
    """Set the deadline of the block to *seconds* after *now* (monotonic), or to the existing deadline if that is earlier."""
    earlier, until = _UNTIL.get(), now + seconds
    token = _UNTIL.set(until if earlier is None else min(earlier, until))
    try:
        yield
    finally:
        _UNTIL.reset(token)


def left(now: float) -> float | None:
    """Return how many seconds are left at *now* (monotonic), 0 or more; None where no deadline is set."""
    until = _UNTIL.get()
    return None if until is None else max(0.0, until - now)


@contextmanager
def chosen(seconds: float | None) -> Iterator[None]:
    """Give connections made inside the block *seconds* for each call; None: the value in the environment."""
    token = _PATIENCE.set(seconds)
    try:
        yield
    finally:
        _PATIENCE.reset(token)


def patience() -> float:
    """Return the seconds that a call has: the app's setting, else SEDANO_CALL_TIMEOUT, else 5.

    Raises:
        ConfigurationError: the setting is not a number of seconds.
    """
    given = _PATIENCE.get()
    return _of(os.environ.get(SETTING, "")) if given is None else given


def checked(seconds: object) -> float | None:
    """Return *seconds*, an app's `call_timeout`; raise `OptionError` if it is not valid."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not LEAST_S <= seconds <= MOST_S:
        raise OptionError(f"call_timeout: {seconds!r} is not a number of seconds from {LEAST_S} to {MOST_S:.0f}")
    return seconds


def _of(text: str) -> float:
    if not text:
        return PATIENCE_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not LEAST_S <= seconds <= MOST_S:
        raise ConfigurationError(f"{SETTING}: {text!r} is not a number of seconds from {LEAST_S} to {MOST_S:.0f}")
    return seconds
