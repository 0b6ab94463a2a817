"""Committing to a history: lease → token-scoped prefix → manifest → fenced pointer. The steps around `sedano.model.history.manifests`.

The lease only keeps two runs from doing the same work; the pointer ensures that no delta is lost or doubled. So a run that loses its lease
without noticing is refused before it can do harm (`FencedOff`), and its files are collected later.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sedano.engine.leases import Busy, Leasing
from sedano.errors import ConfigurationError, FencedOff, LeaseTaken, SedanoError, Unavailable
from sedano.model.history import manifests as rule
from sedano.model.history.manifests import POINTER, Part, Pointer, Snapshot
from sedano.model.leases import Term
from sedano.ports.archive import Archive, Kept

TRIES = 8
"""How often a compare-and-swap on the pointer is repeated because another write was first."""
LEASE = "history"
SOURCES = "sources.json.gz"
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Edition:
    """One run that may commit: the snapshot from which it starts, its term, and its own prefix."""

    seen: Snapshot
    term: Term

    @property
    def prefix(self) -> str:
        """The prefix to which only this run writes."""
        return rule.scoped(self.term.token)


class History:
    """One history in an archive. Readers need no lease; one writer works at a time."""

    def __init__(self, archive: Archive, leasing: Leasing, owner: str, duration: int) -> None:
        """Commit to *archive* as *owner* (shown to people), under leases of *duration* ms."""
        self.archive, self._leasing = archive, leasing
        self._owner, self._duration = owner, duration

    def current(self) -> Snapshot:
        """Return the snapshot that readers see now."""
        return self._shown(self._pointer()[0])

    def snapshots(self, since: int) -> list[Snapshot]:
        """Return the current snapshot and those that were current at *since* (epoch ms) or later, newest first."""
        found = [self.current()]
        while found[-1].made > since and found[-1].parent:
            kept = self.archive.read(found[-1].parent)
            if kept is None:
                break
            found.append(rule.read_snapshot(kept.data))
        return found

    @contextmanager
    def edition(self) -> Iterator[Edition]:
        """Take the lease, exclude earlier terms, and return the snapshot from which to start.

        Raises:
            LeaseTaken: another run is at work.
            FencedOff: a later run began while this one was beginning.
        """
        term = self._leasing.attempt(LEASE, self._owner, self._duration)
        if isinstance(term, Busy):
            raise LeaseTaken(LEASE, term.record.owner)
        try:
            pointer = self._change(term.token, lambda pointer: rule.shut(pointer, term.token))
            yield Edition(self._shown(pointer), term)
        finally:
            self._release(term)

    def keep(self, edition: Edition) -> bool:
        """Restart the lease's duration; False if it has expired, which a commit would also report."""
        return self._leasing.renew(edition.term) is not None

    def extend(self, edition: Edition, sources: Mapping[str, str], *, alone: bool = False) -> Snapshot:
        """Commit the files of *edition* as one more part, made from *sources* (the mark of each landed file by its name).

        *alone*: replace all parts, because every landed file was read again.

        Raises:
            FencedOff: a later run has begun; nothing was committed.
            ConfigurationError: *alone*, but a file that the history holds is not among *sources*: its events would be lost.
        """
        if alone and (gone := sorted(self.taken_in(edition.seen).keys() - sources.keys())):
            raise ConfigurationError(f"history: {gone[0]} ({len(gone)} in all) was read and no longer exists; a rebuild would lose it")
        listed = gzip.compress(json.dumps(dict(sources), sort_keys=True).encode(), mtime=0)
        self.archive.put_once(edition.prefix + SOURCES, listed)
        now = self._now()
        part, made = Part(edition.prefix, len(sources), now), rule.rebuilt if alone else rule.extended
        return self._commit(edition, made(edition.seen, part, edition.term.token, now))

    def settle(self, edition: Edition) -> Snapshot:
        """Commit the files of *edition* as the base of all parts; raises the same errors as `extend`."""
        return self._commit(edition, rule.settled(edition.seen, edition.prefix, edition.term.token, self._now()))

    def taken_in(self, snapshot: Snapshot) -> dict[str, str]:
        """Return the mark of every landed file that *snapshot* holds, by its name."""
        found: dict[str, str] = {}
        for part in snapshot.parts:
            kept = self.archive.read(part.prefix + SOURCES)
            if kept is None:
                raise ConfigurationError(f"history: {part.prefix}{SOURCES} does not exist; rebuild it from the landed files")
            found |= json.loads(gzip.decompress(kept.data))
        return found

    def collect(self, days: float) -> list[str]:
        """Delete files that no snapshot of the last *days* days names and no run can still commit; return their names."""
        since = self._now() - round(days * DAY_MS)
        pointer, kept = self._pointer()[0], self.snapshots(since)
        names = {filed.name: rule.term_of(filed.name) for prefix in (rule.DATA, rule.MANIFESTS) for filed in self.archive.names(prefix)}
        gone = set(rule.collectable([term for term in names.values() if term is not None], kept, pointer.token, since))
        doomed = [name for name, term in names.items() if term in gone]
        self.archive.remove(doomed)
        return doomed

    def _commit(self, edition: Edition, snapshot: Snapshot) -> Snapshot:
        self.archive.put_once(snapshot.name, rule.write_snapshot(snapshot))
        self._change(edition.term.token, lambda pointer: rule.turned(pointer, edition.term.token, snapshot))
        return snapshot

    def _change(self, token: int, change: Callable[[Pointer], Pointer | None]) -> Pointer:
        """Make a compare-and-swap on the pointer; the value that was read is its condition, so a late write changes nothing."""
        for _ in range(TRIES):
            seen, kept = self._pointer()
            after = change(seen)
            if after is None:
                raise FencedOff("the history's pointer", token)
            if after == seen or self.archive.swap(POINTER, rule.write_pointer(after), kept.mark if kept is not None else None):
                return after
        raise Unavailable(f"history: the pointer changed during each of {TRIES} attempts")

    def _pointer(self) -> tuple[Pointer, Kept | None]:
        kept = self.archive.read(POINTER)
        return rule.read_pointer(kept.data if kept is not None else None), kept

    def _shown(self, pointer: Pointer) -> Snapshot:
        if not pointer.manifest:
            return Snapshot()
        kept = self.archive.read(pointer.manifest)
        if kept is None:
            raise ConfigurationError(f"history: its pointer names {pointer.manifest}, which is missing; rebuild it from the landed files")
        return rule.read_snapshot(kept.data)

    def _release(self, term: Term) -> None:
        try:
            self._leasing.release(term)
        except SedanoError as error:
            self._leasing.ports.telemetry.log("warning", "lease not released; it will expire", lease=LEASE, error=str(error))

    def _now(self) -> int:
        return round(self._leasing.ports.clock.now() * 1000)
