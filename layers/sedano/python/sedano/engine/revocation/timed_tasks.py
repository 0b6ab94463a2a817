"""Revocation of a task that waits in a timer, because a revocation is kept for 44 days and a timer may wait for a year."""

from __future__ import annotations

from contextlib import suppress

from sedano.engine.revocation.record import revoke
from sedano.errors import ConfigurationError
from sedano.model import states
from sedano.model.messages.lamport import LamportClock
from sedano.model.timers import timer_name
from sedano.ports import Ports


def withdraw(ports: Ports, lamport: LamportClock, task_id: str, *, terminate: bool) -> str:
    """Revoke the task as `revoke` does; if it is due in more than 900 s, cancel its timer as well.

    Timers of retries stay: they fire within a day and find the revocation.

    Raises:
        Unavailable: the ledger or the timers did not answer; revoking again is safe.
    """
    state = revoke(ports, lamport, task_id, terminate=terminate)
    if state == states.REVOKED:
        with suppress(ConfigurationError):  # a stage without timers has none to take off
            ports.timers.cancel(timer_name(task_id, 0))
    return state
