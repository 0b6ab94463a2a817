"""Stories of polls that have little time: several attempts finish a long page, and a run at its limit is a failure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, every, testing
from sedano.api.polls import polling
from sedano.engine.sources.polls import BEHIND, PollRound
from sedano.engine.worker.time_limits import HardLimit
from sedano.errors import Ignore, Reject, Unavailable
from sedano.model.sources.polls import HOLD_S, MARK
from sedano.polls import Polled
from sedano.ports import Outgoing
from sedano.testing import World
from tests.stories.refusing import Refusing
from tests.stories.test_polls import ORDERS, Shop, state


def numbers(cursor: Any, _: Callable[[str], str]) -> Polled | None:
    """One page of 250 items."""
    return Polled([{"id": number} for number in range(1, 251)], "end") if cursor is None else None


def test_a_page_for_which_no_attempt_has_enough_time_is_published_group_by_group() -> None:
    shop = Shop()
    with testing.world(shop.app) as world:
        poll, polls = shop.app.polls["orders"]._replace(read=numbers), polling(shop.app)
        for by, words in (("one", "100 of 250 items are published"), ("two", "100 of 150 items are published")):
            with pytest.raises(Unavailable, match=words):
                polls.run(poll, by, world.clock.now() + 5)
        assert (state(world).cursor, state(world).published, state(world).by) == (None, 200, ""), "the claim is given back"
        assert polls.run(poll, "three", world.clock.now() + 5).published == 50
        assert polls.run(poll, "four", world.clock.now() + 5) == PollRound()
        assert (state(world).cursor, state(world).published, len(state(world).seen)) == ("end", 250, 250 * MARK)
        world.drain()
        assert shop.ran == [*range(1, 251)]
        assert len(world.sent("ordered")) == 250, "no item was published twice"


def test_a_page_in_groups_stops_when_another_takes_it_over() -> None:
    shop = Shop()
    with testing.world(shop.app) as world:
        poll, now, sent = shop.app.polls["orders"]._replace(read=numbers), world.clock.now(), list[str]()

        def asleep(queue: str, _: Outgoing) -> None:
            sent.append(queue)
            if len(sent) == 1:
                world.clock.advance(121)
                polling(shop.app).run(poll, "two", now + 900)

        shop.app.attach(replace(world.ports, queues=Refusing(world.ports.queues, asleep)))
        assert polling(shop.app).run(poll, "one", now + 900) == PollRound(note=BEHIND)
        assert (state(world).cursor, state(world).published, len(sent)) == ("end", 250, 350)


def test_a_claim_lasts_from_the_moment_at_which_it_is_taken_however_long_the_source_took() -> None:
    shop = Shop()
    with testing.world(shop.app) as world:
        began, claims = world.clock.now(), list[float]()

        def slow(cursor: Any, _: Callable[[str], str]) -> Polled | None:
            world.clock.advance(130)
            return Polled([{"id": 1}], "end")

        def looks(queue: str, _: Outgoing) -> None:
            claims.append(state(world).until - world.clock.now())

        shop.app.attach(replace(world.ports, queues=Refusing(world.ports.queues, looks)))
        polling(shop.app).run(shop.app.polls["orders"]._replace(read=slow), "one", began + 900)
        assert claims == [HOLD_S]


class Ended(BaseException):
    """The end of a run that no `except Exception` catches, as at a hard time limit."""


def test_a_claim_is_given_back_however_the_run_ends() -> None:
    shop = Shop(ORDERS[:1])

    def ends(queue: str, _: Outgoing) -> None:
        raise Ended

    with testing.world(shop.app) as world:
        shop.app.attach(replace(world.ports, queues=Refusing(world.ports.queues, ends)))
        with pytest.raises(Ended):
            polling(shop.app).run(shop.app.polls["orders"], "one", world.clock.now() + 900)
        assert (state(world).by, state(world).until) == ("", 0.0)


def counted(source: Callable[[World, int], Any], **options: Any) -> tuple[int, float]:
    """Let time pass for one poll of *source* and its retries; return how often it was read, and how many failures were counted."""
    app, asked = Sedano("shop"), list[Any]()

    def read(cursor: Any) -> Any:
        asked.append(cursor)
        return source(world, len(asked))

    app.poll("orders", every(300), read, identity="id", **options)(app.task(name="ordered", ignore_result=True)(lambda order: None))
    with testing.world(app) as world:
        world.elapse(590)
        return len(asked), world.telemetry.counted("PollsFailed")


def late(world: World, _: int) -> Polled:
    """Return a page after the hard limit."""
    world.clock.advance(21)
    return Polled([{"id": 1}], 1)


def ended(world: World, _: int) -> None:
    """End as the watch of a hard limit ends a body."""
    world.clock.advance(21)
    raise HardLimit


@pytest.mark.parametrize("source", [late, ended])
def test_a_run_at_its_hard_limit_is_not_retried_and_counts_as_failed(source: Any) -> None:
    assert counted(source, time_limit=20) == (1, 1)


def rejected(world: World, _: int) -> None:
    """Fail for good."""
    raise Reject("the contract with the source has ended")


def ignored(world: World, _: int) -> None:
    """End without a failure."""
    raise Ignore


@pytest.mark.parametrize(("source", "failures"), [(rejected, 1), (ignored, 0)])
def test_a_run_counts_as_failed_if_its_failure_is_recorded(source: Any, failures: int) -> None:
    assert counted(source) == (1, failures)


def test_no_group_begins_in_the_last_seconds_before_the_time_limit_of_the_poll() -> None:
    app = Sedano("shop")
    task = app.task(name="ordered", ignore_result=True)(lambda order: None)

    def slow(cursor: Any) -> Polled | None:
        world.clock.advance(55)
        return numbers(cursor, str)

    app.poll("orders", every(300), slow, identity="id", time_limit=60)(task)
    with testing.world(app) as world:
        world.elapse(301)
        assert len(world.sent("ordered")) == 100


def test_a_final_error_that_a_retry_cures_is_not_counted_as_a_failure() -> None:
    assert counted(lambda world, times: "no page" if times == 1 else None) == (2, 0)
    assert counted(lambda world, times: "no page") == (4, 1)
