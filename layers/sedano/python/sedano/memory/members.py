"""Members of the cluster, in memory."""

from __future__ import annotations

import threading

from sedano.model.cluster.members import ACTIVE, LOST, MemberRecord


class MemoryMembers:
    """Members in a dict by name."""

    def __init__(self) -> None:
        """Start empty."""
        self._kept: dict[str, MemberRecord] = {}
        self._lock = threading.Lock()

    def beat(self, member: MemberRecord) -> None:
        """Keep the heartbeat unless a newer one (larger clock) is kept."""
        with self._lock:
            known = self._kept.get(member.name)
            if known is None or known.clock < member.clock:
                self._kept[member.name] = member

    def lose(self, name: str, clock: int, lapsed: float) -> bool:
        """Mark the member as LOST if it has sent no heartbeat since *lapsed*."""
        with self._lock:
            known = self._kept.get(name)
            if known is not None and known.state == ACTIVE and known.clock < clock and round(known.seen * 1000) < round(lapsed * 1000):
                known = self._kept[name] = known._replace(state=LOST, clock=clock)
            return known is not None and (known.state, known.clock) == (LOST, clock)

    def read(self) -> list[MemberRecord]:
        """Return all members, by name."""
        with self._lock:
            return [self._kept[name] for name in sorted(self._kept)]
