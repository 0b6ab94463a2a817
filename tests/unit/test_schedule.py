"""Each occurrence runs once under any number of controllers; what is late is left out, run once or run all, as declared."""

import random
from uuid import uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.messages.lineage import NAMESPACE
from sedano.model.schedules.schedule import (
    AHEAD_S,
    MOST_AT_ONCE,
    MOST_RUNNING,
    Occurrence,
    Schedule,
    State,
    decided,
    edited,
    ended,
    is_due,
    levelled,
    occurrence,
    published,
    withdrawn,
)
from sedano.model.schedules.timetable import At, Every, cron
from tests.unit.occurrences import Play

MINUTE = Schedule("minutely", Every(60))
SEEDS = 300
NOW = 1_767_225_600


def test_each_occurrence_runs_once_under_three_controllers_that_die_with_copied_and_delayed_messages():
    print(f"seeds 0 to {SEEDS - 1}")
    assert {seed: wrong for seed in range(SEEDS) if (wrong := Play(seed).run())} == {}


def test_the_referee_catches_ids_that_are_not_derived():
    assert any(Play(seed, derive=False).run() for seed in range(20))


def test_what_comes_in_the_next_seconds_is_decided_ahead_and_only_once():
    state = decided(MINUTE, State(0), 0.0)
    assert state == State(AHEAD_S, (60,))
    assert decided(MINUTE, state, 1_000.0) == state
    crossed = published(state)
    assert crossed == State(AHEAD_S)
    assert decided(MINUTE, crossed, -500.0) == crossed


@pytest.mark.parametrize(
    ("changes", "pending", "missed"),
    [
        ({}, (600, 660), 9),
        ({"coalesce": False}, (*range(60, 601, 60), 660), 0),
        ({"coalesce": False, "misfire_grace": 130}, (480, 540, 600, 660), 7),
        ({"misfire_grace": 130}, (600, 660), 9),
        ({"misfire_grace": 0}, (660,), 10),
        ({"paused": True}, (), 11),
    ],
)
def test_what_is_late_is_run_left_out_or_run_as_one(changes, pending, missed):
    state = decided(MINUTE._replace(**changes), State(0), 600.5, ahead=60)
    assert state == State(660, pending, missed)


def test_a_long_outage_is_caught_up_with_in_parts_that_leave_nothing_out():
    schedule, state, seen = Schedule("s", Every(1), coalesce=False), State(0), []
    for _ in range(4):
        state = decided(schedule, state, 3 * MOST_AT_ONCE, ahead=0)
        seen += state.pending
        state = published(state)
    assert seen == list(range(1, 3 * MOST_AT_ONCE + 1))


def test_a_schedule_that_is_edited_to_a_moment_which_was_decided_already_does_not_run_it_again():
    state = published(decided(Schedule("s", At((50,))), State(0), 0.0))
    assert decided(Schedule("s", At((50, 80))), state, 0.5) == state._replace(cursor=state.cursor)
    assert decided(Schedule("s", At((50, 80, 100))), state, 20.0).pending == (100,)


@given(st.text(min_size=1, max_size=20), st.integers(0, 2**40), st.integers(0, 600))
def test_an_occurrence_is_derived_from_its_schedule_and_moment_alone_and_its_jitter_with_it(name, moment, jitter):
    schedule = Schedule(name, Every(60), jitter)
    found = occurrence(schedule, moment)
    assert found == occurrence(schedule._replace(timetable=Every(5), coalesce=False), moment)
    assert 0 <= found.runs_at - moment <= jitter
    assert found.task_id != occurrence(schedule, moment + 1).task_id
    assert found.task_id != occurrence(schedule._replace(name=name + "x"), moment).task_id


@pytest.mark.parametrize(
    "changes",
    [
        {"jitter": -1},
        {"jitter": 1.5},
        {"jitter": True},
        {"misfire_grace": -1},
        {"misfire_grace": 40_000_000},
        {"name": ""},
        {"name": "x" * 257},
        {"max_instances": 0},
        {"max_instances": True},
        {"max_instances": 101},
        {"coalesce": None},
        {"paused": 1},
    ],
)
def test_a_schedule_that_cannot_be_honoured_is_refused_by_field(changes):
    with pytest.raises(OptionError, match=f"^{next(iter(changes))}: "):
        MINUTE._replace(**changes).checked()


def test_where_nothing_comes_round_nothing_changes_so_nothing_is_written():
    yearly, state = Schedule("s", At((10_000_000,))), State(0)
    assert decided(yearly, state, 5_000_000.0) is state
    assert decided(yearly, state, 9_999_999.0).pending == (10_000_000,)


def test_an_edit_does_not_run_by_the_new_timetable_what_has_passed():
    daily = Schedule("s", Every(86_400))
    state = edited(State(86_400), daily, Schedule("s", Every(60)), 100_000.0)
    assert state == State(100_000)
    assert decided(Schedule("s", Every(60)), state, 100_000.0).pending == (100_020, 100_080)
    resumed = edited(State(86_400), daily._replace(paused=True), daily, 200_000.0)
    assert decided(daily, resumed, 200_000.0) is resumed


def test_an_edit_writes_down_what_is_new_and_withdraws_what_is_not_any_more_before_the_cursor():
    old, new = Schedule("s", Every(30)), Schedule("s", Every(20))
    state = published(decided(old, State(0), 0.0))
    assert edited(state, old, new, 5.0).pending == (20, 40, 80)
    assert [one.scheduled for one in withdrawn(state, old, new, 5.0)] == [30, 90]
    assert [one.scheduled for one in withdrawn(state, old, None, 35.0)] == [60, 90]
    assert [one.scheduled for one in withdrawn(state, old, old._replace(paused=True), 65.0)] == [90]
    assert withdrawn(state, old._replace(paused=True), None, 5.0) == []


def test_what_is_limited_is_remembered_until_it_has_ended():
    limited = Schedule("s", Every(30), max_instances=2).checked()
    state = published(decided(limited, State(0), 0.0))
    assert state.running == (30, 60, 90)
    assert ended(state, {30, 90}).running == (60,)
    assert edited(state, limited, limited._replace(max_instances=None), 0.0).running == ()
    assert len(decided(limited, State(0, running=tuple(range(-200, 0))), 0.0).running) == MOST_RUNNING


def test_the_edges_of_a_schedule_are_allowed_and_its_name_is_a_text():
    edge = Schedule("x" * 256, Every(60), jitter=31_622_400, misfire_grace=31_622_400, max_instances=100)
    assert edge.checked() is edge
    assert Schedule("x", Every(60), jitter=0, misfire_grace=0, max_instances=1).checked()
    assert (MOST_AT_ONCE, MOST_RUNNING) == (500, 100)
    for name in (5, None, "", "x" * 257):
        with pytest.raises(OptionError, match=r"^name: .* is not 1 to 256 characters$"):
            Schedule(name, Every(60)).checked()
    with pytest.raises(OptionError, match=r"^jitter: 31622401 is not a whole number of seconds from 0 to 31622400$"):
        edge._replace(jitter=31_622_401).checked()


@pytest.mark.parametrize("jitter", [0, 1, 59])
def test_an_occurrence_has_its_id_and_its_delay_from_its_name_and_moment(jitter):
    derived = uuid5(NAMESPACE, "occurrence/1:s/1000")
    assert occurrence(Schedule("s", Every(60), jitter), 1_000) == Occurrence(str(derived), 1_000, 1_000 + derived.int % (jitter + 1))


def test_one_decision_writes_down_five_hundred_moments():
    found = decided(Schedule("s", Every(1), coalesce=False), State(0), 1_000.0, ahead=0)
    assert found == State(500, tuple(range(1, 501)))
    assert decided(Schedule("s", Every(1), coalesce=False), State(0), 500.0, ahead=0) == State(500, tuple(range(1, 501)))
    assert decided(Schedule("s", Every(1), paused=True), State(0, (), 7), 1_000.0, ahead=0) == State(500, (), 507)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, State(50, (30, 40, 50), 2)),
        ({"coalesce": False}, State(50, (10, 20, 30, 40, 50))),
        ({"coalesce": False, "misfire_grace": 10}, State(50, (20, 30, 40, 50), 1)),
        ({"coalesce": False, "misfire_grace": 9}, State(50, (30, 40, 50), 2)),
        ({"misfire_grace": 0}, State(50, (30, 40, 50), 2)),
        ({"max_instances": 2}, State(50, (30, 40, 50), 2, (3, 30, 40, 50))),
    ],
)
def test_what_is_late_runs_as_the_options_say(options, expected):
    state = State(0, running=(3,)) if "max_instances" in options else State(0)
    assert decided(Schedule("s", Every(10), **options), state, 30.0, ahead=20) == expected


def test_a_clock_that_was_set_back_decides_nothing():
    for now in (5.0, 50.0):
        assert decided(Schedule("s", Every(10)), State(50), now, ahead=0) == State(50)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"paused": True}, State(90, (95,), 1)),
        ({}, {"paused": True, "max_instances": 2}, State(90, (95,), 1, (3,))),
        ({}, {"jitter": 5}, State(90, (95,), 1)),
        ({}, {"max_instances": 2}, State(90, (95,), 1, (3,))),
        ({"paused": True}, {}, State(90, (95, 60, 90), 1)),
        ({"paused": True}, {"max_instances": 2}, State(90, (95, 60, 90), 1, (3, 60, 90))),
        ({}, {"timetable": Every(20)}, State(90, (95, 40, 80), 1)),
        ({}, {"timetable": Every(45), "max_instances": 2}, State(90, (95, 45), 1, (3, 45))),
        ({}, {"timetable": Every(20), "paused": True}, State(90, (95,), 1)),
    ],
)
def test_the_state_after_an_edit(old, new, expected):
    before = Schedule("s", Every(30), **old)
    assert edited(State(90, (95,), 1, (3,)), before, Schedule("s", **{"timetable": Every(30), **new}), 35.0) == expected


def test_an_edit_that_leaves_the_timetable_leaves_the_cursor():
    old = Schedule("s", Every(30))
    assert edited(State(90), old, old._replace(jitter=5), 200.0) == State(90)
    assert edited(State(90), old, old._replace(paused=True), 200.0) == State(90)
    assert edited(State(90), old, old._replace(timetable=Every(7)), 200.5) == State(200)


@pytest.mark.parametrize(("age", "running"), [(43 * 86_400 - 1, True), (43 * 86_400, False)])
def test_an_occurrence_counts_as_running_for_a_day_less_than_its_record_is_kept(age, running):
    old = NOW - age
    expected = (old,) if running else ()
    limited = Schedule("s", Every(30, NOW + 30), max_instances=1)
    assert decided(limited, State(NOW, running=(old,)), NOW, ahead=30) == State(NOW + 30, (NOW + 30,), 0, (*expected, NOW + 30))
    faster = limited._replace(timetable=Every(15, NOW + 15))
    assert edited(State(NOW + 30, running=(old,)), limited, faster, NOW).running == (*expected, NOW + 15)


def test_a_schedule_without_a_moment_gets_the_cursor_of_the_others():
    assert levelled(State(NOW, missed=2, running=(5,)), NOW + 9.5) == State(NOW + 99, missed=2, running=(5,))
    assert levelled(State(NOW), NOW + 8, ahead=60) == State(NOW + 68)
    assert levelled(State(NOW + 500), NOW) == State(NOW + 500)


@pytest.mark.parametrize("name", ["\ud800", "a\udfffb", "\ud83d\ude00"])
def test_a_name_that_is_no_text_of_utf_8_is_refused(name):
    with pytest.raises(OptionError, match="half of a surrogate pair, which UTF-8 cannot encode; give the whole character"):
        Schedule(name, Every(60)).checked()
    assert Schedule("\ud7ff\ue000\U0001f600", Every(60)).checked()


def test_a_schedule_is_due_with_a_moment_that_is_not_decided():
    daily = Schedule("s", Every(86_400, NOW + 86_400))
    assert [is_due(daily, State(NOW), NOW + 86_400 - ahead) for ahead in (91, 90, 0, -500)] == [False, True, True, True]
    assert not is_due(daily, State(NOW + 86_400), NOW + 86_400)
    assert not is_due(daily, State(NOW, (NOW + 1,)), NOW + 86_400)
    assert is_due(daily, State(NOW), NOW, ahead=86_400)


@pytest.mark.parametrize("seed", range(30))
def test_moments_are_decided_alike_whether_cursors_are_levelled_or_not(seed):
    print(f"seed {seed}")
    dice = random.Random(seed)
    table = dice.choice([Every(7), Every(86_400, NOW + 300), cron("*/5 * * * *"), cron("30 2 * * *", tz="Europe/Berlin")])
    schedule = Schedule("s", table, misfire_grace=dice.choice([None, 60]), coalesce=dice.random() < 0.5, paused=dice.random() < 0.2)
    plain = level = State(NOW)
    now = NOW + dice.random()
    for _ in range(60):
        now += dice.choice([0, 5, 60, 60, 300, 7_000])
        plain, new = decided(schedule, plain, now), decided(schedule, level, now)
        level = levelled(level, now) if new is level and not level.pending and dice.random() < 0.7 else new
        assert (plain.pending, plain.missed) == (level.pending, level.missed)
        if dice.random() < 0.7:
            plain, level = published(plain), published(level)
