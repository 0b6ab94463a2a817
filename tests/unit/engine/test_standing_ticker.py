"""The thread that extends the claims of one batch after the other, interval by interval."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from sedano.engine.worker.claim_extension import StandingTicker

EVERY_S = 4.0


class Intervals:
    """Waits of a ticker's threads, which a test ends one by one."""

    def __init__(self) -> None:
        """Begin with no wait."""
        self.begun = SimpleQueue[tuple[float, threading.Thread]]()
        self._on = defaultdict[threading.Thread, SimpleQueue[None]](SimpleQueue)
        self._last: threading.Thread | None = None
        self.told = list[BaseException]()
        self.ticker = StandingTicker(self.told.append, self.wait)

    def wait(self, _over: threading.Event, seconds: float) -> None:
        """Wait until the test ends the interval."""
        own = self._on[threading.current_thread()]
        self.begun.put((seconds, threading.current_thread()))
        own.get(timeout=20)

    def waiting(self) -> tuple[float, threading.Thread]:
        """Return the wait that has begun: for how long, and on which thread."""
        found = self.begun.get(timeout=20)
        self._last = found[1]
        return found

    def end(self, thread: threading.Thread | None = None) -> None:
        """End an interval of *thread*; None: of the one whose wait was returned last."""
        ended = thread or self._last
        if ended is not None:
            self._on[ended].put(None)


@pytest.fixture
def intervals() -> Iterator[Intervals]:
    """The waits of one ticker, whose thread ends with the test."""
    made = Intervals()
    yield made
    thread = made.ticker._thread
    made.ticker.close()
    if thread is not None:
        made.end(thread)
        thread.join(20)


def test_one_thread_beats_for_one_batch_after_the_other(intervals: Intervals) -> None:
    beaten, ticker = list[str](), intervals.ticker
    stop = ticker.begin(EVERY_S, lambda: beaten.append("first"))
    seconds, thread = intervals.waiting()
    intervals.end()
    assert (seconds, intervals.waiting()[1], beaten) == (EVERY_S, thread, ["first"])
    stop()
    ticker.begin(EVERY_S, lambda: beaten.append("second"))
    intervals.end()
    assert (intervals.waiting()[1], beaten) == (thread, ["first", "second"])


def test_no_beat_follows_the_end_of_a_batch_and_an_idle_thread_ends_after_two_intervals(intervals: Intervals) -> None:
    beaten, ticker = list[str](), intervals.ticker
    ticker.begin(EVERY_S, lambda: beaten.append("first"))()
    thread = intervals.waiting()[1]
    intervals.end()
    assert intervals.waiting()[1] is thread
    intervals.end()
    thread.join(20)
    assert (thread.is_alive(), beaten) == (False, [])
    ticker.begin(EVERY_S, lambda: beaten.append("second"))
    assert intervals.waiting()[1] is not thread
    intervals.end()
    intervals.waiting()
    assert beaten == ["second"]


def test_an_interval_with_a_batch_between_two_idle_ones_keeps_the_thread(intervals: Intervals) -> None:
    ticker, thread = intervals.ticker, None
    for is_busy in (False, True, False):
        stop = ticker.begin(EVERY_S, lambda: None)
        if not is_busy:
            stop()
        thread = thread or intervals.waiting()[1]
        intervals.end()
        assert intervals.waiting()[1] is thread
        stop()


def test_the_end_of_a_batch_waits_for_the_current_beat(intervals: Intervals) -> None:
    within, on, order = threading.Event(), threading.Event(), list[str]()

    def beat() -> None:
        within.set()
        on.wait(20)
        order.append("beat")

    stop = intervals.ticker.begin(EVERY_S, beat)
    intervals.waiting()
    intervals.end()
    assert within.wait(20)

    def end() -> None:
        stop()
        order.append("ended")

    ending = threading.Thread(target=end)
    ending.start()
    on.set()
    ending.join(20)
    assert order == ["beat", "ended"]


def test_another_interval_has_another_thread_and_the_one_before_ends_without_a_beat(intervals: Intervals) -> None:
    beaten, ticker = list[threading.Thread](), intervals.ticker
    ticker.begin(EVERY_S, lambda: None)()
    first = intervals.waiting()[1]
    ticker.begin(EVERY_S / 2, lambda: beaten.append(threading.current_thread()))
    seconds, second = intervals.waiting()
    for thread in (first, second):
        intervals.end(thread)
    first.join(20)
    intervals.waiting()
    assert (seconds, first.is_alive(), beaten) == (EVERY_S / 2, False, [second])


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_a_beat_that_failed_is_told_and_the_next_one_of_the_batch_follows(intervals: Intervals, error: BaseException) -> None:
    ticker, beaten = intervals.ticker, list[threading.Thread]()

    def fails_once() -> None:
        beaten.append(threading.current_thread())
        if len(beaten) == 1:
            raise error

    ticker.begin(EVERY_S, fails_once)
    first = intervals.waiting()[1]
    for _ in range(2):
        intervals.end()
        intervals.waiting()
    assert (beaten, intervals.told) == ([first, first], [error])


def test_the_end_of_an_earlier_batch_does_not_end_the_beats_of_a_later_one(intervals: Intervals) -> None:
    beaten, ticker = list[str](), intervals.ticker

    def beat() -> None:
        beaten.append("beat")

    stop = ticker.begin(EVERY_S, beat)
    later = ticker.begin(EVERY_S, beat)
    stop()
    intervals.waiting()
    intervals.end()
    intervals.waiting()
    assert beaten == ["beat"]
    later()
    intervals.end()
    intervals.waiting()
    assert beaten == ["beat"]


def test_no_thread_sleeps_on_after_another_interval_or_the_close() -> None:
    ticker, threads = StandingTicker(list[BaseException]().append), list[threading.Thread]()
    for seconds in (3_600.0, 1_800.0):
        ticker.begin(seconds, lambda: None)()
        assert ticker._thread is not None
        threads.append(ticker._thread)
    threads[0].join(20)
    assert [thread.is_alive() for thread in threads] == [False, True]
    ticker.close()
    threads[1].join(20)
    assert not threads[1].is_alive()


def test_a_beat_whose_failure_cannot_be_logged_is_followed_by_the_next_one() -> None:
    def broken(error: BaseException) -> None:
        raise BrokenPipeError from error

    intervals, beaten = Intervals(), list[int]()
    intervals.ticker = ticker = StandingTicker(broken, intervals.wait)

    def beat() -> None:
        beaten.append(1)
        raise ValueError("away")

    ticker.begin(EVERY_S, beat)
    thread = intervals.waiting()[1]
    intervals.end()
    assert intervals.waiting()[1] is thread
    ticker.close()
    intervals.end()
    thread.join(20)
    assert (beaten, thread.is_alive()) == ([1], False)
