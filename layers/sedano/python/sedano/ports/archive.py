"""The port `Archive`, the object store of a history, and its answers.

It is separate from `sedano.ports` because no worker needs it. Implemented by `sedano.memory` (the oracle, and a folder of this machine)
and by `sedano.aws` (S3); `tests/conformance/test_archives.py` holds all of them to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol


class Filed(NamedTuple):
    """An object as a listing shows it: name, bytes, a *mark* that changes with its contents, and when it was written (epoch s)."""

    name: str
    size: int
    mark: str
    modified: float


class Kept(NamedTuple):
    """An object's bytes, and the mark that a conditional write passes to name this version."""

    data: bytes
    mark: str


class Archive(Protocol):
    """Objects by name, for histories: put once, changed by compare-and-swap."""

    def place(self, name: str) -> str:
        """Return the address by which Spark opens *name*."""

    def names(self, prefix: str) -> Iterator[Filed]:
        """Yield the objects whose names begin with *prefix*, in the order of names."""

    def read(self, name: str) -> Kept | None:
        """Return the object, strongly consistent; None if it does not exist."""

    def put_once(self, name: str, data: bytes) -> None:
        """Store *data* unless the name exists, which also counts as stored: such names belong to one writer or are digests."""

    def swap(self, name: str, data: bytes, seen: str | None) -> bool:
        """Write *data* if the object still has the mark *seen* (None: it does not exist); return whether it was written."""

    def remove(self, names: Iterable[str]) -> None:
        """Delete the objects; one that is gone already is not an error."""
