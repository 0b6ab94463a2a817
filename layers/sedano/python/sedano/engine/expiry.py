"""Expiry: an expired task ends unrun, at its intake or right before its body begins."""

from __future__ import annotations

from collections.abc import Collection

from sedano.engine.batch import Job, Stillborn
from sedano.engine.gate import Gate
from sedano.model import refusals, states
from sedano.ports import Ports

FAR_S = 5.0
"""A clock that is further off than this is reported."""


class Expiry(Gate):
    """Ends expired tasks."""

    def __init__(self, ports: Ports) -> None:
        """Judge by the clock of *ports*, as far as it is right."""
        self._ports = ports

    def open(self, job: Job) -> Stillborn | None:
        """Return the end of a *job* that had expired when it was received; report a wrong clock that would have decided otherwise."""
        expires, now = job.command.expires, job.received
        if expires is None:
            return None
        right = judged(self._ports, now)
        if abs(now - right) > FAR_S and (expires <= now) != (expires <= right):
            self._ports.telemetry.count("ClocksWrong")
            words = "the clock of this worker is wrong; the store's decides whether a task has expired"
            self._ports.telemetry.log("error", words, seconds=round(now - right, 1))
        return _expired(f"expired {right - expires:.0f} s ago") if expires <= right else None

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> Stillborn | None:
        """Return the end of a *job* that expired while earlier bodies of its batch ran."""
        expires = job.command.expires
        if expires is None or expires > (right := judged(self._ports, now)):
            return None
        return _expired(f"expired {right - expires:.0f} s ago, while it waited for others of its batch")


def judged(ports: Ports, shown: float) -> float:
    """Return the time (epoch s) by which a task is ended as expired, where this machine's clock shows *shown*.

    Such an end cannot be undone, so if this machine's clock is wrong, the known time of the store's clock decides.
    """
    store = ports.store_time()
    return shown if store is None else store.corrected(shown)


def _expired(why: str) -> Stillborn:
    return Stillborn(states.EXPIRED, refusals.EXPIRED, "expirytime", why)
