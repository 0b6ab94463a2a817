"""The gate of revocations: by header at the intake, by id and by header right before a body; the claim finds earlier revocations by id."""

from __future__ import annotations

from collections.abc import Collection

from sedano.engine.batch import Job, Stillborn
from sedano.engine.cluster.membership import Membership
from sedano.engine.gate import Gate
from sedano.model import refusals, states
from sedano.model.cluster.control_record import revoked_by
from sedano.model.messages.message import PACK
from sedano.model.packs import meant
from sedano.model.queues import queue_of


class Revocations(Gate):
    """Ends revoked tasks."""

    def __init__(self, membership: Membership) -> None:
        """Use the control record that *membership* has read."""
        self._membership = membership

    def open(self, job: Job) -> Stillborn | None:
        """Return the end of a *job* that is revoked by one of its headers.

        The members of a pack whose calls are in the blob store leave it, and end alone.
        """
        control = self._membership.control
        if not control.revoked:
            return None
        command = meant(job.command, job.command.args) if job.command.task == PACK else job.command
        pair = revoked_by(control, command, queue_of(job.delivery.queue))
        return Stillborn(states.REVOKED, refusals.REVOKED, pair.partition("=")[0], f"revoked by {pair}") if pair is not None else None

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> Stillborn | None:
        """Return the end of a *job* that was revoked since the batch was received, according to what was read *anew*."""
        if anew is None:
            return None
        if job.command.task_id in anew:
            return Stillborn(states.REVOKED, refusals.REVOKED, "taskid", "revoked before it began")
        return self.open(job)
