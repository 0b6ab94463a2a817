"""Time and randomness: the virtual ones keep the same promises as this machine's."""

import re
import time

import pytest

from sedano.aws.host import SystemClock, SystemEntropy
from sedano.memory import SeededEntropy, VirtualClock
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
