"""How a run ended, and the verdict on its task. Values and one function, without I/O, clock or randomness.

The outcome of a body is a value (Oban): it returned, raised, raised in a `poisonous()` section, or raised in a `retry()` section with its
own policy. `judge` converts it into the state to record and, for a retry, the pause.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sedano.model import states
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages.message import Section
from sedano.model.retry import MAX_EXECUTIONS, Retry
from sedano.model.states import TaskState


class Run(NamedTuple):
    """One execution: what the body returned, or what it raised.

    *poisonous*: a retry cannot help. *section* and *policy*: the `retry()` section in which it failed, and the policy of that section.
    *revoked*: it ended on request. *ignored*: it raised `Ignore`, or the task that it waited for did; this does not count as a failure.
    *replaced*: a replacement produces its result, as its next attempt. *thrown*: the exception that the body raised.
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


class Verdict(NamedTuple):
    """The state to record; for RETRY also the seconds to wait and the section with its count of failures."""

    state: TaskState
    pause: float = 0.0
    section: Section | None = None


REPLACED = Verdict(states.RETRY)
SUCCEEDED = Verdict(states.SUCCESS)
FAILED = Verdict(states.FAILURE)


def judge(run: Run, policy: Retry, attempt: int, last: Section | None, unit: float) -> Verdict:
    """Return the verdict on a task after *run*.

    *policy* is the policy of the task. The policy of a section overrides it and counts only that section's consecutive failures (*last* is
    the section in the message). *attempt* is the retry number of this run; *unit* in [0, 1) is the randomness of the pause. If sections
    fail alternately, each failure counts from one again, so `MAX_EXECUTIONS` ends such a task.
    """
    if run.revoked or run.ignored:
        return Verdict(states.REVOKED)
    if run.replaced:
        return REPLACED
    if run.error is None:
        return SUCCEEDED
    if run.poisonous or attempt >= MAX_EXECUTIONS - 1:
        return FAILED
    if run.policy is None:
        return _again(policy, attempt, None, unit)
    failures = last.count if last is not None and last.index == run.section else 0
    return _again(run.policy, failures, Section(run.section, failures + 1), unit)


def _again(policy: Retry, retries: int, section: Section | None, unit: float) -> Verdict:
    if retries >= policy.max_retries:
        return FAILED
    return Verdict(states.RETRY, policy.pause(retries, unit), section)
