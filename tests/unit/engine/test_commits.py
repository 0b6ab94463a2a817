"""Commits to a history alone: what a snapshot says, what is written in which order, and which files are collected when."""

import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sedano import memory
from sedano.engine.history.commits import SOURCES, History
from sedano.engine.leases import Leasing
from sedano.errors import FencedOff, LeaseTaken
from sedano.memory.archive import MemoryArchive
from sedano.memory.folder_archive import FolderArchive
from sedano.model.history.manifests import DATA, MANIFESTS, POINTER, Part, Snapshot, scoped
from sedano.ports.archive import Archive
from tests.unit.engine.gated import Noted

BEGAN = round(memory.START * 1000)
DURATION_MS = 30_000
DAY_S = 86_400


class Desk:
    """Processes that commit to one history at a virtual time."""

    def __init__(self, archive: Archive | None = None) -> None:
        """Commit to *archive*, or to one in memory that notes its calls."""
        self.clock = memory.VirtualClock(memory.START)
        self.noted = Noted(archive or MemoryArchive(self.clock))
        self.ports = replace(memory.ports(), clock=self.clock, leases=memory.MemoryLeases(self.clock))
        self.history = self.process("first")

    def process(self, owner: str) -> History:
        """Return the history as the process of *owner* sees it."""
        return History(self.noted, Leasing(self.ports), owner, DURATION_MS)

    def extend(self, sources: Mapping[str, str], seconds: float = 5.0) -> Snapshot:
        """Commit *sources* so many *seconds* after the run began."""
        with self.history.edition() as edition:
            self.clock.advance(seconds)
            return self.history.extend(edition, sources)

    def written(self) -> list[str]:
        """Return the names of the objects that were written, in order."""
        return [args[0] for operation, args in self.noted.calls if operation in ("put_once", "swap")]

    def names(self) -> list[str]:
        """Return the names of all objects."""
        return [filed.name for filed in self.noted.names("")]


def test_each_snapshot_says_who_made_it_when_and_from_what() -> None:
    desk = Desk()
    first, second = scoped(BEGAN), scoped(BEGAN + 5_001)
    one = desk.extend({"a": "1"})
    assert one == Snapshot(1, BEGAN, BEGAN + 5_000, "", (Part(first, 1, BEGAN + 5_000),))
    desk.clock.advance(0.001)
    two = desk.extend({"b": "1", "c": "1"})
    parts = (*one.parts, Part(second, 2, BEGAN + 10_001))
    assert two == Snapshot(2, BEGAN + 5_001, BEGAN + 10_001, one.name, parts)
    desk.clock.advance(1)
    with desk.history.edition() as edition:
        desk.clock.advance(5)
        based = desk.history.settle(edition)
    assert based == Snapshot(3, BEGAN + 11_001, BEGAN + 16_001, two.name, parts, scoped(BEGAN + 11_001), 2)
    assert desk.history.current() == based


def test_the_list_of_landed_files_has_the_same_bytes_in_whatever_order_and_at_whatever_time_it_is_written() -> None:
    desk = Desk()
    desk.extend({"b": "2", "a": "1"})
    kept = desk.noted.read(scoped(BEGAN) + SOURCES)
    assert kept.data == gzip.compress(b'{"a": "1", "b": "2"}', mtime=0)


def test_the_pointer_is_changed_last_and_only_where_it_changes() -> None:
    desk = Desk()
    with desk.history.edition() as edition:
        one = desk.history.extend(edition, {"a": "1"})
        assert desk.written() == [POINTER, edition.prefix + SOURCES, one.name, POINTER]
        desk.noted.calls.clear()
        assert desk.history.extend(edition, {"a": "1"}) == one
        assert desk.written() == [edition.prefix + SOURCES, one.name]


def test_snapshots_go_back_to_the_one_that_was_current_at_a_moment() -> None:
    desk = Desk()
    made = [desk.extend({name: "1"}) for name in "abc"]
    assert [desk.history.snapshots(since) for since in (made[1].made - 1, made[1].made, made[2].made)] == [
        [made[2], made[1], made[0]], [made[2], made[1]], [made[2]],
    ]  # fmt: skip


def test_the_first_snapshot_is_the_last_that_is_read(tmp_path: Path) -> None:
    desk = Desk(FolderArchive(tmp_path))
    made = [desk.extend({name: "1"}) for name in "ab"]
    assert desk.history.snapshots(0) == [made[1], made[0]]
    assert desk.noted.asked("read")[-2:] == [(made[1].name,), (made[0].name,)]


def test_a_run_that_another_excludes_learns_of_which_lease_and_of_which_holder() -> None:
    desk = Desk()
    second = desk.process("second")
    with desk.history.edition() as edition:
        with pytest.raises(LeaseTaken) as taken, second.edition():
            pass
        assert (taken.value.name, taken.value.owner) == ("history", "first")
        desk.clock.advance(2 * DURATION_MS / 1000)
        with second.edition(), pytest.raises(FencedOff) as fenced:
            desk.history.extend(edition, {"a": "1"})
    assert (fenced.value.resource, fenced.value.token) == ("the history's pointer", BEGAN)


@pytest.mark.parametrize(("late_ms", "collected"), [(0, False), (1, True)])
def test_what_a_dead_run_left_is_collected_when_it_is_older_than_the_days_to_the_millisecond(late_ms: int, collected: bool) -> None:
    desk = Desk()
    rows = scoped(BEGAN) + "rows"
    with desk.history.edition():
        desk.history.archive.put_once(rows, b"1")
    desk.clock.advance(1)
    kept = desk.extend({"a": "1"}, 0.0)
    desk.clock.advance(2 * DAY_S - 1 + late_ms / 1000)
    assert desk.history.collect(2) == [rows] * collected
    assert desk.names() == [POINTER, *[rows] * (not collected), scoped(kept.token) + SOURCES, kept.name]


def test_a_file_that_no_run_wrote_is_never_collected() -> None:
    desk = Desk()
    strange = [f"{DATA}readme", f"{MANIFESTS}readme"]
    for name in strange:
        desk.history.archive.put_once(name, b"1")
    desk.extend({"a": "1"})
    desk.clock.advance(DAY_S)
    assert desk.history.collect(0) == []
    assert set(strange) <= set(desk.names())
