"""Locks inside tasks: bound to the invocation, so that nothing is renewed and nothing is held on to."""

from typing import Any

import pytest

from sedano import Sedano, current, testing
from sedano.errors import LeaseLost, LeaseTaken
from sedano.testing import INVOCATION_S

DEADLINE_LEFT = INVOCATION_S + 1


def app_with(body: Any) -> Any:
    """An app of one task, *body*, which is given the app."""
    app = Sedano("locks")

    @app.task(name="locked", retry=False)
    def locked() -> Any:
        return body(app)

    return app, locked


def test_inside_a_task_a_lock_lasts_until_the_deadline_and_needs_no_renewal() -> None:
    def body(app: Sedano) -> list[Any]:
        with app.lock("x") as lease:
            return [lease.remaining, current().deadline]

    app, locked = app_with(body)
    with testing.world(app) as world:
        remaining, deadline = locked.delay().get()
        assert remaining == pytest.approx(deadline - world.clock.now(), abs=1)
        assert 0 < remaining <= INVOCATION_S


def test_a_lease_is_void_after_the_task_that_took_it_has_ended() -> None:
    kept = []
    app, locked = app_with(lambda app: kept.append(app.lock("x").acquire()))
    with testing.world(app):
        locked.delay().get()
        (lease,) = kept
        assert not lease.valid()
        assert lease.remaining == 0
        with pytest.raises(LeaseLost):
            lease.renew()


def test_a_lease_that_was_not_given_back_can_still_be_given_back_and_ends_at_the_deadline_otherwise() -> None:
    kept = []
    app, locked = app_with(lambda app: kept.append(app.lock("x").acquire()))
    with testing.world(app) as world:
        locked.delay().get()
        assert app.lock("x").try_acquire() is None
        world.clock.advance(DEADLINE_LEFT + 1)
        assert app.lock("x").try_acquire() is not None


def test_an_invocation_that_waits_for_a_lock_waits_no_longer_than_it_lives() -> None:
    ended = []

    def body(app: Sedano) -> None:
        try:
            app.lock("x").acquire()
        except LeaseTaken:
            ended.append(app.outlet.ports.clock.now())

    app, locked = app_with(body)
    with testing.world(app) as world:
        app.lock("x", duration=10_000).acquire()
        begun = world.clock.now()
        locked.delay().get()
        assert INVOCATION_S - 2 <= ended[0] - begun <= INVOCATION_S


def test_a_leader_leads_on_from_one_invocation_to_the_next_though_each_handle_ends_with_its_own() -> None:
    terms: list[Any] = []
    leaders: list[Any] = []

    def body(app: Sedano) -> None:
        leaders[:] = leaders or [app.leader("x", duration=60)]
        terms.append(leaders[0].lead())

    app, locked = app_with(body)
    with testing.world(app) as world:
        for pause in (10, 40, 0):
            locked.delay().get()
            world.clock.advance(pause)
        assert len({term.token for term in terms}) == 1
        assert not any(term.valid() for term in terms)


def test_the_holder_is_shown_with_its_task() -> None:
    leaders = []

    def body(app: Sedano) -> None:
        leader = app.leader("x")
        assert leader.lead() is not None
        leaders.append(leader.who())

    app, locked = app_with(body)
    with testing.world(app):
        result = locked.delay()
        result.get()
    ((owner, token),) = leaders
    assert owner.endswith(f" locked {result.id}")
    assert token > 0
