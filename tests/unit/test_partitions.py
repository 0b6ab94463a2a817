"""The plan of partitions: from any beginning, workers that follow it come to a fair share, and stay there."""

from collections import Counter
from math import ceil

import hypothesis.strategies as st
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
