"""How a run ended, and what becomes of the task: the verdict. A value and one function; no I/O, no clock, no dice.

A task's answer is a value (Oban): the body returned, raised, raised in a `poisonous()` section, or raised in a `retry()` section with a
policy of its own. `judge` turns it into the state to record and, for a retry, the pause.
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

    *poisonous*: trying again cannot help. *section* and *policy*: the `retry()` section it failed in, and that section's own policy.
    *revoked*: it ended itself, because it was asked to. *ignored*: it ended itself by `Ignore`, or the task that it waited for did; this
    does not count as a failure. *replaced*: something else answers in its place, as its next attempt.
    """

    value: Any = None
    error: ErrorRecord | None = None
    poisonous: bool = False
    section: int = 0
    policy: Retry | None = None
    revoked: bool = False
    replaced: bool = False
    ignored: bool = False


class Verdict(NamedTuple):
    """The state to record; for RETRY the seconds to wait and the section that is counted."""

    state: TaskState
    pause: float = 0.0
    section: Section | None = None


REPLACED = Verdict(states.RETRY)
SUCCEEDED = Verdict(states.SUCCESS)
FAILED = Verdict(states.FAILURE)


def judge(run: Run, policy: Retry, attempt: int, last: Section | None, unit: float) -> Verdict:
    """Return what becomes of a task after *run*.

    *policy* is the task's own; a section's policy overrides it and counts only that section's failures in a row (*last* is what the
    message carried). *attempt* is the retry number of this run; *unit* in [0, 1) is the randomness of the pause. Sections that fail in
    turns count from one again and again, so `MAX_EXECUTIONS` ends them.
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
