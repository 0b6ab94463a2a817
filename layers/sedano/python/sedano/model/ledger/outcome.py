"""How a run ended, and the verdict on its task. Values and one function, without I/O, clock or randomness.

The outcome of a body is a value (Oban): it returned, raised, raised in a `poisonous()` section, or raised in a `retry()` section with its
own policy. `judge` converts it into the state to record and, for a retry, the pause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sedano.errors import OptionError
from sedano.model import states
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages.message import Section
from sedano.model.retry import MAX_EXECUTIONS, MAX_PAUSE_S, MOST_EXECUTIONS, Retry
from sedano.model.states import TaskState
from sedano.model.tasks.signature import given


class NextAttempt(NamedTuple):
    """The wishes of a body for the attempt after the one that failed: other *args*, other *kwargs*, or *countdown*, the seconds until it
    begins; None: no wish.
    """

    args: Sequence[Any] | None = None
    kwargs: Mapping[str, Any] | None = None
    countdown: float | None = None

    @property
    def has_other_arguments(self) -> bool:
        """Whether the next attempt has other arguments than the failed one."""
        return self.args is not None or self.kwargs is not None


def wished(args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None, countdown: float | None) -> NextAttempt:
    """Return these wishes.

    Raises:
        ArgumentError: *args* is not a list or a tuple, or *kwargs* is not a mapping.
        OptionError: *countdown* is out of its range.
    """
    given(() if args is None else args, kwargs)
    is_number = isinstance(countdown, int | float) and not isinstance(countdown, bool)
    if countdown is not None and not (is_number and 0 <= countdown <= MAX_PAUSE_S):
        raise OptionError(f"countdown: {countdown!r} is not a number of seconds from 0 to {MAX_PAUSE_S}")
    return NextAttempt(None if args is None else [*args], None if kwargs is None else {**kwargs}, countdown)


class Run(NamedTuple):
    """One execution: what the body returned, or what it raised.

    *poisonous*: a retry cannot help. *section* and *policy*: the `retry()` section in which it failed, and the policy of that section.
    *revoked*: it ended on request. *ignored*: it raised `Ignore`, or the task that it waited for did; this does not count as a failure.
    *replaced*: a replacement produces its result, as its next attempt. *thrown*: the exception that the body raised.
    *again*: the wishes of a body that asked for another attempt (`current().retry`).
    """

    value: Any = None
    error: ErrorRecord | None = None
    poisonous: bool = False
    section: int = 0
    policy: Retry | None = None
    revoked: bool = False
    replaced: bool = False
    ignored: bool = False
    thrown: BaseException | None = None
    again: NextAttempt | None = None


class Verdict(NamedTuple):
    """The state to record; for RETRY also the seconds to wait and the section with its count of failures."""

    state: TaskState
    pause: float = 0.0
    section: Section | None = None


REPLACED = Verdict(states.RETRY)
SUCCEEDED = Verdict(states.SUCCESS)
FAILED = Verdict(states.FAILURE)


def judge(run: Run, policy: Retry, attempt: int, last: Section | None, unit: float, *, is_spent: bool = False) -> Verdict:
    """Return the verdict on a task after *run*.

    *policy* is the policy of the task. The policy of a section overrides it and counts only that section's consecutive failures (*last* is
    the section in the message). *attempt* is the retry number of this run; *unit* in [0, 1) is the randomness of the pause. *is_spent*: the
    task had all its executions (`is_spent` below), so it is not retried.
    """
    if run.revoked or (run.ignored and run.again is None):
        return Verdict(states.REVOKED)
    if run.replaced:
        return REPLACED
    if run.error is None:
        return SUCCEEDED
    if run.poisonous or is_spent:
        found = FAILED
    elif run.policy is None:
        found = _again(policy, attempt, None, unit)
    else:
        failures = last.count if last is not None and last.index == run.section else 0
        found = _again(run.policy, failures, Section(run.section, failures + 1), unit)
    if found.state != states.RETRY:
        return Verdict(states.REVOKED) if run.ignored else found
    return found if run.again is None or run.again.countdown is None else found._replace(pause=run.again.countdown)


def is_spent(policy: Retry, section: Retry | None, attempt: int, before: int, most: int = MOST_EXECUTIONS) -> bool:
    """Return whether a task that fails in *attempt* had all its executions, at most *most*.

    If sections fail alternately, each failure counts from one again, and so does each replacement of a task; the limit of executions ends
    such a task. It is that of the task's *policy*, or of the *section* that failed if that allows more. *before*: the attempts before the
    task was replaced; if they were more than an ordinary policy allows, the replacement counts its own from one.
    """
    allowed = max(policy.most_executions, section.most_executions if section is not None else 0)
    own = attempt - before if before >= MAX_EXECUTIONS else attempt
    return own >= min(allowed, most) - 1 or attempt >= MOST_EXECUTIONS - 1


def _again(policy: Retry, retries: int, section: Section | None, unit: float) -> Verdict:
    if retries >= policy.most_retries:
        return FAILED
    return Verdict(states.RETRY, policy.pause(retries, unit), section)
