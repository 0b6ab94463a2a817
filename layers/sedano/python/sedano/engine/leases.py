"""Taking, renewing and releasing leases: the steps around the pure rule `sedano.model.leases`.

Cost: a lease whose state is known here is taken with one write, an unknown one with a read and a write; a renewal and a release are one
write each. The item that a refused write returns is used instead of a read. A write without an answer is sent again with the same nonce: if
the first one had arrived, the second is refused by an item with this nonce, which shows that the lease is ours.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from sedano.errors import ConfigurationError, LeaseTaken, Unavailable
from sedano.model import leases as lease
from sedano.model.leases import HAND_OVER_MS, LeaseRecord, Sight, Term
from sedano.model.store_clock import Interval, Moment
from sedano.ports import Ports

T = TypeVar("T")
SENDS = 2
"""How often one write is sent (each time with the client's own retries) before it counts as unanswered."""
TRIES = 3
"""How often a take is tried when others change the lease at the same time."""
MOST_KNOWN = 1_000
POLL_S = 1.0
"""The longest pause (s) between two reads of a lease by a waiter."""


class Busy(NamedTuple):
    """Another process holds the lease: its record as read, and the most seconds until the next look."""

    record: LeaseRecord
    wait: float


class Leasing:
    """The leases of one process. Thread-safe."""

    def __init__(self, ports: Ports) -> None:
        """Use *ports*; no lease is known yet."""
        self.ports = ports
        self._known: OrderedDict[str, Sight] = OrderedDict()
        self._given: dict[str, Term] = {}
        self._lock = threading.Lock()

    def moment(self) -> Moment:
        """Return what this machine's clocks show."""
        clock = self.ports.clock
        return Moment(clock.now() * 1000, clock.monotonic() * 1000)

    def attempt(self, name: str, owner: str, duration: int, asker: str = "") -> Term | Busy:
        """Try once to take the lease *name* for *duration* ms; return the term, or the current holder.

        Raises:
            Unavailable: the store did not answer. If the write had arrived nevertheless, the lease is unused until it expires.
        """
        sight, fresh = self._glance(name)
        nonce = self.ports.entropy.nonce()
        for _ in range(TRIES):
            decision = lease.decide(sight, self._time(), self.moment(), asker)
            if not decision.free and sight.record is not None:
                if fresh:
                    return Busy(sight.record, decision.wait / 1000)
                sight, fresh = self.observe([name])[name], True
                continue
            term, sight = self._take(name, owner, duration, nonce, sight)
            if term is not None:
                return term
            fresh = True
        if sight.record is None:
            raise Unavailable(f"lease {name!r}: it changed during each of {TRIES} attempts; try again")
        return Busy(sight.record, 0.1)

    def look(self, name: str, asker: str) -> Busy | None:
        """Read the lease *name*; return its holder, or the process that it is kept for; None if *asker* may take it."""
        sight = self.observe([name])[name]
        decision = lease.decide(sight, self._time(), self.moment(), asker)
        return None if decision.free or sight.record is None else Busy(sight.record, decision.wait / 1000)

    def want(self, seen: LeaseRecord, who: str) -> bool:
        """Ask the holder of *seen* for the lease, for *who*."""
        return self._send(lambda: self.ports.leases.want(seen, who))

    def renew(self, term: Term) -> Term | None:
        """Return the renewed term; None if the term is over, because another process holds the lease or the lease is free."""
        since = self.moment()
        expires = lease.renewed_until(term, self._time())
        answer = self._send(lambda: self.ports.leases.renew(term, expires))
        self._saw(term.name, answer.record)
        if not answer.done or answer.record is None:
            return None
        return term._replace(since=since, expires=answer.record.expires, wanted=answer.record.want)

    def believes(self, term: Term) -> bool:
        """Return whether the holder of *term* may assume that no other process holds the lease. False once its release was sent, even if
        that failed, because the release may still arrive.
        """
        given = self._given.get(term.name)
        return (given is None or given.token < term.token) and lease.believes(term, self.moment())

    def release(self, term: Term) -> LeaseRecord | None:
        """Release the lease and return its record, or None if the term was already over and nothing changed."""
        self._give(term)
        reserved = self._time().hi + HAND_OVER_MS
        answer = self._send(lambda: self.ports.leases.release(term, reserved))
        self._saw(term.name, answer.record)
        return answer.record if answer.done else None

    def observe(self, names: list[str]) -> dict[str, Sight]:
        """Read the leases *names* and return how each is seen now."""
        found = self._send(lambda: self.ports.leases.read(names))
        return {name: self._saw(name, found.get(name)) for name in names}

    def free(self, sight: Sight, asker: str) -> bool:
        """Return whether *asker* may take the lease that was seen."""
        return lease.decide(sight, self._time(), self.moment(), asker).free

    def take(self, name: str, owner: str, duration: int, sight: Sight) -> Term | None:
        """Take the lease that was seen and may be taken; None when it changed in the meantime."""
        return self._take(name, owner, duration, self.ports.entropy.nonce(), sight)[0]

    def _give(self, term: Term) -> None:
        """Remember that *term* is released, until it would have expired anyway."""
        with self._lock:
            if len(self._given) >= MOST_KNOWN:
                now = self.moment()
                self._given = {name: given for name, given in self._given.items() if lease.remaining(given, now) > 0}
            self._given[term.name] = term

    def _take(self, name: str, owner: str, duration: int, nonce: str, sight: Sight) -> tuple[Term | None, Sight]:
        """Return the term, or None if the lease had changed, and the new sight of the lease."""
        since = self.moment()
        grant = lease.grant(name, owner, nonce, duration, sight.record, self._time())
        answer = self._send(lambda: self.ports.leases.take(grant, sight.record))
        seen = self._saw(name, answer.record)
        return (lease.term(answer.record, since) if answer.done and answer.record is not None else None), seen

    def _glance(self, name: str) -> tuple[Sight, bool]:
        """Return the sight of the lease, and whether it was read just now: it is read if it or the time is unknown."""
        with self._lock:
            known = self._known.get(name)
        time = self.ports.leases.time()
        if known is None or known.record is None or time is None or time.suspect:
            return self.observe([name])[name], True
        return known, False

    def _time(self) -> Interval:
        time = self.ports.leases.time()
        if time is None:
            raise ConfigurationError("leases: the store's answers have no Date, so the end of a lease is unknown")
        return time

    def _saw(self, name: str, record: LeaseRecord | None) -> Sight:
        with self._lock:
            sight = lease.look(self._known.get(name), record, self.moment())
            self._known[name] = sight
            self._known.move_to_end(name)
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return sight

    def _send(self, call: Callable[[], T]) -> T:
        """Make *call* and, when there is no answer, make it again."""
        for _ in range(SENDS - 1):
            try:
                return call()
            except Unavailable as away:
                self.ports.telemetry.log("warning", "a lease's request had no answer and is sent again", error=str(away))
        return call()


class Acquisition:
    """The wait for one lease, step by step: the caller decides how to sleep in between."""

    __slots__ = ("_asker", "_duration", "_leasing", "_name", "_owner", "_until")

    def __init__(self, leasing: Leasing, name: str, owner: str, duration: Callable[[], int], timeout: float | None, *, fair: bool) -> None:
        """Wait up to *timeout* seconds (None: without a limit) for the lease *name*; *duration* returns the duration (ms) at each attempt.

        *fair* asks the holder for the lease, so that on release it is reserved for this process for a moment.
        """
        self._leasing, self._name, self._owner, self._duration = leasing, name, owner, duration
        self._asker = leasing.ports.entropy.nonce() if fair else ""
        self._until = None if timeout is None else leasing.ports.clock.monotonic() + timeout

    def step(self) -> Term | float:
        """Try once; return the term, or how many seconds to wait before the next step.

        Raises:
            LeaseTaken: the timeout has passed and another process holds the lease.
        """
        found = self._leasing.attempt(self._name, self._owner, self._duration(), self._asker)
        if isinstance(found, Term):
            return found
        left = math.inf if self._until is None else self._until - self._leasing.ports.clock.monotonic()
        if left <= 0:
            raise LeaseTaken(self._name, found.record.owner)
        if self._asker and found.record.held and not found.record.want:
            self._leasing.want(found.record, self._asker)
        poll = POLL_S * (0.5 + self._leasing.ports.entropy.unit() / 2)
        return min(found.wait + 0.001, poll, left)

    def wait(self) -> Term:
        """Step until this process has the lease, sleeping in between."""
        while True:
            found = self.step()
            if isinstance(found, Term):
                return found
            self._leasing.ports.clock.sleep(found)
