"""A process of the testing world dies at any call of a port: what is idempotent has one effect, and what is not is seen."""

import pytest

from sedano import testing
from sedano.errors import OptionError
from sedano.testing.crash_points import CrashWatch, Point, PortCall, place, points, ran_again, sampled
from tests.stories.mortal import SAID, STORIES, app, plain, play, unclaimed

every_story = pytest.mark.parametrize("name", STORIES)


@pytest.fixture(autouse=True)
def _nothing_said() -> None:
    SAID.clear()


@every_story
def test_a_death_at_any_call_is_survived_by_whoever_comes_next(name: str) -> None:
    whole, undisturbed = play(name)
    assert whole
    every_point = points(undisturbed.calls)
    assert len(every_point) >= 10
    for point in every_point:
        said, watch = play(name, point)
        assert said == whole, place(point, undisturbed.calls)
        assert watch.fired, place(point, undisturbed.calls)
        assert watch.calls[: (point.at or 0) + 1] == undisturbed.calls[: (point.at or 0) + 1]


@every_story
def test_messages_that_all_come_twice_change_nothing(name: str) -> None:
    whole, undisturbed = play(name)
    said, watch = play(name, Point(None))
    assert said == whole
    assert watch.runs == undisturbed.runs
    assert len(watch.calls) > len(undisturbed.calls)


def test_of_a_claimed_task_only_the_death_between_its_body_and_its_record_runs_the_body_again() -> None:
    _, undisturbed = play("plain")
    again = {place(one, undisturbed.calls) for one in points(undisturbed.calls) if play("plain", one)[1].runs != undisturbed.runs}
    assert again == {"the worker died before ledger.record (after ledger.claim)"}


def test_a_copy_runs_a_task_again_that_claims_nothing() -> None:
    with testing.world(app, watch=CrashWatch(Point(None))) as world:
        unclaimed.delay("a")
        world.drain()
        assert len(world.sent("unclaimed")) == 1
    assert SAID == ["a", "a"]


def test_every_process_and_the_calls_of_bodies_are_among_the_points() -> None:
    seen = {(call.process, call.body) for name in STORIES for call in play(name)[1].calls}
    assert {("worker", ""), ("router", ""), ("recorder", ""), ("scheduler", ""), ("worker", "locks")} <= seen


def test_what_the_program_itself_calls_is_no_point() -> None:
    watch = CrashWatch()
    with testing.world(app, watch=watch) as world:
        plain.delay("a")
        assert (watch.calls, SAID) == ([], [])
        world.drain()
        assert watch.calls[0] == PortCall("worker", "queues.receive", sides=("after",))


def test_a_timer_that_is_forgotten_is_forgotten_with_its_copy() -> None:
    with testing.world(app, watch=CrashWatch(Point(None))) as world:
        plain.apply_async(args=("a",), countdown=5_000).revoke()
        world.drain()
    assert SAID == []


def test_points_are_sampled_from_the_first_to_the_last() -> None:
    every_point = points([PortCall("worker", "ledger.claim")] * 50)
    assert len(every_point) == 100
    assert sampled(every_point, 100) == every_point
    some = sampled(every_point, 4)
    assert [every_point.index(one) for one in some] == [0, 33, 66, 99]
    assert sampled(every_point, 1) == [Point(25)]


def test_a_point_is_read_as_it_is_written() -> None:
    for point in (Point(0), Point(31, "after"), Point(None)):
        assert Point.read(str(point)) == point
    for wrong in ("", "31", "31-", "after", "-1-after", "31-later", "x-after"):
        with pytest.raises(OptionError, match="write the number of a call and a side, such as 31-after, or doubled"):
            Point.read(wrong)


def test_a_place_names_the_neighbours_of_the_same_process() -> None:
    calls = [PortCall("worker", "ledger.claim"), PortCall("router", "events.read"), PortCall("worker", "leases.take", "shop.pay")]
    assert place(Point(0, "after"), calls) == "the worker died after ledger.claim, before leases.take"
    assert place(Point(0), calls) == "the worker died before ledger.claim"
    assert place(Point(2), calls) == "the worker died before leases.take (after ledger.claim), in the body of shop.pay"
    assert place(Point(1, "after"), calls) == "the router died after events.read"
    assert place(Point(None), calls) == "every message was delivered twice"
    assert ran_again(CrashWatch().runs, CrashWatch().runs) == "no body ran again"
