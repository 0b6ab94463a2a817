"""The states of a task: their names, their precedence, and their transitions.

A task has a state in the ledger and a state that follows from its events. Only this module defines them:

* The **ledger** holds one state per task and changes it by conditional writes: a closed type, ``TaskState``, with one row for each state
  (``ROWS``). ``TRANSITIONS`` lists every change that a write may make; a terminal state never changes. ``RUNNING``, ``EXPIRED`` and
  ``POISON`` exist only there.
* The **events** of a task arrive late, twice and in any order, so the state is derived from the classes of the known events. ``PRECEDENCE``
  is the order of the classes; ``SUBJECTS`` has the groups of fields that belong together.

The names, the precedence and the table from event class to state are those of Celery (``celery.states``, ``celery.events.state``), so that
Celery users know them and Celery's event streams can be read unchanged. Any other class, for example ``task-progress``, is a custom state
(``PROGRESS``): its precedence is below ``SUCCESS`` and ``FAILURE`` and above all others, and the later of two custom states wins. A custom
class remains custom even if it has the name of a built-in state.

>>> may_become(RUNNING, SUCCESS), may_become(SUCCESS, RUNNING)
(True, False)
>>> state_of("succeeded"), state_of("progress")
('SUCCESS', 'PROGRESS')
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from sedano.errors import Unavailable


class TaskState(StrEnum):
    """The state of a task in the ledger. `ROWS` has the properties of each."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    RETRY = "RETRY"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    REVOKED = "REVOKED"
    EXPIRED = "EXPIRED"
    POISON = "POISON"

    __hash__ = str.__hash__  # Enum.__hash__ is Python code, which is slow for the frequent look-ups of states
    __repr__ = str.__repr__


PENDING: Final = TaskState.PENDING
RUNNING: Final = TaskState.RUNNING
RETRY: Final = TaskState.RETRY
SUCCESS: Final = TaskState.SUCCESS
FAILURE: Final = TaskState.FAILURE
REVOKED: Final = TaskState.REVOKED
EXPIRED: Final = TaskState.EXPIRED
POISON: Final = TaskState.POISON

#: The states that only events report.
RECEIVED: Final = "RECEIVED"
STARTED: Final = "STARTED"
REJECTED: Final = "REJECTED"
IGNORED: Final = "IGNORED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The properties of one state.

    *words*: its meaning. *terminal*: it never changes again. *follows*: the states to which a write may change it. *event*: the class of
    the event that reports it as the end of a run. *metric*: the metric that counts such ends; empty: they are counted elsewhere.
    *error_type*: the error that is recorded for a task that ended in this state and never ran. *dependents*: the state in which the tasks
    end that needed its result. *style*: its style in drawings.
    """

    words: str
    terminal: bool = False
    follows: frozenset[TaskState] = frozenset()
    event: str = ""
    metric: str = ""
    error_type: str = ""
    dependents: TaskState | None = None
    style: Literal["", "running", "done", "failed"] = ""


_ENDS: Final = frozenset({SUCCESS, FAILURE, REVOKED, EXPIRED, POISON})
ROWS: Final[Mapping[TaskState, Row]] = {
    # A task without a record is PENDING. Next: a claim; or, without claims (`record_once`), the result; or an earlier
    # revocation or expiry; or a message that is parked only because of its number of receipts.
    PENDING: Row(words="it has no record, or it waits", follows=_ENDS | {RUNNING}),
    # RUNNING again is a steal: the same state under a new fencing token.
    RUNNING: Row(words="a worker runs it", follows=_ENDS | {RUNNING, RETRY}, style="running"),
    # The next claim; or an end without a claim, if the attempt expired, or if the task changed to `record_once` meanwhile.
    RETRY: Row(
        words="it failed, or its worker gave it back, and it will run again", follows=_ENDS | {RUNNING}, event="retried",
        metric="TasksRetried", style="running",
    ),
    SUCCESS: Row(words="it returned", terminal=True, event="succeeded", metric="TasksSucceeded", style="done"),
    FAILURE: Row(
        words="it raised an exception, and is not retried", terminal=True, event="failed", metric="TasksFailed", error_type="SingletonBusy",
        dependents=FAILURE, style="failed",
    ),
    REVOKED: Row(
        words="it was revoked or skipped, or it raised `Ignore`", terminal=True, event="revoked", metric="TasksRevoked",
        error_type="TaskRevoked", dependents=REVOKED, style="failed",
    ),
    EXPIRED: Row(
        words="its `expires` passed before it ran", terminal=True, event="revoked", metric="TasksExpired", error_type="TaskExpired",
        dependents=REVOKED, style="failed",
    ),
    # It is counted before it is recorded.
    POISON: Row(
        words="it was given up after attempts without an end", terminal=True, event="failed", error_type="Poison", dependents=FAILURE,
        style="failed",
    ),
}  # fmt: skip
"""All properties of each state. Other tables of states are derived from this one, or compared with it by tests."""

#: States that never change again.
TERMINAL: Final = frozenset(state for state, row in ROWS.items() if row.terminal)

#: The terminal states without a result.
UNSUCCESSFUL: Final = TERMINAL - {SUCCESS}

#: The terminal states that events report as failures: the task raised an exception, or was given up.
FAILED: Final = frozenset(state for state in TERMINAL if ROWS[state].event == "failed")

#: Every change that a write to the ledger may make.
TRANSITIONS: Final[Mapping[str, frozenset[TaskState]]] = {state: row.follows for state, row in ROWS.items()}

#: The states without an event class, each with the state of the event that reports it; the exception of that event begins with their name.
TOLD_BY_EXCEPTION: Final[Mapping[TaskState, TaskState]] = {POISON: FAILURE, EXPIRED: REVOKED}

_SEEN: Final[Mapping[str, str]] = {RUNNING: STARTED, POISON: FAILURE, EXPIRED: REVOKED}
_BY_WORD: Final[Mapping[str, TaskState]] = {state.value: state for state in TaskState}

#: The part after ``task-`` of an event's type, and its state.
STATE_OF_CLASS: Final[Mapping[str, str]] = {
    "sent": PENDING,
    "received": RECEIVED,
    "started": STARTED,
    "succeeded": SUCCESS,
    "failed": FAILURE,
    "retried": RETRY,
    "revoked": REVOKED,
    "rejected": REJECTED,
}

#: The class under which all custom classes are stored: they have the same rank, so only the latest matters.
CUSTOM: Final = "custom"

#: The class that begins a new attempt: earlier events no longer determine the state.
RESET: Final = "retried"

#: The class that a client emits; all others come from workers.
CLIENT: Final = "sent"

#: Event classes by precedence, the strongest first.
PRECEDENCE: Final = ("succeeded", "failed", CUSTOM, "revoked", "started", "received", "rejected", RESET, CLIENT)

#: The class of the event that reports that a worker deferred a task. It is a custom class, and has no meaning after the task has started
#: or was revoked: if it is the last custom event of a task, `HELD_PRECEDENCE` applies.
HOLDING: Final = "task-held"
HELD_PRECEDENCE: Final = ("succeeded", "failed", "revoked", "started", CUSTOM, "received", "rejected", RESET, CLIENT)

#: The merge rules: groups of fields, by subject. An event has a subject if it contains the first field of the
#: subject; all fields of a subject come from the latest event that has it. (Celery's rule,
#: "the fields of RECEIVED are merged even when it comes late", is the first row.)
SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "described": ("name", "args", "kwargs", "root_id", "parent_id", "retries", "eta", "expires"),
    "routed": ("queue", "exchange", "routing_key"),
    "returned": ("runtime", "result"),
    "raised": ("exception", "traceback"),
    "stamped": ("stamps",),
}

_TASK_PREFIX: Final = "task-"


def may_become(before: str, after: str) -> bool:
    """Return whether a write may change a task from state *before* to state *after* in the ledger.

    A state that is not in the ledger's list has no transitions.
    """
    return after in TRANSITIONS.get(before, frozenset())


def read_state(word: str) -> TaskState:
    """Return the state with the name *word*, from a record.

    Raises:
        Unavailable: this version does not have the state. A newer version wrote it, and one of its workers will receive the message again.
    """
    try:
        return _BY_WORD[word]
    except KeyError:
        raise Unavailable(f"a record has the state {word[:40]!r}, which this version does not know; a newer version wrote it") from None


def type_of(event_class: str) -> str:
    """Return the event type of *event_class*: ``task-sent`` for ``sent``."""
    return _TASK_PREFIX + event_class


def class_of(event_type: str) -> str | None:
    """Return the class of an event type: ``sent`` for ``task-sent``; None if it is not about a task.

    For a custom class, this is its own name (``progress``), not ``custom``.
    """
    return event_type[len(_TASK_PREFIX) :] if event_type.startswith(_TASK_PREFIX) else None


def state_of(event_class: str) -> str:
    """Return the state that *event_class* reports; a custom class is its own state in capitals."""
    return STATE_OF_CLASS.get(event_class) or event_class.upper()


def seen_as(state: str) -> str:
    """Return the name that events use for a *state* of the ledger; it may be another one: STARTED, FAILURE, REVOKED."""
    return _SEEN.get(state, state)
