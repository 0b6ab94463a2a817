"""The scheduler alone: what an occurrence is as a message, what a round publishes and counts, and what stays for the next round."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.schedules.instance_limits import OCCURRENCE
from sedano.engine.schedules.scheduler import Scheduler, SchedulerRound
from sedano.errors import MessageRefused, SedanoError, TooLarge, Unavailable, UnknownQueue
from sedano.memory import START
from sedano.model import states
from sedano.model.ledger.records import NO_RETRY, RECORD_LIFETIME_S, Claim, Outcome
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import Command
from sedano.model.schedules import timetable
from sedano.model.schedules.agenda import Agenda, Periodic, ScheduledCall, agenda_of
from sedano.model.schedules.schedule import REMEMBERED_S, Schedule, State, occurrence
from sedano.model.schedules.timetable import Every
from sedano.ports import Outgoing, Ports, command_queue
from tests.unit.engine.gated import QUEUE, advance, asked, world

NOW = int(START)
EVERY = Schedule("daily", Every(30))
CALL = ScheduledCall("report", "default", '{"args":[1],"kwargs":{"b":2}}', 60.5, True, "acme", "batch=7", "when")
DAILY = Periodic(EVERY, CALL, State(NOW))
NUMBER = agenda_of("daily")


class Away(memory.MemoryQueues):
    """Queues that do not answer while they are *away*."""

    away = True

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse each."""
        return [Unavailable("away")] * len(messages) if self.away else super().send(queue, messages)


def away() -> tuple[Ports, Away]:
    """Ports over such queues."""
    ports = memory.ports()
    queues = Away(ports.clock, memory.queue_keys(("default",)))
    return replace(ports, queues=queues), queues


def scheduler(ports: Ports) -> Scheduler:
    """A scheduler over *ports*."""
    return Scheduler(ports, LamportClock(lambda: 1), "me")


def kept(ports: Ports, **periodics: Periodic) -> None:
    """Write an agenda with these periodic tasks; they have one agenda here, whatever their names are."""
    assert ports.schedules.change(Agenda(NUMBER, periodics, "n"), Agenda(NUMBER)).done


def state(ports: Ports, name: str = "daily") -> State:
    """What is decided of a periodic task."""
    agenda = ports.schedules.read()[NUMBER]
    assert isinstance(agenda, Agenda)
    return agenda.periodics[name].state


def sent(ports: Ports) -> list[Command]:
    """The commands in the queue."""
    queues: Any = ports.queues
    found = [codec.decode(one.body) for one in queues.peek(QUEUE)]
    assert all(isinstance(one, Command) for one in found)
    return found


def task_ids(*seconds: int, schedule: Schedule = EVERY) -> list[str]:
    """The ids of the occurrences so many seconds after the beginning."""
    return [occurrence(schedule, NOW + one).task_id for one in seconds]


def declared(*found: Periodic) -> Mapping[str, Periodic]:
    """These periodic tasks as code declares them."""
    return {one.schedule.name: one._replace(declared="digest") for one in found}


@pytest.mark.parametrize(("moment", "jitter", "delay"), [(-30, 0, 0), (0, 0, 0), (1, 0, 1), (30, 0, 30), (30, 20, None)])
def test_an_occurrence_is_a_message_that_is_delayed_until_it_may_run(moment: int, jitter: int, delay: int | None) -> None:
    ports = memory.ports()
    advance(ports, 0.25)
    schedule = EVERY._replace(jitter=jitter)
    one = occurrence(schedule, NOW + moment)
    assert scheduler(ports).publish(Periodic(schedule, CALL, State(0)), [NOW + moment]) == [None]
    (command,) = sent(ports)
    queues: Any = ports.queues
    (outgoing,) = queues.peek(QUEUE)
    assert outgoing.delay == (one.runs_at - NOW if delay is None else delay)
    assert (outgoing.tenant, outgoing.serial_key) == ("acme", None)
    assert (command.task_id, command.task, command.args) == (one.task_id, "report", (1,))
    assert command.kwargs == {"b": 2, "when": memory_moment(NOW + moment)}
    assert command.expires == one.runs_at + 60.5
    assert (command.ignore_result, command.tenant, command.stamps, command.source) == (True, "acme", "batch=7", "me")


def memory_moment(moment: int) -> str:
    """How the moment is written for the task, which here is within the first minute of 2026, or half a minute before."""
    return f"2026-01-01T00:00:{moment - NOW:02}.000000Z" if moment >= NOW else "2025-12-31T23:59:30.000000Z"


def test_a_call_that_takes_no_moment_and_does_not_expire_has_neither() -> None:
    ports = memory.ports()
    scheduler(ports).publish(Periodic(EVERY, ScheduledCall("report", "default"), State(0)), [NOW])
    (command,) = sent(ports)
    assert (command.args, command.kwargs, command.expires, command.ignore_result) == ((), {}, None, False)


def test_where_instances_are_limited_a_launch_with_the_ids_of_those_before_is_published() -> None:
    ports = memory.ports()
    schedule = EVERY._replace(max_instances=2)
    running = (NOW - 60, NOW - 30, NOW, NOW + 30)
    scheduler(ports).publish(Periodic(schedule, CALL, State(NOW, running=running)), [NOW])
    (command,) = sent(ports)
    (task_id,) = task_ids(0)
    assert (command.task, command.task_id, command.args) == (OCCURRENCE, derived_id(task_id, "launch"), ())
    assert (command.expires, command.ignore_result, command.tenant, command.stamps) == (None, True, "acme", "batch=7")
    assert command.kwargs == {
        "task_id": task_id, "before": task_ids(-60, -30), "most": 2, "task": "report", "queue": "default",
        "data": codec.encode_data((1,), {"b": 2, "when": memory_moment(NOW)}).decode(), "expires": NOW + 60.5, "ignore_result": True,
    }  # fmt: skip


def test_a_round_publishes_what_comes_within_ninety_seconds_once() -> None:
    ports = world(0.25, "telemetry")
    one = scheduler(ports)
    assert one.round(declared(DAILY)) == SchedulerRound(3, 0, 0)
    assert [command.task_id for command in sent(ports)] == task_ids(30, 60, 90)
    assert state(ports) == State(NOW + 90)
    assert one.round(declared(DAILY)) == SchedulerRound(0, 0, 0)
    advance(ports, 30.0)
    assert one.round(declared(DAILY)) == SchedulerRound(1, 0, 0)
    assert asked(ports.telemetry, "count") == [("OccurrencesPublished", 3), ("OccurrencesPublished", 1)]


def test_what_is_late_is_counted_as_missed() -> None:
    ports = world(0.25, "telemetry")
    kept(ports, daily=DAILY._replace(declared="digest", state=State(NOW, missed=5)))
    advance(ports, 100.0)
    assert scheduler(ports).round(declared(DAILY)) == SchedulerRound(4, 2, 0)
    assert state(ports) == State(NOW + 190, missed=7)
    assert asked(ports.telemetry, "count") == [("OccurrencesPublished", 4), ("OccurrencesMissed", 2)]


def test_what_the_queue_did_not_take_stays_for_the_next_round_under_the_same_ids() -> None:
    ports, queues = away()
    one = scheduler(ports)
    assert one.round(declared(DAILY)) == SchedulerRound(0, 0, 0)
    assert state(ports) == State(NOW + 90, (NOW + 30, NOW + 60, NOW + 90))
    agenda = ports.schedules.read()[NUMBER]
    assert isinstance(agenda, Agenda)
    assert agenda.held == 0
    telemetry: Any = ports.telemetry
    assert [(line.level, line.message) for line in telemetry.lines] == [("warning", "occurrence not published")] * 3
    assert telemetry.lines[1].fields == {"schedule": "daily", "moment": NOW + 60, "error": str(Unavailable("away"))}
    queues.away = False
    assert one.round(declared(DAILY)) == SchedulerRound(3, 0, 0)
    assert [command.task_id for command in sent(ports)] == task_ids(30, 60, 90)
    assert state(ports) == State(NOW + 90)


def test_an_occurrence_for_a_queue_that_does_not_exist_is_over_and_missed() -> None:
    ports = memory.ports()
    lost = DAILY._replace(call=CALL._replace(queue="gone"))
    assert scheduler(ports).round(declared(lost)) == SchedulerRound(0, 3, 0)
    assert state(ports) == State(NOW + 90, missed=3)
    telemetry: Any = ports.telemetry
    assert [(line.level, line.message) for line in telemetry.lines] == [("error", "occurrence not published")] * 3
    assert isinstance(scheduler(ports).publish(lost, [NOW])[0], UnknownQueue)


@pytest.mark.parametrize(("passed", "published"), [(0.0, 0), (19.0, 0), (20.0, 3)])
def test_what_another_scheduler_has_claimed_is_left_to_it_until_the_claim_is_over(passed: float, published: int) -> None:
    ports = memory.ports()
    pending = DAILY._replace(state=State(NOW + 90, (NOW + 30, NOW + 60, NOW + 90)))
    assert ports.schedules.change(Agenda(NUMBER, {"daily": pending}, "n", NOW + 20), Agenda(NUMBER)).done
    advance(ports, passed)
    found = scheduler(ports).change("daily", lambda seen: seen)
    assert found == pending
    assert len(sent(ports)) == published


def test_a_change_ends_the_claim_of_another_and_revokes_what_no_longer_applies() -> None:
    ports = memory.ports()
    pending = DAILY._replace(state=State(NOW + 90, (NOW + 30,)))
    assert ports.schedules.change(Agenda(NUMBER, {"daily": pending}, "n", NOW + 20), Agenda(NUMBER)).done
    new = pending._replace(schedule=EVERY._replace(timetable=Every(60)))
    assert scheduler(ports).change("daily", lambda _: new) == new
    records = ports.ledger.read(task_ids(30, 60, 90))
    assert {name: record.state for name, record in records.items()} == dict.fromkeys(task_ids(30, 90), states.REVOKED)
    assert [command.task_id for command in sent(ports)] == task_ids(30)
    assert state(ports).pending == ()


def test_a_removed_periodic_task_is_gone_and_its_occurrences_are_revoked() -> None:
    ports = memory.ports()
    one = scheduler(ports)
    assert one.change("daily", lambda _: DAILY) == DAILY
    assert (len(sent(ports)), ports.ledger.read(task_ids(30))) == (3, {})
    assert set(one.read()) == {"daily"}
    assert one.change("daily", lambda _: None) is None
    assert one.read() == {}
    agenda = ports.schedules.read()[NUMBER]
    assert isinstance(agenda, Agenda)
    assert agenda.held == 0
    assert set(ports.ledger.read(task_ids(30, 60, 90))) == {*task_ids(30, 60, 90)}


def test_a_round_counts_no_moments_of_a_task_that_is_no_longer_declared() -> None:
    ports = world(0.25, "telemetry")
    kept(ports, daily=DAILY._replace(declared="digest", state=State(NOW, missed=5)))
    assert scheduler(ports).round() == SchedulerRound(0, 0, 0)
    assert scheduler(ports).read() == {}
    assert asked(ports.telemetry, "count") == []


def test_what_is_declared_anew_is_published_at_once_whoever_has_claimed_the_agenda() -> None:
    ports = memory.ports()
    pending = DAILY._replace(state=State(NOW + 90, (NOW + 30,)), declared="other")
    assert ports.schedules.change(Agenda(NUMBER, {"daily": pending}, "n", NOW + 20), Agenda(NUMBER)).done
    assert scheduler(ports).round(declared(DAILY)) == SchedulerRound(1, 0, 0)
    assert [command.task_id for command in sent(ports)] == task_ids(30)


def test_an_agenda_of_which_nothing_is_published_is_written_once_and_the_ledger_is_not_asked() -> None:
    ports = world(0.25, "schedules", "ledger")
    kept(ports, daily=DAILY._replace(schedule=EVERY._replace(paused=True)))
    assert scheduler(ports).round() == SchedulerRound(0, 3, 0)
    assert scheduler(ports).round() == SchedulerRound(0, 0, 0)
    assert len(asked(ports.schedules, "change")) == 2, "that of the test and that of the first round"
    assert asked(ports.ledger, "read") == []


def test_an_occurrence_that_already_runs_is_not_ended_but_not_tried_again() -> None:
    ports = memory.ports()
    one = scheduler(ports)
    one.change("daily", lambda _: DAILY)
    (task_id,) = task_ids(30)
    ports.ledger.claim([Claim(task_id, 0, "m", "n" * 32, ports.clock.now() + 60, 1, "report")])
    one.change("daily", lambda _: None)
    assert ports.ledger.read([task_id])[task_id].asked == NO_RETRY


class Full(memory.MemoryQueues):
    """Queues for which each message is too large."""

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse each."""
        return [TooLarge("body: too large")] * len(messages)


def test_an_occurrence_that_no_repetition_can_publish_is_over_and_missed() -> None:
    ports = memory.ports()
    ports = replace(ports, queues=Full(ports.clock, memory.queue_keys(("default",))))
    assert scheduler(ports).round(declared(DAILY)) == SchedulerRound(0, 3, 0)
    assert state(ports) == State(NOW + 90, missed=3)


def test_what_has_ended_alone_is_not_written() -> None:
    ports = world(0.25, "schedules")
    schedule = EVERY._replace(max_instances=3)
    kept(ports, daily=Periodic(schedule, CALL, State(NOW + 90, running=(NOW, NOW + 30))))
    ended(ports, schedule, 0)
    assert scheduler(ports).round() == SchedulerRound(0, 0, 0)
    assert state(ports).running == (NOW, NOW + 30)
    assert len(asked(ports.schedules, "change")) == 1, "that of the test"


def ended(ports: Ports, schedule: Schedule, *seconds: int, task_state: Any = states.SUCCESS) -> None:
    """Keep the ends of occurrences."""
    ports.ledger.keep([
        Outcome(task_id=one, state=task_state, nonce="n", fence=0, message_id="m", attempt=0, clock=1, name="report", at=1.0)
        for one in task_ids(*seconds, schedule=schedule)
    ])  # fmt: skip


def test_those_that_have_ended_are_forgotten_when_the_next_moment_is_decided() -> None:
    ports = memory.ports()
    some = [Schedule(name, Every(60), max_instances=3) for name in ("daily", "other")]
    running = State(NOW, running=(NOW - 120, NOW - 60, NOW))
    kept(ports, **{one.name: Periodic(one, CALL, running) for one in some})
    ended(ports, some[0], -120, 0)
    ended(ports, some[1], -60)
    assert scheduler(ports)._work(ports.schedules.read()[NUMBER], lambda seen: seen, only=None).published == 2  # type: ignore[arg-type]
    assert (state(ports).running, state(ports, "other").running) == ((NOW - 60, NOW + 60), (NOW - 120, NOW, NOW + 60))


@pytest.mark.parametrize(("age", "counts"), [(REMEMBERED_S - 1, True), (REMEMBERED_S, False), (RECORD_LIFETIME_S + 100, False)])
def test_an_occurrence_whose_record_may_be_deleted_leaves_no_later_one_out(age: int, counts: bool) -> None:
    ports = world(0.25, "schedules", "ledger")
    rare = Schedule("daily", Every(90 * 86_400, NOW + 60), max_instances=1)
    kept(ports, daily=Periodic(rare, CALL, State(NOW, running=(NOW - age,))))
    assert scheduler(ports).round().published == 1
    (command,) = sent(ports)
    assert command.kwargs["before"] == (task_ids(-age, schedule=rare) if counts else [])
    assert state(ports).running == ((NOW - age, NOW + 60) if counts else (NOW + 60,))
    assert len(asked(ports.ledger, "read")) == counts


def test_the_ledger_is_not_asked_for_a_limited_schedule_beside_the_one_that_is_due() -> None:
    ports = world(0.25, "schedules", "ledger")
    later = Schedule("later", Every(86_400, NOW + 86_400), max_instances=1)
    kept(ports, daily=DAILY, later=Periodic(later, CALL, State(NOW, running=(NOW - 60,))))
    assert scheduler(ports).round().published == 3
    assert state(ports, "later") == State(NOW + 90, running=(NOW - 60,)), "it is written"
    assert asked(ports.ledger, "read") == []


def test_a_timetable_is_evaluated_once_where_its_agenda_is_written_for_another_schedule() -> None:
    ports, evaluated = memory.ports(), list[float]()

    class Every(timetable.Every):  # stored under its name
        """A timetable that notes from where it was evaluated."""

        def following(self, moment: float) -> Iterator[int]:
            evaluated.append(moment)
            return super().following(moment)

    later = Periodic(Schedule("later", Every(86_400, NOW + 86_400)), CALL, State(NOW))
    kept(ports, daily=DAILY, later=later)
    assert scheduler(ports)._work(Agenda(NUMBER, {"daily": DAILY, "later": later}, "n"), lambda seen: seen, only=None).published == 3
    assert (evaluated, state(ports, "later")) == ([NOW], State(NOW + 90))


class Unreadable(memory.MemorySchedules):
    """Agendas of which the first cannot be read."""

    def read(self) -> list[Agenda | MessageRefused]:
        """Read the others."""
        return [MessageRefused("malformed", "agenda 0", "x"), *super().read()[1:]]


def test_an_agenda_that_cannot_be_read_is_counted_as_failed_and_logged_by_its_number() -> None:
    ports = replace(memory.ports(), schedules=Unreadable())
    assert scheduler(ports).round(declared(DAILY)) == SchedulerRound(3, 0, 1)
    telemetry: Any = ports.telemetry
    (line,) = telemetry.lines
    assert (line.level, line.message) == ("error", "agenda not worked on; the next round does")
    assert line.fields == {"agenda": 0, "error": str(MessageRefused("malformed", "agenda 0", "x"))}
    with pytest.raises(MessageRefused):
        scheduler(ports).read()


def test_occurrences_of_other_queues_go_to_their_own() -> None:
    ports = memory.ports(("default", "bulk"))
    scheduler(ports).publish(DAILY._replace(call=CALL._replace(queue="bulk")), [NOW])
    queues: Any = ports.queues
    assert (queues.depth(command_queue("bulk")), queues.depth(QUEUE)) == (1, 0)
