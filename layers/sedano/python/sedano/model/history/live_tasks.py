"""The tasks of a cluster in a live view: the states from their events, converted to the states of the ledger. Pure.

`sedano.model.history.live_state` and Spark follow Celery's rules. There, a class of event that is unknown to Celery, except ``task-held``,
is a separate state that precedes ``revoked`` and ``started``. A live view must show the states of the ledger:

- ``task-held`` (a worker deferred the task, with a reason) is the state HELD only until a later event of the task is known;
- a call that was collected into a batch does not have a record and ends in the same state as its batch;
- a task that was given up after attempts without an end is POISON; its last event is a failure with the exception POISON(…).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sedano.model import states
from sedano.model.history.event_order import Stamp, stamp
from sedano.model.history.live_state import LiveState
from sedano.model.history.registers import Timeline, finalise, fold

HELD = "HELD"


class Watched:
    """The known tasks of a cluster. Events may arrive in any order, and twice."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.state = LiveState()
        self._held: dict[str, tuple[Stamp, Mapping[str, Any]]] = {}

    def event(self, event: object) -> None:
        """Add one event (decoded JSON).

        Raises:
            ValueError: the event is not an object, or lacks a field of the total order.
        """
        if not isinstance(event, dict) or event.get("type") != states.HOLDING:
            self.state.event(event)
            return
        at = stamp(event)
        known = self._held.get(at.uuid)
        if known is None or known[0] < at:
            self._held[at.uuid] = (at, event)

    def tasks_by_time(self) -> list[Timeline]:
        """Return the tasks, the one with the latest event first."""
        last = {uuid: max(registers.last.values()) for uuid, registers in self.state.tasks.items()}
        for uuid, (at, _) in self._held.items():
            last[uuid] = max(at, last.get(uuid, at))
        return [self._timeline(uuid) for uuid in sorted(last, key=last.__getitem__, reverse=True)]

    def _timeline(self, uuid: str) -> Timeline:
        registers, held = self.state.tasks.get(uuid), self._held.get(uuid)
        found = _as_recorded(finalise(registers)) if registers is not None else None
        if held is None and found is not None:
            return found
        at, event = self._held[uuid]
        if found is not None and (found.state in states.TERMINAL or registers is None or max(registers.last.values()) >= at):
            return replace(found, times={**found.times, "held": at.timestamp})
        batch = self.state.tasks.get(str(event.get("batch")))
        ended = _as_recorded(finalise(batch)) if batch is not None else None
        waits = found or finalise(fold([event])[0][uuid])
        if ended is not None and ended.state in states.TERMINAL:
            return replace(waits, state=ended.state, finished=ended.finished, times={**waits.times, "held": at.timestamp})
        return replace(waits, state=HELD, times={**waits.times, "held": at.timestamp})


def _as_recorded(task: Timeline) -> Timeline:
    """Return *task* with the state that the ledger records for its end."""
    exception = str(task.fields["exception"])
    for state, told in states.TOLD_BY_EXCEPTION.items():
        if task.state == told and exception.startswith(f"{state}("):
            return replace(task, state=state)
    return task
