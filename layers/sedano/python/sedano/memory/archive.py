"""An archive over a dict. The oracle of the conformance suites."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from hashlib import sha256

from sedano.ports import Clock
from sedano.ports.archive import Filed, Kept


class MemoryArchive:
    """Objects in a dict by name; like S3's, the mark of an object is a digest of its bytes."""

    def __init__(self, clock: Clock) -> None:
        """Start empty."""
        self._clock = clock
        self._kept: dict[str, tuple[bytes, float]] = {}
        self._lock = threading.Lock()

    def place(self, name: str) -> str:
        """Return the name itself; no other program can open the object."""
        return name

    def names(self, prefix: str) -> Iterator[Filed]:
        """Yield the objects below *prefix*, in the order of names."""
        with self._lock:
            found = [(name, *kept) for name, kept in sorted(self._kept.items()) if name.startswith(prefix)]
        for name, data, modified in found:
            yield Filed(name, len(data), _mark(data), modified)

    def read(self, name: str) -> Kept | None:
        """Return the object; None if it does not exist."""
        with self._lock:
            found = self._kept.get(name)
        return Kept(found[0], _mark(found[0])) if found is not None else None

    def put_once(self, name: str, data: bytes) -> None:
        """Keep *data* unless the name exists."""
        self.swap(name, data, None)

    def swap(self, name: str, data: bytes, seen: str | None) -> bool:
        """Keep *data* where the object still has the mark that was *seen*."""
        with self._lock:
            found = self._kept.get(name)
            if (_mark(found[0]) if found is not None else None) != seen:
                return False
            self._kept[name] = (bytes(data), self._clock.now())
            return True

    def remove(self, names: Iterable[str]) -> None:
        """Delete the objects; a missing object is not an error."""
        with self._lock:
            for name in names:
                self._kept.pop(name, None)


def _mark(data: bytes) -> str:
    return sha256(data).hexdigest()
