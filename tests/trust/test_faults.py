"""What goes wrong on a deployed stage loses nothing, has each effect once, and is counted by what an alarm looks at."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sedano.local import LocalStage, local_stage
from tests.trust.driven import Driven
from tests.trust.versions import AHEAD, BROKEN, WELL, Releases, client_of
from tests.trust.weather import AWAY, THROTTLED, Door


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """A stage whose functions may run for twenty seconds, whose client is this process."""
    before = dict(os.environ)
    with local_stage(app="shop:app", code=WELL, directory=tmp_path_factory.mktemp("faults"), timeout="20") as stage:
        os.environ.update(stage.environment)
        try:
            yield stage
        finally:
            os.environ.clear()
            os.environ.update(before)


@pytest.fixture(scope="module")
def releases(deployed: LocalStage) -> Releases:
    """The versions of the application on the stage."""
    return Releases(deployed, WELL)


@pytest.fixture(scope="module")
def shop(deployed: LocalStage) -> Iterator[Any]:
    """A client."""
    client = client_of(WELL)
    yield client
    client.app.close()


@pytest.fixture(scope="module")
def still(deployed: LocalStage) -> Driven:
    """The stage, moving only when it is told to."""
    return Driven(deployed)


@pytest.fixture
def driven(still: Driven, releases: Releases) -> Driven:
    """The stage with its own version and empty queues."""
    releases.release(WELL)
    still.forget()
    return still


def test_a_queue_whose_mapping_is_off_keeps_its_messages_until_it_is_on_again(driven: Driven, shop: Any) -> None:
    paid = [shop.pay.delay(order) for order in range(20)]
    assert {result.state for result in paid} == {"PENDING"}
    with driven.moving():
        assert [result.get(timeout=120) for result in paid] == [["one", order] for order in range(20)]


def test_code_that_does_not_import_loses_nothing_until_it_is_rolled_back(driven: Driven, releases: Releases, shop: Any) -> None:
    releases.release(BROKEN)
    paid = [shop.pay.delay(order) for order in range(5)]
    driven.move()
    assert any("no module named cash" in failure for failure in driven.failures), "the canary's alarm fires on it"
    assert {result.state for result in paid} == {"PENDING"}
    releases.release(WELL)
    driven.hurry()
    driven.move()
    assert [result.get(timeout=0) for result in paid] == [["one", order] for order in range(5)]
    assert driven.counted("TasksSucceeded") == 5


def test_a_worker_whose_clock_is_wrong_by_minutes_has_each_effect_once(driven: Driven, releases: Releases, shop: Any) -> None:
    releases.release(AHEAD)
    first = shop.pay.delay(1)
    driven.settle(first)
    releases.release(WELL)
    second = shop.pay.delay(2)
    driven.settle(second)
    assert (first.get(timeout=0), second.get(timeout=0)) == (["ahead", 1], ["one", 2])
    assert driven.counted("TasksSucceeded") == 2


@contextmanager
def _door(service: str, releases: Releases, stage: LocalStage) -> Iterator[Door]:
    """The functions reach `service` through a door while the block runs."""
    with Door(stage.endpoint.url).standing() as door, releases.environment({f"AWS_ENDPOINT_URL_{service.upper()}": door.url}):
        yield door


def test_a_throttled_table_delays_and_loses_nothing(driven: Driven, deployed: LocalStage, releases: Releases, shop: Any) -> None:
    with _door("dynamodb", releases, deployed) as door:
        door.weather = (400, THROTTLED)
        paid = [shop.pay.delay(order) for order in range(10)]
        driven.move()
        assert {result.state for result in paid} == {"PENDING"}
        assert door.refused > 0
        door.weather = None
        driven.settle(*paid)
    assert [result.get(timeout=0) for result in paid] == [["one", order] for order in range(10)]
    assert driven.counted("TasksSucceeded") == 10


def test_a_queue_that_is_away_delays_what_follows_and_loses_nothing(
    driven: Driven, deployed: LocalStage, releases: Releases, shop: Any
) -> None:
    with _door("sqs", releases, deployed) as door:
        door.weather = (503, AWAY)
        chained = (shop.pay.s(1) | shop.pay.si(2)).delay()
        driven.move()
        assert door.refused > 0
        assert chained.state == "PENDING", "its second part could not be sent"
        assert driven.counted("RecordsDelayed") > 0
        door.weather = None
        driven.settle(chained)
    assert chained.get(timeout=0) == ["one", 2]
    assert driven.counted("TasksSucceeded") == 2
