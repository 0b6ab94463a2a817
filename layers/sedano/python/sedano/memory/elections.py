"""Elections, in memory."""

from __future__ import annotations

import threading

from sedano.memory.ledger import MemoryLedger
from sedano.model.elections import CLOSED, OPEN, Ballot, Election


class MemoryElections:
    """The elections of one deployment."""

    def __init__(self, ledger: MemoryLedger) -> None:
        """Start with none; a close notes its task in *ledger*."""
        self._ledger = ledger
        self._kept: dict[str, Election] = {}
        self._lock = threading.Lock()

    def open(self, election: Election, at: float) -> Ballot:
        """Create *election* unless one exists."""
        with self._lock:
            found = self._kept.setdefault(election.election_id, election)
            return Ballot(found.nonce == election.nonce, found)

    def read(self, election_id: str) -> Election | None:
        """Return the election."""
        with self._lock:
            return self._kept.get(election_id)

    def register(self, election_id: str, name: str, clock: int) -> Ballot:
        """Register *name* with *clock*, once, while the election is open."""
        with self._lock:
            found = self._kept.get(election_id)
            if found is None or found.state != OPEN or name in found.candidates:
                return Ballot(found is not None and found.candidates.get(name) == clock, found)
            return self._keep(found._replace(candidates={**found.candidates, name: clock}, version=found.version + 1))

    def close(self, election: Election, at: float, fence: int) -> Ballot:
        """Close the election as *election* says, if its call is still held under *fence*, and note its task in the ledger."""
        with self._lock:
            found = self._kept.get(election.election_id)
            if found is not None and found.state != CLOSED and not self._ledger.holds(election.by, fence):
                return Ballot(False, None)
            if found is None or found.state != OPEN or found.version != election.version:
                return Ballot(found is not None and (found.state, found.by) == (CLOSED, election.by), found)
            self._ledger.note(election.task_id, election.by, at)
            return self._keep(election._replace(candidates=found.candidates))

    def advance(self, election: Election, seen: Election) -> Ballot:
        """Make the winner of *election* the leader until the time in it, if the election is still as *seen*."""
        with self._lock:
            found = self._kept.get(election.election_id)
            if found is None or found.state != CLOSED or _lead(found) != _lead(seen):
                return Ballot(found is not None and _lead(found) == _lead(election), found)
            return self._keep(found._replace(winner=election.winner, term=election.term, until=election.until))

    def _keep(self, election: Election) -> Ballot:
        self._kept[election.election_id] = election
        return Ballot(True, election)


def _lead(election: Election) -> tuple[str, int, int]:
    return election.winner, election.term, election.until
