"""The entries of the ledger's index of failures: which failures it contains, and their fields. Pure.

The index contains each failure once, under the task whose code failed. Three ends are therefore left out: a revoked or expired task,
because its code did not fail; the copy of an end under the id that a join reads; and a task that ended with the error of another task
(`ErrorRecord.cause`), such as the body of a chord whose member failed.

A task that failed in `MAX_EXECUTIONS` executions and is tried again is in the index too, because a policy without a limit of retries would
hide its failures for ever. Its entry has its last failed attempt. It leaves the index when it succeeds, expires or is revoked
(`is_recovered`): many tasks that recovered never hide those that failed.

A day is divided into shards by the id of the task, so that a burst of failures is spread over several partitions of the index. DynamoDB
throttles the writes to a table if its index cannot keep up.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b
from typing import NamedTuple

from sedano.model import states
from sedano.model.ledger import tracebacks
from sedano.model.ledger.records import Outcome, copied_from
from sedano.model.retry import MAX_EXECUTIONS

SHARDS = 4
LISTED = states.FAILED | {states.RETRY, states.RUNNING}
"""The states of tasks that the index lists: ended without success, or tried again and again."""
MOST_KIND, MOST_PLACE = 100, 200
"""The most characters that the index keeps of an error's type and of a code location."""


class FailedTask(NamedTuple):
    """A task that ended as FAILURE or POISON *at* (epoch s), in its attempt *attempt*, with an *error* of this type; or one that failed
    then, after many executions, and is in RETRY, or RUNNING, in its attempt *attempt*.

    *where*: the innermost frame of the application (`tracebacks.origin`). *error* and *where* are empty if the task left no error, or was
    forgotten.
    """

    task_id: str
    state: states.TaskState
    name: str
    attempt: int
    at: float
    error: str = ""
    where: str = ""


def failed_task(outcome: Outcome) -> FailedTask | None:
    """Return the entry of *outcome* in the index of failures; None if it has none."""
    if outcome.state == states.SUCCESS:
        return None
    error = outcome.error
    again = error is not None and outcome.next_attempt >= MAX_EXECUTIONS and outcome.state == states.RETRY
    if not (again or outcome.state in states.FAILED) or copied_from(outcome) != outcome.task_id:
        return None
    if error is not None and error.cause not in ("", outcome.task_id):
        return None
    at = round(outcome.at * 1000) / 1000
    attempt = outcome.next_attempt if again else outcome.attempt
    entry = FailedTask(task_id=outcome.task_id, state=outcome.state, name=outcome.name, attempt=attempt, at=at)
    if error is None:
        return entry
    return entry._replace(error=_text(error.type_name, MOST_KIND), where=_text(tracebacks.origin(error.traceback), MOST_PLACE))


def is_recovered(outcome: Outcome) -> bool:
    """Return whether *outcome* is an end without a failure of a task that may have an entry, which its record then loses."""
    return outcome.state not in LISTED and outcome.attempt >= MAX_EXECUTIONS


def day_of(at: float) -> str:
    """Return the day (YYYY-MM-DD, UTC) of the moment *at* (epoch s)."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def shard_of(task_id: str) -> int:
    """Return the shard of a task, the same on every machine."""
    return int.from_bytes(blake2b(task_id.encode("utf-8", "surrogatepass"), digest_size=1).digest(), "big") % SHARDS


def latest(found: list[FailedTask], most: int) -> list[FailedTask]:
    """Return at most *most* of *found*, the latest first; entries with the same time are in descending order of their ids."""
    return sorted(found, key=lambda one: (one.at, one.task_id), reverse=True)[:most]


def _text(text: str, most: int) -> str:
    """Return the first *most* characters of *text*, in a form that every store can keep."""
    return text[:most].encode("utf-8", "replace").decode()
