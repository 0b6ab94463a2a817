"""Lanes: outcomes go out together while the next body runs, and none is lost."""

import threading

import pytest

from sedano.engine.worker.record_threads import Lanes


def test_answers_come_in_the_order_of_the_items_wherever_each_was_called() -> None:
    stream = Lanes(3).stream(lambda item: item * 2)
    for item in range(20):
        stream.put(item) if item % 3 else stream.put_here(item)
    assert stream.close() == [(item, item * 2) for item in range(20)]


def test_calls_that_wait_are_under_way_together_the_callers_own_among_them() -> None:
    together = threading.Barrier(4, timeout=30)
    stream = Lanes(3).stream(lambda item: together.wait() >= 0 and item)
    for item in range(1, 5):
        stream.put(item)
    assert stream.close() == [(item, item) for item in range(1, 5)]


def test_a_call_begins_before_the_stream_is_closed() -> None:
    begun = threading.Event()
    stream = Lanes(1).stream(lambda _: begun.set())
    stream.put(1)
    assert begun.wait(30)
    assert stream.close() == [(1, None)]


def test_what_a_call_raises_on_a_lane_is_raised_to_whoever_closes_when_all_calls_have_ended() -> None:
    called: list[int] = []

    def call(item: int) -> None:
        called.append(item)
        if item == 1:
            raise KeyError(item)

    stream = Lanes(2).stream(call)
    for item in range(5):
        stream.put(item)
    with pytest.raises(KeyError):
        stream.close()
    assert sorted(called) == list(range(5))


def test_without_lanes_each_call_is_made_at_once_on_the_callers_thread() -> None:
    threads: list[threading.Thread] = []
    stream = Lanes(0).stream(lambda _: threads.append(threading.current_thread()))
    stream.put(1)
    assert threads == [threading.current_thread()]


def test_lanes_serve_stream_after_stream() -> None:
    lanes = Lanes(2)
    for turn in range(50):
        stream = lanes.stream(lambda item, turn=turn: (turn, item))
        for item in range(4):
            stream.put(item)
        assert [answer for _, answer in stream.close()] == [(turn, item) for item in range(4)]
