"""The scheduler alone, where others change its agendas at the same time."""

from dataclasses import replace

import pytest

from sedano import memory
from sedano.engine.schedules.scheduler import TRIES, Scheduler
from sedano.errors import MessageRefused, Unavailable
from sedano.model import refusals
from sedano.model.messages.lamport import LamportClock
from sedano.model.schedules.agenda import Agenda, AgendaChanged, Periodic, ScheduledCall, agenda_of
from sedano.model.schedules.schedule import Schedule, State
from sedano.model.schedules.timetable import Every
from tests.unit.engine.gated import QUEUE, FailsOnce

DAILY = Periodic(Schedule("daily", Every(30)), ScheduledCall("report", "default"), State(0))


class Contended(memory.MemorySchedules):
    """Agendas that others change first, but for so many changes."""

    def __init__(self, lets: int) -> None:
        """Let the first changes through."""
        super().__init__()
        self.lets, self.changes = lets, 0

    def change(self, agenda: Agenda, seen: Agenda) -> AgendaChanged:
        """Refuse."""
        self.changes += 1
        return super().change(agenda, seen) if self.changes <= self.lets else AgendaChanged(False, seen._replace(nonce=str(self.changes)))


def over(lets: int) -> tuple[Scheduler, Contended, memory.MemoryQueues]:
    """A scheduler, its agendas and its queues."""
    ports = memory.ports()
    found = Contended(lets)
    ports = replace(ports, schedules=found)
    assert isinstance(ports.queues, memory.MemoryQueues)
    return Scheduler(ports, LamportClock(lambda: 1), "me"), found, ports.queues


def test_an_agenda_that_others_change_all_the_time_is_tried_eight_times() -> None:
    scheduler, agendas, _ = over(0)
    with pytest.raises(Unavailable, match=r"others changed it during each of 8 attempts"):
        scheduler.change("daily", lambda _: DAILY)
    assert agendas.changes == TRIES == 8


def test_occurrences_that_could_not_be_crossed_off_are_published_nevertheless() -> None:
    scheduler, agendas, queues = over(1)
    done = scheduler.round({"daily": DAILY})
    assert (done.published, done.failed, agendas.changes) == (len(queues.peek(QUEUE)), 0, 2)
    assert done.published > 0


def test_an_occurrence_that_cannot_be_composed_costs_none_of_the_others() -> None:
    scheduler, _, queues = over(1)
    scheduler._composer = FailsOnce(scheduler._composer, "compose", RuntimeError("a defect"))
    first, second = scheduler.publish(DAILY, [int(memory.START) - 60, int(memory.START) - 30])
    assert isinstance(first, MessageRefused)
    assert (first.code, second) == (refusals.UNEXPECTED, None)
    assert len(queues.peek(QUEUE)) == 1


@pytest.mark.parametrize("ahead", [0.0, 86_400.0])
def test_the_clock_of_an_operator_moves_the_cursor_of_no_other_schedule(ahead: float) -> None:
    ports = memory.ports()
    now = int(memory.START)
    other = next(name for name in map(str, range(1_000)) if agenda_of(name) == agenda_of("daily"))
    weekly = Periodic(Schedule(other, Every(7 * 86_400, now + 6 * 86_400)), DAILY.call, State(now))
    assert ports.schedules.change(Agenda(agenda_of(other), {other: weekly}, "n"), Agenda(agenda_of(other))).done
    operator = replace(ports, clock=memory.VirtualClock(memory.START + ahead))
    added = Periodic(DAILY.schedule, DAILY.call, State(int(memory.START + ahead)))
    Scheduler(operator, LamportClock(lambda: 1), "laptop").change("daily", lambda _: added)
    found = Scheduler(ports, LamportClock(lambda: 1), "me").read()
    assert (found[other].state, found["daily"].state.cursor) == (State(now), int(memory.START + ahead) + 90)


@pytest.mark.parametrize("ahead", [-86_400.0, 86_400.0])
def test_an_edit_by_a_wrong_clock_decides_and_publishes_the_named_schedule_alone(ahead: float) -> None:
    ports = memory.ports()
    now = int(memory.START)
    due, waiting = [name for name in map(str, range(1_000)) if agenda_of(name) == agenda_of("daily")][:2]
    neighbours = {
        due: Periodic(Schedule(due, Every(30)), DAILY.call, State(now)),
        waiting: Periodic(Schedule(waiting, Every(30)), DAILY.call, State(now + 90, (now + 60,))),
    }
    assert ports.schedules.change(Agenda(agenda_of(due), neighbours, "n"), Agenda(agenda_of(due))).done
    operator = replace(ports, clock=memory.VirtualClock(memory.START + ahead))
    added = Periodic(DAILY.schedule, DAILY.call, State(int(memory.START + ahead)))
    Scheduler(operator, LamportClock(lambda: 1), "laptop").change("daily", lambda _: added)
    found = ports.schedules.read()[agenda_of(due)]
    assert isinstance(found, Agenda)
    assert ({name: found.periodics[name] for name in neighbours}, found.held) == (neighbours, 0)
    assert Scheduler(ports, LamportClock(lambda: 1), "me").round().published >= 4, "the next round publishes theirs"


def test_an_edit_that_publishes_nothing_claims_no_moments_of_a_neighbour() -> None:
    ports = memory.ports()
    now = int(memory.START)
    other = next(name for name in map(str, range(1_000)) if agenda_of(name) == agenda_of("daily"))
    waiting = Periodic(Schedule(other, Every(30)), DAILY.call, State(now + 90, (now + 60,)))
    assert ports.schedules.change(Agenda(agenda_of(other), {other: waiting}, "n"), Agenda(agenda_of(other))).done
    later = Periodic(Schedule("daily", Every(7 * 86_400, now + 6 * 86_400)), DAILY.call, State(now))
    Scheduler(ports, LamportClock(lambda: 1), "laptop").change("daily", lambda _: later)
    found = ports.schedules.read()[agenda_of(other)]
    assert isinstance(found, Agenda)
    assert (found.held, found.periodics[other]) == (0, waiting)
