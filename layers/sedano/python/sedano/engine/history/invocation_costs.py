"""Invocations: the cost of each, as one line; and records that the queue did not accept, which are sent with the next.

A line must be written before the call that carries it. So the cost of that call, and of later work, is in the process's next line: the sums
over the lines of a process are complete except for the end of its last invocation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sedano.errors import SedanoError
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import NOTHING
from sedano.ports import RECORDS, Outgoing, Ports
from sedano.ports.absent import has

WORKER, ROUTER, RECORDER = "worker-invocation", "router-invocation", "recorder-invocation"
"""The types of the lines, by function."""
MOST_UNTOLD = 20
"""Records of earlier invocations that wait for their queue; older ones are lost, and counted."""
MOST_OWED = 9
"""The most invocations that wait for the line of the next one, however soon it follows: an environment that ends loses them."""


class Owed(NamedTuple):
    """The contents of the next line besides its own invocation."""

    invocations: int = 0
    messages: int = 0
    given_back: int = 0
    seconds: float = 0.0


class Invocations:
    """The invocations of one function in one process, one after the other: `begin`, then `tell` (or `line` and `end`)."""

    __slots__ = ("_began", "_calls", "_every", "_host", "_kind", "_lamport", "_owed", "_ports", "_seen", "_told", "_untold", "_written")

    def __init__(self, kind: str, ports: Ports, host: Host, lamport: LamportClock, every: float = 0.0) -> None:
        """Write them as lines of type *kind* for *host*; if nothing else happens, several together, once in *every* seconds."""
        self._kind, self._ports, self._host, self._lamport, self._every = kind, ports, host, lamport, every
        self._told = False
        self._began = self._written = 0.0
        self._calls = self._seen = NOTHING
        self._owed = Owed()
        self._untold: list[str] = []

    def begin(self) -> None:
        """Begin an invocation."""
        self._began = self._ports.clock.monotonic()

    def tell(self, chronicle: Chronicle, messages: int, given_back: int) -> None:
        """Add the line to the *chronicle* and send it, unless it can wait; end the invocation."""
        late = self._ports.clock.monotonic() - self._written >= self._every
        reported = late or not self._told or self._owed.invocations >= MOST_OWED or bool(chronicle.rows or chronicle.lines)
        if reported:
            self.line(chronicle, messages, given_back)
            self.send(chronicle)
        self.end(messages, given_back, reported=reported)

    def line(self, chronicle: Chronicle, messages: int, given_back: int, ahead: Mapping[str, int] = NOTHING) -> None:
        """Add a line to the *chronicle*: how many *messages* arrived and were *given_back*, and all costs since the last line.

        *ahead*: calls, by `service.Operation`, without which there is no line: that of the write that it is part of.
        """
        ports, before = self._ports, self._calls
        calls: dict[str, int] = dict(ports.telemetry.calls())
        for name, count in ahead.items():
            calls[name] = calls.get(name, 0) + count
        made = {name: count - before.get(name, 0) for name, count in calls.items() if count > before.get(name, 0)}
        self._seen, self._written = calls, ports.clock.monotonic()
        took = self._since(messages, given_back, self._written)
        memory = {} if self._host.memory_mb is None else {"memory_mb": self._host.memory_mb}
        chronicle.line(
            self._kind, self._lamport.forward(), ports.clock.now(), invocations=took.invocations, messages=took.messages,
            given_back=took.given_back, cold=not self._told, calls=made, duration_ms=round(took.seconds * 1000, 3), **memory,
        )  # fmt: skip

    def end(self, messages: int, given_back: int, *, reported: bool) -> None:
        """End the invocation; the next line reports the rest, or all of it if this one was not *reported*."""
        now = self._ports.clock.monotonic()
        if reported:
            self._calls, self._told, self._owed = self._seen, True, Owed(seconds=now - self._written)
        else:
            self._owed = self._since(messages, given_back, now)

    def _since(self, messages: int, given_back: int, until: float) -> Owed:
        """Return the costs since the last line, including this invocation up to *until*."""
        owed = self._owed
        return Owed(owed.invocations + 1, owed.messages + messages, owed.given_back + given_back, owed.seconds + until - self._began)

    def send(self, chronicle: Chronicle) -> None:
        """Send the new records, if any, and the records that the queue did not accept before. They are history, not the ledger.

        Without a history in the deployment it sends nothing, because no function would receive them.
        """
        packed = chronicle.packs(self._ports.queues.bounds.max_bytes) if has(self._ports.events) else []
        if not packed:
            return
        records = [*self._untold, *packed]
        try:
            answers = self._ports.queues.send(RECORDS, [Outgoing(record) for record in records])
        except SedanoError as away:
            answers = [away] * len(records)
        untold = [record for record, error in zip(records, answers, strict=True) if error is not None]
        self._untold = untold[-MOST_UNTOLD:]
        if untold:
            telemetry, error = self._ports.telemetry, str(next(filter(None, answers)))
            telemetry.count("RecordsDelayed")
            telemetry.log("warning", "records of what happened not sent yet", waiting=len(untold), error=error)
        if len(untold) > MOST_UNTOLD:
            self._ports.telemetry.count("RecordsLost", len(untold) - MOST_UNTOLD)
