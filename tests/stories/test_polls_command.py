"""`sedano polls`: each poll with its cursor, its items, and the end of its last run, for a terminal, a pipe and a program."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sedano import Sedano, cron, every, testing
from sedano.cli import main
from sedano.errors import SourceBusy, Unavailable
from sedano.model.memos import Memo, memo_name
from sedano.model.sources.polls import POLL
from sedano.polls import Polled
from sedano.testing import World
from sedano.views.polls import MOMENTS, last_moments, polls
from tests.stories.terminals import on_terminal
from tests.stories.test_polls import Shop

app = Sedano("till")
APP = ["--app", "tests.stories.test_polls_command:app"]
JANUARY = 1_767_225_600.0


def nothing(cursor: Any) -> Polled | None:
    """Return nothing."""
    return None


@app.poll("orders", every(minutes=5), nothing, identity="id")
@app.poll("nightly", cron("0 3 * * *"), nothing)
@app.task(name="till.ordered")
def ordered(order: Any) -> None:
    """Nothing."""


@pytest.fixture
def world() -> Iterator[World]:
    """The till in memory."""
    with testing.world(app) as built:
        yield built


def told(capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """What the verb writes."""
    capsys.readouterr()
    assert main(["polls", *APP, *more]) == 0
    return capsys.readouterr().out


def test_a_poll_that_never_ran_and_one_that_did_are_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.reads("orders", lambda cursor: Polled([{"id": 1}, {"id": 2}], {"page": 2}))
    world.elapse(301)
    nightly, orders = json.loads(told(capsys, "--json"))["items"]
    assert orders == {
        "poll": "orders", "task": "till.ordered", "when": "every 300 s", "next": "2026-01-01T00:10:00.000000Z",
        "last": "2026-01-01T00:05:00.000000Z", "state": "SUCCESS", "error": "", "cursor": '{"page":2}', "items": 2,
        "published": "2026-01-01T00:05:00.000000Z", "waits": None,
    }  # fmt: skip
    assert nightly == {
        "poll": "nightly", "task": "till.ordered", "when": "0 3 * * * UTC", "next": "2026-01-01T03:00:00.000000Z",
        "last": "2025-12-31T03:00:00.000000Z", "state": "", "error": "", "cursor": "", "items": 0, "published": None, "waits": None,
    }  # fmt: skip
    head, first, _ = told(capsys, "--header").splitlines()
    assert head == "poll\ttask\twhen\tnext\tlast\tstate\terror\tcursor\titems\tpublished\twaits"
    assert first.startswith("nightly\ttill.ordered\t0 3 * * * UTC\t")


def test_the_error_of_the_last_run_and_the_time_that_the_source_named_are_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    def away(cursor: Any) -> Polled | None:
        raise Unavailable("the source does not answer")

    world.reads("orders", away)
    world.elapse(590)
    (orders,) = [one for one in polls(app).rows if one.poll == "orders"]
    assert (orders.state, orders.error) == ("FAILURE", "Unavailable: the source does not answer")
    assert "the source does not answer" in told(capsys)

    def busy(cursor: Any) -> Polled | None:
        raise SourceBusy(700)

    world.reads("orders", busy)
    world.elapse(20)
    (orders,) = [one for one in polls(app).rows if one.poll == "orders"]
    assert (orders.state, orders.error, orders.waits) == ("SUCCESS", "", JANUARY + 600 + 700)


def test_a_state_that_cannot_be_read_is_shown_as_an_error(world: World) -> None:
    name = memo_name(POLL, "orders")
    world.ports.memos.change(Memo(name, '{"v":2}', "n"), Memo(name))
    (orders,) = [one for one in polls(app).rows if one.poll == "orders"]
    assert "not the state of a poll" in orders.error


def test_a_terminal_gets_moments_relative_to_now(world: World) -> None:
    world.elapse(301)
    line = next(line for line in on_terminal(["polls", *APP]).splitlines() if "orders" in line)
    assert "in 4 min" in line
    assert "1 s ago" in line


def test_an_app_without_polls_has_none() -> None:
    other = Sedano("other")
    with testing.world(other):
        assert polls(other).rows == ()


def test_the_last_moment_of_a_timetable_is_found_however_rare_it_is() -> None:
    assert last_moments(every(1), JANUARY + 0.5) == [JANUARY - number for number in range(MOMENTS)]
    assert last_moments(every(hours=1), JANUARY + 1_800) == [JANUARY - 3_600 * number for number in range(MOMENTS)]
    assert last_moments(cron("0 0 1 * *"), JANUARY + 30 * 86_400) == [JANUARY]
    assert last_moments(cron("0 0 1 1 *"), JANUARY + 60 * 86_400) == []


def test_a_poll_that_is_paused_shows_its_last_run() -> None:
    shop = Shop()

    def away(cursor: Any) -> Polled | None:
        raise Unavailable("the source does not answer")

    with testing.world(shop.app) as world:
        world.reads("orders", away)
        world.elapse(590)
        (before,) = polls(shop.app).rows
        shop.app.control.pause(task="poll.orders")
        world.elapse(600)
        (after,) = polls(shop.app).rows
        assert (after.last, after.state, after.error) == (before.last, "FAILURE", "Unavailable: the source does not answer")
