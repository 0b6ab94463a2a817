"""Two versions of an application meet in one queue: each understands the other, and what it does not know waits and comes back."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from sedano.engine.redriving import parked, redrive
from sedano.local import LocalStage, local_stage
from tests.trust.driven import Driven
from tests.trust.versions import ONE, TWO, Releases, client_of

SECONDS = "60"
"""A function may take its time to start: nothing here is about time."""


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """A stage with the first version, whose client is this process."""
    before = dict(os.environ)
    with local_stage(app="shop:app", code=ONE, directory=tmp_path_factory.mktemp("upgrades"), timeout=SECONDS) as stage:
        os.environ.update(stage.environment)
        try:
            yield stage
        finally:
            os.environ.clear()
            os.environ.update(before)


@pytest.fixture(scope="module")
def releases(deployed: LocalStage) -> Releases:
    """The two versions on the stage."""
    return Releases(deployed, ONE)


@pytest.fixture(scope="module")
def one(deployed: LocalStage) -> Iterator[Any]:
    """A client of the first version."""
    client = client_of(ONE)
    yield client
    client.app.close()


@pytest.fixture(scope="module")
def two(deployed: LocalStage) -> Iterator[Any]:
    """A client of the second version."""
    client = client_of(TWO)
    yield client
    client.app.close()


@pytest.fixture(scope="module")
def driven(deployed: LocalStage) -> Driven:
    """The stage, from now on moving only when it is told to."""
    return Driven(deployed)


def test_what_the_old_version_published_the_new_one_runs(driven: Driven, releases: Releases, one: Any) -> None:
    releases.release(TWO)
    paid, billed = one.pay.delay(1), one.bill.delay(2)
    driven.move()
    assert paid.get(timeout=0) == ["two", 1, "none"], "a new argument has its default"
    assert billed.get(timeout=0) == ["two", 2], "a task that was renamed keeps its name in messages"


def test_what_the_new_version_published_the_old_one_runs(driven: Driven, releases: Releases, two: Any) -> None:
    releases.release(ONE)
    paid, billed = two.pay.delay(1), two.invoice.delay(2)
    driven.move()
    assert (paid.get(timeout=0), billed.get(timeout=0)) == (["one", 1], ["one", 2])


def test_a_new_task_waits_for_the_version_that_knows_it(driven: Driven, releases: Releases, two: Any) -> None:
    releases.release(ONE)
    refunded = two.refund.delay(3)
    driven.move()
    assert refunded.state == "PENDING"
    releases.release(TWO)
    driven.hurry()
    driven.move()
    assert refunded.get(timeout=0) == ["two", 3]


def test_a_task_that_is_gone_is_set_aside_and_runs_after_the_roll_back(driven: Driven, releases: Releases, one: Any) -> None:
    releases.release(TWO)
    faxed = one.fax.delay(4)
    for _ in range(4):
        driven.move()
        driven.hurry()
    (aside,) = parked(one.app.outlet.ports, lambda _: True)
    assert (aside.reason, aside.name, faxed.state) == ("unknown-task", "shop.fax", "PENDING")
    releases.release(ONE)
    assert redrive(one.app.outlet.ports, [aside]) == [None]
    driven.move()
    assert faxed.get(timeout=0) == ["one", 4]


def test_an_argument_that_the_old_version_does_not_know_is_set_aside_with_its_reason(driven: Driven, releases: Releases, two: Any) -> None:
    releases.release(ONE)
    paid = two.pay.delay(5, note="late")
    driven.move()
    (aside,) = parked(two.app.outlet.ports, lambda one: one.task_id == paid.id)
    assert (aside.reason, paid.state) == ("arguments", "FAILURE")
    assert "note" in aside.detail
