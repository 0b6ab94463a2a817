"""An archive and leases kept in a folder of this machine: the same promises as on AWS, for histories on a laptop.

Each change happens under one lock of the operating system, so any number of processes may use one folder; when a process dies, its lock is
released. Files appear whole or not at all. Spark itself writes the files that are meant for it (`FolderArchive.place`).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from sedano.errors import ConfigurationError
from sedano.memory.leases import MemoryLeases
from sedano.model.leases import Leased, LeaseRecord, Term
from sedano.model.store_clock import Interval
from sedano.ports import Clock
from sedano.ports.archive import Filed, Kept

T = TypeVar("T")
LEASES = ".leases.json"
LOCK = ".lock"


class FolderArchive:
    """Objects as files below *root*; the mark of an object is a digest of its bytes, that of a landed file its size and time."""

    def __init__(self, root: Path) -> None:
        """Use the folder *root*, which is made when something is first kept."""
        self._root = root

    def place(self, name: str) -> str:
        """Return the path of *name*."""
        return f"{self._root}/{name}"

    def names(self, prefix: str) -> Iterator[Filed]:
        """Yield the files below *prefix*, in the order of names."""
        found = {path.relative_to(self._root).as_posix(): path for path in self._root.rglob("*") if path.is_file()}
        for name in sorted(name for name in found if name.startswith(prefix) and name not in (LEASES, LOCK)):
            try:
                about = found[name].stat()
            except FileNotFoundError:
                continue
            yield Filed(name, about.st_size, f"{about.st_size}-{about.st_mtime_ns}", about.st_mtime)

    def read(self, name: str) -> Kept | None:
        """Return the file; None if it does not exist."""
        try:
            data = (self._root / name).read_bytes()
        except FileNotFoundError:
            return None
        return Kept(data, sha256(data).hexdigest())

    def put_once(self, name: str, data: bytes) -> None:
        """Keep *data* unless the name exists."""
        self.swap(name, data, None)

    def swap(self, name: str, data: bytes, seen: str | None) -> bool:
        """Keep *data* where the file still has the mark that was *seen*."""
        with locked(self._root):
            kept = self.read(name)
            if (kept.mark if kept is not None else None) != seen:
                return False
            _write(self._root / name, data)
            return True

    def remove(self, names: Iterable[str]) -> None:
        """Delete the files, and the folders that they leave empty."""
        for name in names:
            path = self._root / name
            path.unlink(missing_ok=True)
            for folder in path.parents:
                if folder == self._root or not folder.is_dir() or any(folder.iterdir()):
                    break
                folder.rmdir()


class FolderLeases:
    """The leases of `MemoryLeases`, kept in one file of a folder; the store's clock is this machine's."""

    def __init__(self, root: Path, clock: Clock) -> None:
        """Keep them in the folder *root*."""
        self._root, self._clock = root, clock

    def time(self) -> Interval:
        """Return what the clock shows."""
        return MemoryLeases(self._clock).time()

    def read(self, names: Sequence[str]) -> dict[str, LeaseRecord]:
        """Return the leases that exist, by name."""
        return self._within(lambda leases: leases.read(names))

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Write *grant* where the lease is still exactly what was *seen*."""
        return self._within(lambda leases: leases.take(grant, seen))

    def renew(self, term: Term, expires: int) -> Leased:
        """Extend the lease of *term* where it still holds; never shorten it."""
        return self._within(lambda leases: leases.renew(term, expires))

    def release(self, term: Term, reserved: int) -> Leased:
        """Give the lease back where *term* still holds it."""
        return self._within(lambda leases: leases.release(term, reserved))

    def want(self, seen: LeaseRecord, who: str) -> bool:
        """Ask the holder of *seen* for the lease."""
        return self._within(lambda leases: leases.want(seen, who))

    def wait(self, seen: LeaseRecord, message: str) -> bool:
        """Leave *message* to be woken when the lease is released."""
        return self._within(lambda leases: leases.wait(seen, message))

    def call(self, released: LeaseRecord, who: str) -> bool:
        """Remove the first waiting message, if it is still the first."""
        return self._within(lambda leases: leases.call(released, who))

    def proof(self, term: Term) -> Mapping[str, Any]:
        """Raise `OptionError`: a folder has no transactions."""
        return MemoryLeases(self._clock).proof(term)

    def _within(self, do: Callable[[MemoryLeases], T]) -> T:
        """Call *do* with the leases in the file, under the folder's lock, and write them back if they changed."""
        with locked(self._root):
            leases, path = MemoryLeases(self._clock), self._root / LEASES
            before = path.read_bytes() if path.exists() else b"[]"
            leases.restore(_records(before, path))
            answer = do(leases)
            after = json.dumps([record._asdict() for record in leases.records()], indent=1).encode()
            if after != before:
                _write(path, after)
            return answer


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the folder's lock, which excludes all other processes of this machine and all other threads of this process."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _records(data: bytes, path: Path) -> list[LeaseRecord]:
    try:
        return [LeaseRecord(**{**fields, "waiting": tuple(fields["waiting"])}) for fields in json.loads(data)]
    except (ValueError, TypeError, KeyError) as wrong:
        raise ConfigurationError(f"history: {path} does not hold leases ({wrong}); delete it while no run is active") from None


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
