"""An app that brings two ports of its own and says how its workers work: what a function loads in place of the corner shop."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sedano import Sedano, WorkerSettings
from sedano.aws import deployment
from sedano.ports import Events, MemberRecord, Members, Ports

app = Sedano("brought", connect="tests.functions.brought:connect", worker=WorkerSettings(heartbeat=0.0, poison_after=2))
calls: list[str] = []
"""What reached the ports of this module, and for which kind of component they were made."""


@app.task
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


class Heard:
    """Passes heartbeats on, and notes them."""

    def __init__(self, members: Members) -> None:
        """Stand before *members*."""
        self._members = members

    def beat(self, member: MemberRecord) -> None:
        """Note one."""
        calls.append("beat")
        self._members.beat(member)

    def __getattr__(self, name: str) -> Any:
        """Return what is passed on as it is."""
        return getattr(self._members, name)


class Kept:
    """Passes the history on, and notes it."""

    def __init__(self, events: Events) -> None:
        """Stand before *events*."""
        self._events = events

    def append(self, day: str, lines: bytes, own: bytes = b"") -> str:
        """Note one object."""
        calls.append("append")
        return self._events.append(day, lines, own)

    def read(self, since: str = "") -> Iterator[bytes]:
        """Read."""
        return self._events.read(since)


def connect() -> Ports:
    """Return the ports of whatever starts, two of them this module's own."""
    own = deployment.connect()
    calls.append(type(own.telemetry).__name__)
    members: Any = Heard(own.members)
    return replace(own, members=members, events=Kept(own.events))


def nothing() -> None:
    """Bring nothing."""


UNCALLED = "not a function"
