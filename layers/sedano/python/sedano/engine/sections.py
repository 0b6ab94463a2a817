"""The three sections of a task's body: `with retry():`, `with poisonous():`, `with optional():` (CEP, Retries).

A section gives one part of a body its own answer to failure, so that the same exception can mean "try again" here and "never again" there.
Nothing is caught for good except by `optional`; the others mark the exception on its way out and the worker judges it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sedano.engine.context import CURRENT
from sedano.engine.notices import notice
from sedano.model.retry import Retry


class Mark(NamedTuple):
    """How the section that an exception left wants it judged. The innermost section decides."""

    poisonous: bool = False
    section: int = 0
    policy: Retry | None = None


_MARK = "__sedano_mark__"


def mark_of(error: BaseException) -> Mark:
    """Return the mark that *error* carries, or an empty one."""
    found = getattr(error, _MARK, None)
    return found if isinstance(found, Mark) else Mark()


@contextmanager
def retry(
    max_retries: int = 3,
    interval_start: float = 1.0,
    interval_step: float = 0.0,
    interval_max: float = 300.0,
    backoff: float = 2.0,
    jitter: bool = True,
) -> Iterator[None]:
    """Retry the task under this policy when this section fails; failures are counted for this section alone.

    Args:
        max_retries: retries for this section in a row.
        interval_start: seconds before the first retry.
        interval_step: seconds added for each further retry.
        interval_max: the longest pause in seconds (at most 86 400).
        backoff: factor by which `interval_start` grows at each retry.
        jitter: spread each pause over [0, pause).

    Raises:
        OptionError: the policy cannot be honoured.
    """
    policy = Retry(max_retries, interval_start, interval_step, interval_max, backoff, jitter)
    context = CURRENT.get()
    number = 1
    if context is not None:
        context.sections += 1
        number = context.sections
    try:
        yield
    except Exception as error:
        _mark(error, Mark(section=number, policy=policy))
        raise


@contextmanager
def poisonous() -> Iterator[None]:
    """Fail the task for good when this section fails: trying again could not help."""
    try:
        yield
    except Exception as error:
        _mark(error, Mark(poisonous=True))
        raise


@contextmanager
def optional(*exceptions: type[Exception]) -> Iterator[None]:
    """Go on with a warning when this section fails (with one of *exceptions*, by default with any)."""
    ignored = exceptions or (Exception,)
    try:
        yield
    except ignored as error:
        notice("warning", "an optional section failed", error=f"{type(error).__name__}: {error}")


def _mark(error: Exception, mark: Mark) -> None:
    if not isinstance(getattr(error, _MARK, None), Mark):
        setattr(error, _MARK, mark)
