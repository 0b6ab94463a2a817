"""Timers in memory: the message of each is in its queue and becomes visible when the timer fires, by the clock of the queues."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sedano.memory.queues import MemoryQueues
from sedano.model.timers import Foreign, Timer, foreign, sealed
from sedano.ports import Clock, Outgoing


class _Set(NamedTuple):
    timer: Timer
    message_id: str


class MemoryTimers:
    """Timers over the queues of the same deployment. Thread-safe."""

    def __init__(self, clock: Clock, queues: MemoryQueues) -> None:
        """Fire into *queues* by *clock*."""
        self._clock, self._queues = clock, queues
        self._set: dict[str, _Set] = {}
        self._left: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()

    def set(self, timer: Timer) -> bool:
        """Send its message at its moment; False if a timer of this name exists, which is left unchanged."""
        with self._lock:
            if timer.name in self._standing():
                return False
            self._put(timer)
            return True

    def edit(self, name: str, at: float) -> bool:
        """Move a timer to *at* (epoch s); False if none has this name: it has fired, was cancelled, or never existed."""
        with self._lock:
            found = self._standing().get(name)
            if found is not None:
                self._queues.forget(found.timer.queue, found.message_id)
                self._put(found.timer._replace(at=at))
            return found is not None

    def cancel(self, name: str) -> bool:
        """Delete a timer, or a schedule that is not one; False if none has this name."""
        with self._lock:
            if self._left.pop(name, None) is not None:
                return True
            found = self._standing().pop(name, None)
            if found is not None:
                self._queues.forget(found.timer.queue, found.message_id)
            return found is not None

    def list(self) -> list[Timer]:
        """Return the existing timers, the next to fire first."""
        with self._lock:
            return sorted((entry.timer for entry in self._standing().values()), key=lambda timer: (timer.at, timer.name))

    def leave(self, schedule: Mapping[str, Any]) -> None:
        """Add a *schedule* (the parameters of CreateSchedule) that is not a timer, as another program may; it never fires here."""
        with self._lock:
            self._left[schedule["Name"]] = schedule

    def foreign(self) -> Iterator[Foreign]:
        """Yield the schedules beside the timers that are not timers."""
        with self._lock:
            left = [*self._left.values()]
        return (found for schedule in left if (found := foreign(schedule, "", (), "")) is not None)

    def _standing(self) -> dict[str, _Set]:
        now = self._clock.now()
        for name in [name for name, entry in self._set.items() if entry.timer.fires <= now]:
            del self._set[name]
        return self._set

    def _put(self, timer: Timer) -> None:
        wait = max(0.0, timer.fires - self._clock.now())
        message_id = self._queues.later(timer.queue, Outgoing(sealed(timer), 0, timer.tenant), wait)
        self._set[timer.name] = _Set(timer, message_id)
