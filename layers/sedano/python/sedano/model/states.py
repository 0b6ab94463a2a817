"""The states of a task: their words, which one wins, and which may follow which.

Two things speak of a task's state, and this module is the only place that says how:

* The **ledger** holds one state per task and changes it by conditional writes: a closed type, ``TaskState``, with one row a state
  (``ROWS``). ``TRANSITIONS`` lists every change that a write may make; a terminal state never changes. ``RUNNING``, ``EXPIRED`` and
  ``POISON`` are its own words.
* The **events** of a task arrive late, twice and in any order, so a state has to be deduced from the classes of
  event that were seen. ``PRECEDENCE`` says which class wins; ``SUBJECTS`` says which fields travel together.

The words, the precedence and the table from event class to state are Celery's (``celery.states``,
``celery.events.state``), so that a Celery user reads them without a dictionary and Celery's own event streams
can be read as they are. Any other class, ``task-progress`` say, is a custom state (``PROGRESS``): below
``SUCCESS`` and ``FAILURE``, above all others, and of two custom states the later one holds. It stays a custom one
even when its name is a built-in state's word.

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
    """The state of a task in the ledger. `ROWS` says what holds of each."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    RETRY = "RETRY"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    REVOKED = "REVOKED"
    EXPIRED = "EXPIRED"
    POISON = "POISON"

    __hash__ = str.__hash__  # an Enum's own is Python code, and every worker looks states up
    __repr__ = str.__repr__


PENDING: Final = TaskState.PENDING
RUNNING: Final = TaskState.RUNNING
RETRY: Final = TaskState.RETRY
SUCCESS: Final = TaskState.SUCCESS
FAILURE: Final = TaskState.FAILURE
REVOKED: Final = TaskState.REVOKED
EXPIRED: Final = TaskState.EXPIRED
POISON: Final = TaskState.POISON

#: States that only events speak of.
RECEIVED: Final = "RECEIVED"
STARTED: Final = "STARTED"
REJECTED: Final = "REJECTED"
IGNORED: Final = "IGNORED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The properties of one state.

    *words*: what it means. *terminal*: it never changes again. *follows*: the states that a write may change it into. *event*: the class of
    the event that reports it as the end of a run. *metric*: what counts such ends; empty: they are counted elsewhere. *error_type*: the
    error that is recorded of a task that ended so and never ran. *dependents*: how the tasks end that needed its result. *style*: how a
    drawing shows it.
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
    # A task without a record is PENDING. Next: a claim; or, where nothing was claimed (`record_once`), the result itself; or a
    # revocation or an expiry that was earlier; or a message set aside because of its receipts alone.
    PENDING: Row(words="nothing is known of it, or it waits", follows=_ENDS | {RUNNING}),
    # RUNNING again is a steal: the same state under a new fencing token.
    RUNNING: Row(words="a worker runs it", follows=_ENDS | {RUNNING, RETRY}, style="running"),
    # The next claim; or an end without one, when the attempt expired, or when the task changed to `record_once` meanwhile.
    RETRY: Row(
        words="it failed, or its worker let go of it, and it runs again", follows=_ENDS | {RUNNING}, event="retried", metric="TasksRetried",
        style="running",
    ),
    SUCCESS: Row(words="it returned", terminal=True, event="succeeded", metric="TasksSucceeded", style="done"),
    FAILURE: Row(
        words="it raised, and is not tried again", terminal=True, event="failed", metric="TasksFailed", error_type="SingletonBusy",
        dependents=FAILURE, style="failed",
    ),
    REVOKED: Row(
        words="it was revoked, left out, or ended itself by `Ignore`", terminal=True, event="revoked", metric="TasksRevoked",
        error_type="TaskRevoked", dependents=REVOKED, style="failed",
    ),
    EXPIRED: Row(
        words="its `expires` passed before it ran", terminal=True, event="revoked", metric="TasksExpired", error_type="TaskExpired",
        dependents=REVOKED, style="failed",
    ),
    # Counted before it is recorded.
    POISON: Row(
        words="it was given up after attempts without an end", terminal=True, event="failed", error_type="Poison", dependents=FAILURE,
        style="failed",
    ),
}  # fmt: skip
"""Everything that is known of each state: what other tables say of states is derived from this one, or compared with it by tests."""

#: States that never change again.
TERMINAL: Final = frozenset(state for state, row in ROWS.items() if row.terminal)

#: The ends of tasks that returned nothing.
UNSUCCESSFUL: Final = TERMINAL - {SUCCESS}

#: The ends that the events call failures: the task raised, or was given up.
FAILED: Final = frozenset(state for state in TERMINAL if ROWS[state].event == "failed")

#: Every change that a write to the ledger may make.
TRANSITIONS: Final[Mapping[str, frozenset[TaskState]]] = {state: row.follows for state, row in ROWS.items()}

#: States that no class of event stands for, and the state that their event stands for: the event's exception begins with their word.
TOLD_BY_EXCEPTION: Final[Mapping[TaskState, TaskState]] = {POISON: FAILURE, EXPIRED: REVOKED}

_SEEN: Final[Mapping[str, str]] = {RUNNING: STARTED, POISON: FAILURE, EXPIRED: REVOKED}
_BY_WORD: Final[Mapping[str, TaskState]] = {state.value: state for state in TaskState}

#: What follows ``task-`` in an event's type, and the state it stands for.
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

#: The class under which all custom classes are kept: they share one rank, so only the latest can matter.
CUSTOM: Final = "custom"

#: The class that opens a new attempt: whatever an event said before it no longer decides the state.
RESET: Final = "retried"

#: The class that a client emits; every other one comes from a worker.
CLIENT: Final = "sent"

#: Event classes by precedence, the strongest first.
PRECEDENCE: Final = ("succeeded", "failed", CUSTOM, "revoked", "started", "received", "rejected", RESET, CLIENT)

#: The class of event that says that a worker put a task off. It is a custom one, and says nothing any more once the task has started
#: or was revoked: where it is the last custom event of a task, `HELD_PRECEDENCE` holds.
HOLDING: Final = "task-held"
HELD_PRECEDENCE: Final = ("succeeded", "failed", "revoked", "started", CUSTOM, "received", "rejected", RESET, CLIENT)

#: The merge rules: fields that are said together, by subject. An event speaks on a subject when it carries the
#: subject's first field; the latest event that speaks on it is believed for all of its fields. (Celery's rule,
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
    """Say whether a write may change a task from state *before* to state *after* in the ledger.

    A word that the ledger does not know becomes nothing, and nothing becomes it.
    """
    return after in TRANSITIONS.get(before, frozenset())


def read_state(word: str) -> TaskState:
    """Return the state that *word*, from a record, names.

    Raises:
        Unavailable: no state of this version; a newer version wrote it, and one of its workers will meet the message again.
    """
    try:
        return _BY_WORD[word]
    except KeyError:
        raise Unavailable(f"a record has the state {word[:40]!r}, which this version does not know: a newer one wrote it") from None


def type_of(event_class: str) -> str:
    """Return the event type of *event_class*: ``task-sent`` for ``sent``."""
    return _TASK_PREFIX + event_class


def class_of(event_type: str) -> str | None:
    """Return the class of an event type: ``sent`` for ``task-sent``; None when it is not about a task.

    A custom class answers its own name (``progress``), not ``custom``.
    """
    return event_type[len(_TASK_PREFIX) :] if event_type.startswith(_TASK_PREFIX) else None


def state_of(event_class: str) -> str:
    """Return the state that *event_class* reports; a custom class is its own state in capitals."""
    return STATE_OF_CLASS.get(event_class) or event_class.upper()


def seen_as(state: str) -> str:
    """Return the word that events use for a *state* of the ledger, where they have another: STARTED, FAILURE, REVOKED."""
    return _SEEN.get(state, state)
