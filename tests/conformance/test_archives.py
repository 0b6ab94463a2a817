"""What a history needs of a store, kept by all of them: a dict, a folder, a SQLite file, S3 on moto and on a real endpoint."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sedano.aws.archive import S3Archive
from sedano.memory import START, VirtualClock
from sedano.memory.archive import MemoryArchive
from sedano.memory.folder_archive import FolderArchive
from sedano.ports.archive import Archive
from sedano.sqlite.archive import SqliteArchive
from sedano.sqlite.store import Store
from tests.conformance.worlds import session_of


def over_s3(resources):
    return S3Archive(session_of(resources).client("s3"), resources.settings["SEDANO_HISTORY_BUCKET"], "tables/of/this/test/")


MAKERS: dict[str, Callable[[pytest.FixtureRequest], Archive]] = {
    "memory": lambda _: MemoryArchive(VirtualClock(START)),
    "folder": lambda request: FolderArchive(Path(request.getfixturevalue("tmp_path")) / "not made yet"),
    "sqlite": lambda request: SqliteArchive(Store(request.getfixturevalue("tmp_path") / "sedano.db"), VirtualClock(START)),
    "moto": lambda request: over_s3(request.getfixturevalue("resources")),
    "ministack": lambda request: over_s3(request.getfixturevalue("ministack_resources")),
}


@pytest.fixture(params=["memory", "folder", "sqlite", "moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def archive(request):
    return MAKERS[request.param](request)


def mark(archive, name):
    return archive.read(name).mark


def test_what_was_kept_is_read_with_its_bytes(archive):
    archive.put_once("a/b.json", b"\x00bytes\xff")
    assert archive.read("a/b.json").data == b"\x00bytes\xff"


def test_what_was_never_kept_is_none(archive):
    assert archive.read("nothing") is None


def test_a_name_is_taken_once(archive):
    archive.put_once("a", b"first")
    archive.put_once("a", b"second")
    assert archive.read("a").data == b"first"


def test_a_swap_that_saw_the_latest_is_kept(archive):
    assert archive.swap("a", b"1", None)
    assert archive.swap("a", b"2", mark(archive, "a"))
    assert archive.read("a").data == b"2"


def test_a_swap_that_saw_something_older_changes_nothing(archive):
    archive.swap("a", b"1", None)
    old = mark(archive, "a")
    archive.swap("a", b"2", old)
    assert not archive.swap("a", b"3", old)
    assert not archive.swap("a", b"3", None)
    assert archive.read("a").data == b"2"


def test_a_swap_of_what_is_gone_changes_nothing(archive):
    archive.swap("a", b"1", None)
    old = mark(archive, "a")
    archive.remove(["a"])
    assert not archive.swap("a", b"2", old)
    assert archive.read("a") is None


def test_names_are_listed_in_order_below_a_prefix_with_their_sizes(archive):
    for name in ("b/2", "a/1", "b/10", "b2/3"):
        archive.put_once(name, name.encode() * 2)
    assert [(filed.name, filed.size) for filed in archive.names("b/")] == [("b/10", 8), ("b/2", 6)]
    assert [filed.name for filed in archive.names("")] == ["a/1", "b/10", "b/2", "b2/3"]
    assert list(archive.names("nothing")) == []


def test_a_listed_mark_changes_with_the_contents(archive):
    archive.swap("a", b"1", None)
    (before,) = archive.names("a")
    archive.swap("a", b"two", mark(archive, "a"))
    (after,) = archive.names("a")
    assert before.mark != after.mark


def test_what_was_removed_is_gone_and_removing_it_again_is_no_error(archive):
    archive.put_once("a/b", b"1")
    archive.put_once("c", b"2")
    archive.remove(["a/b", "never there"])
    archive.remove(["a/b"])
    assert [filed.name for filed in archive.names("")] == ["c"]


def test_a_place_ends_in_the_name(archive):
    assert archive.place("data/term=1/tasks").endswith("data/term=1/tasks")


def test_a_file_that_vanishes_while_a_folder_is_listed_is_left_out(tmp_path):
    archive = FolderArchive(tmp_path)
    for name in "abc":
        archive.put_once(name, b"1")
    names = archive.names("")
    assert next(names).name == "a"
    archive.remove(["b"])
    assert [filed.name for filed in names] == ["c"]
