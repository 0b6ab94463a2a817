"""The spool: messages on disk between two processes of one app, for its owner alone, whatever else lies there."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from sedano.engine.drafts import Addressed
from sedano.engine.publisher import backlog, spool, spool_folder
from sedano.engine.publisher.spool import Spool
from sedano.errors import BacklogFull, SpoolError
from sedano.ports import Outgoing

NOW = 1_800_000_000.0
MESSAGES = [Addressed("commands:default", Outgoing("line\nbreak é", 30, "north")), Addressed("events", Outgoing("{}"))]
OPENED: list[Spool] = []
"""The spools of the running test, which it closes: SQLite's connections are freed by the garbage collector alone."""
NAMES = ("SEDANO_SPOOL", "SEDANO_QUEUES", "SEDANO_PUBLISHER", "SEDANO_STAGE", "AWS_LAMBDA_FUNCTION_NAME")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """A spool of this test's own."""
    before = {name: os.environ.pop(name) for name in NAMES if name in os.environ}
    os.environ["SEDANO_SPOOL"] = str(tmp_path / "spool")
    yield tmp_path / "spool"
    for name in NAMES:
        os.environ.pop(name, None)
    os.environ.update(before)
    while OPENED:
        OPENED.pop().close()


def of(app: str = "shop") -> Spool:
    """The spool of an app."""
    found = spool_folder.place(app)
    assert found is not None
    OPENED.append(Spool(found))
    return OPENED[-1]


def taken(one: Spool, now: float = NOW) -> list[Addressed]:
    """What can be taken."""
    return [found.message for found in one.take(100, now)]


def test_what_was_kept_is_taken_by_another_process_with_what_is_left_of_its_delay() -> None:
    of().keep(MESSAGES, NOW)
    first, second = taken(of(), NOW + 20)
    assert first == Addressed("commands:default", Outgoing("line\nbreak é", 10, "north"))
    assert second == MESSAGES[1]
    assert taken(of(), NOW + 900)[0].outgoing.delay == 0
    assert taken(of(), NOW - 9_000)[0].outgoing.delay == 30, "a clock that was set back delays nothing for longer"


def test_what_one_process_takes_no_other_one_does_until_its_minute_is_over() -> None:
    of().keep(MESSAGES, NOW)
    assert len(taken(of())) == 2
    assert taken(of(), NOW + 59) == []
    assert len(taken(of(), NOW + 60)) == 2
    assert len(taken(of(), NOW - 3_600)) == 2, "a clock that was set back finds what it took"


def test_what_was_sent_is_gone_and_what_was_not_comes_behind_the_rest() -> None:
    one = of()
    one.keep([Addressed("q", Outgoing(body)) for body in "abc"], NOW)
    a, b = one.take(2, NOW)
    one.done([a])
    one.give_back([b])
    assert one.waiting() == 2
    assert [message.outgoing.body for message in taken(of())] == ["c", "b"]


def test_what_is_released_keeps_its_place_and_a_queue_can_be_left_out() -> None:
    one = of()
    one.keep(MESSAGES, NOW)
    first, second = one.take(2, NOW)
    one.release([second])
    assert [found.message.queue for found in one.take(100, NOW, ["commands:default"])] == ["events"]
    one.give_back([first])
    one.release([second])
    one.release([])
    assert [found.seq for found in one.take(100, NOW, ["commands:mail", "none"])] == [second.seq, first.seq]


def test_what_is_given_back_is_free_for_a_clock_that_began_a_second_ago() -> None:
    one = of()
    one.keep(MESSAGES[1:], 0.0)
    one.give_back(one.take(1, 0.5))
    assert taken(of(), 0.5) == MESSAGES[1:]


def test_a_file_of_the_spool_is_readable_by_its_owner_alone() -> None:
    one = of()
    one.keep(MESSAGES, NOW)
    assert {stat.S_IMODE(path.stat().st_mode) for path in one.folder.iterdir()} == {0o600}
    assert stat.S_IMODE(one.folder.stat().st_mode) == 0o700


def test_all_or_nothing_is_kept_up_to_the_most() -> None:
    one = of()
    one.keep([MESSAGES[1]] * (spool.MOST - 1), NOW)
    with pytest.raises(BacklogFull, match="send or drop them with `sedano spool`"):
        one.keep(MESSAGES, NOW)
    assert one.waiting() == spool.MOST - 1


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_directory_that_others_can_look_into_is_refused(mode: int) -> None:
    one = of()
    one.folder.mkdir(parents=True)
    one.folder.chmod(mode)
    with pytest.raises(SpoolError, match="is open to other users; `chmod 700"):
        one.keep(MESSAGES, NOW)


def test_a_directory_above_that_others_can_write_to_is_refused(folder: Path) -> None:
    of().folder.mkdir(parents=True, mode=0o700)
    folder.chmod(0o777)
    with pytest.raises(SpoolError, match="is open to other users"):
        of().keep(MESSAGES, NOW)


@pytest.mark.parametrize("which", ["spool", "app", "deployment"])
def test_a_symbolic_link_is_refused(folder: Path, tmp_path: Path, which: str) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    place = {"spool": folder, "app": of().folder.parent, "deployment": of().folder}[which]
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.symlink_to(tmp_path / "theirs")
    with pytest.raises(SpoolError, match="is a link or not a directory"):
        of().keep(MESSAGES, NOW)
    assert list((tmp_path / "theirs").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
@pytest.mark.parametrize("which", ["spool", "app", "deployment"])
def test_a_directory_of_another_user_is_refused(folder: Path, which: str) -> None:
    of().folder.mkdir(parents=True, mode=0o700)
    place = {"spool": folder, "app": of().folder.parent, "deployment": of().folder}[which]
    os.chown(place, 12_345, 12_345)
    with pytest.raises(SpoolError, match="belongs to another user; name a directory of your own in SEDANO_SPOOL"):
        of().keep(MESSAGES, NOW)


def test_a_database_that_is_a_link_is_refused(tmp_path: Path) -> None:
    one = of()
    one.folder.mkdir(parents=True, mode=0o700)
    (one.folder / spool_folder.NAME).symlink_to(tmp_path / "theirs.db")
    with pytest.raises(SpoolError, match="is not a file that only you can read"):
        one.keep(MESSAGES, NOW)
    assert not (tmp_path / "theirs.db").exists()


@pytest.mark.parametrize("mode", [0o601, 0o602, 0o604, 0o610, 0o620, 0o640, 0o700])
def test_a_database_is_for_its_owner_alone_who_may_do_with_it_what_he_likes(mode: int) -> None:
    one = of()
    one.keep(MESSAGES, NOW)
    one.close()
    (one.folder / spool_folder.NAME).chmod(mode)
    if mode == 0o700:
        assert taken(one) == MESSAGES
        return
    with pytest.raises(SpoolError, match=f"is not a file that only you can read; take it away, or `chmod 600 {one.folder}/spool.db` if"):
        one.take(10, NOW)


def test_a_directory_in_the_place_of_the_database_is_refused() -> None:
    (of().folder / spool_folder.NAME).mkdir(parents=True, mode=0o700)
    of().folder.chmod(0o700)
    with pytest.raises(SpoolError, match="is not a file that only you can read"):
        of().keep(MESSAGES, NOW)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_database_of_another_user_is_refused() -> None:
    one = of()
    one.keep(MESSAGES, NOW)
    one.close()
    os.chown(one.folder / spool_folder.NAME, 12_345, 12_345)
    with pytest.raises(SpoolError, match="is not a file that only you can read"):
        one.take(10, NOW)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(min_size=1, max_size=300) | st.binary(max_size=300).map(lambda rest: b"SQLite format 3\0" + rest))
def test_whatever_lies_in_the_place_of_the_database_is_set_aside_and_never_raises(tmp_path: Path, content: bytes) -> None:
    one = Spool(Path(tempfile.mkdtemp(dir=tmp_path)) / "spool" / "shop" / "stage")
    one.folder.mkdir(parents=True, mode=0o700)
    (one.folder / spool_folder.NAME).write_bytes(content)
    (one.folder / spool_folder.NAME).chmod(0o600)
    assert one.take(10, NOW) == []
    one.keep(MESSAGES, NOW)
    assert one.about()[3:5] == (2, 1)
    assert [path.read_bytes() for path in one.folder.glob("unreadable-*.db")] == [content]


def test_a_database_of_another_program_is_set_aside_whole() -> None:
    one = of()
    one.folder.mkdir(parents=True, mode=0o700)
    with sqlite3.connect(one.folder / spool_folder.NAME) as theirs:
        theirs.execute("CREATE TABLE message (seq, queue, body)")
        theirs.execute("INSERT INTO message VALUES (1, 'commands:default', 'forged')")
    (one.folder / spool_folder.NAME).chmod(0o600)
    assert taken(one) == []
    with sqlite3.connect(one.folder / "unreadable-1.db") as theirs:
        assert theirs.execute("SELECT body FROM message").fetchall() == [("forged",)]


@pytest.mark.parametrize(
    ("column", "value"),
    [("queue", None), ("body", b"\xff"), ("body", None), ("delay", "soon"), ("delay", 1.5), ("due", "x"), ("due", 9e99), ("tenant", b"7")],
)
def test_a_row_that_is_no_message_is_set_aside_and_the_others_go(column: str, value: Any) -> None:
    one = of()
    one.keep([MESSAGES[1]] * 3, NOW)
    one.close()
    with sqlite3.connect(one.folder / spool_folder.NAME) as changed:
        changed.execute(f"UPDATE message SET {column} = ? WHERE seq = 2", (value,))  # noqa: S608
    assert len(taken(one)) == 2
    assert one.about()[3:5] == (2, 1)


def test_a_transaction_that_was_torn_off_in_the_log_is_as_if_it_had_never_been() -> None:
    one = of()
    one.keep(MESSAGES, NOW)
    log = one.folder / f"{spool_folder.NAME}-wal"
    whole = log.stat().st_size
    one.keep(MESSAGES, NOW)
    copy = Spool(one.folder.parent / "copy")
    copy.folder.mkdir(mode=0o700)
    for name in (spool_folder.NAME, f"{spool_folder.NAME}-wal"):
        (copy.folder / name).write_bytes((one.folder / name).read_bytes())
        (copy.folder / name).chmod(0o600)
    os.truncate(copy.folder / log.name, whole + 1_000)
    assert len(taken(copy)) == 2


def test_what_an_earlier_version_spooled_is_taken_over_and_a_torn_line_raises_nothing() -> None:
    one = of()
    one.folder.mkdir(parents=True, mode=0o700)
    lines = [json.dumps([m.queue, m.outgoing.body, m.outgoing.delay, m.outgoing.tenant]) for m in MESSAGES]
    (one.folder / "old.jsonl").write_text("\n".join([*lines, '["commands:default", "torn']))
    (one.folder / "whole.jsonl").write_text(lines[1] + "\n")
    assert backlog.DiskBacklog(one.folder).exists()
    assert [message.outgoing.body for message in taken(one)] == ["line\nbreak é", "{}", "{}"]
    assert sorted(path.name for path in one.folder.glob("*.jsonl")) == ["unreadable-old.jsonl"]


def test_a_disk_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.environ["SEDANO_SPOOL"] = str(tmp_path / "file" / "spool")
    with pytest.raises(SpoolError, match=r"cannot be used: .*; make room on its disk, or name another directory in SEDANO_SPOOL"):
        of().keep(MESSAGES, NOW)


def test_apps_and_deployments_do_not_share_a_spool() -> None:
    os.environ["SEDANO_QUEUES"] = '{"default":"https://sqs/dev"}'
    of().keep(MESSAGES, NOW)
    assert taken(of("corner")) == []
    os.environ["SEDANO_QUEUES"] = '{"default":"https://sqs/prod"}'
    assert taken(of()) == []
    os.environ["SEDANO_QUEUES"] = '{"default":"https://sqs/dev"}'
    assert len(taken(of())) == 2


def test_the_spool_of_a_program_behind_a_publisher_stays_when_the_address_changes() -> None:
    os.environ["SEDANO_QUEUES"] = '{"default":"https://sqs/dev"}'
    own = spool_folder.place("shop")
    os.environ["SEDANO_PUBLISHER"] = "unix:/run/a.sock"
    of().keep(MESSAGES, NOW)
    os.environ["SEDANO_PUBLISHER"] = "unix:/run/b.sock"
    assert spool_folder.place("shop") != own, "the publisher would be given its own messages"
    assert len(taken(of())) == 2
    os.environ["SEDANO_QUEUES"] = '{"default":"https://sqs/prod"}'
    assert taken(of()) == []


def test_publishers_of_stages_that_are_known_by_their_address_alone_do_not_share_a_spool() -> None:
    os.environ["SEDANO_PUBLISHER"] = "unix:/run/dev.sock"
    of().keep(MESSAGES, NOW)
    os.environ["SEDANO_PUBLISHER"] = "unix:/run/prod.sock"
    assert taken(of()) == []
    os.environ["SEDANO_PUBLISHER"] = "unix:/run/dev.sock"
    assert len(taken(of())) == 2


@pytest.mark.parametrize("app", ["../elsewhere", "/elsewhere", "..", "a/b"])
def test_the_name_of_an_app_is_not_a_way_out_of_the_spool(folder: Path, app: str) -> None:
    found = spool_folder.place(app)
    assert found is not None
    assert found.resolve().is_relative_to(folder)


def test_a_deployment_has_the_same_spool_in_every_version(folder: Path) -> None:
    assert spool_folder.place("a.b/c") == folder / "a%2Eb%2Fc" / "e3b0c44298fc1c14"


def test_an_app_that_never_spooled_has_nothing_to_take_and_makes_nothing(folder: Path) -> None:
    assert taken(of()) == []
    of().done([])
    of().give_back([])
    assert not backlog.DiskBacklog(of().folder).exists()
    assert not folder.exists()


def test_the_spool_lies_in_the_users_state_by_default(tmp_path: Path) -> None:
    os.environ["SEDANO_SPOOL"] = ""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path)
    try:
        assert spool_folder.home() == tmp_path / "sedano" / "spool"
        os.environ["XDG_STATE_HOME"] = ""
        assert spool_folder.home() == Path.home() / ".local" / "state" / "sedano" / "spool"
    finally:
        os.environ.pop("XDG_STATE_HOME")
        if before is not None:
            os.environ["XDG_STATE_HOME"] = before


@pytest.mark.parametrize(("name", "value"), [("SEDANO_SPOOL", "off"), ("AWS_LAMBDA_FUNCTION_NAME", "producer")])
def test_a_host_whose_disk_keeps_no_promise_has_no_spool(name: str, value: str) -> None:
    os.environ[name] = value
    assert backlog.of("shop") is None


def test_a_spool_is_listed_with_its_stage_also_when_that_is_gone_and_dropped_by_its_number() -> None:
    os.environ |= {"SEDANO_QUEUES": '{"default":"https://sqs/gone"}', "SEDANO_STAGE": "gone"}
    of().keep(MESSAGES, NOW)
    os.environ["SEDANO_QUEUES"] = "{}"
    (found,) = spool.every()
    assert found[1:] == ("shop", "gone", 2, 0, NOW, ["commands:default", "events"])
    with closing(sqlite3.connect(found.place / spool_folder.NAME)) as database:
        assert dict(database.execute("SELECT name, said FROM about")) == {"stage": "gone", "queues": '{"default":"https://sqs/gone"}'}
    with pytest.raises(SpoolError, match=r"has 2 messages, not 3; nothing was dropped"):
        Spool(found.place).drop(3)
    assert Spool(found.place).drop(2) == 2
    assert Spool(found.place).waiting() == 0


def test_a_child_process_uses_a_connection_of_its_own() -> None:
    one = of()
    one.keep(MESSAGES, NOW)
    parents = one._database
    child = os.fork()
    if child == 0:
        one.keep(MESSAGES, NOW)
        os._exit(int(one._database is parents))
    assert os.waitpid(child, 0)[1] == 0
    one.keep(MESSAGES, NOW)
    assert one.waiting() == 6


def test_the_database_is_loaded_when_something_is_stored_and_not_before() -> None:
    program = (
        "import sys; from sedano import Sedano; from sedano.engine.publisher import backlog; "
        "b = backlog.of('shop'); b.exists(); print('sqlite3' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_a_backlog_is_the_spool_of_its_app_and_forgets_what_was_sent_alone() -> None:
    found = backlog.of("shop")
    assert found is not None
    found.keep(MESSAGES, NOW)
    OPENED.append(found._spool)
    sent, unsent = found.take(10, NOW)
    assert taken(of()) == [], "the backlog has taken both"
    found.done([sent])
    found.give_back([unsent])
    assert of().waiting() == 1
    assert taken(of()) == [MESSAGES[1]]
