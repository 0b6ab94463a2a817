"""The failed tasks of some days by cause: the task, the kind of error, and the innermost frame of the application.

They are read from the ledger's index of failures: a few queries for each day, however many tasks there were. The index does not have the
failures of tasks that leave no record (`at_least_once`), and a stage that an earlier version deployed does not have the index. Both are
read from the event history, which has no frames; the view says so in its notes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.engine import deployments
from sedano.errors import OptionError
from sedano.model import states
from sedano.model.deployments import DeploymentMark, is_new
from sedano.model.history.registers import Timeline
from sedano.model.ledger.failures import FailedTask
from sedano.model.ledger.records import RECORD_LIFETIME_S
from sedano.model.messages.timestamps import read as moment_of
from sedano.model.messages.timestamps import shown
from sedano.model.retry import MAX_EXECUTIONS
from sedano.ports import Ports
from sedano.views.cluster import first_day, timelines
from sedano.views.reader import About, Reader
from sedano.views.tasks import row

MOST = 1_000
"""The most failed tasks that are read from the index, the latest first."""
KEPT_DAYS = RECORD_LIFETIME_S // 86_400
"""The days for which the ledger keeps a record."""
NAMED = 3
NO_INDEX = "This stage has no index of failures yet; the next `sedano deploy` adds it."
History = Callable[[], tuple[list[Timeline], int]]
"""Reads the tasks of the event history, the latest first, and counts the lines that cannot be read."""


class FailureGroup(NamedTuple):
    """A *number* of tasks of one name that failed with one kind of *error* in one place, from *first* to *last* (epoch s); the id of an
    *example*, the latest.

    *where*: the innermost frame of the application; empty if the error has no traceback or is from the event history.
    *state*: FAILURE, POISON, or RETRY for tasks that failed in many executions and are tried again, with their last failed attempts.
    *new*: it was not seen before the last deployment, which is unknown for RETRY.
    """

    task: str
    error: str
    number: int
    first: float
    last: float
    example: str
    where: str = ""
    state: str = states.FAILURE
    new: bool = False

    @property
    def query(self) -> str:
        """The search that finds its tasks, and those of the same name that failed for another cause."""
        return f"name:{self.task} state:{self.state}"


class FailuresView(NamedTuple):
    """The *groups*, the most frequent first, of *failed* tasks in all since the day *since*; *failed* counts those that have ended.

    *notes*: sentences about the last deployment, the failures that the index does not have, and their source. *unreadable* counts
    lines of the event history. *deployment*: the last one, if one is known.
    """

    groups: tuple[FailureGroup, ...]
    failed: int
    since: str
    unreadable: int
    notes: tuple[str, ...]
    about: About
    deployment: DeploymentMark | None = None


class Failures(NamedTuple):
    """The failed *tasks*, the latest first, with the *notes* of `FailuresView` and its number of *unreadable* lines.

    *horizon*: the moment (epoch s) after which no failure is missing.
    """

    tasks: Sequence[FailedTask]
    notes: tuple[str, ...] = ()
    unreadable: int = 0
    horizon: float = 0.0


def failures(app: Sedano, days: int, *, only_new: bool = False) -> FailuresView:
    """Return the failed tasks of the last *days*, today included, by cause; *only_new*: causes that are new since the last deployment.

    Raises:
        OptionError: *days* is less than 1; or *only_new*, and no deployment is known, or not all failures since the last one were read.
    """
    reader = Reader(app)
    since = first_day(reader.ports, days)
    found = read(reader, days, lambda: timelines(reader.ports, days))
    deployment = deployments.last(reader.ports)
    groups = grouped(found, deployment)
    if only_new:
        _require_known(deployment, found.horizon)
    notes = (*_news(groups, deployment, found.horizon), *_tried_again(found.tasks), *found.notes)
    return FailuresView(
        groups=tuple(one for one in groups if one.new or not only_new), failed=sum(one.state in states.FAILED for one in found.tasks),
        since=since, unreadable=found.unreadable, notes=notes, about=reader.about(), deployment=deployment,
    )  # fmt: skip


def read(reader: Reader, days: int, history: History | None) -> Failures:
    """Return the failed tasks of the last *days*, today included; those that the index lacks are from *history* (None: not read)."""
    known = _indexed(reader.ports, days)
    unrecorded = {name for name, spec in reader.registry.tasks.items() if spec.delivery == "at_least_once"}
    notes = _notes(known, days, sorted(unrecorded), history is not None)
    horizon = _horizon(reader.ports, days, known)
    if history is None or (known is not None and not unrecorded):
        return Failures(known or (), notes, horizon=horizon)
    every, unreadable = history()
    failed = [one for one in map(_failed_task, every) if one is not None]
    if known is None:
        return Failures(failed, notes, unreadable, horizon)
    recorded = {one.task_id for one in known}
    more = [one for one in failed if one.name in unrecorded and one.task_id not in recorded]
    return Failures(sorted([*known, *more], key=lambda one: -one.at), notes, unreadable, horizon)


def grouped(failed: Failures, deployment: DeploymentMark | None) -> list[FailureGroup]:
    """Return the *failed* tasks by task, kind of error and place, the most frequent group first; new ones since *deployment* are marked."""
    groups: dict[tuple[str, str, str, str], list[FailedTask]] = {}
    for one in failed.tasks:
        ended = one.state if one.state in states.FAILED else states.RETRY
        groups.setdefault((one.name, one.error or "?", one.where, str(ended)), []).append(one)
    found = []
    for (task, error, where, state), some in groups.items():
        first = min(one.at for one in some)
        new = deployment is not None and state != states.RETRY and is_new(first, deployment, failed.horizon)
        group = FailureGroup(
            task=task, error=error, number=len(some), first=first, last=some[0].at, example=some[0].task_id, where=where, state=state,
            new=new,
        )  # fmt: skip
        found.append(group)
    return sorted(found, key=lambda one: (-one.number, one.task, one.error, one.where))


def _horizon(ports: Ports, days: int, known: Sequence[FailedTask] | None) -> float:
    """Return the moment after which all failures were read: that of the oldest *known* one if the index had more, else the first day's."""
    begin = moment_of(f"{first_day(ports, days)}T00:00:00Z")
    return known[-1].at if known is not None and len(known) == MOST else begin


def _require_known(deployment: DeploymentMark | None, horizon: float) -> None:
    if deployment is None:
        raise OptionError("no deployment is known: `sedano deploy` marks each; run `sedano deployed` after one by another tool")
    if deployment.at <= horizon:
        read_since = f"only the failures since {shown(horizon)} were read; read more days"
        raise OptionError(f"the last deployment was at {shown(deployment.at)}, and {read_since}")


def _news(groups: Sequence[FailureGroup], deployment: DeploymentMark | None, horizon: float) -> tuple[str, ...]:
    """Return the sentence about the last deployment, if one is known."""
    if deployment is None:
        return ()
    what = f"The last deployment{f' of {deployment.version}' * bool(deployment.version)} was at {shown(deployment.at)}"
    if deployment.at <= horizon:
        return (f"{what}, before the failures that were read.",)
    return (f"{what}; {sum(one.new for one in groups)} of {len(groups)} causes are new since then.",)


def _tried_again(failed: Sequence[FailedTask]) -> tuple[str, ...]:
    """Return the sentence about tasks that failed in many executions and are tried again, if there are some."""
    again = sum(one.state not in states.FAILED for one in failed)
    some = "1 task is" if again == 1 else f"{again} tasks are"
    return (f"{some} tried again after {MAX_EXECUTIONS} executions or more, in the state RETRY.",) * bool(again)


def _indexed(ports: Ports, days: int) -> list[FailedTask] | None:
    """Return the failed tasks that the index has, the latest first; None: there is no index."""
    found: list[FailedTask] = []
    for number in range(1, min(days, KEPT_DAYS) + 1):
        some = ports.ledger.failures(first_day(ports, number), MOST - len(found))
        if some is None:
            return None
        found += some
        if len(found) == MOST:
            break
    return found


def _notes(known: Sequence[FailedTask] | None, days: int, unrecorded: Sequence[str], is_read: bool) -> tuple[str, ...]:
    where = "were read from the event history, which has no frames." if is_read else "are in the event history, which was not read."
    if known is None:
        return (f"{NO_INDEX} The failures {where}",)
    notes = []
    if len(known) == MOST:
        notes.append(f"Only the latest {MOST:,} failures were read.")
    if days > KEPT_DAYS:
        older = f"`sedano list --state FAILURE --days {days}` reads the event history"
        notes.append(f"The ledger keeps a record for {KEPT_DAYS} days; {older}.")
    if unrecorded:
        left = f" and {len(unrecorded) - NAMED} more" if len(unrecorded) > NAMED else ""
        notes.append(f"Tasks that leave no record (at_least_once): {', '.join(unrecorded[:NAMED])}{left}. Their failures {where}")
    return tuple(notes)


def _failed_task(task: Timeline) -> FailedTask | None:
    """Return a task of the history as the index would have it, without a place; None if it did not fail, or is in an early attempt."""
    retries = task.fields["retries"]
    attempt = retries if isinstance(retries, int) else 0
    if task.state not in states.FAILED and not (task.state == states.RETRY and attempt >= MAX_EXECUTIONS):
        return None
    seen = row(task)
    kind = seen.error.partition("(")[0]
    return FailedTask(task_id=seen.id, state=states.TaskState(seen.state), name=seen.name, attempt=attempt, at=seen.at, error=kind)
