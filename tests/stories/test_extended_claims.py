"""Stories of a host whose queue shows a message again before its body has ended: claims and visibilities are extended meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, chain, memory
from sedano.engine.worker.claim_extension import Beat
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import OptionError, Unavailable
from sedano.model import states
from sedano.model.history.run_rows import Host
from sedano.ports import command_queue
from tests.stories.audit import AuditedLedger

QUEUE = command_queue("default")
VISIBILITY, BODY = 5.0, 14.0
TICK = 0.125
SETTINGS = WorkerSettings(lanes=0, visibility=VISIBILITY)


class Killed(BaseException):
    """The process is gone."""


class Hosts:
    """Workers on hosts of somebody's own, over queues that hide messages for a few seconds; time passes in bodies alone."""

    def __init__(self, *, extends: bool = True, lasts: float = 3_600.0, workers: int = 2, delivery: str = "claimed") -> None:
        self.app = Sedano("hosts", retry=False)
        self.ports = memory.ports(visibility=VISIBILITY, max_receives=100)
        self.ledger = AuditedLedger(self.ports.ledger)
        self.ports = replace(self.ports, ledger=self.ledger)
        self.app.attach(self.ports)
        self.began: list[str] = []
        self.received: list[str] = []
        self.beats: list[list[Any]] = []
        self.during: Callable[[float], None] = lambda _: None
        self.long = self.app.task(name="long", delivery=delivery)(self._long)
        self.lasts = lasts if extends else VISIBILITY
        settings = SETTINGS._replace(visibility=VISIBILITY if extends else None)
        self.workers = [Worker(self.app.registry, self.ports, Host(f"host{n}", n), settings, None, self.ticker) for n in range(workers)]
        self.busy = 0

    def ticker(self, seconds: float, beat: Beat) -> Callable[[], None]:
        """Call *beat* every so many seconds of the virtual clock."""
        mine = [self.ports.clock.now() + seconds, seconds, beat]
        self.beats.append(mine)
        return lambda: self.beats.remove(mine)

    def _long(self, name: str, seconds: float = BODY) -> str:
        self.began.append(name)
        passed = 0.0
        while passed < seconds:
            self.during(passed)
            self.pass_time()
            passed += TICK
        return name

    def pass_time(self) -> None:
        """Let an eighth of a second pass: due beats beat, and the other worker asks its queue."""
        self.ports.clock.advance(TICK)
        for mine in list(self.beats):
            if mine[0] <= self.ports.clock.now():
                mine[0] += mine[1]
                mine[2]()
        if self.busy < len(self.workers):
            self.poll()

    def poll(self) -> None:
        """Let a free worker take what there is."""
        deliveries = self.ports.queues.receive(QUEUE)
        self.received += [delivery.message_id for delivery in deliveries]
        if not deliveries:
            return
        worker, self.busy = self.workers[self.busy], self.busy + 1
        try:
            back = worker.work(deliveries, self.ports.clock.now() + self.lasts)
            self.ports.queues.delete([delivery for delivery in deliveries if delivery not in back])
        except Killed:
            pass
        finally:
            self.busy -= 1

    def rest(self, seconds: float = 60.0) -> None:
        """Let workers ask their queue until *seconds* have passed."""
        self.poll()
        for _ in range(int(seconds / TICK)):
            self.pass_time()


def test_a_body_that_takes_longer_than_the_visibility_runs_once():
    hosts = Hosts(workers=6)
    result = hosts.long.delay("a")
    hosts.rest()
    assert (hosts.began, len(hosts.received), result.state) == (["a"], 1, states.SUCCESS)


def test_without_extensions_it_is_begun_again_and_again():
    hosts = Hosts(extends=False, workers=6)
    result = hosts.long.delay("a")
    hosts.rest()
    assert (len(hosts.began), result.state) == (5, states.POISON)
    assert hosts.ledger.writes["extend"] == 0


def test_bodies_that_wait_behind_a_long_one_are_not_begun_elsewhere():
    hosts = Hosts()
    results = [hosts.long.delay(name, 4.0) for name in "abc"]
    hosts.rest()
    assert (hosts.began, len(hosts.received)) == (["a", "b", "c"], 3)
    assert {result.state for result in results} == {states.SUCCESS}


def test_links_that_run_inline_are_extended_and_their_carrier_stays_hidden():
    hosts = Hosts(workers=6)
    result = chain(hosts.long.s("a"), hosts.long.s(), hosts.long.s()).delay()
    hosts.rest()
    assert (hosts.began, len(hosts.received), result.state) == (["a"] * 3, 1, states.SUCCESS)


def test_what_a_dead_worker_held_is_taken_over_within_a_visibility():
    hosts, died = Hosts(), []

    def die(passed: float) -> None:
        if passed == 7.0 and not died:
            died.append(hosts.ports.clock.now())
            raise Killed

    hosts.during = die
    result = hosts.long.delay("a", 10.0)
    hosts.rest()
    assert (hosts.began, len(hosts.received), result.state) == (["a", "a"], 2, states.SUCCESS)


def test_a_worker_that_was_cut_extends_nothing_and_another_one_takes_over():
    hosts = Hosts()
    hosts.during = lambda passed: hosts.workers[0].cut() if passed == 1.0 else None
    result = hosts.long.delay("a", 10.0)
    hosts.rest()
    assert (hosts.began, len(hosts.ledger.ends), result.state) == (["a", "a"], 1, states.SUCCESS)


def test_a_worker_that_cannot_extend_loses_its_claim_and_records_nothing():
    hosts = Hosts()

    def away(_: object) -> Any:
        raise Unavailable("dynamodb.UpdateItem: no answer")

    hosts.ledger.extend = away  # type: ignore[method-assign]
    result = hosts.long.delay("a", 7.0)
    hosts.rest()
    assert len(hosts.began) == 2
    assert (len(hosts.ledger.ends), result.state) == (1, states.SUCCESS)


@pytest.mark.parametrize("delivery", ["claimed", "record_once", "at_least_once"])
def test_a_worker_whose_claim_or_visibility_is_over_begins_no_further_body(delivery: str):
    hosts = Hosts(delivery=delivery)

    def away(*_: object) -> Any:
        raise Unavailable("no answer")

    extend, hold = hosts.ledger.extend, hosts.ports.queues.hold

    def isolate(passed: float) -> None:
        """Let the first worker extend nothing while its first body runs."""
        gone = hosts.busy == 1 and len(hosts.began) == 1
        hosts.ledger.extend = away if gone else extend  # type: ignore[method-assign]
        hosts.ports.queues.hold = away if gone else hold  # type: ignore[method-assign]

    hosts.during = isolate
    results = [hosts.long.delay(name, 7.0 if name == "a" else 0.5) for name in "abc"]
    hosts.rest()
    assert (hosts.began.count("b"), hosts.began.count("c")) == (1, 1)
    if delivery != "at_least_once":
        assert {result.state for result in results} == {states.SUCCESS}
    assert hosts.ports.queues.receive(QUEUE) == []


@pytest.mark.parametrize("delivery", ["claimed", "record_once"])
def test_a_worker_whose_machine_slept_begins_no_further_body_until_the_queue_delivers_again(delivery: str):
    hosts = Hosts(workers=1, delivery=delivery)
    nap = hosts.app.task(name="nap", delivery=delivery)(lambda: hosts.ports.clock.advance(30.0))
    results = [nap.delay(), hosts.long.delay("b", 0.5)]
    hosts.poll()
    assert hosts.began == []
    hosts.rest(10.0)
    assert (hosts.began, {result.state for result in results}) == (["b"], {states.SUCCESS})


def test_a_visibility_that_was_extended_too_late_is_not_believed_in():
    hosts, start, slow = Hosts(workers=1, delivery="record_once"), memory.START, list[float]()
    hold = hosts.ports.queues.hold

    def late(delivery: Any, seconds: float) -> None:
        """Do not answer for 2.4 s; the next request is under way until the message is visible again, and changes nothing."""
        if hosts.ports.clock.now() - start < 2.4:
            raise Unavailable("no answer")
        if not slow:
            slow.append(2.6)
            hosts.ports.clock.advance(2.6)
        hold(delivery, seconds)

    hosts.ports.queues.hold = late  # type: ignore[method-assign]
    results = [hosts.long.delay("a", 2.625), hosts.long.delay("b", 0.5)]
    hosts.poll()
    assert (hosts.began, slow) == (["a"], [2.6])
    hosts.rest(10.0)
    assert (hosts.began, {result.state for result in results}) == (["a", "b"], {states.SUCCESS})


class Ahead:
    """A clock that is ahead of another one by *seconds*."""

    def __init__(self, inner: Any, seconds: float) -> None:
        self._inner, self._seconds = inner, seconds

    def now(self) -> float:
        """Return what the wall shows."""
        return float(self._inner.now() + self._seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_a_body_does_not_begin_under_a_claim_that_a_worker_whose_clock_is_ahead_has_taken_over():
    hosts, copies = Hosts(), list[Any]()
    early = replace(hosts.ports, clock=Ahead(hosts.ports.clock, 0.9))  # type: ignore[arg-type]
    hosts.workers[1] = Worker(hosts.app.registry, early, Host("early", 1), SETTINGS, None, hosts.ticker)
    receive = hosts.ports.queues.receive

    def seen(*given: Any) -> Any:
        found = receive(*given)
        copies.extend(found)
        return found

    def away(_: object) -> Any:
        raise Unavailable("dynamodb.UpdateItem: no answer")

    def during(passed: float) -> None:
        """Let the first worker extend nothing, and a copy of the second message arrive when its claim is over by the other clock alone."""
        hosts.ledger.extend = away  # type: ignore[method-assign]
        if passed == 2.25 and hosts.busy == 1:
            hosts.ports.queues.duplicate(copies[1])  # type: ignore[attr-defined]

    hosts.ports.queues.receive, hosts.during = seen, during  # type: ignore[method-assign]
    results = [hosts.long.delay("a", 2.5), hosts.long.delay("b", 0.125)]
    hosts.poll()
    assert hosts.began == ["a", "b"]
    hosts.rest(10.0)
    assert (hosts.began, {result.state for result in results}) == (["a", "b"], {states.SUCCESS})


def test_an_async_body_whose_turn_comes_too_late_does_not_begin_either():
    hosts, began = Hosts(), list[str]()
    hosts.app.coroutines(least=1, most=1)

    @hosts.app.task(name="turn")
    async def turn(name: str, seconds: float) -> None:
        began.append(name)
        hosts.ports.clock.advance(seconds)

    hosts.workers = [Worker(hosts.app.registry, hosts.ports, Host("host", 1), SETTINGS, hosts.app.run_loop(), hosts.ticker)]
    results = [turn.delay("nap", 30.0), turn.delay("b", 0.5)]
    hosts.poll()
    assert began == ["nap"]
    hosts.rest(10.0)
    assert (began, {result.state for result in results}) == (["nap", "b"], {states.SUCCESS})


def test_nothing_is_extended_beyond_the_deadline():
    hosts = Hosts(lasts=8.0)
    hosts.long.delay("a", 30.0)
    hosts.poll()
    assert len(hosts.began) > 1


def test_a_message_that_was_sent_anew_is_not_kept():
    hosts = Hosts()
    hosts.app.control.pause(queue="default")
    hosts.long.delay("a", 1.0)
    hosts.poll()
    assert (hosts.began, hosts.ledger.writes["extend"]) == ([], 0)


@pytest.mark.parametrize("visibility", [0.0, 3.9, float("nan")])
def test_a_visibility_that_is_too_short_to_be_extended_is_refused(visibility: float):
    hosts = Hosts()
    with pytest.raises(OptionError, match=r"visibility: .* cannot be extended in time; give the queue 4 s or more"):
        Worker(hosts.app.registry, hosts.ports, Host("short", 1), WorkerSettings(visibility=visibility), None)


def test_the_thread_that_beats_ends_with_the_batch():
    hosts = Hosts()
    worker = Worker(hosts.app.registry, hosts.ports, Host("threaded", 1), WorkerSettings(lanes=0, visibility=4.0), None)
    hosts.busy = len(hosts.workers)
    result = hosts.long.delay("a", 1.0)
    deliveries = hosts.ports.queues.receive(QUEUE)
    assert worker.work(deliveries, hosts.ports.clock.now() + 60) == []
    assert result.state == states.SUCCESS
