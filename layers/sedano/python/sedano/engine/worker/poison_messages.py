"""The limit of executions: a message that is delivered repeatedly without an end is a poison message, and ends unrun.

Claims are counted by the ledger (`sedano.model.ledger.claims`). This module counts receives, which detect poison messages earlier for tasks
without claims.
"""

from __future__ import annotations

from sedano.engine.batch import Job, Stillborn
from sedano.engine.gate import Gate
from sedano.engine.worker.redelivery_credit import Spared
from sedano.model import refusals, states
from sedano.model.deferrals import waited
from sedano.model.ledger.claims import CUT_OFF
from sedano.model.retry import MAX_EXECUTIONS
from sedano.ports import Delivery


class Poison(Gate):
    """Ends tasks that were received, or executed, too often."""

    def __init__(self, spared: Spared, poison_after: int) -> None:
        """End messages that were received without a claim more often than *poison_after*; *spared* receives do not count."""
        self._spared, self._poison_after = spared, poison_after

    def open(self, job: Job) -> Stillborn | None:
        """Return the end of a *job* that was delivered too often; of a claimed task only if claims cannot count it any more."""
        delivery, claimed = job.delivery, job.mode == "claimed"
        if not claimed and delivery.attributes and (spent := self._spent(delivery)) is not None:
            return spent
        if delivery.receives == 1 or delivery.serial_key is not None:
            return None  # whatever waits for its turn is received again and again: there claims alone tell a poison
        without = f"received {delivery.receives} times without an end; {CUT_OFF}"
        if not claimed and delivery.receives - self._spared.count(delivery) > self._poison_after:
            return Stillborn(states.POISON, refusals.POISON, "receives", without)
        if delivery.receives > MAX_EXECUTIONS:
            return Stillborn(states.POISON, refusals.EXECUTIONS, "receives", without)
        return None

    def _spent(self, delivery: Delivery) -> Stillborn | None:
        """Return why a task without a claim must not begin again: its messages had too many executions."""
        runs = waited(delivery.attributes).runs + delivery.receives - self._spared.count(delivery)
        if runs <= MAX_EXECUTIONS:
            return None
        return Stillborn(states.POISON, refusals.EXECUTIONS, "receives", f"executed {runs - 1} times without an end")
