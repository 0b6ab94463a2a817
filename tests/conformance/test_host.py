"""Time and randomness: the virtual ones keep the same promises as this machine's."""

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sedano.aws.client.store_date import NotedClient
from sedano.aws.client.store_time import BoundedClock, DatedClient
from sedano.aws.machine import SystemClock, SystemEntropy
from sedano.memory import MemoryTelemetry, SeededEntropy, VirtualClock
from sedano.model.store_clock import Interval
from sedano.ports import Clock, Entropy


@pytest.fixture(params=[lambda: VirtualClock(1e9), SystemClock], ids=["memory", "system"])
def clock(request: pytest.FixtureRequest) -> Clock:
    """A clock."""
    made: Clock = request.param()
    return made


@pytest.fixture(params=[lambda: SeededEntropy(7), SystemEntropy], ids=["memory", "system"])
def entropy(request: pytest.FixtureRequest) -> Entropy:
    """A source of randomness."""
    made: Entropy = request.param()
    return made


def test_sleeping_lets_both_times_pass(clock: Clock) -> None:
    wall, elapsed = clock.now(), clock.monotonic()
    clock.sleep(0.01)
    assert clock.now() - wall >= 0.009
    assert clock.monotonic() - elapsed >= 0.0099


def test_sleeping_on_an_event_loop_does_so_too_and_lets_others_go_on(clock: Clock) -> None:
    wall, elapsed = clock.now(), clock.monotonic()

    async def both() -> None:
        await asyncio.gather(clock.sleep_async(0.01), clock.sleep_async(0.01))

    asyncio.run(both())
    assert clock.now() - wall >= 0.009
    assert clock.monotonic() - elapsed >= 0.0099


def test_this_machines_clock_shows_this_machines_time() -> None:
    assert abs(SystemClock().now() - time.time()) < 5


def test_a_virtual_clock_stands_still_until_it_is_moved_and_never_runs_backwards() -> None:
    clock = VirtualClock(100.0)
    assert (clock.now(), clock.monotonic()) == (100.0, 0.0)
    clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 2.5)
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


def test_ids_and_nonces_are_well_formed_and_never_the_same(entropy: Entropy) -> None:
    ids = {entropy.uuid() for _ in range(100)}
    nonces = {entropy.nonce() for _ in range(100)}
    assert len(ids) == len(nonces) == 100
    assert all(re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", text) for text in ids)
    assert all(re.fullmatch("[0-9a-f]{32}", text) for text in nonces)
    assert all(0 <= entropy.unit() < 1 for _ in range(100))


def test_a_seed_repeats_everything() -> None:
    first, second, other = SeededEntropy(1), SeededEntropy(1), SeededEntropy(2)
    drawn = [(entropy.uuid(), entropy.nonce(), entropy.unit()) for entropy in (first, second, other)]
    assert drawn[0] == drawn[1] != drawn[2]


HOUR = 3_600.0


@pytest.mark.parametrize("off", [-24 * HOUR, -HOUR, -6.0, 6.0, HOUR, 400 * 24 * HOUR])
def test_a_clock_that_is_wrong_shows_the_time_that_the_store_has_surely_reached_and_tells_of_it_once(off: float) -> None:
    right, telemetry = 1_767_225_600.0, MemoryTelemetry()
    clock = BoundedClock(VirtualClock(right + off), lambda: Interval(int(right * 1000) - 400, int(right * 1000) + 900), telemetry)
    assert [clock.now(), clock.now()] == [right - 0.4] * 2
    ((level, fields),) = [(line.level, line.fields) for line in telemetry.lines]
    assert (level, fields["seconds"]) == ("error", round(off + 0.4, 3))


@pytest.mark.parametrize("off", [-0.4, 0.0, 0.9])
def test_a_clock_that_may_be_right_is_believed_and_so_is_any_before_the_store_has_answered(off: float) -> None:
    right = 1_767_225_600.0
    answers = [None, Interval(1_767_225_599_600, 1_767_225_600_900)]
    clock = BoundedClock(VirtualClock(right + off), lambda: answers.pop(0), MemoryTelemetry())
    assert [clock.now(), clock.now()] == [right + off] * 2


class Set(VirtualClock):
    """A clock that somebody sets."""

    by = 0.0

    def now(self) -> float:
        """Return what it shows since."""
        return super().now() + self.by


class Store:
    """A client of a store whose clock is right; something happens *meanwhile*."""

    meanwhile: Callable[[], object] = bool

    def read(self) -> dict[str, Any]:
        """Answer."""
        self.meanwhile()
        return {"ResponseMetadata": {"HTTPHeaders": {"date": "Thu, 01 Jan 2026 00:00:00 GMT"}}}


@pytest.mark.parametrize("by", [-HOUR, HOUR])
def test_a_clock_that_is_set_while_it_is_looked_at_leads_neither_back_nor_astray(by: float) -> None:
    own = Set(1_767_225_600.0)
    dated = DatedClient(Store(), own)
    clock = BoundedClock(own, dated.time, MemoryTelemetry())
    dated.read()
    own.by = by
    own.advance(10)
    assert 1_767_225_600.0 <= clock.now() <= 1_767_225_610.0
    dated.read()
    assert clock.now() == 1_767_225_600.0, "the store was asked again"


@pytest.mark.parametrize("by", [-HOUR, HOUR])
def test_a_clock_that_is_set_while_the_store_answers_does_not_lead_astray(by: float) -> None:
    own, store = Set(1_767_225_600.0), Store()
    dated = DatedClient(store, own)
    store.meanwhile = lambda: setattr(own, "by", by)
    dated.read()
    assert 1_767_225_599.0 <= BoundedClock(own, dated.time, MemoryTelemetry()).now() <= 1_767_225_601.0


def test_what_a_client_noted_of_its_last_answer_or_refusal_bounds_the_stores_time() -> None:
    own = Set(1_767_225_600.0)
    own.by = HOUR
    noted = NotedClient(Store(), own)
    assert noted.time() is None
    noted.read()
    assert noted.time() == Interval(1_767_225_600_000, 1_767_225_601_000)
    own.advance(100)
    assert noted.time() == Interval(1_767_225_699_900, 1_767_225_701_100)
    assert noted.time().corrected(own.now()) == 1_767_225_699.9  # type: ignore[union-attr]


def test_a_refusal_bears_a_date_too_and_an_answer_without_one_changes_nothing() -> None:
    headers: dict[str, str] = {"date": "Thu, 01 Jan 2026 00:00:00 GMT"}

    def refuse() -> None:
        raise ClientError({"Error": {"Code": "RequestTimeTooSkewed"}, "ResponseMetadata": {"HTTPHeaders": headers}}, "GetItem")  # type: ignore[typeddict-item]

    store = Store()
    store.meanwhile = refuse
    noted = NotedClient(store, VirtualClock(1e9))
    for told in ("Thu, 01 Jan 2026 00:00:00 GMT", "", "soon"):
        headers["date"] = told
        with pytest.raises(ClientError):
            noted.read()
        known = noted.time()
        assert known == (Interval(1_767_225_600_000, 1_767_225_601_000) if told != "soon" else None)
