"""What goes wrong on a deployed stage loses nothing, has each effect once, and is counted by the alarm that is meant for it."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from sedano import group
from sedano.local import LocalStage
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import Templates, read
from tests.trust.alarms import OnCall
from tests.trust.struck import Struck
from tests.trust.versions import AHEAD, BROKEN, UNWELL, Releases, client_of
from tests.trust.weather import AWAY, THROTTLED, Door

VERSION, SECONDS = UNWELL, 20
"""What is deployed, and how long its functions may run."""
AWAY_S = 30.0
"""How long a queue is away."""


@pytest.fixture(scope="module")
def for_aws(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The same stage as AWS would get it, with its alarms."""
    return read(synthesise({**stage_context("shop:app", UNWELL), "local": "false"}, tmp_path_factory.mktemp("alarms") / "cdk.out"))


@pytest.fixture(scope="module")
def shop(deployed: LocalStage) -> Iterator[Any]:
    """A client."""
    with client_of(VERSION) as client:
        yield client


@pytest.fixture
def driven(still: Struck, releases: Releases) -> Struck:
    """The stage with its own version and empty queues."""
    releases.release(UNWELL)
    still.forget()
    return still


@pytest.fixture
def on_call(driven: Struck, for_aws: Templates) -> OnCall:
    """Whoever is told, from now on."""
    person = OnCall(driven, for_aws)
    person.forget()
    return person


def test_a_queue_whose_mapping_is_off_keeps_its_messages_until_it_is_on_again(driven: Struck, shop: Any, on_call: OnCall) -> None:
    paid = [shop.pay.delay(order) for order in range(20)]
    assert {result.state for result in paid} == {"PENDING"}
    assert on_call.figure("Old-Commands-default") > 0, "the age of the oldest message rises until the alarm on it fires"
    with driven.moving():
        assert [result.get(timeout=300) for result in paid] == [["one", order] for order in range(20)]
    assert on_call.figure("Old-Commands-default") == 0


def test_code_that_does_not_import_loses_nothing_until_it_is_rolled_back(
    driven: Struck, releases: Releases, shop: Any, on_call: OnCall
) -> None:
    releases.release(BROKEN)
    paid = [shop.pay.delay(order) for order in range(5)]
    driven.move()
    assert any("no module named cash" in failure for failure in driven.failures)
    assert on_call.rings("Failing-worker")
    assert {result.state for result in paid} == {"PENDING"}
    releases.release(UNWELL)
    driven.hurry()
    driven.move()
    assert [result.get(timeout=0) for result in paid] == [["one", order] for order in range(5)]
    assert driven.counted("TasksSucceeded") == 5


@pytest.mark.parametrize("bug", ["slow", "greedy"], ids=["runs out of time", "runs out of memory"])
def test_a_worker_that_is_killed_in_the_middle_is_taken_over_from(bug: str, driven: Struck, shop: Any, on_call: OnCall) -> None:
    unlucky = getattr(shop, bug).delay(1)
    neighbour = shop.pay.delay(2)
    driven.settle(unlucky, neighbour)
    assert (unlucky.get(timeout=0), neighbour.get(timeout=0)) == ([bug, 1], ["one", 2])
    assert driven.counted("TasksSucceeded") == 2, "each had one effect"
    assert on_call.figure("Failing-worker") == len(driven.failures) == 1
    assert on_call.rings("Failing-worker")
    assert 1 <= on_call.figure("Stolen") <= 2, "the neighbour may have been finished before"


def test_a_task_that_kills_every_worker_is_ended_and_its_neighbours_are_not(driven: Struck, shop: Any, on_call: OnCall) -> None:
    neighbours = [shop.pay.delay(order) for order in range(9)]
    poison = shop.deadly.delay(1)
    driven.settle(poison, *neighbours)
    assert poison.state == "POISON"
    assert [result.get(timeout=0) for result in neighbours] == [["one", order] for order in range(9)]
    assert driven.counted("TasksSucceeded") <= 9, "what a worker counted ends with it, unless it was told in time"
    assert on_call.figure("Poisoned") == 1
    assert on_call.rings("Poisoned")
    assert on_call.rings("Failing-worker")


def test_a_message_that_nobody_can_read_is_set_aside_and_its_neighbour_runs(driven: Struck, shop: Any, on_call: OnCall) -> None:
    driven.send("commands", "{")
    paid = shop.pay.delay(1)
    driven.settle(paid)
    assert on_call.figure("Parked") == 1
    assert on_call.rings("Parked")


def test_a_worker_whose_clock_is_wrong_by_minutes_has_each_effect_once(driven: Struck, releases: Releases, shop: Any) -> None:
    releases.release(AHEAD)
    first = shop.pay.delay(1)
    driven.settle(first)
    releases.release(UNWELL)
    second = shop.pay.delay(2)
    driven.settle(second)
    assert (first.get(timeout=0), second.get(timeout=0)) == (["ahead", 1], ["one", 2])
    assert driven.counted("TasksSucceeded") == 2


def test_a_worker_whose_clock_is_ahead_takes_over_from_one_that_works_and_the_effect_is_one(
    driven: Struck, releases: Releases, shop: Any, on_call: OnCall
) -> None:
    right = releases.patient(driven.functions["worker"])
    releases.release(AHEAD)
    started = shop.pay.delay(0)
    driven.settle(started)
    done = shop.late.delay(1)
    (record,) = driven.take("commands")
    with ThreadPoolExecutor() as pool:
        working = pool.submit(driven.hand_over, [record], right)
        while done.state == "PENDING":
            assert not working.done(), working.result()
        assert driven.hand_over([record], "$LATEST") == set(), "it takes the claim for expired"
        assert working.result() == {record["messageId"]}, "a refused outcome acknowledges nothing"
    assert (started.get(timeout=0), done.get(timeout=0)) == (["ahead", 0], ["ahead", 1])
    assert driven.counted("TasksSucceeded") == 2
    assert (on_call.figure("Stolen"), on_call.figure("FencedOff")) == (1, 1)


@contextmanager
def _door(service: str, releases: Releases, stage: LocalStage) -> Iterator[Door]:
    """The functions reach `service` through a door while the block runs."""
    with Door(stage.endpoint.url, service).standing() as door, releases.environment(door.variables):
        yield door


def test_a_throttled_table_delays_and_loses_nothing(
    driven: Struck, deployed: LocalStage, releases: Releases, shop: Any, on_call: OnCall
) -> None:
    with _door("dynamodb", releases, deployed) as door:
        door.weather = (400, THROTTLED)
        paid = [shop.pay.delay(order) for order in range(10)]
        driven.move_one("commands")  # one batch: each task is put off for a time that grows, and on a slow machine one always comes again
        assert {result.state for result in paid} == {"PENDING"}
        assert on_call.rings("Writes-ledger", door)
        door.weather = None
        driven.settle(*paid)
    assert [result.get(timeout=0) for result in paid] == [["one", order] for order in range(10)]
    assert driven.counted("TasksSucceeded") == 10


def test_a_queue_that_is_away_for_half_a_minute_delays_what_follows_and_loses_nothing(
    driven: Struck, deployed: LocalStage, releases: Releases, shop: Any, on_call: OnCall
) -> None:
    with _door("sqs", releases, deployed) as door:
        door.weather, back = (503, AWAY), time.monotonic() + AWAY_S
        begun = (shop.pay.s(1) | group(shop.pay.si(2), shop.pay.si(3))).delay()
        while time.monotonic() < back:
            driven.hurry()
            driven.move(1)
        assert door.refused
        assert {one.state for one in begun.results} == {"PENDING"}, "what follows could not be sent"
        assert driven.counted("RecordsDelayed") > 0
        assert on_call.rings("FollowUpsDelayed")
        door.weather = None
        driven.settle(begun)
    assert begun.get(timeout=0) == [["one", 2], ["one", 3]]
    assert driven.counted("TasksSucceeded") == 4, "three payments, and the launch of the group"
