"""Ports that count every call and break at one of them: the process dies, or the service is out of reach, before or after the call.

Before: the call is never made. After: it was made, and nobody learns of it. A story runs once to count the calls, then once for each.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from sedano.errors import Unavailable
from sedano.ports import Ports

Side = Literal["before", "after"]
SIDES: tuple[Side, ...] = ("before", "after")
ALL = frozenset(f.name for f in fields(Ports)) - {"most_budget", "store_time", "looks"}
OUTSIDE = frozenset({"ledger", "queues", "blobs", "events", "members", "leases", "control", "elections", "flow_runs"})
"""The ports whose calls leave something behind when a process dies; the others only read a clock or draw a number."""


class Crash(BaseException):
    """The process is gone: nothing of it runs any more."""


def away() -> BaseException:
    """The service did not answer."""
    return Unavailable("the service is away (a story's doing)")


@dataclass
class Watch:
    """Counts the calls of *ports*; raises *error* at call number *at* (from 0) on its *side*, for so many *times*."""

    at: int = -1
    side: Side = "before"
    error: Callable[[], BaseException] = Crash
    ports: frozenset[str] = ALL
    calls: list[str] = field(default_factory=list)
    fired: bool = False
    times: int = 1

    def number(self, call: str) -> int:
        """Note a *call* and return its number."""
        self.calls.append(call)
        return len(self.calls) - 1

    def break_at(self, number: int, side: Side) -> None:
        """Break when this is the moment."""
        if self.at <= number < self.at + self.times and side == self.side:
            self.fired = True
            raise self.error()


class Tap:
    """Stands for one port."""

    def __init__(self, name: str, port: Any, watch: Watch) -> None:
        """Pass every call of *port* by *watch*."""
        self._name, self._port, self._watch = name, port, watch

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """Return the port's operation, watched."""
        method = getattr(self._port, operation)
        if not callable(method):
            return method  # type: ignore[no-any-return]

        def watched(*args: Any, **kwargs: Any) -> Any:
            number = self._watch.number(f"{self._name}.{operation}")
            self._watch.break_at(number, "before")
            answer = method(*args, **kwargs)
            self._watch.break_at(number, "after")
            return answer

        return watched


def tapped(ports: Ports, watch: Watch) -> Ports:
    """Return *ports* with those that *watch* is about under watch."""
    every = {f.name: getattr(ports, f.name) for f in fields(Ports)}
    return Ports(**{name: Tap(name, port, watch) if name in watch.ports else port for name, port in every.items()})
