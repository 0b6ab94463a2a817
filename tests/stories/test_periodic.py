"""Stories of tasks that come round: each moment once and to the second, whoever looks, however often; limited, late, left out."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from sedano import Retry, Sedano, at, chain, cron, current, every
from sedano.engine.schedules.scheduler import Scheduler, SchedulerRound
from sedano.errors import (
    ArgumentError,
    ConfigurationError,
    MessageRefused,
    OptionError,
    SedanoError,
    TooLarge,
    Unavailable,
    UnknownSchedule,
)
from sedano.memory import START
from sedano.model import states
from sedano.model.messages.lamport import LamportClock
from sedano.model.queues import SQS
from sedano.model.schedules.agenda import agenda_of
from sedano.testing import world
from tests.stories.diary import BEGAN, Diary


class Refusing:
    """Queues that take nothing, for one reason."""

    bounds = SQS

    def __init__(self, why: SedanoError) -> None:
        self.why = why

    def send(self, queue, messages):
        """Refuse each."""
        return [self.why] * len(messages)


@pytest.fixture
def diary() -> Diary:
    return Diary()


def test_a_periodic_task_runs_at_each_moment_once_and_to_the_second(diary: Diary):
    diary.app.periodic(cron("*/2 * * * *"), args=("even",))(diary.note)
    diary.app.periodic(every(20), schedule="often", args=("often",))(diary.note)
    with diary.open() as here:
        here.elapse(600)
        ran = Counter(diary.ran)
        assert max(ran.values()) == 1
        assert [int(moment) for what, moment in sorted(diary.ran, key=lambda one: one[1]) if what == "even"] == [120, 240, 360, 480, 600]
        assert [moment for what, moment in sorted(diary.ran, key=lambda one: one[1]) if what == "often"] == [*range(20, 601, 20)]
        assert here.parked() == []


def test_a_plain_function_becomes_a_task_that_comes_round_and_is_called_like_any_other():
    app = Sedano("plain")
    seen = []

    @app.periodic(every(60), args=(3,), name="sweep", ignore_result=True)
    def sweep(days: int) -> int:
        seen.append(days)
        return days

    with world(app) as here:
        here.elapse(60)
        assert seen == [3]
        assert sweep(5) == 5
        assert app.periodics.keys() == {"sweep"}


def test_many_schedulers_at_once_run_each_moment_once(diary: Diary):
    diary.app.periodic(every(10))(diary.note)
    with diary.open() as here:
        lamport = LamportClock(lambda: int(here.clock.now() * 1_000_000))
        others = [Scheduler(here.ports, lamport, f"other{n}") for n in range(3)]
        for _ in range(12):
            here.elapse(10)
            for other in others:
                other.round(diary.app.periodics)
        assert diary.at == [*range(10, 121, 10)]


def test_a_scheduler_that_dies_before_it_crosses_off_leaves_its_moments_to_the_next(diary: Diary):
    diary.app.periodic(every(10))(diary.note)
    with diary.open() as here:
        here.scheduler.round(diary.app.periodics)
        agenda = next(one for one in here.ports.schedules.read() if one.periodics)
        (found,) = agenda.periodics.values()
        pending = tuple(range(int(START) + 10, found.state.cursor + 1, 10))
        behind = agenda._replace(periodics={"note": found._replace(state=found.state._replace(pending=pending))}, nonce="died")
        assert here.ports.schedules.change(behind, agenda).done
        here.elapse(60)
        assert sorted(diary.at) == [*range(10, 61, 10)]
        assert len(here.sent("note")) > len(diary.at)


@pytest.mark.parametrize(
    "passing",
    [
        Unavailable("sqs.SendMessageBatch: KMS.ThrottlingException: slow down"),
        ConfigurationError("sqs.SendMessageBatch: AccessDenied: the grant is being changed"),
    ],
)
def test_a_fault_that_passes_crosses_no_moment_off(diary: Diary, passing: SedanoError):
    diary.app.periodic(every(60))(diary.note)
    with diary.open() as here:
        here.elapse(60)
        lamport = LamportClock(lambda: int(here.clock.now() * 1_000_000))
        refused = Scheduler(replace(here.ports, queues=Refusing(passing)), lamport, "refused")
        here.clock.advance(60)
        assert refused.round(diary.app.periodics).published == 0
        here.elapse(240)
        assert [round(moment / 60) for moment in diary.at] == [1, 2, 3, 4, 5, 6]
        assert [one.missed for one in diary.app.schedules.list()] == [0]


def test_the_moment_is_handed_to_the_parameter_that_asks_for_it(diary: Diary):
    diary.app.periodic(every(60), moment="when", jitter=30)(diary.note)
    with diary.open() as here:
        here.elapse(180)
        assert [what for what, _ in diary.ran] == [str(BEGAN + timedelta(minutes=n)) for n in (1, 2)] + (
            [str(BEGAN + timedelta(minutes=3))] if len(diary.ran) == 3 else []
        )
        assert all(0 <= moment - 60 * (n + 1) <= 30 for n, moment in enumerate(diary.at))


def test_what_comes_late_runs_once_or_all_or_not_as_declared(diary: Diary):
    diary.app.periodic(every(60), args=("coalesced",))(diary.note)
    diary.app.periodic(every(60), schedule="all", args=("all",), coalesce=False)(diary.note)
    diary.app.periodic(every(60), schedule="fresh", args=("fresh",), coalesce=False, misfire_grace=150)(diary.note)
    with diary.open() as here:
        here.elapse(1)
        here.clock.advance(600)  # nobody looks for ten minutes
        here.elapse(1)
        ran = Counter(what for what, moment in diary.ran if moment >= 601)
        missed = {one.name: one.missed for one in diary.app.schedules.list()}
        assert missed == {"note": 8, "all": 0, "fresh": 6}
        assert ran["all"] - ran["coalesced"] == 8
        assert ran["all"] - ran["fresh"] == 6


def test_an_occurrence_is_left_out_while_so_many_earlier_ones_wait_or_run(diary: Diary):
    patient = Retry(max_retries=1, interval_start=130, interval_max=130, jitter=False)
    tried = Counter()

    @diary.app.task(name="flaky", retry=patient)
    def flaky(when: str) -> None:
        tried[when] += 1
        diary.ran.append((when, diary.world.clock.now() - START))
        if tried[when] == 1:
            raise ValueError(when)

    diary.app.periodic(every(60), moment="when", max_instances=2)(flaky)
    with diary.open() as here:
        here.elapse(420)
        first = [moment for when, moment in diary.ran if datetime.fromisoformat(when) == BEGAN + timedelta(seconds=moment)]
        assert first == [60, 120, 240, 300, 420]  # 60 and 120 are tried again at 190 and 250
        left_out = diary.app.schedules.backfill("flaky", BEGAN + timedelta(seconds=180), BEGAN + timedelta(seconds=180))
        assert [one.state for one in left_out] == [states.REVOKED]
        assert here.telemetry.counted("OccurrencesLeftOut") == 2


def test_what_comes_round_is_for_whom_its_arguments_say_unless_the_schedule_does(diary: Diary):
    @diary.app.task(name="bill", tenant="{customer}")
    def bill(customer: str) -> None:
        diary.ran.append((customer, current().tenant))

    diary.app.periodic(every(60), args=("acme",))(bill)
    with diary.open() as here:
        diary.app.schedules.add("zeta", every(60), bill.s("zeta"))
        diary.app.schedules.add("other", every(60), bill.s("zeta").set(tenant="other"))
        here.elapse(60)
        assert sorted(diary.ran) == [("acme", "acme"), ("zeta", "other"), ("zeta", "zeta")]


def test_expiry_counts_from_the_moment(diary: Diary):
    with diary.open() as here:
        diary.app.schedules.add("fresh", at(BEGAN + timedelta(seconds=60)), diary.note.s("fresh").set(expires=30))
        diary.app.schedules.add("stale", at(BEGAN + timedelta(seconds=60)), diary.note.s("stale").set(expires=5))
        here.elapse(50)
        here.clock.advance(20)  # no worker for twenty seconds
        here.elapse(60)
        assert diary.ran == [("fresh", 70)]


def test_an_agenda_that_cannot_be_read_is_told_and_the_others_go_on(diary: Diary):
    diary.app.periodic(every(60), args=("read",))(diary.note)
    diary.app.periodic(every(60), schedule="other", args=("not read",))(diary.note)
    with diary.open() as here:
        here.ports.schedules._kept[agenda_of("other")] = ('{"other":{"newer":1}}', "n")
        here.elapse(60)
        assert diary.ran == [("read", 60)]
        assert here.scheduler.round(diary.app.periodics).failed == 1
        with pytest.raises(MessageRefused, match="schedule 'other': expected a mapping of call, declared"):
            diary.app.schedules.pause("other")


class Behind:
    """A clock that was set back by so many seconds."""

    def __init__(self, clock, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds

    def now(self) -> float:
        return self.clock.now() - self.seconds


def test_a_scheduler_whose_clock_was_set_back_repeats_nothing_and_loses_nothing(diary: Diary):
    diary.app.periodic(every(60))(diary.note)
    with diary.open() as here:
        lamport = LamportClock(lambda: int(here.clock.now() * 1_000_000))
        wrong = Scheduler(replace(here.ports, clock=Behind(here.clock, 3_600)), lamport, "wrong")
        for _ in range(6):
            here.elapse(50)
            assert wrong.round(diary.app.periodics) == SchedulerRound()
        assert diary.at == [60, 120, 180, 240, 300]
        assert len(here.sent("note")) == 5


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda app, note: app.periodic("* * * * *")(note), "timetable: expected cron"),
        (lambda app, note: app.periodic(every(60), jitter=-1)(note), "jitter: -1"),
        (lambda app, note: app.periodic(every(60), max_instances=0)(note), "max_instances: 0"),
        (lambda app, note: app.periodic(every(60), max_instances=1)(app.task(name="b", batch=(5, 1))(print)), "b runs many calls as one"),
        (lambda app, note: app.periodic(every(60), max_instances=1)(app.task(name="l", delivery="at_least_once")(print)), "l is delivered"),
        (lambda app, note: app.periodic(every(60), coalesce="yes")(note), "coalesce: 'yes'"),
        (lambda app, note: app.periodic(every(60), queue="mail")(note), "write options of the task in @app.task"),
        (lambda app, note: app.periodic(every(60), queue="mail")(lambda: None), "queue: 'mail' is not one"),
        (lambda app, note: [app.periodic(every(60))(note), app.periodic(every(9))(note)], "'note' is declared twice"),
        (lambda app, note: app.schedules.add("x", every(9), chain(note.s(), note.s())), "a canvas is published by a task"),
        (lambda app, note: app.schedules.add("x", every(9), note.s().set(countdown=3)), "countdown: has no meaning"),
        (lambda app, note: app.schedules.add("x", every(9), note.s().set(expires=BEGAN)), "give seconds, counted from"),
        (lambda app, note: app.schedules.add("x", every(9), note.s().set(queue="mail")), "queue: 'mail' is not one"),
        (lambda app, note: app.schedules.add("", every(9), note), "name: '' is not 1 to 256"),
        (lambda app, note: app.schedules.edit("x", timetable=every(9)), "no schedule 'x'"),
        (lambda app, note: app.schedules.pause("x"), "no schedule 'x'"),
        (lambda app, note: app.schedules.next("x"), "no schedule 'x'"),
        (lambda app, note: app.schedules.edit("x", colour="red"), "colour: not an option of a schedule"),
        (lambda app, note: app.schedules.next("x", 0), "number: 0"),
        (lambda app, note: app.schedules.backfill("x", BEGAN, BEGAN + timedelta(days=1)), "not a span of time in the past"),
        (lambda app, note: app.schedules.backfill("x", BEGAN.replace(tzinfo=None), BEGAN), "start: expected a datetime with a time zone"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_what_to_do(diary: Diary, wrong, match):
    with diary.open(), pytest.raises((OptionError, UnknownSchedule), match=match):
        wrong(diary.app, diary.note)


def test_arguments_that_do_not_fit_are_refused_where_they_are_declared(diary: Diary):
    with pytest.raises(ArgumentError, match="too many positional"):
        diary.app.periodic(every(60), args=(1, 2, 3))(diary.note)
    with pytest.raises(ArgumentError, match="has no parameter 'colour'"):
        diary.app.periodic(every(60), moment="colour")(diary.note)
    with pytest.raises(TooLarge, match="pass a key"):
        diary.app.periodic(every(60), args=("x" * 20_000,))(diary.note)
