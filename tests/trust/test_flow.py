"""Permits and pauses on a deployed stage, each function under its own role: a holder is killed, a task is held back and says why."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.trust import rounds
from tests.trust.driven import Driven


@pytest.fixture
def driven(enforced: Driven) -> Driven:
    """The stage, with empty queues and a control table that knows of no worker."""
    enforced.forget()
    rounds.alone(enforced)
    return enforced


def test_the_permit_of_a_killed_holder_is_given_to_the_next_when_its_lease_is_over(driven: Driven, walks: Any, tmp_path: Path) -> None:
    place = tmp_path / "holder"
    with ThreadPoolExecutor(1) as aside:
        killed = walks.alone_with.delay(str(place))
        running = aside.submit(driven.move_one, "commands")
        holder = _written(place)
        (permit,) = walks.app.outlet.ports.limits.board("walks.alone_with/").permits.values()
        assert permit.expires / 1000 > time.time()
        following = walks.alone_with.delay(str(place))
        driven.move_one("commands")
        driven.move_one("records")
        assert f"permit held by walks.alone_with {killed.id}" in walks.app.control.explain(following.id).sentence
        os.kill(holder, signal.SIGKILL)
        assert running.result() == 1
    driven.hurry()
    driven.move_one("commands")
    while time.time() < permit.expires / 1000:
        assert {killed.state, following.state} <= {"PENDING", "RUNNING"}, "a dead holder's lease runs on"
        driven.move(1)
    driven.settle(killed, following)
    assert [result.state for result in (killed, following)] == ["SUCCESS", "SUCCESS"]


def _written(place: Path) -> int:
    """What a task wrote into its file, as soon as it did."""
    give_up = time.monotonic() + 60
    while not (place.exists() and place.read_text()):
        assert time.monotonic() < give_up, "the task did not start"
        time.sleep(0.05)
    return int(place.read_text())


@pytest.mark.parametrize("kind", ["task", "tenant", "id"])
def test_what_is_paused_waits_says_so_and_goes_on(kind: str, driven: Driven, walks: Any) -> None:
    waiting, other = walks.echo.apply_async(("waits",), tenant="noisy", task_id="paused-by-" + kind), walks.add.delay(1, 2)
    name = {"task": "walks.echo", "tenant": "noisy", "id": waiting.id}[kind]
    walks.app.control.pause(**{kind: name})
    driven.cool()
    driven.move()
    assert (waiting.state, other.state) == ("PENDING", "SUCCESS")
    sentence = walks.app.control.explain(waiting.id).sentence
    assert f"paused: {kind} {name}" in sentence
    walks.app.control.resume(**{kind: name})
    driven.cool()
    driven.settle(waiting)
    assert waiting.state == "SUCCESS"
