"""What runs now: the tasks that heartbeats name and the ledger has as running, with their age."""

import json
from typing import Any

import pytest

from sedano import Sedano
from sedano.cli import main
from sedano.model.cluster.members import MemberRecord
from sedano.model.ledger.records import Claim
from sedano.testing import World, world
from sedano.views.workers import active

app = Sedano("shop")
REFERENCE = ("--app", "tests.stories.test_active_tasks:app")
seen: list[Any] = []


@app.task(name="look")
def look() -> None:
    """See which tasks run."""
    seen.append(app.control.inspect().active())


def beats(one: World, worker: str, *tasks: str) -> None:
    """Let *worker* send a heartbeat that names *tasks*."""
    one.ports.members.beat(MemberRecord(worker, 1, "ACTIVE", len(tasks), one.clock.now(), tasks))


def claims(one: World, worker: str, task_id: str, attempt: int = 0) -> None:
    """Let *worker* claim the task *task_id*."""
    now = one.clock.now()
    claim = Claim(task_id, attempt, f"m-{task_id}", f"n-{task_id}", now + 300, int(now * 1_000_000), "pack", owner=worker)
    assert one.ports.ledger.claim([claim])[0].granted


def test_a_body_sees_itself_run_and_no_task_that_has_ended() -> None:
    seen.clear()
    with world(app) as one:
        result = look.delay()
        one.drain()
        ((worker, (task,)),) = seen[0].items()
        assert (task.id, task.name, task.attempt) == (result.id, "look", 0)
        assert task.claimed == pytest.approx(task.seen, abs=0.01)
        assert task.expires > task.claimed
        assert app.control.inspect().active() == {worker: []}


def test_the_longest_running_task_is_the_first_and_its_heartbeat_is_dated() -> None:
    with world(app) as one:
        claims(one, "w-1", "b", attempt=2)
        one.clock.advance(5)
        claims(one, "w-1", "a")
        claims(one, "w-2", "other")
        beats(one, "w-1", "a", "b", "other", "unknown")
        beat = one.clock.now()
        claims(one, "w-1", "since")
        one.clock.advance(20)
        (first, second) = app.control.inspect().active()["w-1"]
        assert [(task.id, task.name, task.attempt, task.seen - task.claimed) for task in (first, second)] == [
            ("b", "pack", 2, 5.0), ("a", "pack", 0, 0.0),
        ]  # fmt: skip
        assert (first.seen, first.expires) == (beat, beat - 5 + 300)


def test_a_worker_that_left_or_is_lost_runs_nothing() -> None:
    with world(app) as one:
        claims(one, "w-1", "a")
        one.ports.members.beat(MemberRecord("w-1", 1, "LEFT", 1, one.clock.now(), ("a",)))
        assert app.control.inspect().active() == {}
        claims(one, "w-2", "b")
        beats(one, "w-2", "b")
        one.clock.advance(290)
        assert [task.id for task in app.control.inspect().active()["w-2"]] == ["b"]
        one.clock.advance(60)
        assert app.control.inspect().active() == {}


def test_the_verb_prints_the_tasks_and_the_age_of_the_oldest_heartbeat(capsys: pytest.CaptureFixture[str]) -> None:
    with world(app) as one:
        claims(one, "w-1", "a")
        beats(one, "w-1", "a")
        one.clock.advance(20)
        assert main(["workers", "--active", *REFERENCE]) == 0
        out, err = capsys.readouterr()
        assert "w-1" in out
        assert "pack" in out
        assert "according to heartbeats of the last 20 s; tasks that began since the heartbeat of their worker are missing" in err
        assert main(["workers", "--active", "--json", *REFERENCE]) == 0
        (row,) = json.loads(capsys.readouterr().out)["items"]
        assert (row["worker"], row["task"], row["name"], row["attempt"]) == ("w-1", "a", "pack", 0)
        assert active(app).about.certainty == "live"


def test_the_verb_says_nothing_of_heartbeats_if_nothing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with world(app):
        assert main(["workers", "--active", *REFERENCE]) == 0
        assert "heartbeats" not in capsys.readouterr().err
