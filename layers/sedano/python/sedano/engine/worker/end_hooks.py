"""The hooks of an app for the ends of tasks, as the steps that record these ends see the hooks."""

from __future__ import annotations

from typing import Protocol

from sedano.engine.batch import Judged, Ran
from sedano.model.ledger.records import Outcome
from sedano.model.messages.message import Command
from sedano.ports import Telemetry


class EndHooks(Protocol):
    """The hooks of the app for the ends of tasks, with and without a run."""

    def end(self, ran: Ran, judged: Judged | None, telemetry: Telemetry) -> None:
        """Call those for *ran*, whose outcome is recorded; *judged*: its verdict, None where it is not recorded."""

    def revoked(self, ended: Outcome, command: Command, telemetry: Telemetry) -> None:
        """Call those for *ended*, a task that a worker has recorded as revoked without a run, because of the message *command*."""
