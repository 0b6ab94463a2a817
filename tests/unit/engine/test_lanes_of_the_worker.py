"""The worker's lanes: outcomes are recorded beside the bodies, and come back in order."""

import threading
from collections.abc import Callable, Sequence

import pytest

from sedano.engine.worker.record_threads import GroupedStream, Lanes


@pytest.mark.parametrize("count", [0, 1, 4])
def test_answers_come_in_the_order_of_the_items(count: int) -> None:
    stream = Lanes(count).stream(lambda n: n * n)
    for n in range(50):
        stream.put(n)
    assert stream.close() == [(n, n * n) for n in range(50)]


def test_without_lanes_everything_runs_on_the_callers_thread() -> None:
    stream = Lanes(0).stream(lambda _: threading.get_ident())
    stream.put(1)
    assert stream.close() == [(1, threading.get_ident())]


def test_what_has_nothing_to_wait_for_runs_here_and_keeps_its_place() -> None:
    here = threading.get_ident()
    stream = Lanes(2).stream(lambda n: (n, threading.get_ident()))
    stream.put(0)
    stream.put_here(1)
    stream.put(2)
    answers = stream.close()
    assert [item for item, _ in answers] == [0, 1, 2]
    assert answers[1][1] == (1, here)


def test_a_lane_works_while_the_caller_does_something_else() -> None:
    called = threading.Event()
    stream = Lanes(1).stream(lambda _: called.set())
    stream.put(1)
    assert called.wait(20)
    assert len(stream.close()) == 1


@pytest.mark.parametrize("count", [0, 2])
def test_what_a_call_raised_is_raised_by_the_end(count: int) -> None:
    def fail(n: int) -> int:
        if n == 3:
            raise KeyboardInterrupt
        return n

    def all_of_them() -> None:
        stream = Lanes(count).stream(fail)
        for n in range(6):
            stream.put(n)
        stream.close()

    with pytest.raises(KeyboardInterrupt):
        all_of_them()


def test_two_streams_share_the_lanes_and_not_their_answers() -> None:
    lanes = Lanes(2)
    first, second = lanes.stream(lambda n: -n), lanes.stream(lambda n: 10 * n)
    for n in range(10):
        first.put(n)
        second.put(n)
    assert first.close() == [(n, -n) for n in range(10)]
    assert second.close() == [(n, 10 * n) for n in range(10)]


def test_the_caller_takes_what_waits_while_the_lanes_are_busy_unless_none_of_it_is_of_its_own_stream() -> None:
    lanes, began, free = Lanes(1), threading.Event(), threading.Event()

    def busy() -> None:
        began.set()
        free.wait(20)

    lanes.put(busy)
    assert began.wait(20)
    ran = list[tuple[int, bool]]()
    stream = lanes.stream(lambda n: ran.append((n, threading.current_thread() is threading.main_thread())))
    stream.put(1)
    other = lanes.stream(lambda n: n)
    other.put_here(2)
    assert (other.close(), ran) == ([(2, 2)], [])
    assert (stream.close(), ran) == ([(1, None)], [(1, True)])
    free.set()


def test_without_lanes_a_call_is_made_at_once() -> None:
    called = list[int]()
    stream = Lanes(0).stream(called.append)
    stream.put(1)
    assert called == [1]


def test_as_many_answers_are_awaited_as_items_were_lent_to_the_lanes() -> None:
    stream = Lanes(1).stream(lambda n: n)
    stream.put_here(1)
    assert stream._lent == 0
    for n in (2, 3):
        stream.put(n)
    assert (stream._lent, stream.close()) == (2, [(1, 1), (2, 2), (3, 3)])


def test_the_threads_of_the_lanes_start_once() -> None:
    before, lanes = {*threading.enumerate()}, Lanes(2)
    for _ in range(2):
        lanes._start()
    assert sorted(one.name for one in {*threading.enumerate()} - before) == ["sedano-record-0", "sedano-record-1"]


@pytest.mark.parametrize("is_grouped", [False, True])
def test_the_threads_of_lanes_end_when_no_reference_to_them_is_left(is_grouped: bool) -> None:
    used, lanes = list[threading.Thread](), Lanes(2)
    together, began = threading.Barrier(3, timeout=10), threading.Semaphore(0)

    def call(_: int) -> None:
        used.append(threading.current_thread())
        began.release()
        together.wait()

    def calls(items: Sequence[int]) -> list[None]:
        return [call(item) for item in items]  # type: ignore[func-returns-value]

    stream = lanes.grouped(call, calls, lambda _: True) if is_grouped else lanes.stream(call)
    for number in range(3):
        stream.put(number)
        assert number == 2 or began.acquire(timeout=10), "each lane takes one item"
    stream.close()
    threads = [one for one in used if one is not threading.current_thread()]
    assert [one.is_alive() for one in threads] == [True, True]
    del stream, lanes
    for one in threads:
        one.join(10)
    assert [one.is_alive() for one in threads] == [False, False]


class Together:
    """Answers items together, and notes which; the first call waits until the others were put."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.may_end = threading.Event()
        self.began = threading.Event()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.calls.append([*items])
        self.began.set()
        assert self.may_end.wait(20)
        return [n * n for n in items]


def grouped(lanes: Lanes, together: Callable[[Sequence[int]], Sequence[int]]) -> GroupedStream[int, int]:
    """A stream whose even items go together."""
    return lanes.grouped(lambda n: -n, together, lambda n: n % 2 == 0)


def test_a_lane_takes_all_items_that_wait_and_the_answers_keep_their_places() -> None:
    together = Together()
    stream = grouped(Lanes(1), together)
    stream.put(0)
    assert together.began.wait(20), "a free lane waits for no second item"
    for n in (2, 3, 4, 6):
        stream.put(n)
    stream.put_here(8)
    together.may_end.set()
    assert stream.close() == [(0, 0), (2, 4), (3, -3), (4, 16), (6, 36), (8, -8)]
    assert together.calls[0] == [0]
    assert sorted(together.calls[1:]) == [[2, 4, 6]], "what waited went together, whoever took it"


@pytest.mark.parametrize("count", [0, 1, 4])
def test_each_item_of_a_grouped_stream_is_answered_once(count: int) -> None:
    seen: list[int] = []

    def together(items: Sequence[int]) -> list[int]:
        seen.extend(items)
        return [n * n for n in items]

    stream = grouped(Lanes(count), together)
    for n in range(300):
        stream.put(n)
    assert stream.close() == [(n, n * n if count and n % 2 == 0 else -n) for n in range(300)]
    assert sorted(seen) == ([*range(0, 300, 2)] if count else [])


@pytest.mark.parametrize("answers", [[], [1, 2, 3]])
def test_a_call_together_that_does_not_answer_each_item_is_an_error(answers: list[int]) -> None:
    stream = grouped(Lanes(1), lambda _: answers)
    stream.put(2)
    with pytest.raises(ValueError, match="zip"):
        stream.close()


def test_what_a_call_together_raised_is_raised_by_the_end() -> None:
    def fail(_: Sequence[int]) -> list[int]:
        raise KeyboardInterrupt

    stream = grouped(Lanes(2), fail)
    for n in (2, 4):
        stream.put(n)
    with pytest.raises(KeyboardInterrupt):
        stream.close()
