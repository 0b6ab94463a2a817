"""Partitions: many small leaderships instead of one big one, shared fairly by the workers.

    orders = app.partitions("orders", 32)
    for partition in orders.balance():          # at each round of work
        work_on(partition.index, partition.lease.token)
    orders.release()                            # at the end of the process

Each round takes free partitions, releases those that other processes ask for, and asks for more up to a fair share. Partitions of a dead
process become free after their duration. The rule: `sedano.model.partitions`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from sedano.api.leases import Lease, LockApp, check_options, holder
from sedano.engine.partitions import Partitioning
from sedano.engine.task_context import CURRENT
from sedano.errors import OptionError

MOST = 1_000


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition that is held: its number and its lease, with the token."""

    index: int
    lease: Lease


class Partitions:
    """This process's share of one set of partitions, made by `app.partitions`. Keep the object: it remembers which partitions it holds."""

    def __init__(self, app: LockApp, name: str, count: int, duration: float) -> None:
        """See `sedano.app.Sedano.partitions`."""
        given: object = count
        if type(given) is not int or not 1 <= given <= MOST:
            raise OptionError(f"count: {count!r} is not a whole number from 1 to {MOST}")
        check_options(name, duration)
        self._app, self._name, self._count, self._duration = app, name, count, round(duration * 1000)
        self._share: Partitioning | None = None
        self._lock = threading.Lock()

    def balance(self) -> list[Partition]:
        """Do one round and return the partitions held after it; call it before each round of work, at least twice per duration.

        Raises:
            Unavailable: the store did not answer.
        """
        with self._lock:
            leasing = self._app.outlet.leasing
            if self._share is None:
                worker = f"{holder(CURRENT.get())} {leasing.ports.entropy.nonce()[:8]}"
                self._share = Partitioning(leasing, self._name, self._count, self._duration, worker)
            return [Partition(index, Lease(leasing, term)) for index, term in sorted(self._share.balance().items())]

    def release(self) -> None:
        """Release all partitions."""
        with self._lock:
            if self._share is not None:
                self._share.release()
