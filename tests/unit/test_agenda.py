"""Periodic tasks as they are kept: read back whole or refused by field, and put in step with what code declares."""

import json
import random
from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import MessageRefused, TooLarge
from sedano.model.schedules.agenda import (
    AGENDAS,
    HOLD_S,
    MOST_BYTES,
    MOST_CALL_BYTES,
    MOST_MOMENTS,
    Agenda,
    Periodic,
    ScheduledCall,
    agenda_of,
    agenda_or_refusal,
    begun,
    changed,
    claimed,
    declaration,
    is_held,
    read_agenda,
    reconciled,
    with_periodic,
    write_agenda,
)
from sedano.model.schedules.schedule import Schedule, State, decided, published, withdrawn
from sedano.model.schedules.timetable import At, Cron, Every, Timetable, between

NOW = 1_767_225_600
CALL = ScheduledCall("report", "default")
TABLES: list[Timetable] = [Every(10), Every(3_600, 7), Cron("30 2 * * *", "Europe/Berlin", "skip", "both"), At((NOW, NOW + 9))]
LATEST = 253_402_300_799
moments = st.tuples() | st.lists(st.integers(0, LATEST), max_size=3).map(tuple)
texts = st.text(max_size=20)
names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=256)
data = st.text(st.characters(max_codepoint=127), max_size=20)
schedules = st.builds(
    Schedule, texts.filter(bool), st.sampled_from(TABLES), st.integers(0, 900), st.none() | st.integers(0, 900), st.booleans(),
    st.booleans(), st.none() | st.integers(1, 100),
)  # fmt: skip
calls = st.builds(
    ScheduledCall, names, names, data, st.none() | st.floats(0.5, 1e6), st.booleans(), st.none() | names.map(lambda name: name[:128]),
    st.none() | st.sampled_from(["batch=7", "a=1,b=2"]), st.none() | texts,
)  # fmt: skip
periodics = st.builds(Periodic, schedules, calls, st.builds(State, st.integers(0, LATEST), moments, st.integers(0, 99), moments), texts)
GOOD = json.loads(write_agenda(Agenda(1, {"a": Periodic(Schedule("a", Every(10), misfire_grace=5), CALL, State(NOW, (NOW,)))})))


@given(st.lists(periodics, max_size=4))
def test_an_agenda_is_read_back_as_it_was_written(found):
    agenda = Agenda(5, {one.schedule.name: one for one in found}, "n")
    assert read_agenda(5, write_agenda(agenda), "n") == agenda


def test_the_first_and_the_last_second_of_the_calendar_are_moments_of_a_state() -> None:
    state = State(0, (0, LATEST), 3, (LATEST, 0))
    agenda = Agenda(1, {"a": Periodic(Schedule("a", Every(10)), CALL, state)})
    assert read_agenda(1, write_agenda(agenda), "n").periodics["a"].state == state
    late = agenda.periodics["a"]._replace(state=State(LATEST))
    assert read_agenda(1, write_agenda(with_periodic(agenda, "a", late)), "n").periodics["a"].state.cursor == LATEST


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("timetable",), ["every", [0, 0]], "schedule 'a'"),
        (("timetable",), ["hourly", []], "schedule 'a'"),
        (("timetable",), "every", "schedule 'a': timetable"),
        *[(("state", "cursor"), moment, "schedule 'a': state.cursor") for moment in (-1, LATEST + 1, 10**400, 1e300, True, "1", None)],
        *[(("state", "pending"), some, "schedule 'a': state.pending") for some in ([-1], [10**400], [0.5], [0] * 10_001, {}, "1", [None])],
        *[(("call", "expires"), seconds, "schedule 'a': call.expires") for seconds in (-1, 0, 1e300, 10**400, "1", True, [])],
        (("call", "task"), "", "schedule 'a': call.task"),
        (("call", "queue"), "two words", "schedule 'a': call.queue"),
        (("call", "data"), "\ud800", "schedule 'a': call.data"),
        (("call", "tenant"), "\u20ac", "schedule 'a': call.tenant"),
        (("call", "stamps"), "=", "schedule 'a': call.stamps"),
        (("options", "jitter"), "5", "schedule 'a': options.jitter"),
        (("options", "jitter"), -5, "schedule 'a'"),
        (("options", "paused"), 1, "schedule 'a': options.paused"),
        (("options", "misfire_grace"), 1.5, "schedule 'a': options.misfire_grace"),
        (("options", "colour"), 1, "schedule 'a': options"),
        (("call", "task"), None, "schedule 'a': call.task"),
        (("call", "expires"), True, "schedule 'a': call.expires"),
        (("state", "cursor"), 1.0, "schedule 'a': state.cursor"),
        (("state", "pending"), [1, "2"], "schedule 'a': state.pending"),
        (("declared",), None, "schedule 'a'"),
        (("more",), 1, "schedule 'a'"),
    ],
)
def test_what_is_no_agenda_is_refused_by_field(path, value, field):
    text = json.loads(json.dumps(GOOD))
    place = text["a"]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(MessageRefused) as refused:
        read_agenda(1, json.dumps(text), "n")
    assert refused.value.field == field


def test_a_claim_ends_by_its_date_and_one_that_a_wrong_clock_set_holds_nobody_up():
    pending = Agenda(1, {"a": Periodic(Schedule("a", Every(10)), CALL, State(NOW, (NOW,)))}, "n")
    held = claimed(pending, NOW + 0.5)
    assert [is_held(held, NOW + late) for late in (-HOLD_S - 1, -HOLD_S, 0, HOLD_S - 0.1, HOLD_S)] == [False, True, True, True, False]
    assert not is_held(pending, NOW)
    assert not is_held(claimed(pending, NOW + 86_400), NOW)
    crossed_off = Agenda(1, {"a": Periodic(Schedule("a", Every(10)), CALL, State(NOW))}, "n")
    assert claimed(crossed_off, NOW) == crossed_off
    assert not is_held(crossed_off._replace(held=held.held), NOW)


@pytest.mark.parametrize("text", ["{", "[]", "5", '{"a":[]}', "[" * 100_000])
def test_what_is_no_json_mapping_is_refused(text):
    with pytest.raises(MessageRefused):
        read_agenda(1, text, "n")


def test_an_agenda_is_not_larger_than_an_item():
    agenda = Agenda(1, {"a": Periodic(Schedule("a", Every(10)), CALL._replace(data="x" * MOST_BYTES), State(0))})
    with pytest.raises(TooLarge, match=f"of {MOST_BYTES} in one of 16 agendas"):
        write_agenda(agenda)


def test_names_spread_over_all_agendas():
    found = Counter(agenda_of(f"schedule {n}") for n in range(1_600))
    assert set(found) == set(range(AGENDAS))
    assert max(found.values()) < 160


def test_what_code_declares_is_put_in_without_touching_what_was_added_or_changed_at_run_time():
    declared = {name: declaration(Schedule(name, Every(60)), CALL) for name in ("a", "b", "c")}
    agendas = [reconciled(Agenda(n), declared, NOW + 0.5) for n in range(AGENDAS)]
    assert {name for agenda in agendas for name in agenda.periodics} == {"a", "b", "c"}
    (agenda,) = [agenda for agenda in agendas if "a" in agenda.periodics]
    assert agenda.periodics["a"].state == State(NOW)
    added = begun(Periodic(Schedule("x", Every(5)), CALL, State(0)), NOW)
    paused = agenda.periodics["a"]
    paused = changed(paused, paused.schedule._replace(paused=True, timetable=Every(7)), CALL, NOW)
    agenda = with_periodic(with_periodic(agenda, "x", added), "a", paused)
    assert reconciled(agenda, declared, NOW + 60) is agenda
    anew = {"a": declaration(Schedule("a", Every(90)), CALL._replace(queue="bulk"))}
    after = reconciled(agenda, anew, NOW + 60).periodics
    assert after["a"].schedule == Schedule("a", Every(90), paused=True)
    assert after["a"].call.queue == "bulk"
    assert reconciled(agenda, {}, NOW).periodics == {"x": added}


@pytest.mark.parametrize("seed", range(40))
def test_through_any_edits_no_moment_of_the_present_timetable_is_lost_but_those_that_an_edit_took_back(seed):
    print(f"seed {seed}")
    dice = random.Random(seed)
    tables = [Every(10), Every(15), Every(7, NOW), At((NOW + 30, NOW + 61, NOW + 200)), Cron("*/2 * * * *")]
    schedule, state, now = Schedule("s", dice.choice(tables), coalesce=False), State(NOW), NOW
    due, ran, revoked = set(), Counter(), set()
    while now < NOW + 900:
        state = decided(schedule, state, now)
        ran.update(moment for moment in state.pending)
        state = published(state)
        if dice.random() < 0.3:
            new = schedule._replace(timetable=dice.choice(tables), paused=dice.random() < 0.2)
            gone = {one.scheduled for one in withdrawn(state, schedule, new, now)}
            before, schedule = schedule, new
            edited = changed(Periodic(before, CALL, state), new, CALL, now).state
            ran.update(edited.pending)
            state = published(edited)
            revoked |= gone
            due -= {moment for moment in due if moment > now}
        if not schedule.paused:
            due |= set(between(schedule.timetable, now, now + 20))
        else:
            due -= {moment for moment in due if moment > now}
        now += 20
    missing = {moment for moment in due if not ran[moment] and moment <= now - 20}
    assert missing <= revoked


def test_the_figures_of_agendas_are_those_that_are_described():
    assert (AGENDAS, MOST_BYTES, MOST_MOMENTS, HOLD_S, MOST_CALL_BYTES) == (16, 350_000, 10_000, 20, 16_000)


def test_a_declaration_has_a_digest_of_sixteen_digits_of_its_text_and_begins_at_the_epoch():
    one = declaration(Schedule("a", Every(60)), CALL)
    text = json.dumps(json.loads(write_agenda(Agenda(1, {"a": one._replace(declared="")})))["a"])
    assert one == Periodic(Schedule("a", Every(60)), CALL, State(0), sha256(text.encode()).hexdigest()[:16])


def test_a_periodic_task_is_put_in_replaced_and_removed():
    one, two = (Periodic(Schedule("a", Every(seconds)), CALL, State(0)) for seconds in (1, 2))
    agenda = with_periodic(with_periodic(Agenda(1), "a", one), "b", two)
    assert agenda.periodics == {"a": one, "b": two}
    assert with_periodic(agenda, "a", two).periodics == {"a": two, "b": two}
    assert with_periodic(agenda, "a", None).periodics == {"b": two}
    assert [Agenda(1, {"a": one, "b": two._replace(state=state)}).is_pending for state in (State(0), State(0, (1,)))] == [False, True]


def test_an_agenda_may_have_350_000_bytes():
    def filled(size):
        return Agenda(1, {"a": Periodic(Schedule("a", Every(10)), CALL._replace(data="x" * size), State(0))})

    room = 350_000 - len(write_agenda(filled(0)))
    assert len(write_agenda(filled(room))) == 350_000
    with pytest.raises(TooLarge, match=r"^schedules: 350001 bytes of 350000 in one of 16 agendas; remove some, or give shorter arguments$"):
        write_agenda(filled(room + 1))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"timetable": "ab"}, "schedule 'a': timetable: expected a kind and a list, got 'ab'"),
        ({"timetable": {"a": 1, "b": 2}}, "schedule 'a': timetable: expected a kind and a list, got \"{'a': 1, 'b': 2}\""),
        ({"timetable": ["every", [10, 0], 1]}, "schedule 'a': timetable: expected a kind and a list, got \"['every', [10, 0], 1]\""),
        ({"timetable": ["every"]}, "schedule 'a': timetable: expected a kind and a list, got \"['every']\""),
        ({"timetable": [5, [10, 0]]}, "schedule 'a': timetable: expected a kind and a list, got '[5, [10, 0]]'"),
        ({"timetable": ["every", 10]}, "schedule 'a': timetable: expected a kind and a list, got \"['every', 10]\""),
        ({"declared": 5}, "schedule 'a': expected a mapping of call, declared, options, state, timetable, got "),
        ({"state": []}, "schedule 'a': state: expected a mapping of cursor, pending, missed, running, got '[]'"),
        ({"state": 5}, "schedule 'a': state: expected a mapping of cursor, pending, missed, running, got '5'"),
        ({"state": {**GOOD["a"]["state"], "cursor": "x"}}, "schedule 'a': state.cursor: expected a moment in whole epoch seconds, got 'x'"),
        ({"call": {**GOOD["a"]["call"], "tenant": ""}}, "schedule 'a': call.tenant: expected 1 to 128 visible ASCII characters or null"),
    ],
)
def test_a_part_that_is_wrong_is_refused_with_what_it_should_be(changes, words):
    with pytest.raises(MessageRefused) as caught:
        read_agenda(1, json.dumps({"a": {**GOOD["a"], **changes}}), "n")
    assert str(caught.value).startswith(f"schema: {words}")


def test_what_is_no_mapping_is_refused_under_the_number_of_its_agenda():
    for text, words in (("[5]", "schema: agenda 7: expected a mapping, got '"), ('{"a":5}', "schema: schedule 'a': expected a mapping")):
        with pytest.raises(MessageRefused) as caught:
            read_agenda(7, text, "n")
        assert str(caught.value).startswith(words)
    with pytest.raises(MessageRefused) as caught:
        read_agenda(7, "{", "n")
    assert (caught.value.code, caught.value.field) == ("malformed", "agenda 7")
    refused = agenda_or_refusal(7, "{", "n")
    assert isinstance(refused, MessageRefused)
    assert refused.field == "agenda 7"
    assert agenda_or_refusal(7, "{}", "n", 9) == read_agenda(7, "{}", "n", 9) == Agenda(7, {}, "n", 9)
