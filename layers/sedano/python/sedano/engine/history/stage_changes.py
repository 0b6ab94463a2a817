"""Sends the change of a person to the history, as the worker sends its events: one message, which the recorder writes.

So people need no permission to write the history's objects, and the change appears in it within a minute.
"""

from __future__ import annotations

import platform
import re

from sedano.errors import SedanoError
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.history.stage_changes import STAGE_CHANGED, StageChange, fields
from sedano.ports import RECORDS, Outgoing, Ports
from sedano.ports.absent import has

MOST_HOST = 100


def report(ports: Ports, change: StageChange, clock: int, pid: int) -> SedanoError | None:
    """Send *change*, which the process *pid* of this machine made at *clock*; return why it was not accepted, or None.

    No two changes of a process have the same clock, because it identifies an event.

    In a deployment without a history, nothing is sent.
    """
    if not has(ports.events):
        return None
    chronicle = Chronicle(Host(f"operator@{host_name(platform.node())}", pid))
    chronicle.line(STAGE_CHANGED, clock, change.at, **fields(change))
    try:
        (refused,) = ports.queues.send(RECORDS, [Outgoing(chronicle.pack() or "")])
    except SedanoError as failed:
        return failed
    return refused


def host_name(machine: str) -> str:
    """Return the name of a *machine*, reduced to the characters of host names."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", machine)[:MOST_HOST] or "unknown"
