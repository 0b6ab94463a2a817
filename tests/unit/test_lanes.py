"""Lanes: calls go out together, and equal names never overtake each other."""

import threading

import pytest

from sedano.aws.client.parallel_calls import ParallelCalls


def test_answers_come_in_the_order_of_the_items() -> None:
    names = [str(item) for item in range(23)]
    assert ParallelCalls(4).each(lambda item: item * 10, list(range(23)), names) == [item * 10 for item in range(23)]


def test_no_items_need_no_call() -> None:
    assert ParallelCalls(4).each(lambda item: item, [], []) == []


@pytest.mark.parametrize("number", [1, 4])
def test_one_lane_or_one_item_stays_on_the_callers_thread(number: int) -> None:
    items = [0] if number > 1 else [0, 1, 2]
    used = ParallelCalls(number).each(lambda _: threading.get_ident(), items, [str(item) for item in items])
    assert set(used) == {threading.get_ident()}


def test_as_many_calls_as_there_are_lanes_go_out_together() -> None:
    together = threading.Barrier(3, timeout=10)
    ParallelCalls(3).each(lambda _: together.wait(), [0, 1, 2], ["a", "b", "c"])


def test_calls_of_equal_names_never_overtake_each_other() -> None:
    seen: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    items = [(name, number) for number in range(50) for name in seen]
    ParallelCalls(3).each(lambda item: seen[item[0]].append(item[1]), items, [name for name, _ in items])
    assert all(numbers == list(range(50)) for numbers in seen.values())


def test_a_failed_call_is_raised_after_the_others_have_ended() -> None:
    done: list[int] = []

    def call(item: int) -> None:
        if item == 0:
            raise LookupError("no such item")
        done.append(item)

    with pytest.raises(LookupError, match="no such item"):
        ParallelCalls(3).each(call, [0, 1, 2], ["0", "1", "2"])
    assert sorted(done) == [1, 2]


def test_lanes_are_used_again() -> None:
    lanes = ParallelCalls(3)
    for _ in range(20):
        assert lanes.each(lambda item: item + 1, [1, 2, 3], ["a", "b", "c"]) == [2, 3, 4]
    assert sum(thread.name.startswith("sedano-lane") for thread in threading.enumerate()) < 30


def test_the_threads_of_calls_end_when_their_owner_is_gone() -> None:
    used, together, calls = list[threading.Thread](), threading.Barrier(3, timeout=10), ParallelCalls(3)

    def call(_: int) -> None:
        used.append(threading.current_thread())
        together.wait()

    calls.each(call, [0, 1, 2], ["a", "b", "c"])
    threads = [one for one in used if one is not threading.current_thread()]
    assert [one.is_alive() for one in threads] == [True, True]
    del calls
    for one in threads:
        one.join(10)
    assert [one.is_alive() for one in threads] == [False, False]
