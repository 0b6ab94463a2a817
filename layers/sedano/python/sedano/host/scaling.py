"""The share of one process in the scaled concurrency of its queues (`sedano.model.cluster.scale`).

The process reads the members when the scaled concurrency of a queue changes, and every `AGAIN_S` while a queue is scaled; it then also
sends a heartbeat. While no queue is scaled, it reads and writes nothing for this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sedano.engine.cluster.membership import Membership
from sedano.model.cluster.scale import AGAIN_S, Server, process_share, servers
from sedano.ports import Ports, command_queue
from sedano.ports.absent import has


class Scaling:
    """The share of the process *name*. *started*: how many bodies at once it runs while no queue is scaled."""

    def __init__(
        self, ports: Ports, name: str, queues: tuple[str, ...], started: int, resize: Callable[[int, Mapping[str, int]], None]
    ) -> None:  # fmt: skip
        """Take no share yet; *resize* changes how many bodies at once the process runs."""
        self._ports, self._name, self._queues, self.started, self._resize = ports, name, queues, started, resize
        self._wishes: Mapping[str, int] = {}
        self._due = 0.0

    @property
    def me(self) -> Server:
        """This process, as other processes see it."""
        return Server(self._name, self._queues, self.started)

    def look(self, membership: Membership) -> None:
        """Take the share that follows from the control record and the members.

        Raises:
            Unavailable: the members were not read; the next call tries again.
        """
        wishes = {queue: number for queue, number in membership.control.wished.items() if queue in self._queues}
        now = self._ports.clock.monotonic()
        if not has(self._ports.members) or (wishes == self._wishes and (not wishes or now < self._due)):
            return
        if wishes:
            membership.stay()
        found = servers(self._ports.members.read(), self._ports.clock.now()) if wishes else None
        share = process_share(wishes, self.me, found) if found is not None else None
        lanes, most = (share.lanes, share.most) if share is not None else (self.started, {})
        self._resize(lanes, {command_queue(queue): number for queue, number in most.items()})
        if wishes != self._wishes:
            self._ports.telemetry.log("info", "the process takes its share of the scaled concurrency", wished=dict(wishes), lanes=lanes)
        self._wishes, self._due = wishes, now + AGAIN_S
