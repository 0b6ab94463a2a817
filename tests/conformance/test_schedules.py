"""Agendas of periodic tasks: changed by compare-and-swap, read back whole, never larger than an item."""

import pytest

from sedano.errors import TooLarge, Unavailable
from sedano.model.schedules.agenda import AGENDAS, MOST_BYTES, Agenda, AgendaChanged, Periodic, ScheduledCall
from sedano.model.schedules.schedule import Schedule, State
from sedano.model.schedules.timetable import at, cron, every
from sedano.model.schedules.timetable import upcoming as shown
from tests.conformance.worlds import World

NIGHTLY = Periodic(
    Schedule("nightly ä", cron("30 2 * * *", tz="Europe/Berlin", on_gap="skip"), 5, 600, False, True, 3),
    ScheduledCall("report", "bulk", '{"args":["\\u00e4"],"kwargs":{}}', 2.5, True, "acme", "team=core", "when"),
    State(1_767_225_600, (1_767_225_660,), 7, (1_767_225_600,)),
    "0123456789abcdef",
)
OFTEN = Periodic(Schedule("often", every(10)), ScheduledCall("tick", "default"), State(1_767_225_600))
ONCE = Periodic(Schedule("once", at(*shown(every(3_600), 1_767_225_600, 3))), ScheduledCall("tick", "default"), State(0))
FIRST = Agenda(3, {"nightly ä": NIGHTLY, "often": OFTEN}, "n1", 1_767_225_620)
SECOND = Agenda(3, {"once": ONCE}, "n2")
EMPTY = Agenda(3)


def test_agendas_that_nobody_wrote_are_empty(world: World) -> None:
    assert world.schedules.read() == [Agenda(number) for number in range(AGENDAS)]


def test_an_agenda_is_read_back_whole(world: World) -> None:
    assert world.schedules.change(FIRST, EMPTY) == AgendaChanged(True, FIRST)
    assert world.schedules.change(SECOND._replace(number=4), Agenda(4)).done
    assert world.schedules.read()[3:5] == [FIRST, SECOND._replace(number=4)]


def test_a_change_of_what_is_not_there_any_more_is_refused_and_gets_what_is(world: World) -> None:
    assert world.schedules.change(SECOND, FIRST) == AgendaChanged(False, EMPTY)
    world.schedules.change(FIRST, EMPTY)
    assert world.schedules.change(SECOND, EMPTY) == AgendaChanged(False, FIRST)
    assert world.schedules.change(SECOND, FIRST) == AgendaChanged(True, SECOND)
    assert world.schedules.change(FIRST._replace(nonce="n3"), FIRST) == AgendaChanged(False, SECOND)
    assert world.schedules.read()[3] == SECOND


def test_a_change_whose_answer_was_lost_is_recognised_as_ones_own(world: World) -> None:
    for agenda, seen in ((FIRST, EMPTY), (SECOND, FIRST)):
        with world.losing("UpdateItem"):
            try:
                world.schedules.change(agenda, seen)
            except Unavailable:
                assert not world.is_local
        assert world.schedules.change(agenda, seen) == AgendaChanged(True, agenda)


def test_more_than_an_item_holds_is_refused_before_it_is_sent(world: World) -> None:
    world.schedules.change(FIRST, EMPTY)
    long = OFTEN._replace(call=ScheduledCall("tick", "default", "x" * MOST_BYTES))
    with pytest.raises(TooLarge, match="remove some, or give shorter arguments"):
        world.schedules.change(Agenda(3, {"often": long}, "n2"), FIRST)
    assert world.schedules.read()[3] == FIRST
