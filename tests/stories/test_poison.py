"""A message that keeps killing its worker is counted, recorded as POISON and set aside with its reason; its neighbours are not harmed."""

import pytest

from sedano import chord
from sedano.errors import RemoteError
from sedano.model import states
from sedano.ports import PARKED
from tests.stories.kept import assert_kept, lines, succeeded
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage
from tests.stories.workshop import Killed

KILLS = 5
POISONED = {("kills", states.POISON): 1}


def kills(shop: Shop, **options: object) -> None:
    """Declare a task that kills its worker whenever it runs."""

    def kill() -> None:
        raise Killed

    shop.task("kills", kill, **options)


def survive(processes: Processes) -> int:
    """Replace each worker that is killed until the queues are empty; return how many were."""
    deaths = 0
    while True:
        try:
            processes.drain()
        except Killed:
            deaths += 1
            assert deaths < 20, "a poison must be set aside at last"
            processes.restart()
        else:
            return deaths


def test_a_task_that_killed_five_workers_is_set_aside_as_poison(stage: Stage, shop: Shop) -> None:
    kills(shop)
    processes = Processes(stage, shop.app)
    result = shop.app.send_task("kills")
    assert survive(processes) == KILLS
    assert result.state == states.POISON
    (parked,) = stage.peek(PARKED)
    assert parked.attributes["reason"] == "poison"
    assert "5 claims" in parked.attributes["detail"]
    assert stage.telemetry.counted("TasksPoisoned", task="kills") == 1
    assert stage.telemetry.counted("MessagesParked", reason="poison") == 1
    assert len(lines(stage, "message-parked")) == 1
    assert_kept(stage, POISONED, ("poison",))


def test_waiting_for_a_poison_tells_what_it_did(stage: Stage, shop: Shop) -> None:
    kills(shop)
    processes = Processes(stage, shop.app)
    result = shop.app.send_task("kills")
    survive(processes)
    with pytest.raises(RemoteError, match="Poison: 5 claims of one attempt ended without a record"):
        result.get()


def test_nine_good_messages_beside_a_poison_succeed_once_each(stage: Stage, shop: Shop) -> None:
    kills(shop)
    processes = Processes(stage, shop.app)
    shop.together(shop.add.s(n, n) for n in range(4))
    shop.app.send_task("kills")
    shop.together(shop.add.s(n, n) for n in range(5))
    assert survive(processes) == KILLS
    assert_kept(stage, {**succeeded(add=9), **POISONED}, ("poison",))


def test_a_poisonous_member_fails_the_body_of_its_chord(stage: Stage, shop: Shop) -> None:
    kills(shop)
    processes = Processes(stage, shop.app)
    result = chord([shop.add.s(1, 1), shop.app_sig("kills"), shop.add.s(2, 2)])(shop.total.s())
    survive(processes)
    with pytest.raises(RemoteError, match="Poison: 5 claims"):
        result.get()
    assert_kept(stage, {**succeeded(launch=1, add=2), **POISONED, ("total", states.FAILURE): 1}, ("poison",))


@pytest.mark.parametrize("delivery", ["at_least_once", "record_once"])
def test_an_unclaimed_poison_is_counted_by_its_receives(stage: Stage, shop: Shop, delivery: str) -> None:
    kills(shop, delivery=delivery)
    processes = Processes(stage, shop.app)
    result = shop.app.send_task("kills")
    assert survive(processes) == KILLS
    assert result.state == states.POISON
    (parked,) = stage.peek(PARKED)
    assert (parked.attributes["reason"], parked.attributes["field"]) == ("poison", "receives")
    assert_kept(stage, POISONED, ("poison",))


def test_an_unclaimed_poison_without_a_result_is_set_aside_and_leaves_no_record(stage: Stage, shop: Shop) -> None:
    kills(shop, delivery="at_least_once", ignore_result=True)
    processes = Processes(stage, shop.app)
    shop.app.send_task("kills", ignore_result=True)
    assert survive(processes) == KILLS
    assert_kept(stage, {}, ("poison",))


def test_an_unclaimed_poisonous_member_fails_the_body_of_its_chord(stage: Stage, shop: Shop) -> None:
    kills(shop, delivery="at_least_once", ignore_result=True)
    processes = Processes(stage, shop.app)
    result = chord([shop.add.s(1, 1), shop.app_sig("kills")])(shop.total.s())
    survive(processes)
    with pytest.raises(RemoteError, match="Poison: received"):
        result.get()
    assert_kept(stage, {**succeeded(launch=1, add=1), **POISONED, ("total", states.FAILURE): 1}, ("poison",))


def test_a_body_that_never_began_is_no_step_towards_poison(stage: Stage, shop: Shop) -> None:
    """The first body uses up the whole invocation, again and again; the second is let go of each time."""
    shop.task("told", lambda: 3, delivery="record_once")
    processes = Processes(stage, shop.app)
    shop.task("hog", lambda: stage.pass_time(processes.invocation))
    results = []
    for _ in range(8):
        shop.app.send_task("hog")
    results += [shop.add.delay(1, 2), shop.app.send_task("told")]
    processes.drain()
    assert [result.get() for result in results] == [3, 3]
    assert_kept(stage, succeeded(hog=8, add=1, told=1))
