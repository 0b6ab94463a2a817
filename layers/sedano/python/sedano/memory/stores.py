"""Blobs, the history of events, and members, over dicts."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from hashlib import sha256

from sedano.errors import OptionError
from sedano.model.cluster.members import ACTIVE, LOST, MemberRecord
from sedano.model.messages.blob import require_digest, verified
from sedano.model.messages.message import BlobRef

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class MemoryBlobs:
    """Blobs in a dict under their digest."""

    def __init__(self) -> None:
        """Start empty."""
        self._kept: dict[str, bytes] = {}

    def put(self, data: bytes) -> BlobRef:
        """Keep *data* and return its claim check."""
        digest = sha256(data).hexdigest()
        self._kept.setdefault(digest, bytes(data))
        return BlobRef(digest, len(data))

    def get(self, ref: BlobRef) -> bytes:
        """Return the bytes of *ref*, or raise `MessageRefused` (code `blob`)."""
        require_digest(ref)
        return verified(ref, self._kept.get(ref.digest))

    def damage(self, ref: BlobRef, data: bytes | None) -> None:
        """Replace the bytes of *ref*, or lose them (None): what a broken or hostile store would do, for tests."""
        if data is None:
            self._kept.pop(ref.digest, None)
        else:
            self._kept[ref.digest] = data


class MemoryEvents:
    """The history in a dict by name."""

    def __init__(self) -> None:
        """Start empty."""
        self._kept: dict[str, bytes] = {}

    def append(self, day: str, lines: bytes, own: bytes = b"") -> str:
        """Keep *lines* of *day* once, with the *own* lines of the first who wrote them, and return the object's name."""
        name = f"events/dt={_checked(day)}/{sha256(lines).hexdigest()}.jsonl.gz"
        self._kept.setdefault(name, lines + own)
        return name

    def read(self, since: str = "") -> Iterator[bytes]:
        """Yield the contents of every object, in the order of their names; only those of the day *since* and later, if one is given."""
        first = f"events/dt={_checked(since)}" if since else ""
        for name in sorted(self._kept):
            if name >= first:
                yield self._kept[name]


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
        """Write down that the member is LOST where it has said nothing since *lapsed*."""
        with self._lock:
            known = self._kept.get(name)
            silent = known is not None and known.state == ACTIVE and known.clock < clock and round(known.seen * 1000) < round(lapsed * 1000)
            if known is not None and silent:
                self._kept[name] = known._replace(state=LOST, clock=clock)
            return silent or (known is not None and (known.state, known.clock) == (LOST, clock))

    def read(self) -> list[MemberRecord]:
        """Return all members, by name."""
        with self._lock:
            return [self._kept[name] for name in sorted(self._kept)]


def _checked(day: str) -> str:
    if not _DAY.fullmatch(day):
        raise OptionError(f"day: {day[:20]!r} is not YYYY-MM-DD")
    return day
