"""The steps of a watch over time limits, one at a time, without a body and without waiting."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from queue import Empty
from types import SimpleNamespace
from typing import Any

import pytest

from sedano.engine.worker.time_limits import _WATCHES, AGAIN_S, DROPPED_S, HardLimit, Watch, _Hook
from sedano.errors import SoftTimeLimitExceeded
from sedano.model.messages.message import TimeLimits

Met = type[BaseException]


class Noting(Watch):
    """A watch that notes what its thread would meet, and when it was overdue."""

    def __init__(self, limits: TimeLimits | None = None, *, meets: bool = True) -> None:
        """Have met nothing yet."""
        super().__init__(limits or TimeLimits(None, 60.0), lambda: self.sent.append("overdue"), meets=meets)
        self.sent: list[Any] = []
        self._by_signal = False

    def _send(self, what: Met) -> None:
        self.sent.append(what)


class Scripted(Noting):
    """A watch whose body ends after so many of its waits."""

    def __init__(self, limits: TimeLimits, ends_in: int, *, meets: bool = True) -> None:
        """The body ends in the wait of this number."""
        super().__init__(limits, meets=meets)
        self.waits: list[float | None] = []
        self.ends_in = ends_in

    def _closes_within(self, seconds: float | None) -> bool:
        self.waits.append(seconds)
        return len(self.waits) == self.ends_in

    def watched(self) -> Any:
        """Watch to the end; return the waits and what was met."""
        self._begun.set()
        self._watch()
        return self.waits, self.sent


@pytest.fixture
def hook() -> Iterator[Callable[[Any], None]]:
    """A hook of the process that notes nothing."""

    def mine(_: Any) -> None:
        """Say nothing."""

    before, sys.unraisablehook = sys.unraisablehook, mine
    yield mine
    sys.unraisablehook = before


@pytest.fixture
def ring() -> Iterator[Callable[[], Any]]:
    """What answers SIGALRM now; it is put back."""
    before = signal.getsignal(signal.SIGALRM)
    yield lambda: signal.getsignal(signal.SIGALRM)
    signal.signal(signal.SIGALRM, before)


BOTH = TimeLimits(2.0, 5.0)


@pytest.mark.parametrize(
    ("ends_in", "waits", "sent"),
    [
        (1, [2.0], []),
        (2, [2.0, 3.0], [SoftTimeLimitExceeded]),
        (3, [2.0, 3.0, AGAIN_S], [SoftTimeLimitExceeded, HardLimit]),
        (4, [2.0, 3.0, AGAIN_S, AGAIN_S], [SoftTimeLimitExceeded, HardLimit, "overdue"]),
        (5, [2.0, 3.0, AGAIN_S, AGAIN_S, AGAIN_S], [SoftTimeLimitExceeded, HardLimit, "overdue", HardLimit]),
    ],
)
def test_a_body_is_met_at_each_limit_and_every_second_after_the_hard_one(ends_in: int, waits: list[Any], sent: list[Any]) -> None:
    assert Scripted(BOTH, ends_in).watched() == (waits, sent)
    assert AGAIN_S == 1.0, "as the documentation of time limits promises"


def test_the_hard_limit_is_counted_from_the_beginning_of_the_body_and_a_soft_one_alone_ends_nothing() -> None:
    assert Scripted(TimeLimits(None, 5.0), 1).watched() == ([5.0], [])
    assert Scripted(TimeLimits(2.0, None), 2).watched() == ([2.0, None], [SoftTimeLimitExceeded])


def test_a_watch_beside_an_async_body_meets_nothing_and_tells_when_it_is_overdue() -> None:
    assert Scripted(BOTH, 4, meets=False).watched()[1] == ["overdue"]


def test_the_watch_waits_for_its_thread_to_have_begun() -> None:
    watch = Scripted(BOTH, 1)
    thread = threading.Thread(target=watch._watch)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    watch._begun.set()
    thread.join(20)
    assert watch.waits == [2.0]


def test_the_thread_of_the_watch_runs_before_anything_may_meet_the_body() -> None:
    class Begun(threading.Event):
        threads: tuple[int, ...] = ()

        def set(self) -> None:
            self.threads = tuple(one.ident or 0 for one in threading.enumerate() if one.name == "sedano-time-limit")
            super().set()

    watch, begun = Noting(), Begun()
    watch._begun, before = begun, {one.ident for one in threading.enumerate()}
    watch.begin()
    watch.close()
    assert set(begun.threads) - before


def test_a_closed_watch_meets_nothing_ends_its_wait_and_is_forgotten() -> None:
    watch = Noting()
    watch.begin()
    assert watch in _WATCHES
    watch.close()
    watch._meet(HardLimit)
    assert watch.sent == []
    assert watch not in _WATCHES
    assert watch._closes_within(0.5)


def test_what_meets_the_thread_in_the_middle_of_closing_is_over_when_it_is_closed() -> None:
    class Meeting:
        def __init__(self) -> None:
            self.puts = 0

        def put(self, _: Any) -> None:
            self.puts += 1
            if self.puts <= 2:
                raise (SoftTimeLimitExceeded if self.puts == 1 else HardLimit)

    watch, news = Noting(), Meeting()
    _WATCHES.append(watch)
    watch._news = news  # type: ignore[assignment]
    watch.close()
    assert news.puts == 3
    assert watch not in _WATCHES


def test_a_wait_that_is_over_is_not_waited_for_and_what_was_dropped_is_met_after_the_callback() -> None:
    class News:
        def __init__(self, *news: Any) -> None:
            self.news, self.timeouts = iter(news), list[Any]()

        def get(self, timeout: float | None) -> Any:
            self.timeouts.append(timeout)
            found = next(self.news)
            if found is Empty:
                raise Empty
            return found

    watch, news = Noting(), News(Empty, HardLimit, None)
    watch._news = news  # type: ignore[assignment]
    assert not watch._closes_within(0.0)
    assert news.timeouts == [0.0]
    began = time.monotonic()
    assert watch._closes_within(None)
    assert time.monotonic() - began >= DROPPED_S
    assert news.timeouts == [0.0, None, None]
    assert watch.sent == [HardLimit]


def test_news_of_what_was_dropped_meets_the_thread_again_unless_it_was_closed() -> None:
    watch = Noting()
    watch._news.put(HardLimit)
    assert not watch._closes_within(0.01)
    assert watch.sent == [HardLimit]
    watch._news.put(HardLimit)
    watch._over = True
    assert not watch._closes_within(0.01)
    assert watch.sent == [HardLimit]
    assert 0 < DROPPED_S <= 0.01, "a body must not run on for long when Python dropped its limit"


def test_a_soft_limit_is_met_once_and_the_hard_one_is_remembered() -> None:
    watch = Noting(BOTH)
    watch._meet(SoftTimeLimitExceeded)
    assert not watch.hard_met
    watch._meet(SoftTimeLimitExceeded)
    watch._meet(HardLimit)
    assert watch.hard_met
    watch._meet(HardLimit)
    assert watch.sent == [SoftTimeLimitExceeded, HardLimit, HardLimit]


def test_a_soft_limit_that_a_checkpoint_met_is_not_met_again() -> None:
    watch = Noting(BOTH)
    with pytest.raises(SoftTimeLimitExceeded):
        watch.check(2.0)
    watch._meet(SoftTimeLimitExceeded)
    assert watch.sent == []


def test_a_watch_that_leaves_the_body_alone_meets_nothing_and_is_not_asked_about_what_was_dropped(hook: Any, ring: Any) -> None:
    before = ring()
    watch = Watch(BOTH, lambda: None, meets=False)
    watch.begin()
    try:
        assert sys.unraisablehook is hook
        assert watch not in _WATCHES
        assert ring() is before
        watch._meet(HardLimit)
        assert not watch.hard_met
    finally:
        watch.close()


def test_checkpoints_raise_from_each_limit_on_the_soft_one_once() -> None:
    watch = Noting(BOTH)
    watch.check(1.999)
    with pytest.raises(SoftTimeLimitExceeded):
        watch.check(2.0)
    watch.check(4.999)
    for seconds in (5.0, 6.0):
        with pytest.raises(HardLimit):
            watch.check(seconds)
    Noting(TimeLimits(None, 5.0)).check(4.999)
    soft = Noting(TimeLimits(2.0, None))
    with pytest.raises(SoftTimeLimitExceeded):
        soft.check(9.0)
    soft.check(9.0)


def test_only_what_a_watch_had_its_own_thread_meet_is_taken_as_dropped() -> None:
    mine = threading.get_ident()
    watch = Noting()
    watch._met_with = HardLimit
    assert not watch.dropped(mine + 1, HardLimit)
    assert not watch.dropped(mine, SoftTimeLimitExceeded)
    assert watch._news.empty()
    assert watch.dropped(mine, HardLimit)
    assert watch._news.get(block=False) is HardLimit
    watch._over = True
    assert watch.dropped(mine, HardLimit), "it is nobody else's either"
    assert watch._news.empty()


def test_the_hook_reports_what_no_watch_asked_for_to_the_hook_before_it_and_is_set_once(hook: Any) -> None:
    reported: list[Any] = []
    sys.unraisablehook = reported.append
    first, second = Noting(), Noting()
    first.begin()
    second.begin()
    try:
        found: Any = sys.unraisablehook
        assert isinstance(found, _Hook)
        second._met_with = HardLimit
        found(SimpleNamespace(exc_type=HardLimit))
        assert reported == []
        foreign = SimpleNamespace(exc_type=ValueError)
        found(foreign)
        assert reported == [foreign]
    finally:
        second.close()
        first.close()
    assert found._before == reported.append, "the hook does not report to itself"


def test_the_main_thread_is_met_by_a_signal_whose_handler_is_put_back(ring: Any) -> None:
    def mine(_number: int, _frame: Any) -> None:
        """Answer."""

    for before in (mine, signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGALRM, before)
        watch = Watch(TimeLimits(None, 60.0), lambda: None)
        watch.begin()
        assert ring() == watch._rung
        watch.close()
        assert ring() == before


def test_a_handler_that_was_not_set_by_python_is_the_default_again(ring: Any) -> None:
    watch = Watch(TimeLimits(None, 60.0), lambda: None)
    watch.begin()
    watch._before = None
    watch.close()
    assert ring() == signal.SIG_DFL


def test_a_signal_raises_what_waits_once_and_nothing_after_the_body(ring: Any) -> None:
    watch = Watch(BOTH, lambda: None)
    watch._waiting = HardLimit
    with pytest.raises(HardLimit):
        watch._rung(signal.SIGALRM, None)
    watch._rung(signal.SIGALRM, None)
    watch._waiting, watch._over = HardLimit, True
    watch._rung(signal.SIGALRM, None)


@pytest.mark.parametrize("by_signal", [True, False])
def test_a_thread_is_met_by_a_signal_where_it_is_the_main_one_and_else_at_its_next_step(by_signal: bool, ring: Any) -> None:
    met: list[Any] = []

    def body() -> None:
        watch = Watch(TimeLimits(None, 60.0), lambda: None)
        met.append(watch._by_signal)
        try:
            watch.begin()
            watch._meet(HardLimit)
            threading.Event().wait(5.0 if by_signal else 0.0)
        except HardLimit:
            met.append(watch._met_with)
        finally:
            watch.close()

    if by_signal:
        body()
    else:
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
    assert met == [by_signal, HardLimit]
