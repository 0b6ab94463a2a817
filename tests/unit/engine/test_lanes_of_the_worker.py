"""The worker's lanes: outcomes are recorded beside the bodies, and come back in order."""

import threading

import pytest

from sedano.engine.worker.record_threads import Lanes


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


def test_the_threads_of_lanes_end_when_no_reference_to_them_is_left() -> None:
    used, lanes = list[threading.Thread](), Lanes(2)
    together = threading.Barrier(3, timeout=10)

    def call(_: int) -> None:
        used.append(threading.current_thread())
        together.wait()

    stream = lanes.stream(call)
    for number in range(3):
        stream.put(number)
    stream.close()
    threads = [one for one in used if one is not threading.current_thread()]
    assert [one.is_alive() for one in threads] == [True, True]
    del stream, lanes
    for one in threads:
        one.join(10)
    assert [one.is_alive() for one in threads] == [False, False]
