"""Two versions of an application meet in one queue: each understands the other, and what it does not know waits and comes back."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.local import LocalStage
from sedano.result import ResultSet
from tests.trust.struck import Struck
from tests.trust.versions import ONE, TWO, Releases, client_of

VERSION, SECONDS = ONE, 60
"""What is deployed first. A function may take its time to start: nothing here is about time."""
IN_FLIGHT = max(200, int(10_000 * float(os.environ.get("SEDANO_TRUST", "1"))))
"""By the scale of `make test-deploy`, and never so few that one version gets them all."""
ROLLED = (TWO, ONE, TWO)
"""A deployment under load, the roll-back after it, and the deployment again."""
LONGEST_S = 3000.0


@pytest.fixture(scope="module")
def one(deployed: LocalStage) -> Iterator[Any]:
    """A client of the first version."""
    with client_of(ONE) as client:
        yield client


@pytest.fixture(scope="module")
def two(deployed: LocalStage) -> Iterator[Any]:
    """A client of the second version."""
    with client_of(TWO) as client:
        yield client


@pytest.fixture(autouse=True)
def _nothing_left(still: Struck) -> None:
    """What one proof set aside is none of the next one's."""
    still.forget()


def test_what_the_old_version_published_the_new_one_runs(still: Struck, releases: Releases, one: Any) -> None:
    releases.release(TWO)
    paid, billed = one.pay.delay(1), one.bill.delay(2)
    still.move()
    assert paid.get(timeout=0) == ["two", 1, "none"], "a new argument has its default"
    assert billed.get(timeout=0) == ["two", 2], "a task that was renamed keeps its name in messages"


def test_what_the_new_version_published_the_old_one_runs(still: Struck, releases: Releases, two: Any) -> None:
    releases.release(ONE)
    paid, billed = two.pay.delay(1), two.invoice.delay(2)
    still.move()
    assert (paid.get(timeout=0), billed.get(timeout=0)) == (["one", 1], ["one", 2])


def test_a_new_task_waits_for_the_version_that_knows_it(still: Struck, releases: Releases, two: Any) -> None:
    releases.release(ONE)
    refunded = two.refund.delay(3)
    still.move()
    assert refunded.state == "PENDING"
    releases.release(TWO)
    still.hurry()
    still.move()
    assert refunded.get(timeout=0) == ["two", 3]


def test_a_task_that_is_gone_is_set_aside_and_runs_after_the_roll_back(still: Struck, releases: Releases, one: Any) -> None:
    releases.release(TWO)
    faxed = one.fax.delay(4)
    for _ in range(4):
        still.move()
        still.hurry()
    (aside,) = parked(one.app.outlet.ports, lambda _: True)
    assert (aside.reason, aside.name, faxed.state) == ("unknown-task", "shop.fax", "PENDING")
    releases.release(ONE)
    assert redrive(one.app.outlet.ports, planned(one.app.outlet.ports, [aside])) == [None]
    still.move()
    assert faxed.get(timeout=0) == ["one", 4]


def test_an_argument_that_the_old_version_does_not_know_is_set_aside_with_its_reason(still: Struck, releases: Releases, two: Any) -> None:
    releases.release(ONE)
    paid = two.pay.delay(5, note="late")
    still.move()
    (aside,) = parked(two.app.outlet.ports, lambda one: one.task_id == paid.id)
    assert (aside.reason, paid.state) == ("arguments", "FAILURE")
    assert "note" in aside.detail


@pytest.mark.timeout(2 * LONGEST_S)
def test_a_rolling_deployment_under_load_and_its_roll_back_lose_and_double_nothing(
    still: Struck, releases: Releases, one: Any, figures: dict[str, int]
) -> None:
    releases.release(ONE)
    releases.behind_aliases()
    with one.app.batch():
        paid = [one.pay.delay(order) for order in range(IN_FLIGHT)]
    with still.moving():
        for number, version in enumerate(ROLLED, start=1):
            paid[number * IN_FLIGHT // (len(ROLLED) + 1)].get(timeout=LONGEST_S)
            releases.let_in(version)
        ran = ResultSet(paid).get(timeout=LONGEST_S)
        still.drain()
    ended = _ended(one.app.outlet.ports)
    lost, doubled = len(paid) - len({result.id for result in paid} & ended.keys()), sum(ended.values()) - len(ended)
    versions = Counter(version for version, *_ in ran)
    print(f"{len(paid)} in flight ran as {dict(versions)}: {lost} lost, {doubled} doubled")
    figures["in flight in upgrades"], figures["lost in upgrades"], figures["doubled in upgrades"] = len(paid), lost, doubled
    assert [order for _, order, *_ in ran] == list(range(IN_FLIGHT)), "each has its own result"
    assert set(versions) == {"one", "two"}, "a deployment that met no message proves nothing"
    assert (lost, doubled) == (0, 0)
    assert not list(parked(one.app.outlet.ports, lambda _: True))


def _ended(ports: Any) -> Counter[str]:
    """How often each task ended, as the history tells it: an event that it tells twice is one."""
    told = {line for blob in ports.events.read() for line in blob.splitlines() if b'"type":"task-succeeded"' in line}
    return Counter(json.loads(line)["uuid"] for line in told)
