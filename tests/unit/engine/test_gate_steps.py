"""The gates that end a task, give it back or put it in order, each alone: expiry, refusals, waits, preferences, and who calls them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from sedano.engine.batch import Job, Stillborn
from sedano.engine.expiry import Expiry
from sedano.engine.pauses import HOLD_S, Pauses, put_off
from sedano.engine.priority import Preferring
from sedano.engine.redelivery import ANEW_AFTER, put_back, refuse, unknown
from sedano.errors import MessageRefused, Unavailable
from sedano.memory import MemoryTelemetry
from sedano.model import refusals, states
from sedano.model.circuits import Breaker
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.deferrals import SHORT_S
from sedano.model.priority import Candidate
from sedano.model.store_clock import Interval
from sedano.ports import Delivery, Ports
from tests.unit.engine.gated import advance, asked, batch, job, told, waits, world

START = "start the program with"
NAMESAKES = "known names with the same last part"


def telemetry(ports: Ports) -> MemoryTelemetry:
    """The telemetry of *ports*."""
    found: Any = ports.telemetry
    assert isinstance(found, MemoryTelemetry)
    return found


def by_store(seconds: float | None) -> Ports:
    """Ports whose store's clock is known to show exactly so many *seconds*, or is not known."""
    known = None if seconds is None else Interval(round(seconds * 1000), round(seconds * 1000))
    return replace(world(), store_time=lambda: known)


def expiring(expires: float | None, received: float = 1000.0) -> Job:
    """A job that expires at a time, received at another one."""
    one = job("a")
    return one._replace(command=one.command._replace(expires=expires), received=received)


def ended(detail: str) -> Stillborn:
    """The end of an expired task."""
    return Stillborn(states.EXPIRED, refusals.EXPIRED, "expirytime", detail)


@pytest.mark.parametrize(
    ("expires", "store", "detail"),
    [
        (None, 2000.0, ""),
        (1000.0, None, "expired 0 s ago"),
        (1000.001, None, ""),
        (990.0, None, "expired 10 s ago"),
        (1003.0, 1006.0, "expired 3 s ago"),
        (994.0, 994.0, "expired 0 s ago"),
        (994.001, 994.0, ""),
    ],
)
def test_a_task_ends_unrun_from_the_moment_at_which_it_expires_by_the_known_time_of_the_store(
    expires: float | None, store: float | None, detail: str
) -> None:
    assert Expiry(by_store(store)).open(expiring(expires)) == (ended(detail) if detail else None)


@pytest.mark.parametrize(
    ("expires", "store", "off"),
    [
        (997.0, 994.0, 6.0),
        (997.0, 994.46, 5.5),
        (997.0, 995.0, None),
        (997.0, 995.5, None),
        (1000.0, 994.0, 6.0),
        (994.0, 994.0, None),
        (2000.0, 994.0, None),
        (1003.0, 1006.0, -6.0),
        (900.0, 1006.0, None),
    ],
)
def test_a_clock_that_is_more_than_five_seconds_off_is_reported_where_it_would_have_decided_otherwise(
    expires: float, store: float, off: float | None
) -> None:
    ports = by_store(store)
    Expiry(ports).open(expiring(expires))
    assert telemetry(ports).counted("ClocksWrong") == (off is not None)
    assert [(line.level, line.fields) for line in telemetry(ports).lines] == ([("error", {"seconds": off})] if off is not None else [])


@pytest.mark.parametrize(("expires", "store", "late"), [(None, None, None), (1000.0, None, 0), (1000.1, None, None), (1000.1, 1003.1, 3)])
def test_a_task_that_expired_while_others_ran_ends_right_before_its_body(
    expires: float | None, store: float | None, late: float | None
) -> None:
    expected = None if late is None else ended(f"expired {late} s ago, while it waited for others of its batch")
    assert Expiry(by_store(store)).begin(expiring(expires, 0.0), 1000.0, None) == expected


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("__main__.add", ["shop.tasks.add"], "; declare tasks in a module, not in a console"),
        ("tasks.add", ["z.add", "shop.tasks.add"], f"; 'shop.tasks.add' is known: {START} `python -m shop.tasks` to publish by that name"),
        ("a.tasks.add", ["z.add", "d.add", "c.add", "b.add", "b.other"], f"; {NAMESAKES}: 'b.add', 'c.add', 'd.add'"),
        ("shop.add", ["sedano.add", "shop.odd.one"], ""),
        ("shop.orders.bil", ["shop.orders.bill", "shop.mail"], "; did you mean 'shop.orders.bill'?"),
    ],
)  # fmt: skip
def test_the_refusal_of_an_unknown_name_suggests_the_known_one_that_was_probably_meant(name: str, known: list[str], hint: str) -> None:
    assert unknown("task", name, known) == f"no task {name!r} in this deployment{hint}"


@pytest.mark.parametrize(
    ("code", "receives", "held"),
    [
        (refusals.UNKNOWN_TASK, 1, True),
        (refusals.UNKNOWN_EVENT, 3, True),
        (refusals.NEWER, 3, True),
        (refusals.UNKNOWN_TASK, 4, False),
        (refusals.TOO_DEEP, 1, False),
    ],
)
def test_a_message_that_another_version_may_know_is_held_back_three_times_for_half_a_minute(code: str, receives: int, held: bool) -> None:
    ports = world()
    found, one = batch(ports), job("a", receives=receives).delivery
    refuse(ports, one, MessageRefused(code, "task", "why"), found)
    assert asked(ports.queues, "hold") == ([(one, 30.0)] if held else [])
    assert telemetry(ports).counted("MessagesHeld", reason=code) == held
    assert [tuple(parking) for parking in found.parkings] == ([] if held else [(one, code, "task", "why")])
    assert found.given_back == ([one] if held else [])


@pytest.mark.parametrize(
    ("mode", "receives", "serial", "anew"),
    [
        ("claimed", ANEW_AFTER - 1, None, False),
        ("claimed", ANEW_AFTER, None, True),
        ("at_least_once", 1, None, True),
        ("at_least_once", ANEW_AFTER, "key", False),
    ],
)
def test_a_job_without_time_is_sent_anew_at_once_if_its_receipts_count_and_no_order_forbids_it(
    mode: str, receives: int, serial: str | None, anew: bool
) -> None:
    ports = world()
    found, one = batch(ports), job("a", receives=receives, delivery=mode)
    one = one._replace(delivery=one.delivery._replace(serial_key=serial))
    put_back(one, found)
    assert (found.given_back, waits(found)) == ([one.delivery], {"a": 0.0} if anew else {})


def test_a_short_wait_stays_in_flight_and_the_history_says_until_when_to_the_millisecond() -> None:
    ports = world()
    found, one = batch(ports), job("a")
    put_off(ports, one, "why", 2.3456, found)
    assert asked(ports.queues, "hold") == [(one.delivery, 2.3456)]
    assert told(found) == [("a", "why", round(ports.clock.now() + 2.346, 3))]
    assert (found.given_back, waits(found)) == ([one.delivery], {})


class Slow:
    """Queues that take a second for each request to hide a message."""

    def __init__(self, ports: Ports) -> None:
        """Let the time of *ports* pass."""
        self.ports = ports

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Take it."""
        advance(self.ports, 1.0)


def test_the_history_counts_a_wait_from_the_moment_at_which_it_was_decided() -> None:
    ports = world()
    queues: Any = ports.queues
    queues.port = Slow(ports)
    found, until = batch(ports), ports.clock.now() + 9.0
    put_off(ports, job("a"), "why", 9.0, found)
    assert told(found) == [("a", "why", until)]


def test_a_message_in_a_queue_that_keeps_order_is_not_hidden_like_others_for_a_short_wait() -> None:
    ports = world()
    found, one = batch(ports), job("a")
    one = one._replace(delivery=one.delivery._replace(serial_key="key", sent=ports.clock.now()))
    put_off(ports, one, "why", SHORT_S, found)
    assert (asked(ports.queues, "hold"), waits(found)) == ([], {"a": SHORT_S})


def paused(ports: Ports, *pauses: str) -> Pauses:
    """The gate of a worker that knows these pauses."""
    known: Any = SimpleNamespace(control=ControlRecord(paused=frozenset(pauses)))
    return Pauses(ports, known, lambda _: ((), {}))


@pytest.mark.parametrize(("left", "seconds"), [(9, 9.5), (1000, HOLD_S * 0.875)])
def test_a_pause_that_ends_soon_is_waited_for_until_its_end_and_up_to_a_second_more(left: int, seconds: float) -> None:
    ports = world(0.5)
    found, until = batch(ports), int(ports.clock.now()) + left
    assert until - ports.clock.now() == left, "the clock of the test shows a whole second"
    assert paused(ports, f"task=only 0 {until}").admit([job("a")], found) == []
    assert told(found) == [("a", "paused: task only", ports.clock.now() + seconds)]


def test_a_task_of_a_paused_circuit_waits_and_a_task_without_a_circuit_does_not() -> None:
    ports = world(0.0)
    found, one, other = batch(ports), job("a", circuit=Breaker(name="mail")), job("b")
    assert paused(ports, "circuit=mail").admit([one, other], found) == [other]
    assert waits(found) == {"a": HOLD_S}


def test_a_pause_of_a_queue_costs_the_messages_of_others_nothing() -> None:
    ports = world(0.0, "telemetry")
    found, jobs = batch(ports), (job("a"),)
    assert paused(ports, "other").sift([jobs[0].delivery], found) == [jobs[0].delivery]
    assert asked(ports.telemetry, "count") == []
    assert paused(ports, "default").admit(jobs, found) is jobs


class End(NamedTuple):
    """Stands for the judged run of a job that took so many *seconds*."""

    job: Job
    seconds: float

    @property
    def ran(self) -> Any:
        """The run."""
        return SimpleNamespace(held=SimpleNamespace(job=self.job), started=100.0, ended=100.0 + self.seconds)


class Preference:
    """A worker's preference that notes its candidates, and is for those that came last."""

    def __init__(self, strategy: Callable[[Candidate], Any] | None = None, lanes: int = 2) -> None:
        """Prefer by *strategy*, or by the time of waiting."""
        self.ports, self.seen = world(), list[Candidate]()
        self.gate = Preferring(self.ports, strategy or self._note, lanes)

    def _note(self, candidate: Candidate) -> float:
        self.seen.append(candidate)
        return candidate.waited

    def admit(self, *jobs: Job) -> Sequence[Job]:
        """Put *jobs* in order."""
        self.seen.clear()
        return self.gate.admit(jobs, batch(self.ports))

    def learn(self, *ends: End) -> None:
        """Measure these."""
        some: Any = ends
        self.gate.learn(some, (), batch(self.ports))

    def job(self, name: str, task: str, age: float, **spec: Any) -> Job:
        """The job of a message that was published so many seconds ago."""
        one = job(name, task, **spec)
        return one._replace(command=one.command._replace(time=self.ports.clock.now() - age, tenant=f"of {name}"))


def test_a_preference_is_asked_about_what_the_worker_measured() -> None:
    app = Preference()
    slow, quick = app.job("a", "slow", 8.0), app.job("b", "quick", -3.0, is_async=True)
    assert app.admit(slow, quick) == [quick, slow]
    assert app.seen == [Candidate("slow", False, None, 1, 8.0, "of a", 0.0), Candidate("quick", True, None, 1, 0.0, "of b", 0.0)]
    app.learn(End(slow, 1.0))
    app.admit(slow, quick)
    assert [(one.seconds, one.runs, one.busy) for one in app.seen] == [(1.0, 2, 0.0), (None, 2, 0.0)], "the first round has no length"
    advance(app.ports, 10.0)
    app.learn(End(slow, 6.0), End(quick, 4.0))
    app.admit(slow, quick)
    assert [(one.seconds, one.busy) for one in app.seen] == [(2.0, 0.3), (4.0, 0.3)], "6 s of `def` bodies in 10 s of two lanes"
    app.learn(End(slow, 2.0))
    advance(app.ports, 1.0)
    app.learn(End(slow, 9.0))
    app.admit(slow, quick)
    assert [one.busy for one in app.seen] == [pytest.approx(0.44)] * 2, "at most all of the time, with the weight of one round"


def test_a_single_job_is_not_counted_and_a_strategy_that_fails_keeps_the_order() -> None:
    app = Preference()
    one, other = app.job("a", "slow", 8.0), app.job("b", "quick", 1.0)
    assert app.admit(one) == (one,)
    assert app.seen == []
    assert app.admit(one, other) == [other, one]
    assert [candidate.runs for candidate in app.seen] == [1, 1]

    def fails(_: Candidate) -> Any:
        raise Unavailable("no answer")

    broken = Preference(fails)
    assert broken.admit(one, other) == (one, other)
    assert [line.fields for line in telemetry(broken.ports).lines] == [{"error": "Unavailable: no answer"}]
