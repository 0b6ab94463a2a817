"""Revoking a task that waits in a timer: a revocation is kept for 44 days, and a timer may hold its task back for a year."""

from __future__ import annotations

from contextlib import suppress

from sedano.engine.revocation.record import revoke
from sedano.errors import ConfigurationError
from sedano.model import states
from sedano.model.messages.lamport import LamportClock
from sedano.model.timers import timer_name
from sedano.ports import Ports


def withdraw(ports: Ports, lamport: LamportClock, task_id: str, *, terminate: bool) -> str:
    """Revoke the task as `revoke` does; where it waits for a moment more than 900 s away, take its timer off as well.

    Timers of retries are left: they fire within a day and meet the revocation.

    Raises:
        Unavailable: the ledger or the timers did not answer; revoking again is safe.
    """
    state = revoke(ports, lamport, task_id, terminate=terminate)
    if state == states.REVOKED:
        with suppress(ConfigurationError):  # a stage without timers has none to take off
            ports.timers.cancel(timer_name(task_id, 0))
    return state
