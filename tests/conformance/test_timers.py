"""Timers: one of a name, moved, taken away, listed in order; and sent early in an envelope that says the moment."""

import time

import pytest

from sedano.errors import UnknownQueue
from sedano.memory import START
from sedano.model.timers import EARLY_S, Timer, opened
from tests.conformance.worlds import COMMANDS, World, in_memory

LATER = max(START, time.time()) + 40 * 86_400


def timer(name: str = "t-1", at: float = LATER, body: str = '{"a": "<b> \\" é"}', tenant: str | None = None) -> Timer:
    return Timer(name, at, COMMANDS, body, tenant)


def test_a_timer_of_a_name_is_set_once_and_the_first_stands(world: World) -> None:
    assert world.timers.set(timer())
    assert not world.timers.set(timer(at=LATER + 60, body="another"))
    assert world.timers.list() == [timer()]


def test_timers_are_listed_with_the_next_to_fire_first(world: World) -> None:
    late, soon, tenant = (
        timer("late", LATER + 120),
        timer("soon"),
        timer("tenant", LATER + 60.25, tenant="acme<aws.scheduler.scheduled-time>"),
    )
    for one in (late, soon, tenant):
        assert world.timers.set(one)
    assert world.timers.list() == [soon, tenant, late]


def test_a_timer_is_moved(world: World) -> None:
    world.timers.set(timer())
    assert world.timers.edit("t-1", LATER + 3_600)
    assert world.timers.list() == [timer(at=LATER + 3_600)]


def test_a_cancelled_timer_is_gone_and_its_name_is_free(world: World) -> None:
    world.timers.set(timer())
    assert world.timers.cancel("t-1")
    assert world.timers.list() == []
    assert world.timers.set(timer(at=LATER + 60))


def test_what_does_not_stand_is_neither_moved_nor_cancelled(world: World) -> None:
    assert not world.timers.edit("t-1", LATER)
    assert not world.timers.cancel("t-1")


def test_a_timer_for_a_queue_that_the_deployment_does_not_have_is_refused_by_name(world: World) -> None:
    with pytest.raises(UnknownQueue, match="queue: 'nowhere' is not known to this deployment"):
        world.timers.set(timer()._replace(queue="commands:nowhere"))


def test_in_memory_it_fires_early_in_its_envelope_and_stands_no_more() -> None:
    world = in_memory()
    mine = timer(at=START + 1_000)
    world.timers.set(mine)
    clock = world.timers._clock  # type: ignore[attr-defined]
    clock.advance(1_000 - EARLY_S - 1)
    assert world.queues.receive(COMMANDS) == []
    clock.advance(1)
    (delivery,) = world.queues.receive(COMMANDS)
    assert opened(delivery.body) == mine
    assert world.timers.list() == []
    assert not world.timers.cancel(mine.name)
