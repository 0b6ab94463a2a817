"""Stories of partitions: workers come, share, die and leave."""

import pytest

from sedano.api.partitions import Partitions
from sedano.errors import OptionError
from tests.stories.fleet import Fleet, in_memory

COUNT = 8
DURATION = 60.0


def workers(fleet: Fleet, number: int) -> list[Partitions]:
    """So many processes that share the same partitions."""
    return [fleet.process().app.partitions("orders", COUNT, duration=DURATION) for _ in range(number)]


def indices(share: Partitions) -> set[int]:
    """What one worker holds after a round."""
    return {partition.index for partition in share.balance()}


def settle(fleet: Fleet, shares: list[Partitions], rounds: int = 20) -> list[set[int]]:
    """Let everybody do a few rounds, a second apart."""
    for _ in range(rounds):
        fleet.clock.advance(1)
        held = [indices(share) for share in shares]
    return held


def assert_shared(held: list[set[int]]) -> None:
    """Everything is held, by one each, and fairly."""
    assert sorted(index for one in held for index in one) == list(range(COUNT))
    assert max(map(len, held)) - min(map(len, held)) <= 1


def test_a_worker_alone_holds_everything_at_once(fleet: Fleet) -> None:
    (alone,) = workers(fleet, 1)
    assert indices(alone) == set(range(COUNT))


def test_workers_that_come_later_get_their_share_without_force(fleet: Fleet) -> None:
    first, *later = workers(fleet, 3)
    indices(first)
    assert_shared(settle(fleet, [first, *later]))


def test_the_partitions_of_a_dead_worker_are_shared_after_their_duration(fleet: Fleet) -> None:
    shares = workers(fleet, 3)
    settle(fleet, shares)
    fleet.clock.advance(20)
    alive = [indices(share) for share in shares[1:]]
    assert sum(map(len, alive)) < COUNT
    for _ in range(3):
        fleet.clock.advance(20)
        for share in shares[1:]:
            share.balance()
    assert_shared(settle(fleet, shares[1:]))


def test_what_is_released_is_taken_at_once_by_the_others(fleet: Fleet) -> None:
    one, two = workers(fleet, 2)
    assert_shared(settle(fleet, [one, two]))
    one.release()
    fleet.clock.advance(3)
    assert indices(two) == set(range(COUNT))


def test_a_quiet_round_reads_once_and_writes_nothing(fleet: Fleet) -> None:
    share = fleet.process().app.partitions("orders", COUNT, duration=DURATION)
    share.balance()
    wire = fleet.processes[0].wire
    before, reads = wire.writes, wire.calls["read"]
    share.balance()
    assert (wire.writes - before, wire.calls["read"] - reads) == (0, 1)
    fleet.clock.advance(DURATION / 2 + 1)
    share.balance()
    assert wire.writes - before == COUNT


def test_tokens_of_a_partition_rise_from_holder_to_holder(fleet: Fleet) -> None:
    one, two = workers(fleet, 2)
    before = {partition.index: partition.lease.token for partition in one.balance()}
    fleet.clock.advance(DURATION + 3)
    after = {partition.index: partition.lease.token for partition in two.balance()}
    assert after.keys() == before.keys()
    assert all(after[index] > before[index] for index in before)
    assert one.balance() == []


@pytest.mark.parametrize("count", [0, 1_001])
def test_a_count_that_cannot_be_is_refused(count: int) -> None:
    with pytest.raises(OptionError, match="count"):
        in_memory().process().app.partitions("x", count)


def test_a_partition_that_another_worker_took_since_it_was_seen_is_not_held() -> None:
    fleet = in_memory()
    late, early = workers(fleet, 2)
    wire, taken = fleet.processes[0].wire, list[set[int]]()

    def meanwhile() -> None:
        wire.travel = lambda: None
        taken.append(indices(early))

    wire.travel = meanwhile
    assert indices(late) == set()
    assert taken == [set(range(COUNT))]
    assert_shared(settle(fleet, [late, early]))
