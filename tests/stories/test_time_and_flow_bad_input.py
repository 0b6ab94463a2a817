"""What users get wrong about time and flow, line by line: a clear error that says what to do, or a behaviour that is declared."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sedano import Breaker, Sedano, at, cron, every, testing
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import ArgumentError, OptionError
from sedano.model import states
from sedano.model.history.run_rows import Host
from sedano.ports import command_queue
from sedano.testing import World

COMMANDS = command_queue("default")
SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)
DAY_S = 86_400


@pytest.fixture
def app() -> Sedano:
    return Sedano("wrong", queues=("default", "orders.fifo"))


def test_an_impossible_cron_is_refused_where_it_is_written_and_says_why(app: Sedano) -> None:
    never, minute = "never occurs: no year has such a day", "'61' is not a valid minute; give 0 to 59"
    for expression, why in (("0 0 30 2 *", never), ("61 * * * *", minute)):
        with pytest.raises(OptionError, match=why):
            app.periodic(cron(expression))(lambda: None)


def test_an_unknown_zone_is_refused_where_it_is_written(app: Sedano) -> None:
    with pytest.raises(OptionError, match="tz: 'Mars/Olympus' is not a time zone"):
        app.periodic(cron("0 9 * * *", tz="Mars/Olympus"))(lambda: None)


@pytest.mark.parametrize("late", [1, 3_600, 400 * DAY_S])
def test_an_eta_in_the_past_is_now(app: Sedano, late: int) -> None:
    ran: list[float] = []
    note = app.task(name="note")(lambda: ran.append(world.clock.now()))
    with testing.world(app) as world:
        began = world.clock.now()
        note.apply_async(eta=datetime.fromtimestamp(began - late, UTC))
        world.drain()
        assert ran == [began]


@pytest.mark.parametrize("publish", ["eta", "countdown", "moved"])
def test_an_eta_beyond_a_year_is_refused(app: Sedano, publish: str) -> None:
    note = app.task(name="note")(lambda: None)
    with testing.world(app) as world:
        far = datetime.fromtimestamp(world.clock.now(), UTC) + timedelta(days=367)
        note.apply_async(countdown=DAY_S, task_id="waits")
        asked: dict[str, Callable[[], Any]] = {
            "eta": lambda: note.apply_async(eta=far),
            "countdown": lambda: note.apply_async(countdown=367 * DAY_S),
            "moved": lambda: app.scheduled().edit("waits", eta=far),
        }
        with pytest.raises(OptionError, match=r"is longer than a task can wait here, 31622400 s \(366 days\)"):
            asked[publish]()
        (waiting,) = app.scheduled()
        assert waiting.eta == datetime.fromtimestamp(world.clock.now() + DAY_S, UTC), "what waits is as it was"


@pytest.mark.parametrize("rate", ["-1/s", -1, "-0.5/m", float("-inf"), float("nan")])
def test_a_negative_rate_is_refused_where_it_is_declared_and_at_run_time(app: Sedano, rate: Any) -> None:
    app.task(name="send")(lambda: None)
    with testing.world(app):
        for declare in (lambda: app.task(name="refused", rate=rate)(lambda: None), lambda: app.control.rate_limit("send", rate)):
            with pytest.raises(OptionError, match="is not a valid rate; write '200/m'"):
                declare()


def test_a_limit_of_nought_suspends_where_it_counts_runs_and_is_refused_with_that_advice_where_it_is_a_rate(app: Sedano) -> None:
    with pytest.raises(OptionError, match="rate: '0/m' allows no starts; to suspend a task, write concurrency=0"):
        app.task(name="refused", rate="0/m")(lambda: None)
    stopped = app.task(name="stopped", concurrency=0)(lambda: "ran")
    with testing.world(app, settings=SETTINGS) as world:
        waits = stopped.delay()
        for _ in range(30):
            world.step()
            world.clock.advance(DAY_S)
        assert (waits.state, world.parked(), world.queues.dead(COMMANDS)) == (states.PENDING, [], [])
        app.control.concurrency("stopped", 3)
        assert waits.get() == "ran"


@pytest.mark.parametrize("options", [
    {"rate": "1/s", "key": "{order[customer]}"}, {"concurrency": 1, "concurrency_key": "{order[customer]}"},
    {"debounce": 5, "key": "{order[customer]}"}, {"batch": (5, 1), "key": lambda order: order["customer"]},
], ids=lambda options: next(iter(options)))  # fmt: skip
def test_a_call_that_lacks_the_key_of_a_limit_fails_and_names_it_and_others_go_on(app: Sedano, options: dict[str, Any]) -> None:
    ran: list[Any] = []

    def limited_task(order: Any) -> None:
        ran.append(order)

    limited = app.task(name="limited", **options)(limited_task)
    with testing.world(app) as world:
        lacking, good = limited.delay({}), limited.delay({"customer": 7})
        world.drain()
        assert (lacking.state, len(ran)) == (states.FAILURE, 1)
        record = world.ports.ledger.read([lacking.id])[lacking.id]
        assert record.error is not None
        assert (record.error.type_name, "customer" in record.error.message) == ("LimitKey", True)
        assert world.parked() == []
        assert good.id != lacking.id


@pytest.mark.parametrize("option", ["serial_key", "tenant"])
def test_a_call_that_lacks_the_key_by_which_it_is_sent_is_not_published(app: Sedano, option: str) -> None:
    queue = "orders.fifo" if option == "serial_key" else "default"
    options: dict[str, Any] = {"queue": queue, option: "{order[customer]}"}
    keyed = app.task(name="keyed", **options)(lambda order: None)
    with testing.world(app) as world:
        with pytest.raises(ArgumentError, match="customer"):
            keyed.delay({})
        assert world.queues.sent == []


class Back:
    """A clock that was set back by *seconds*."""

    def __init__(self, clock: Any, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds

    def now(self) -> float:
        return float(self.clock.now()) - self.seconds

    def monotonic(self) -> float:
        return float(self.clock.monotonic())


def works(world: World, seconds: float) -> None:
    """Let a worker whose clock was set back by *seconds* work on what there is."""
    clock: Any = Back(world.clock, seconds)
    worker = Worker(world.app.registry, replace(world.ports, clock=clock), Host("back.1", 1), SETTINGS, None)
    deliveries = world.queues.receive(COMMANDS, 1)
    if not deliveries:
        return
    back = {one.message_id for one in worker.work(deliveries, clock.now() + 900)}
    world.queues.delete([one for one in deliveries if one.message_id not in back])


def alternately(world: World, seconds: float) -> None:
    """Let both kinds of workers take turns until nothing is left."""
    for _ in range(2_000):
        works(world, seconds)
        if not world.step():
            due = world.queues.next_visible(COMMANDS)
            if due is None:
                return
            world.clock.advance(max(0.0, due - world.clock.now()))
    raise AssertionError("not done")


@pytest.mark.parametrize("seconds", [1, 30, 290])
def test_a_worker_whose_clock_was_set_back_lets_a_rate_be_passed_by_no_more_than_that_and_loses_nothing(app: Sedano, seconds: int) -> None:
    starts: list[float] = []
    paced = app.task(name="paced", rate="30/m")(lambda n: starts.append(world.clock.now()))
    with testing.world(app, settings=SETTINGS) as world:
        results = [paced.delay(n) for n in range(40)]
        alternately(world, seconds)
        assert {result.state for result in results} == {states.SUCCESS}
        for first, start in enumerate(starts):
            for more, end in enumerate(starts[first:], 1):
                assert more <= (end - start + 2 + seconds) * 30 / 60 + 1


@pytest.mark.parametrize("seconds", [1, 290])
def test_a_worker_whose_clock_was_set_back_keeps_permits_circuits_quiet_and_batches(app: Sedano, seconds: int) -> None:
    ran: Counter[Any] = Counter()
    inside = [0]

    def narrow(n: int) -> None:
        inside[0] += 1
        if n == 0:
            works(world, seconds)
            works(world, seconds)
        assert inside[0] == 1, "two at a time"
        inside[0] -= 1
        ran["narrow", n] += 1

    def flaky(n: int) -> None:
        ran["flaky", n] += 1
        if n < 2:
            raise ConnectionError("down")

    one = app.task(name="narrow", concurrency=1)(narrow)
    quiet = app.task(name="quiet", debounce="10s")(lambda n: ran.update([("quiet", n)]))
    store = app.task(name="store", batch=(3, "10s"))(lambda calls: ran.update(("store", call.args[0]) for call in calls))
    weak = app.task(name="flaky", retry=False, circuit=Breaker(failures=2, open_for=30, shared=True))(flaky)
    with testing.world(app, settings=SETTINGS) as world:
        for task in (one, quiet, store, weak):
            for n in range(3):
                task.delay(n)
            alternately(world, seconds)
        wanted = {(name, n): 1 for name in ("narrow", "store", "flaky") for n in range(3)}
        assert ran == {**wanted, ("quiet", 2): 1}
        assert world.parked() == []


def test_what_comes_to_a_worker_whose_clock_is_over_five_minutes_behind_is_sent_on_and_runs_elsewhere(app: Sedano) -> None:
    note = app.task(name="note")(lambda: "noted")
    with testing.world(app, settings=SETTINGS) as world:
        result = note.delay()
        works(world, 600)
        assert world.parked() == []
        assert world.telemetry.counted("ClocksWrong") == 1
        assert result.get() == "noted"


def test_an_edited_schedule_that_already_fired_runs_what_is_to_come_and_nothing_that_has_passed(app: Sedano) -> None:
    ran: list[float] = []
    note = app.task(name="note")(lambda: ran.append(world.clock.now() - began))
    with testing.world(app) as world:
        began = world.clock.now()
        start = datetime.fromtimestamp(began, UTC)
        app.schedules.add("once", at(start + timedelta(seconds=60)), note)
        world.elapse(90)
        app.schedules.edit("once", timetable=every(50, start=start))
        world.elapse(90)
        assert ran == [60, 100, 150]


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_a_pause_of_an_unknown_queue_is_an_error_that_names_the_queues_there_are(app: Sedano, command: str) -> None:
    with testing.world(app), pytest.raises(OptionError, match=r"'mial' is not one of this app's queues \('default', 'orders.fifo'\)"):
        getattr(app.control, command)(queue="mial")
