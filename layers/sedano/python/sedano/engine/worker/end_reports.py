"""Reports of bodies that ended, right after the record: to the log, the hooks of the app, and the host of the worker.

A pack has no report of its own: each of its members that ran has one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sedano.engine.batch import Judged, Ran
from sedano.engine.unexpected_errors import passing
from sedano.engine.worker.end_hooks import EndHooks
from sedano.engine.worker.failure_log import tell_failure
from sedano.model.messages.message import PACK
from sedano.ports import Telemetry

Listener = Callable[[Ran, Judged | None], None]
"""Receives each run that ended with its verdict, on the thread that recorded it; None: it was not recorded."""


def report(ran: Ran, judged: Judged | None, hooks: EndHooks | None, listener: Listener | None, telemetry: Telemetry) -> None:
    """Report the end of *ran*; *judged*: its verdict, or None if it is not recorded. Without *hooks* and *listener*: to the log alone."""
    if ran.held.job.command.task == PACK:
        for member in ran.members:
            report(member.ran, member if judged is not None else None, hooks, listener, telemetry)
        return
    tell_failure(ran, judged, telemetry)
    if hooks is not None:
        hooks.end(ran, judged, telemetry)
    if listener is not None:
        passing(telemetry, "listen", partial(listener, ran, judged), None)
