"""Optional ports that a deployment does not have. Six ports are required; an adapter for another store may leave out any of the others.

An absent port raises `PortMissing` when one of its operations is used. The engine asks `has` before it uses an optional port for itself, so
a worker without members, a control record, memos or a history still runs its tasks. Each declaration of an app names the ports that it
needs (`sedano.engine.registry.Registry.need`), so that an unsuitable deployment is refused on connection, not in the middle of a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sedano.errors import PortMissing

REQUIRED_BY: Mapping[str, str] = MappingProxyType({
    "events": "the history of worker events (the recorder, `sedano cluster`, `sedano history`)",
    "rollups": "sums of a window without its events (`sedano throughput`)",
    "members": "the list of workers (app.control.members and inspect, `sedano cluster`)",
    "leases": "app.lock, app.leader, app.partitions and singleton=",
    "control": "pauses, revocations by header and limits at run time (app.control)",
    "elections": "elections (app.control.election, @app.election_topic)",
    "flow_runs": "workflows",
    "memos": "shared circuits, shared health checks and budgets of queues",
    "limits": "rate=, concurrency=, debounce=, batch= and their changes at run time",
    "consumers": "budgets of queues, and the depth of queues and dead letters (app.control.inspect)",
    "timers": "a countdown or eta beyond what the queue can delay, and app.scheduled",
    "schedules": "@app.periodic and app.schedules",
    "parameters": "the layers ssm: and appconfig: of app.configure",
    "effects": "app.table and current().effects",
    "functions": "app.boxed(…, function=…) without a command",
    "sinks": "app.sink",
    "direct_calls": "app.invoke without a queue",
    "seals": "the keys of the stage (`sedano keys`)",
})  # fmt: skip
"""For each optional port, the features that need it, as the error names them."""


class Absent:
    """The placeholder of an optional *port* that a deployment lacks: each operation raises `PortMissing`."""

    __slots__ = ("port",)

    def __init__(self, port: str) -> None:
        """Replace *port*, a field of `sedano.ports.Ports`."""
        self.port = port

    def __getattr__(self, operation: str) -> Any:
        """Refuse the *operation*.

        Raises:
            PortMissing: always, except that Python's special methods raise `AttributeError`.
        """
        if operation.startswith("__"):
            raise AttributeError(operation)
        raise PortMissing(self.port, REQUIRED_BY[self.port])


class NoSeals(Absent):
    """The placeholder of the keys that a deployment lacks: nothing is marked, and no mark counts."""

    __slots__ = ()

    def ready(self) -> bool:
        """Return False: there are no keys."""
        return False

    def mark(self, kind: str, *parts: str) -> str:
        """Return "": nothing can be marked."""
        return ""

    def is_marked(self, given: str, kind: str, *parts: str) -> bool:
        """Return False: no mark counts."""
        return False

    def seal(self, body: bytes, audience: str, issued: int, expires: int) -> str:
        """Return "": nothing can be sealed."""
        return ""

    def refusal(self, header: str, body: bytes, audience: str) -> str | None:
        """Return that the key is unknown: no seal counts."""
        return "unknown_key"

    def attached(self, kind: str, text: str, *parts: str) -> str:
        """Return "": nothing can be marked."""
        return ""

    def detached(self, kind: str, given: str, *parts: str) -> str:
        """Return "": no mark counts."""
        return ""


def absent(port: str) -> Any:
    """Return the placeholder for the optional *port* in `sedano.ports.Ports`."""
    return NoSeals(port) if port == "seals" else Absent(port)


def has(port: object) -> bool:
    """Return whether *port*, the value of a field of `Ports`, is present."""
    return not isinstance(port, Absent)


def require(port: object, user: str) -> None:
    """Raise `PortMissing`, which names *user*, where *port*, the value of a field of `Ports`, is absent."""
    if isinstance(port, Absent):
        raise PortMissing(port.port, user)
