"""Membership: a worker says that it is here when it is invoked, and again when the last time was long enough ago."""

from __future__ import annotations

from sedano.errors import SedanoError
from sedano.model.clock import LamportClock
from sedano.ports import MemberRecord, Ports

ACTIVE = "ACTIVE"


class Membership:
    """The heartbeat of one worker. Less critical than its work: a failed write is logged and nothing else."""

    __slots__ = ("_every", "_lamport", "_last", "_name", "_ports")

    def __init__(self, ports: Ports, lamport: LamportClock, name: str, every: float) -> None:
        """Beat as *name*, at most once in *every* seconds."""
        self._ports = ports
        self._lamport = lamport
        self._name = name
        self._every = every
        self._last = float("-inf")

    def beat(self, in_flight: int) -> None:
        """Write the heartbeat when it is due."""
        now = self._ports.clock.now()
        if now - self._last < self._every:
            return
        self._last = now
        try:
            self._ports.members.beat(MemberRecord(self._name, self._lamport.forward(), ACTIVE, in_flight, now))
        except SedanoError as error:
            self._ports.telemetry.log("warning", "heartbeat not written", error=str(error))
