"""The spool's own steps: what is listed and dropped, how its database is opened again or set aside, and what an old file becomes."""

import json
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sedano.engine.drafts import Addressed
from sedano.engine.publisher import spool
from sedano.engine.publisher.process_exit import _on_sigterm
from sedano.engine.publisher.spool import Spool
from sedano.engine.publisher.spool_folder import NAME
from sedano.errors import BacklogFull, SpoolError
from sedano.ports import Outgoing

NOW = 1_800_000_000.0
MESSAGE = Addressed("commands:default", Outgoing("{}"))


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Spool]:
    """A spool in a folder of its own."""
    with closing(Spool(tmp_path / "spool" / "shop" / "stage")) as made:
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Any:
    """The directory of all spools."""
    before = os.environ.get("SEDANO_SPOOL")
    os.environ["SEDANO_SPOOL"] = str(tmp_path / "spool")
    yield tmp_path / "spool"
    os.environ.pop("SEDANO_SPOOL")
    if before is not None:
        os.environ["SEDANO_SPOOL"] = before


def private(one: Spool) -> Path:
    """Its folder, made."""
    one.folder.mkdir(parents=True, mode=0o700)
    return one.folder


def write(path: Path, content: bytes) -> None:
    """Put a file of its owner's there."""
    path.write_bytes(content)
    path.chmod(0o600)


def test_only_directories_of_ones_own_with_something_in_them_are_listed(home: Path, tmp_path: Path) -> None:
    assert spool.every() == []
    for name in ("b", "a", "empty"):
        (home / "shop" / name).mkdir(parents=True, mode=0o700)
    for name in ("b", "a"):
        (home / "shop" / name / "unreadable-1.db").write_text("")
    (home / "shop" / "file").write_text("")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "unreadable-1.db").write_text("")
    (home / "shop" / "link").symlink_to(tmp_path / "theirs")
    assert [found.place.name for found in spool.every()] == ["a", "b"]


def test_a_list_of_spools_leaves_no_open_file(home: Path) -> None:
    with closing(Spool(home / "shop" / "stage")) as made:
        made.keep([MESSAGE], NOW)
    assert [found.waiting for found in spool.every()] == [1]
    assert not [name for name in map(os.path.realpath, Path("/proc/self/fd").iterdir()) if name.startswith(str(home))]


def test_a_spool_without_messages_is_described_with_what_was_set_aside(one: Spool) -> None:
    folder = private(one)
    for name in ("unreadable-1.db", "unreadable-1.db-wal"):
        (folder / name).write_text("")
    assert one.about() == (folder, "shop", "", 0, 1, 0.0, ())
    assert (one.waiting(), (folder / NAME).exists()) == (0, False)
    (folder / "unreadable-old.jsonl").write_text("")
    assert one.about()[3:6] == (0, 2, 0.0)


def test_a_spool_that_cannot_be_read_counts_no_messages(one: Spool) -> None:
    one.keep([MESSAGE], NOW)
    one.close()
    one.folder.chmod(0o755)
    assert one.about() == (one.folder, "shop", "", 0, 0, 0.0, ())


def test_what_was_set_aside_is_counted_and_dropped_with_the_rest(one: Spool) -> None:
    one.keep([MESSAGE] * 2, NOW)
    (one.folder / "unreadable-1.db").write_text("")
    with pytest.raises(SpoolError, match=r"has 3 messages, not 2"):
        one.drop(2)
    assert one.drop(3) == 3
    assert one.about()[3:5] == (0, 0)
    assert not (one.folder / "unreadable-1.db").exists()


def test_a_closed_spool_has_closed_its_database_and_one_of_another_process_is_left_to_that(one: Spool) -> None:
    for process, closed in ((os.getpid(), True), (os.getpid() + 1, False)):
        one.keep([MESSAGE], NOW)
        database = one._database
        assert database is not None
        one._process = process
        one.close()
        assert one._database is None
        if closed:
            with pytest.raises(sqlite3.ProgrammingError):
                database.execute("SELECT 1")
        else:
            assert database.execute("SELECT 1").fetchone() == (1,)
            database.close()
    one.close()
    one._process = os.getpid()
    one.close()
    assert one.waiting() == 2


def test_a_database_that_failed_is_opened_again_by_the_next_call(one: Spool) -> None:
    one.keep([MESSAGE], NOW)
    assert one._database is not None
    one._database.close()
    with pytest.raises(SpoolError, match="cannot be used"):
        one.keep([MESSAGE], NOW)
    one.keep([MESSAGE], NOW)
    assert one.waiting() == 2


def test_a_database_is_used_as_the_promises_of_the_spool_need_it(one: Spool) -> None:
    one.keep([MESSAGE], NOW)
    assert one._database is not None
    said = {name: one._database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "busy_timeout")}
    assert said == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 2_000}
    assert one._database.execute("PRAGMA application_id").fetchone() == (1_591_346_433,), "an earlier version's spool is ours"


def test_any_thread_of_a_program_stores_its_messages(one: Spool) -> None:
    one.keep([MESSAGE], NOW)
    with ThreadPoolExecutor(1) as other:
        other.submit(one.keep, [MESSAGE], NOW).result()
    assert one.waiting() == 2


def test_a_spool_is_made_below_directories_that_are_made_too(tmp_path: Path) -> None:
    with closing(Spool(tmp_path / "home" / "state" / "sedano" / "spool" / "shop" / "stage")) as one:
        one.keep([MESSAGE], NOW)
        assert one.waiting() == 1


def test_nothing_is_kept_of_messages_for_which_the_disk_has_no_room(one: Spool) -> None:
    one.keep([MESSAGE], NOW)
    assert one._database is not None
    one._database.execute("PRAGMA max_page_count = 8")
    with pytest.raises(SpoolError, match="database or disk is full; make room on its disk"):
        one.keep([MESSAGE, Addressed("events", Outgoing("x" * 100_000))], NOW)
    assert one.about()[3:7] == (1, 0, NOW, ["commands:default"])


def test_a_database_whose_tables_did_not_all_find_room_is_made_anew_by_the_next_call(one: Spool) -> None:
    write(private(one) / NAME, b"")
    with closing(sqlite3.connect(one.folder / NAME, isolation_level=None)) as database:
        database.execute("PRAGMA max_page_count = 3")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            one._founded(database)
    one.keep([MESSAGE], NOW)
    assert one.about()[3:5] == (1, 0)


def test_a_moment_that_is_no_number_is_not_the_oldest(one: Spool) -> None:
    one.keep([MESSAGE], NOW)
    assert one._database is not None
    one._database.execute("UPDATE message SET kept = 'x'")
    assert one.about()[3:6] == (1, 0, 0.0)


class Failing(Spool):
    """A spool whose database cannot be founded."""

    database: sqlite3.Connection | None = None
    code = sqlite3.SQLITE_FULL

    def _founded(self, database: sqlite3.Connection) -> None:
        self.database = database
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = self.code
        raise error


def test_a_database_that_cannot_be_written_now_is_not_set_aside_and_not_left_open(one: Spool) -> None:
    failing = Failing(one.folder)
    with pytest.raises(SpoolError, match="database or disk is full"):
        failing.keep([MESSAGE], NOW)
    assert failing.database is not None
    with pytest.raises(sqlite3.ProgrammingError):
        failing.database.execute("SELECT 1")
    assert [path.name for path in one.folder.glob("*.db")] == [NAME]


def test_what_is_set_aside_has_a_number_of_its_own(one: Spool) -> None:
    folder = private(one)
    for number in (1, 2, 3):
        one.close()
        write(folder / NAME, b"no database %d" % number)
        one.keep([MESSAGE], NOW)
        assert (folder / f"unreadable-{number}.db").read_bytes() == b"no database %d" % number
    assert len([*folder.glob("unreadable-*.db")]) == 3


def test_an_old_file_is_taken_over_in_one_transaction(one: Spool) -> None:
    one.keep([], NOW)
    assert one._database is not None
    lines = [json.dumps(["commands:default", "{}", 0, None])] * 2
    (one.folder / "old.jsonl").write_text("\n".join(lines))
    said: list[str] = []
    one._database.set_trace_callback(said.append)
    one._adopt(one._database)
    one._database.set_trace_callback(None)
    assert [text.split()[0] for text in said] == ["BEGIN", "INSERT", "INSERT", "COMMIT"]


def test_an_old_line_keeps_its_key_and_its_tenant_and_one_that_is_no_message_is_left(one: Spool) -> None:
    folder = private(one)
    good = [["commands:q.fifo", "a", 0, "acme", "k"], ["commands:default", "b", 5, None]]
    bad = [["q", 7, 0, None], ["q", "c", 0, None, 7], ["q", "c", "soon", None], ["q"], 7]
    (folder / "good.jsonl").write_text("\n".join(map(json.dumps, good)))
    for number, line in enumerate(bad):
        (folder / f"bad{number}.jsonl").write_text(json.dumps(line))
    assert [found.message for found in one.take(10, NOW)] == [
        Addressed("commands:q.fifo", Outgoing("a", 0, "acme", serial_key="k")), Addressed("commands:default", Outgoing("b", 0)),
    ]  # fmt: skip
    assert sorted(path.name for path in folder.glob("*.jsonl")) == [f"unreadable-bad{number}.jsonl" for number in range(len(bad))]


def test_the_oldest_message_and_the_number_that_wait_are_told_and_none_is_lost_at_the_limit(one: Spool) -> None:
    one.keep([MESSAGE], NOW + 5.0)
    one.keep([MESSAGE], NOW)
    assert one.about()[3:6] == (2, 0, NOW)
    one.keep([MESSAGE] * 9_998, NOW)
    with pytest.raises(BacklogFull, match="10000 messages already wait in"):
        one.keep([MESSAGE], NOW)
    assert (one.waiting(), spool.MOST) == (10_000, 10_000)


@pytest.mark.parametrize("size", [511, 512])
def test_what_is_smaller_than_the_smallest_page_is_no_database(one: Spool, size: int) -> None:
    path = private(one) / NAME
    write(path, (b"SQLite format 3\0" + bytes(size))[:size])
    assert spool._may_be_a_database(path) == (size == 512)
    write(path, b"SQLite format 4\0" + bytes(1_000))
    assert not spool._may_be_a_database(path)
    write(path, b"")
    assert spool._may_be_a_database(path)


@pytest.mark.parametrize("text", ["half a pair \ud800", 7, None, b"x"])
def test_text_that_cannot_be_sent_is_no_message(text: Any) -> None:
    assert spool._message((text, "{}", 0, 0.0, None, None), 0.0) is None
    assert spool._message(("q", text, 0, 0.0, None, None), 0.0) is None
    found = spool._message(("q", "{}", 0, 0.0, text, text), 0.0)
    assert (found is None) == (text is not None)


def test_the_delay_of_a_stored_message_is_what_is_left_of_it_in_whole_seconds() -> None:
    for delay, due, left in ((30, 20.25, 21), (30, 20.0, 20), (30, 99.0, 30), (30, -5.0, 0), (-3, 99.0, 0), (0, 0, 0)):
        found = spool._message(("q", "{}", delay, due, None, None), 0.0)
        assert found is not None
        assert found.outgoing.delay == left
    latest = 999_999_999_999
    found = spool._message(("q", "{}", latest, latest + 0.5, None, None), 0.0)
    assert found is not None
    assert found.outgoing.delay == latest
    for delay, due in ((True, 0.0), (1.0, 0.0), (1, "0"), (1, 1e12), (1, -1e12), (1, float("nan")), (10**12, 0.0), (-(10**12), 0.0)):
        assert spool._message(("q", "{}", delay, due, None, None), 0.0) is None


def test_what_is_to_be_done_depends_on_whether_the_disk_may_be_written_at_all() -> None:
    named = "name a directory that can be written to in SEDANO_SPOOL, or 'off' for none"
    readonly = sqlite3.OperationalError("attempt to write a readonly database")
    for error in (PermissionError(13, "no"), OSError(30, "Read-only file system"), readonly):
        assert spool._cure(error) == named
    assert spool._cure(OSError(28, "No space left on device")) == "make room on its disk, or name another directory in SEDANO_SPOOL"


def test_a_program_that_is_told_to_end_ends_as_one_that_a_signal_ended() -> None:
    with pytest.raises(SystemExit) as ended:
        _on_sigterm(15, None)
    assert ended.value.code == 143
