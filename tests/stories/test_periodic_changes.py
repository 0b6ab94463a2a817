"""Stories of periodic tasks that are changed while everything runs: added, edited, paused, removed, filled in, declared anew."""

from datetime import timedelta

import pytest

from sedano import at, every
from sedano.errors import OptionError, UnknownSchedule
from sedano.model.schedules.schedule import AHEAD_S
from tests.stories.diary import BEGAN, Diary


@pytest.fixture
def diary() -> Diary:
    return Diary()


def test_what_is_added_at_run_time_runs_from_its_first_moment_on(diary: Diary):
    with diary.open() as here:
        here.elapse(7)
        added = diary.app.schedules.add("soon", every(5), diary.note.s("soon"))
        assert (added.name, added.task, added.next, added.declared) == ("soon", "note", BEGAN + timedelta(seconds=10), False)
        assert diary.app.schedules.add("soon", every(5), diary.note.s("soon")) == added
        here.elapse(53)
        assert diary.at == [*range(10, 61, 5)]
        with pytest.raises(OptionError, match="the schedule 'soon' already exists; edit it"):
            diary.app.schedules.add("soon", every(6), diary.note.s("soon"))


def test_an_edit_holds_from_now_on_and_takes_back_what_was_published_ahead(diary: Diary):
    with diary.open() as here:
        diary.app.schedules.add("edited", every(30), diary.note.s("old"))
        here.elapse(30)
        diary.app.schedules.edit("edited", timetable=every(20), call=diary.note.s("new"))
        here.elapse(90)
        # 60 stands in both timetables and was published before the edit; 90 was published as well, and taken back
        assert diary.ran == [("old", 30), ("new", 40), ("old", 60), ("new", 80), ("new", 100), ("new", 120)]


def test_an_edit_of_a_schedule_that_fired_already_does_not_run_what_has_passed(diary: Diary):
    with diary.open() as here:
        diary.app.schedules.add("once", at(BEGAN + timedelta(seconds=30)), diary.note)
        here.elapse(60)
        assert diary.at == [30]
        diary.app.schedules.edit("once", timetable=at(BEGAN + timedelta(seconds=30), BEGAN + timedelta(seconds=70)))
        here.elapse(60)
        assert diary.at == [30, 70]
        assert diary.app.schedules.next("once") == []


def test_a_paused_one_leaves_out_its_moments_also_those_published_ahead_and_goes_on_when_resumed(diary: Diary):
    diary.app.periodic(every(30))(diary.note)
    with diary.open() as here:
        here.elapse(35)
        assert diary.app.schedules.pause("note").next is None
        here.elapse(85)
        assert diary.at == [30]
        assert diary.app.schedules.next("note", 3) == []
        diary.app.schedules.resume("note")
        here.elapse(60)
        assert diary.at == [30, 150, 180]


def test_a_removed_one_is_gone_and_what_was_published_ahead_is_revoked(diary: Diary):
    with diary.open() as here:
        diary.app.schedules.add("short", every(20), diary.note)
        here.elapse(25)
        diary.app.schedules.remove("short")
        here.elapse(200)
        assert diary.at == [20]
        assert diary.app.schedules.list() == []
        with pytest.raises(UnknownSchedule, match="no schedule 'short'"):
            diary.app.schedules.remove("short")


def test_what_code_declares_no_more_is_taken_away_and_what_it_declares_anew_replaces_the_old(diary: Diary):
    diary.app.periodic(every(20))(diary.note)
    with diary.open() as here:
        here.elapse(20)
        diary.app.periodics.clear()
        diary.app.periodic(every(60), args=("slower",))(diary.note)
        here.elapse(100)
        assert diary.ran[:1] == [("None", 20)]
        assert diary.ran[-1] == ("slower", 120)
        diary.app.periodics.clear()
        here.elapse(300)
        assert max(diary.at) <= 120 + AHEAD_S + 60
        assert diary.app.schedules.list() == []


def test_an_edit_at_run_time_stands_until_the_declaration_changes(diary: Diary):
    diary.app.periodic(every(60))(diary.note)
    with diary.open() as here:
        here.elapse(60)
        diary.app.schedules.edit("note", timetable=every(30))
        here.elapse(60)
        assert diary.at == [60, 90, 120]
        with pytest.raises(OptionError, match="declared in code; remove the declaration, or pause it"):
            diary.app.schedules.remove("note")
        with pytest.raises(OptionError, match="declared in code; give another name, or edit the existing one"):
            diary.app.schedules.add("note", every(5), diary.note)


def test_a_backfill_publishes_what_did_not_run_and_nothing_twice(diary: Diary):
    diary.app.periodic(every(60), moment="when")(diary.note)
    with diary.open() as here:
        here.elapse(200)
        assert diary.at == [60, 120, 180]
        results = diary.app.schedules.backfill("note", BEGAN - timedelta(minutes=3), BEGAN + timedelta(minutes=2))
        here.elapse(1)
        assert [result.get() for result in results] == [""] * 6
        filled = [what for what, moment in diary.ran if moment >= 200]
        assert sorted(filled) == [str(BEGAN + timedelta(minutes=n)) for n in (-3, -2, -1, 0)]
