"""The hooks of an app for revocations that a worker records without a run, as the steps that record them see the hooks."""

from __future__ import annotations

from typing import Protocol

from sedano.model.ledger.records import Outcome
from sedano.model.messages.message import Command
from sedano.ports import Telemetry


class EndHooks(Protocol):
    """The hooks of the app for the ends of tasks that did not run."""

    def revoked(self, ended: Outcome, command: Command, telemetry: Telemetry) -> None:
        """Call those for *ended*, a task that a worker has recorded as revoked without a run, because of the message *command*."""
