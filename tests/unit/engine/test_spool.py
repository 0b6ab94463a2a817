"""The spool: messages on disk between two processes of one app."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano import spool
from sedano.engine.drafts import Addressed
from sedano.ports import Outgoing

MESSAGES = [Addressed("commands:default", Outgoing("line\nbreak é", 30, "north")), Addressed("events", Outgoing("{}"))]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """A spool of this test's own."""
    names = ("SEDANO_SPOOL", "SEDANO_QUEUES")
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ["SEDANO_SPOOL"] = str(tmp_path / "spool")
    yield tmp_path / "spool"
    for name in names:
        os.environ.pop(name, None)
    os.environ.update(before)


def test_what_was_written_is_taken() -> None:
    path = spool.write("shop", "one", MESSAGES)
    assert list(spool.take("shop")) == [(path, MESSAGES)]


def test_only_the_owner_reads_it() -> None:
    path = spool.write("shop", "one", MESSAGES)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_that_was_not_unlinked_is_taken_again() -> None:
    spool.write("shop", "one", MESSAGES)
    assert len(list(spool.take("shop"))) == len(list(spool.take("shop"))) == 1


def test_a_file_that_another_process_sends_is_left_to_it() -> None:
    path = spool.write("shop", "one", MESSAGES)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert list(spool.take("shop")) == []
    assert len(list(spool.take("shop"))) == 1


def test_a_file_that_another_process_sent_meanwhile_is_passed_over() -> None:
    for name in ("one", "two"):
        spool.write("shop", name, MESSAGES)
    taken = spool.take("shop")
    next(taken)[0].unlink()
    next(path for path in spool.directory("shop").iterdir()).unlink()
    assert list(taken) == []


def test_apps_do_not_share_a_spool() -> None:
    spool.write("shop", "one", MESSAGES)
    assert list(spool.take("corner")) == []


def test_what_was_meant_for_one_deployment_is_not_sent_to_another(folder: Path) -> None:
    os.environ["SEDANO_QUEUES"] = '{"default":"https://sqs/dev"}'
    path = spool.write("shop", "one", MESSAGES)
    os.environ["SEDANO_QUEUES"] = '{"default":"https://sqs/prod"}'
    assert list(spool.take("shop")) == []
    os.environ["SEDANO_QUEUES"] = '{"default":"https://sqs/dev"}'
    assert list(spool.take("shop")) == [(path, MESSAGES)]


@pytest.mark.parametrize("app", ["../elsewhere", "/elsewhere", "..", "a/b"])
def test_the_name_of_an_app_is_not_a_way_out_of_the_spool(folder: Path, app: str) -> None:
    assert spool.directory(app).resolve().is_relative_to(folder)


def test_an_app_that_never_spooled_has_nothing_to_take(folder: Path) -> None:
    assert list(spool.take("shop")) == []
    assert not folder.exists()


def test_the_spool_lies_in_the_users_state_by_default(tmp_path: Path) -> None:
    os.environ["SEDANO_SPOOL"] = ""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path)
    try:
        assert spool.directory("shop").parent == tmp_path / "sedano" / "spool" / "shop"
    finally:
        os.environ.pop("XDG_STATE_HOME")
        if before is not None:
            os.environ["XDG_STATE_HOME"] = before
