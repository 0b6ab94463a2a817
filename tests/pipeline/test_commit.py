"""The fenced commit under interleavings, crashes after every step, lost leases and late requests: nothing lost, nothing doubled."""

import os
import time
from collections import Counter
from dataclasses import replace

import pytest

from sedano import memory
from sedano.aws.archive import S3Archive
from sedano.aws.leases import DynamoLeases
from sedano.engine.history.commits import SOURCES, History
from sedano.engine.leases import Leasing
from sedano.errors import ConfigurationError, FencedOff, LeaseTaken, Unavailable
from sedano.memory.archive import MemoryArchive
from sedano.memory.folder_archive import FolderArchive, FolderLeases
from sedano.model.history import manifests as rule
from sedano.model.history.manifests import Pointer, Snapshot
from tests.conformance.worlds import session_of
from tests.pipeline.commits import DURATION_MS, Commits, build, compact, episodes, in_memory, rows

SEED = 20261121
SCALE = float(os.environ.get("SEDANO_PROVE", "0"))
"""How much of what `make prove` plays: nothing of it within `make test`."""
EPISODES = max(1_000, round(20_000 * SCALE))
ON_MOTO = max(40, round(1_000 * SCALE))
AN_HOUR = 3600


class NobodyIsShutOut(History):
    """Reads the pointer without fencing in first."""

    def _change(self, token, change):
        pointer = self._pointer()[0]
        shutting = change(Pointer(0, pointer.manifest)) == Pointer(token, pointer.manifest)
        return Pointer(token, pointer.manifest) if shutting else super()._change(token, lambda seen: change(Pointer(token, seen.manifest)))


class NothingIsCompared(History):
    """Turns the pointer whoever has turned it in between."""

    def _change(self, token, change):
        seen, kept = self._pointer()
        after = change(seen) or change(Pointer(token, seen.manifest))
        self.archive.swap(rule.POINTER, rule.write_pointer(after), kept.mark if kept is not None else None)
        return after


class TheNewestIsCollected(History):
    """Deletes what no snapshot names, also when a run may still commit it."""

    def collect(self, days):
        kept = self.current().prefixes
        doomed = [filed.name for filed in self.archive.names(rule.DATA) if not any(filed.name.startswith(prefix) for prefix in kept)]
        self.archive.remove(doomed)
        return doomed


@pytest.mark.timeout(AN_HOUR)
def test_interleaved_runs_neither_lose_nor_double_a_landed_file():
    print(f"seed {SEED}")
    told, steps, committed = Counter(), 0, 0
    for world in episodes(SEED, EPISODES, in_memory):
        told.update(world.told)
        steps += world.steps
        committed += world.seen.version
    print(f"{EPISODES} episodes, {steps} steps, {committed} commits, refusals {dict(told)}")
    assert told["FencedOff"] > 10, "no run was ever fenced off: the weather is too good to show anything"
    assert told["LeaseTaken"] > 10
    assert told["Unavailable"] > 10


@pytest.mark.parametrize("mutant", [NobodyIsShutOut, NothingIsCompared, TheNewestIsCollected])
def test_a_commit_without_one_of_its_guards_is_found_out(mutant):
    with pytest.raises(AssertionError):
        for _ in episodes(SEED, EPISODES, lambda seed: in_memory(seed, mutant)):
            pass


@pytest.mark.timeout(AN_HOUR)
def test_the_same_holds_over_dynamodb_and_s3(resources):
    print(f"seed {SEED}")
    session = session_of(resources)
    s3, dynamodb = session.client("s3"), session.client("dynamodb")
    bucket, table = (resources.settings[f"SEDANO_{name}"] for name in ("HISTORY_BUCKET", "CONTROL_TABLE"))

    def world(seed: int) -> Commits:
        clock = memory.VirtualClock(time.time())
        archive = S3Archive(s3, bucket, f"episode-{seed}/")
        dynamodb.delete_item(TableName=table, Key={"pk": {"S": "LEASE#history"}})
        return Commits(seed, archive, lambda clock: DynamoLeases(dynamodb, table, clock), History, clock)

    told, committed = Counter(), 0
    for one in episodes(SEED, ON_MOTO, world):
        told.update(one.told)
        committed += one.seen.version
    print(f"{ON_MOTO} episodes, {committed} commits, refusals {dict(told)}")
    assert committed > ON_MOTO
    assert set(told) >= {"LeaseTaken", "Unavailable"}, "the weather is too good to show anything"


def quiet(archive=None, leases=None, clock=None):
    clock = clock or memory.VirtualClock(memory.START)
    ports = replace(memory.ports(), clock=clock, leases=leases or memory.MemoryLeases(clock))
    return History(archive or MemoryArchive(clock), Leasing(ports), "test", DURATION_MS), clock


def committed(history, sources):
    with history.edition() as edition:
        return history.extend(edition, sources)


def test_a_run_that_lost_its_lease_in_the_middle_is_refused_and_changes_nothing():
    slow, clock = quiet()
    quick = History(slow.archive, Leasing(slow._leasing.ports), "other", DURATION_MS)
    with slow.edition() as edition:
        clock.advance(2 * DURATION_MS / 1000)
        committed(quick, {"a": "1"})
        with pytest.raises(FencedOff):
            slow.extend(edition, {"b": "1"})
    assert quick.taken_in(quick.current()) == {"a": "1"}


def test_a_second_run_is_told_that_another_one_is_at_work():
    first, _ = quiet()
    second = History(first.archive, Leasing(first._leasing.ports), "other", DURATION_MS)
    with first.edition(), pytest.raises(LeaseTaken, match="test"), second.edition():
        pass


def test_a_commit_that_is_made_again_changes_nothing():
    history, _ = quiet()
    with history.edition() as edition:
        once = history.extend(edition, {"a": "1"})
        assert history.extend(edition, {"a": "1"}) == once
    assert history.current() == once


def test_a_reader_keeps_its_snapshot_while_others_commit_and_collect():
    world = in_memory(SEED)
    world.landed["a"] = "1"
    runner = world.runner(1, calm=True)
    build(runner)
    compact(runner)
    before = runner.history.current()
    compact(runner)
    world.clock.advance(86_400)
    assert runner.history.collect(days=2) == []
    assert rows(world.archive, before.base) == ["a"]
    world.clock.advance(2 * 86_400)
    committed(runner.history, {})
    assert any(name.startswith(before.base) for name in runner.history.collect(days=2))


def test_what_a_run_that_may_still_commit_has_written_is_never_collected():
    history, clock = quiet()
    with history.edition() as edition:
        history.archive.put_once(edition.prefix + "rows", b"1")
        clock.advance(86_400 * 30)
        assert history.collect(days=0) == []


def test_processes_on_one_machine_share_a_folder(tmp_path):
    clock = memory.VirtualClock(memory.START)
    histories = [quiet(FolderArchive(tmp_path), FolderLeases(tmp_path, clock), clock)[0] for _ in range(2)]
    first = committed(histories[0], {"a": "1"})
    with histories[1].edition() as edition:
        assert edition.seen == first
        with pytest.raises(LeaseTaken), histories[0].edition():
            pass
    assert (tmp_path / rule.POINTER).is_file()


def test_a_run_keeps_its_lease_until_another_one_has_it():
    slow, clock = quiet()
    quick = History(slow.archive, Leasing(slow._leasing.ports), "other", DURATION_MS)
    with slow.edition() as edition:
        clock.advance(0.9 * DURATION_MS / 1000)
        assert slow.keep(edition)
        clock.advance(0.9 * DURATION_MS / 1000)
        with pytest.raises(LeaseTaken), quick.edition():
            pass
        clock.advance(2 * DURATION_MS / 1000)
        committed(quick, {"a": "1"})
        assert not slow.keep(edition)


def test_the_older_snapshots_end_where_one_was_collected():
    history, clock = quiet()
    for name in "abc":
        clock.advance(1)
        committed(history, {name: "1"})
    newest, middle, oldest = history.snapshots(since=0)[:3]
    history.archive.remove([middle.name])
    assert history.snapshots(since=0) == [newest]
    assert oldest.made < middle.made < newest.made


def test_a_rebuild_that_would_lose_what_was_read_is_refused_and_changes_nothing():
    history, _ = quiet()
    before = committed(history, {"a": "1", "b": "1", "c": "1"})
    with history.edition() as edition, pytest.raises(ConfigurationError, match=r"^history: a \(2 in all\) was read and no longer exi"):
        history.extend(edition, {"b": "1"}, alone=True)
    assert history.current() == before
    with history.edition() as edition:
        assert history.extend(edition, {"a": "2", "b": "1", "c": "1"}, alone=True).parts == (rule.Part(edition.prefix, 3, history._now()),)


def test_a_part_whose_list_of_files_is_missing_is_refused_with_what_to_do():
    history, _ = quiet()
    (part,) = committed(history, {"a": "1"}).parts
    history.archive.remove([part.prefix + SOURCES])
    with pytest.raises(ConfigurationError, match=f"^history: {part.prefix}{SOURCES} does not exist; rebuild it from the landed files$"):
        history.taken_in(history.current())


def test_a_snapshot_that_the_pointer_names_and_that_is_missing_is_refused_with_what_to_do():
    history, _ = quiet()
    history.archive.remove([committed(history, {"a": "1"}).name])
    with pytest.raises(ConfigurationError, match=r"^history: its pointer names .*, which is missing; rebuild it from the landed files$"):
        history.current()


class AlwaysLate(MemoryArchive):
    """An archive whose pointer another run changes before each write."""

    tries = 0

    def swap(self, name, data, seen):
        """Change nothing."""
        self.tries += 1
        return False


def test_a_pointer_that_others_change_each_time_is_given_up_and_may_be_tried_again():
    clock = memory.VirtualClock(memory.START)
    archive = AlwaysLate(clock)
    history, _ = quiet(archive, clock=clock)
    with pytest.raises(Unavailable, match=r"^history: the pointer changed during each of 8 attempts$"), history.edition():
        pass
    assert archive.tries == 8


@pytest.mark.parametrize("bytes_", [b"", b"{}", b"[]", b'{"format": 1, "token": "x", "manifest": ""}', b'{"format": 2}'])
def test_a_pointer_that_is_none_is_refused_with_what_to_do(bytes_):
    history, _ = quiet()
    history.archive.put_once(rule.POINTER, bytes_)
    with pytest.raises(ConfigurationError, match="history: the pointer"):
        history.current()


def test_a_snapshot_is_read_as_it_was_written():
    made = rule.settled(rule.extended(Snapshot(), rule.Part("data/term=1/", 3, 5), 7, 9), "data/term=8/", 8, 11)
    assert rule.read_snapshot(rule.write_snapshot(made)) == made
    assert made.pending == ()
    assert rule.term_of(made.name) == 8
