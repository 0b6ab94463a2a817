"""The plan of partitions: from any beginning, workers that follow it come to a fair share, and stay there."""

from collections import Counter
from hashlib import blake2b
from math import ceil

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sedano.model.leases import LeaseRecord
from sedano.model.partitions import fair_share, plan, preference


class Board:
    """Partitions and their holders; writes take effect at once."""

    def __init__(self, count: int) -> None:
        """Begin with *count* free partitions."""
        self.count = count
        self.taken: dict[int, LeaseRecord] = {}
        self.before: dict[str, set[int]] = {}

    def hold(self, index: int, worker: str) -> None:
        """Let *worker* hold a partition."""
        self.taken[index] = LeaseRecord(str(index), 1, "", worker, 1, True, 1, 1)

    def mine(self, worker: str) -> set[int]:
        """What *worker* holds."""
        return {index for index, record in self.taken.items() if record.owner == worker}

    def round(self, worker: str) -> bool:
        """Let *worker* do one round; tell whether it changed anything."""
        free = set(range(self.count)) - set(self.taken)
        step = plan(worker, self.mine(worker), dict(self.taken), free, free & self.before.get(worker, set()))
        self.before[worker] = free
        for index in step.give:
            self.hold(index, self.taken[index].want)
        for index in step.take:
            self.hold(index, worker)
        if step.want is not None:
            record = self.taken[step.want]
            self.taken[step.want] = LeaseRecord(record.name, 1, "", record.owner, 1, True, 1, 1, want=worker)
        return bool(step.give or step.take or step.want is not None)


@given(count=st.integers(1, 40), workers=st.integers(1, 8), start=st.randoms(use_true_random=False))
def test_from_any_beginning_the_loads_come_to_a_fair_share_and_stay_there(count: int, workers: int, start: object) -> None:
    board, names = Board(count), [f"w{number}" for number in range(workers)]
    for index in range(count):
        if start.random() < 0.7:  # type: ignore[attr-defined]
            board.hold(index, start.choice(names))  # type: ignore[attr-defined]
    for _ in range(4 * count + 4):
        if not sum(board.round(name) for name in names):
            break
    else:
        raise AssertionError("still swinging")
    load = Counter(record.owner for record in board.taken.values())
    assert sum(load.values()) == count
    assert max(load[name] for name in names) - min(load[name] for name in names) <= 1
    assert max(load.values()) <= ceil(count / workers)


@given(count=st.integers(1, 20), workers=st.integers(1, 5), dead=st.integers(1, 5), start=st.randoms(use_true_random=False))
def test_who_asked_and_died_leaves_nothing_without_a_holder(count: int, workers: int, dead: int, start: object) -> None:
    """Found by simulation: as long as the wish of a dead worker stood, the others left its share to it."""
    board, names = Board(count), [f"w{number}" for number in range(workers)]
    for index in range(count):
        if start.random() < 0.7:  # type: ignore[attr-defined]
            want = f"dead{start.randrange(dead)}" if start.random() < 0.7 else ""  # type: ignore[attr-defined]
            board.taken[index] = LeaseRecord(str(index), 1, "", start.choice(names), 1, True, 1, 1, want)  # type: ignore[attr-defined]
    for _ in range(4 * count + 8):
        for name in names:
            board.round(name)
        board.taken = {index: record for index, record in board.taken.items() if record.owner in names}
    assert len(board.taken) == count
    load = Counter(record.owner for record in board.taken.values())
    assert max(load.values()) <= ceil(count / workers) + 1


@given(count=st.integers(1, 1_000), workers=st.integers(1, 100))
def test_the_fair_shares_cover_everything_and_not_one_more_than_needed(count: int, workers: int) -> None:
    share = fair_share(count, workers)
    assert (share - 1) * workers < count <= share * workers


def test_a_worker_alone_takes_everything() -> None:
    assert sorted(plan("a", [], {}, range(5)).take) == list(range(5))


def test_workers_prefer_different_partitions_and_the_same_ones_each_time() -> None:
    first = [plan(f"w{number}", [], {}, range(32)).take[0] for number in range(16)]
    assert len(set(first)) > 8
    assert len({preference("w1", index) for index in range(1_000)}) == 1_000


def test_nothing_is_given_to_who_has_enough() -> None:
    board = Board(3)
    for index, worker in enumerate(("a", "a", "b")):
        board.hold(index, worker)
    board.taken[0] = LeaseRecord("0", 1, "", "a", 1, True, 1, 1, want="b")
    assert list(plan("a", {0, 1}, board.taken, []).give) == []


def held(*leases: str) -> dict[int, LeaseRecord]:
    """Return partitions that are held: each lease is its owner, or its owner and who asked for it (`a>b`)."""
    found = enumerate(lease.partition(">") for lease in leases)
    return {index: LeaseRecord(str(index), 1, "", owner, 1, True, 1, 1, want=want) for index, (owner, _, want) in found}


def preferred(*indexes: int) -> list[int]:
    """Return these partitions in the order in which *a* prefers them."""
    return sorted(indexes, key=lambda index: preference("a", index), reverse=True)


@pytest.mark.parametrize(("count", "workers", "share"), [(32, 5, 7), (30, 5, 6), (0, 3, 0), (1, 3, 1)])
def test_the_share_is_rounded_up(count: int, workers: int, share: int) -> None:
    assert fair_share(count, workers) == share


def test_a_preference_is_a_digest_of_eight_bytes() -> None:
    assert preference("a", 7) == blake2b(b"a\x007", digest_size=8).digest()


@pytest.mark.parametrize(
    ("leases", "free", "idle", "give", "take"),
    [
        ([], [0, 1, 2], [], [], preferred(0, 1, 2)),
        (["b", "b"], [2, 3], [], [], preferred(2, 3)),
        (["b", "b"], [2, 3, 4], [2], [], preferred(2, 3, 4)),
        (["a", "b"], [2, 3], [], [], preferred(2, 3)[:1]),
        (["a", "a", "b"], [3], [3], [], []),
        (["a", "b>z"], [2], [], [], []),
        (["a", "b>z"], [2], [2], [], [2]),
        (["a", "b>z", "b"], [3, 4], [3, 4], [], preferred(3, 4)[:1]),
        (["a", "b>z", "c>z"], [3], [3], [], [3]),
        (["a", "a", "b>z", "c"], [4], [4], [], []),
        (["a>b", "a", "a"], [], [], [0], []),
        (["a>b", "a>b", "a"], [], [], [0], []),
        (["a>b", "a>b", "a", "a"], [], [], [0, 1], []),
        (["a>b", "a", "a", "b", *("c" * 10)], [14, 15, 16, 17], [], [0], []),
        (["a", "a", "a", "b", "c", "d", "e"], [7, 8], [], [], []),
        (["a>y", "b>z"], [2, 3], [2, 3], [], preferred(2, 3)[:1]),
        (["a>b", "a>c", "a", "a"], [], [], [0, 1], []),
        (["a>b", "a"], [2, 3], [2, 3], [0], []),
        (["a>b", "b"], [], [], [], []),
        (["a>a", "a", "a"], [], [], [], []),
    ],
)
def test_what_is_given_and_what_is_taken(leases: list[str], free: list[int], idle: list[int], give: list[int], take: list[int]) -> None:
    taken = held(*leases)
    mine = {index for index, record in taken.items() if record.owner == "a"}
    assert plan("a", mine, taken, free, idle) == (give, take, None)


@pytest.mark.parametrize(
    ("leases", "among"),
    [
        (["b", "b"], [0, 1]),
        (["a", "b", "b"], []),
        (["a", "b", "b", "b"], [1, 2, 3]),
        (["c", "c", "c", "b", "b"], [0, 1, 2]),
        (["c", "c", "b", "b"], [2, 3]),
        (["b>a", "b"], []),
        (["b>a"], []),
        (["b>c", "b", "b"], [1, 2]),
        (["b>c", "b>c", "b>c"], []),
        (["b>c", "b>c", "b", "c"], [0, 1, 2]),
        (["b>c", "b>d", "c"], [0]),
        (["b>a", "c", "c", "c"], [1, 2, 3]),
    ],
)
def test_the_most_loaded_worker_is_asked_for_one_of_its_partitions(leases: list[str], among: list[int]) -> None:
    taken = held(*leases)
    mine = {index for index, record in taken.items() if record.owner == "a"}
    assert plan("a", mine, taken, []) == ([], [], preferred(*among)[0] if among else None)


def test_a_partition_of_which_no_lease_is_seen_any_more_is_kept() -> None:
    assert plan("a", {9}, {}, []) == ([], [], None)
