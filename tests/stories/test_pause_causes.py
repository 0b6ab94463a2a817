"""A pause says who paused and why, in each view of it, until it is paused anew."""

import getpass
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, testing
from sedano.cli import main
from sedano.errors import Unavailable
from sedano.model.memos import Memo, MemoChanged
from sedano.model.pauses import cause_name
from sedano.ports.absent import absent
from sedano.views.now import now
from sedano.views.queues import queues

app = Sedano("causes", queues=("default", "mail"))
APP = ("--app", "tests.stories.test_pause_causes:app", "--yes")
ME = getpass.getuser()


@app.task(name="causes.send", queue="mail")
def send() -> None:
    """Send a mail."""


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory."""
    with testing.world(app) as world:
        yield world


def needs() -> list[str]:
    """The sentences about pauses."""
    return [one.sentence for one in now(app).needs if one.kind == "paused"]


def test_a_pause_says_who_paused_and_why_until_it_is_paused_anew(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pause", "mail", *APP, "--reason", "bad \x1b deploy"]) == main(["pause", "causes.send", *APP]) == 0
    assert needs() == [f"the queue mail is paused by {ME}: bad \x1b deploy; 0 messages wait", f"the task causes.send is paused by {ME}"]
    capsys.readouterr()
    assert main(["queues", *APP[:2], "--json"]) == 0
    (row,) = [one for one in json.loads(capsys.readouterr().out)["items"] if one["queue"] == "mail"]
    assert (row["paused"], row["by"], row["reason"]) == (True, ME, "bad \x1b deploy")
    assert main(["resume", "mail", *APP]) == main(["resume", "causes.send", *APP]) == 0
    app.control.pause(queue="mail")
    assert needs() == ["the queue mail is paused; 0 messages wait"], "the cause of the pause before is over"
    app.control.pause(queue="mail", reason="planned work")
    assert [(one.by, one.reason) for one in queues(app).rows] == [("", ""), ("", "planned work")]


def test_a_pause_without_a_cause_writes_nothing_more(world: testing.World) -> None:
    app.control.pause(queue="mail")
    assert world.ports.memos.read([cause_name("queue", "mail")]) == {}


def test_a_stage_without_memos_pauses_without_a_cause(world: testing.World) -> None:
    app.attach(replace(world.ports, memos=absent("memos")))
    app.control.pause(queue="mail", by="ana")
    assert needs() == ["the queue mail is paused; 0 messages wait"]


class Contended:
    """Memos that others change under each attempt."""

    def __init__(self, inner: Any) -> None:
        """Write to *inner* first."""
        self.read, self._inner = inner.read, inner

    def change(self, new: Memo, seen: Memo) -> MemoChanged:
        """Let another text win."""
        self._inner.change(new._replace(nonce=f"{new.nonce}!", text="other"), seen)
        return MemoChanged(False, self.read([new.name])[new.name])


def test_a_cause_that_others_change_all_the_time_is_given_up_and_the_pause_holds(world: testing.World) -> None:
    app.attach(replace(world.ports, memos=Contended(world.ports.memos)))
    with pytest.raises(Unavailable, match="cause of the pause of queue mail: others changed it under each of 8 attempts"):
        app.control.pause(queue="mail", by="ana")
    assert app.control.inspect().paused() == {"mail"}
    assert needs() == ["the queue mail is paused; 0 messages wait"]
