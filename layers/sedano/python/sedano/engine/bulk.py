"""Bulk changes: a task that runs many tasks again, or revokes them, page by page.

Nothing happens twice. A task that runs again does so under an id that is derived from its own (`sedano.engine.reruns`), so its claim
absorbs a second publication; a revocation is a state. So a page that was made and whose progress was not kept, because the worker died,
is made again without harm; its tasks count as left then.

Between two pages it asks whether it was revoked with *terminate*. Where its claim would end soon after a page it fails as `Unavailable`,
and its retry continues with the next one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sedano.engine import reruns
from sedano.engine.history.stage_changes import report
from sedano.engine.revocation.timed_tasks import withdraw
from sedano.errors import SedanoError, Unavailable
from sedano.model import states
from sedano.model.bulk import PAGE, RETRY, BulkProgress, progress_of, slot, text_of
from sedano.model.history.stage_changes import StageChange
from sedano.model.memos import BULK, Memo, memo_name
from sedano.model.messages.lamport import LamportClock
from sedano.ports import Ports
from sedano.ports.absent import has

MARGIN_S = 10.0
"""It begins no further page so short before the end of its claim. Each attempt makes one page: a claim may be shorter than this."""
TRIES = 4


class BulkRequest(NamedTuple):
    """A change of the tasks *ids*: the *verb*, its target *what* in words, the *reason*, and the person *by* whom it was requested."""

    verb: str
    ids: Sequence[str]
    what: str = ""
    reason: str = ""
    by: str = ""
    terminate: bool = False


class ChangedPage(NamedTuple):
    """The outcome of one page: how many tasks *changed*, and why each of the others was *left*."""

    changed: int
    left: Sequence[str]


class BulkChange:
    """One bulk change by the task *change_id*, whose claim ends at *deadline* (epoch s). *check* raises where the task was revoked."""

    def __init__(self, ports: Ports, lamport: LamportClock, change_id: str, deadline: float, check: Callable[[], None]) -> None:
        """Change nothing yet."""
        self._ports, self._lamport, self._id, self._deadline, self._check = ports, lamport, change_id, deadline, check

    def run(self, asked: BulkRequest) -> BulkProgress:
        """Make the change from where it is; return its end.

        Raises:
            TaskRevoked: the task was revoked; the tasks that were changed stay changed.
            Unavailable: a store did not answer, or the claim ends soon; the next attempt continues.
        """
        found = before = progress(self._ports, self._id) or BulkProgress(self._id, len(asked.ids))
        while found.done < found.total:
            self._check()
            if self._ports.clock.now() > self._deadline - MARGIN_S and found.done > before.done:
                raise Unavailable(f"{found.sentence} The next attempt continues")
            ids = asked.ids[found.done : found.done + PAGE]
            page = self._rerun(ids) if asked.verb == RETRY else self._revoked(ids, asked.terminate)
            found = found.after(len(ids), page.changed, page.left)
            _keep(self._ports, found)
        if not found.reported:
            found = found._replace(reported=True)
            _keep(self._ports, found)
            self._report(asked, found)
        return found

    def _rerun(self, ids: Sequence[str]) -> ChangedPage:
        planned = reruns.planned(self._ports, ids)
        able = [one for one in planned if isinstance(one, reruns.Rerun)]
        errors = [error for error in reruns.publish(self._ports, able) if error is not None]
        away = next((error for error in errors if isinstance(error, Unavailable)), None)
        if away is not None:
            raise away
        left = [str(one) for one in (*(one for one in planned if isinstance(one, SedanoError)), *errors)]
        return ChangedPage(len(able) - len(errors), left)

    def _revoked(self, ids: Sequence[str], terminate: bool) -> ChangedPage:
        after = {one: withdraw(self._ports, self._lamport, one, terminate=terminate) for one in ids}
        left = [f"{one} had ended as {state}" for one, state in after.items() if state in states.TERMINAL and state != states.REVOKED]
        return ChangedPage(len(ids) - len(left), left)

    def _report(self, asked: BulkRequest, end: BulkProgress) -> None:
        """Let the history have the end, with the person who asked for it; the progress has it in any case."""
        what = f"{asked.what} by {self._id}"
        change = StageChange(
            at=self._ports.clock.now(), by=asked.by, verb=asked.verb, what=what, reason=asked.reason, changed=end.changed, left=end.left
        )  # fmt: skip
        refused = report(self._ports, change, self._lamport.forward(), os.getpid())
        if refused is not None:
            self._ports.telemetry.log("warning", "change not in the history", verb=asked.verb, what=what, error=str(refused))


def progress(ports: Ports, change_id: str) -> BulkProgress | None:
    """Return how far the bulk change *change_id* is; None where nothing is known of it.

    Raises:
        Unavailable: the store did not answer.
    """
    name = memo_name(BULK, slot(change_id))
    found = ports.memos.read([name]).get(name) if has(ports.memos) else None
    return progress_of(found.text, change_id) if found is not None else None


def _keep(ports: Ports, found: BulkProgress) -> None:
    """Keep the progress, unless a delivery of the same change is further; a stage without memos keeps none."""
    if not has(ports.memos):
        return
    name = memo_name(BULK, slot(found.id))
    seen = ports.memos.read([name]).get(name, Memo(name))
    for _ in range(TRIES):
        known = progress_of(seen.text, found.id)
        if known is not None and (known.done, known.reported) >= (found.done, found.reported):
            return
        answer = ports.memos.change(Memo(name, text_of(found), ports.entropy.nonce()), seen)
        if answer.done:
            return
        seen = answer.memo
