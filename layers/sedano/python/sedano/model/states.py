"""The states of a task: their words, which one wins, and which may follow which.

Two things speak of a task's state, and this module is the only place that says how:

* The **ledger** holds one state per task and changes it by conditional writes. ``TRANSITIONS`` lists every
  change that a write may make; a terminal state never changes. ``RUNNING`` and ``POISON`` are its own words.
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
from typing import Final

PENDING: Final = "PENDING"
RECEIVED: Final = "RECEIVED"
STARTED: Final = "STARTED"
SUCCESS: Final = "SUCCESS"
FAILURE: Final = "FAILURE"
RETRY: Final = "RETRY"
REVOKED: Final = "REVOKED"
REJECTED: Final = "REJECTED"
IGNORED: Final = "IGNORED"
RUNNING: Final = "RUNNING"
POISON: Final = "POISON"

#: States that never change again.
TERMINAL: Final = frozenset({SUCCESS, FAILURE, REVOKED, POISON})

#: Every change that a write to the ledger may make. A task without a record is PENDING.
TRANSITIONS: Final[Mapping[str, frozenset[str]]] = {
    # A claim; or, where nothing was claimed (`record_once`), the result itself; or a revocation or an expiry that
    # came first; or a message set aside because of its receipts alone.
    PENDING: frozenset({RUNNING, SUCCESS, FAILURE, REVOKED, POISON}),
    # RUNNING again is a steal: the same state under a new fencing token.
    RUNNING: frozenset({RUNNING, SUCCESS, FAILURE, RETRY, REVOKED, POISON}),
    # Likewise: the next claim; or an end without one, when the attempt expired, or when the task changed to `record_once` meanwhile.
    RETRY: frozenset({RUNNING, SUCCESS, FAILURE, REVOKED, POISON}),
    **{state: frozenset() for state in TERMINAL},
}

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


def type_of(event_class: str) -> str:
    """Return the event type of *event_class*: ``task-sent`` for ``sent``."""
    return _TASK_PREFIX + event_class


def class_of(event_type: str) -> str | None:
    """Return the class of an event type: ``sent`` for ``task-sent``; None when it is not about a task.

    A custom class answers its own name (``progress``), not ``custom``.
    """
    return event_type[len(_TASK_PREFIX) :] if event_type.startswith(_TASK_PREFIX) else None


def state_of(event_class: str) -> str:
    """Return the state that *event_class* stands for; a custom class is its own state in capitals."""
    return STATE_OF_CLASS.get(event_class) or event_class.upper()


def seen_as(state: str) -> str:
    """Return the word that events use for a *state* of the ledger: only RUNNING has another, STARTED."""
    return STARTED if state == RUNNING else state
