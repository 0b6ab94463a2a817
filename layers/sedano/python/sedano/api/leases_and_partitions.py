"""Locks, leaderships and partitions: rights that one process at a time may hold. Part of `Sedano`; each is loaded when it is used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sedano.engine.publisher.publisher import Outlet

if TYPE_CHECKING:
    from sedano.api.leases import Leader, Lock
    from sedano.api.partitions import Partitions


class Exclusion(ABC):
    """The locks, leaderships and partitions of an app."""

    @property
    @abstractmethod
    def outlet(self) -> Outlet:
        """The publisher."""

    def lock(
        self, name: str, *, duration: float | None = None, timeout: float | None = None, until_deadline: bool = False, fair: bool = False
    ) -> Lock:
        """Return the lock *name*: `with app.lock("report", duration=30) as lease: …`, also with `async with`.

        Args:
            name: the name of the lock, the same in all processes of this deployment.
            duration: seconds after which the lease expires unless it is renewed (2 to 86 400); by default 30, and inside a task until the
                invocation's deadline, when Lambda stops the process, so that no renewal is needed.
            timeout: seconds to wait for it; by default without a limit, and inside a task until the deadline. 0 does not wait.
            until_deadline: require the invocation's deadline as the duration.
            fair: ask the holder for it; when it is released, it is reserved for this process for a moment.

        Raises:
            OptionError: an option cannot be honoured.
        """
        from sedano.api.leases import Lock

        return Lock(self, name, duration=duration, timeout=timeout, until_deadline=until_deadline, fair=fair)

    def leader(self, name: str, *, duration: float = 60.0) -> Leader:
        """Return the leadership *name*: `if term := leader.lead(): …`. At most one process leads a term; its token is the term's number.

        Args:
            name: the name of the leadership.
            duration: seconds after which another process may lead unless `lead` was called again.
        """
        from sedano.api.leases import Leader

        return Leader(self, name, duration)

    def partitions(self, name: str, count: int, *, duration: float = 60.0) -> Partitions:
        """Return this process's share of *count* partitions of *name*: `for partition in orders.balance(): …`.

        Args:
            name: the name of the work to divide.
            count: the number of partitions (1 to 1 000), the same in every process.
            duration: seconds after which a partition is free again unless `balance` was called.
        """
        from sedano.api.partitions import Partitions

        return Partitions(self, name, count, duration)
