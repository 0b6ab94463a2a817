"""The states of an agenda as text: read back as they were written, small, and refused where they are no states of its schedules."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import MessageRefused
from sedano.model.schedules.agenda import Agenda, Periodic, ScheduledCall, read_definitions, write_agenda, write_definitions
from sedano.model.schedules.schedule import Schedule, State
from sedano.model.schedules.schedule_states import MOST_MISSED, read_states, write_states
from sedano.model.schedules.timetable import Every

NOW, LATEST = 1_767_225_600, 253_402_300_799
COMMON = "t85s00"
"""`NOW` in base 36."""
CALL = ScheduledCall("report", "default")
near = st.integers(-200, 200).map(lambda seconds: NOW + seconds)
moments = st.just(NOW) | near | st.integers(0, LATEST)
states = st.builds(
    State, moments, st.lists(moments, max_size=4).map(tuple), st.integers(0, 10**9), st.lists(moments, max_size=4).map(tuple)
)


def named(**found: State) -> dict[str, Periodic]:
    return {name: Periodic(Schedule(name, Every(10)), CALL, state) for name, state in found.items()}


def blank(found: dict[str, Periodic]) -> dict[str, Periodic]:
    return {name: one._replace(state=State(0)) for name, one in found.items()}


@given(st.dictionaries(st.text(min_size=1, max_size=5), states, max_size=8))
def test_states_are_read_back_as_they_were_written(found: dict[str, State]) -> None:
    periodics = named(**found)
    shuffled = dict(random.Random(len(found)).sample([*periodics.items()], len(periodics)))
    text = write_states(shuffled)
    assert text.isascii()
    assert read_states("agenda 1", text, blank(periodics)) == periodics


def test_the_text_of_states_is_the_one_that_is_described() -> None:
    assert (int(COMMON, 36), write_states({})) == (NOW, "0")
    assert write_states(named(a=State(NOW), b=State(NOW))) == COMMON
    busy = State(NOW - 36, (NOW - 35, NOW), 37, (NOW - 86_400, NOW + 1))
    assert write_states(named(a=State(NOW), b=busy, c=State(NOW))) == f"{COMMON};1C10M11Pz,0R1uo0,-1"
    assert read_states("agenda 1", f"{COMMON};1C10M11Pz,0R1uo0,-1", blank(named(a=busy, b=busy, c=busy)))["b"].state == busy


def test_of_cursors_that_are_as_frequent_the_last_is_the_common_one() -> None:
    assert write_states(named(a=State(NOW), b=State(NOW - 1))) == f"{COMMON};1C1"
    assert write_states(named(a=State(NOW - 1), b=State(NOW))) == f"{COMMON};0C1"
    assert write_states(named(a=State(NOW + 1), b=State(NOW), c=State(NOW))) == f"{COMMON};0C-1"


@pytest.mark.parametrize(("state", "most"), [(State(NOW), 6), (State(NOW, missed=35), 520), (State(NOW, running=(NOW - 86_400,)), 850)])
def test_a_hundred_schedules_fit_into_a_write_unit(state: State, most: int) -> None:
    periodics = named(**{f"prices of the shop in {number}": state for number in range(100)})
    assert len(write_states(periodics)) <= most


@pytest.mark.parametrize(
    "text",
    [
        "", "T85S00", "t85s00;", "t85s00;2M1", "t85s00;M1", "t85s00;0m1", "t85s00;0M-1", "t85s00;0P", "t85s00;0P1,", "t85s00;0R,1",
        "t85s00;0M1C1", "t85s00;0M1;;", "t85s00 0", "{}", '{"a":1}', "t85s00;\u0660", "t85s00;0C\u0661", "t85s00\n", "t85s00;0M1\n",
        "-1", "zzzzzzzzzzzz", "0;0P1", "t85s00;0C-zzzzzzzzzzzz", "t85s00;0R-zzzzzzzzzzzz", "t85s00;0Czzzzzzzzzzzzz", "t85s00;" + "0" * 7,
    ],
)  # fmt: skip
def test_what_is_no_text_of_states_is_refused(text: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        read_states("agenda 1", text, named(a=State(0), b=State(0)))
    assert refused.value.code == "schema"
    assert refused.value.field.startswith("agenda 1")


def test_a_refusal_names_what_is_wrong() -> None:
    for text, words in (
        ("t85s00;7M1", "schema: agenda 1: expected the states of its schedules, got '7M1'"),
        ("t85s00;0C-zzzzzzzzzzzz", "schema: agenda 1: schedule 'a': expected the states of its schedules, got 'State(cursor="),
    ):
        with pytest.raises(MessageRefused) as refused:
            read_states("agenda 1", text, named(a=State(0)))
        assert str(refused.value).startswith(words)


def test_the_first_and_the_last_second_of_the_calendar_are_moments_of_a_state() -> None:
    for state in (State(0, (0, LATEST)), State(LATEST, (), 0, (LATEST, 0))):
        assert read_states("agenda 1", write_states(named(a=state)), named(a=State(5)))["a"].state == state
    later = write_states(named(a=State(LATEST + 1)))
    with pytest.raises(MessageRefused):
        read_states("agenda 1", later, named(a=State(5)))


@pytest.mark.parametrize(("missed", "read"), [(-3, 0), (MOST_MISSED, MOST_MISSED), (MOST_MISSED + 1, MOST_MISSED)])
def test_a_number_of_missed_moments_that_has_no_text_is_written_as_the_nearest_one(missed: int, read: int) -> None:
    text = write_states(named(a=State(NOW, missed=missed)))
    assert read_states("agenda 1", text, named(a=State(0)))["a"].state == State(NOW, missed=read)
    assert int("z" * 12, 36) == MOST_MISSED


@pytest.mark.parametrize("letter", "PR")
def test_a_schedule_has_at_most_ten_thousand_moments(letter: str) -> None:
    text = f"{COMMON};0{letter}" + ",".join(["0"] * 10_000)
    read_states("agenda 1", text, named(a=State(0)))
    with pytest.raises(MessageRefused):
        read_states("agenda 1", f"{text},0", named(a=State(0)))


def test_definitions_have_one_text_whatever_the_states_and_the_order_are() -> None:
    found = named(b=State(NOW, (NOW,), 7), a=State(5))
    text = write_definitions(Agenda(1, found, "n"))
    assert text == write_definitions(Agenda(2, blank(named(a=State(1), b=State(2)))))
    assert read_definitions(1, text) == blank(found)
    assert [(name, *sorted(parts)) for name, parts in json.loads(text).items()] == [
        (name, "call", "declared", "options", "timetable") for name in "ab"
    ]
    other = {**found, "a": found["a"]._replace(call=CALL._replace(queue="bulk"))}
    assert text != write_definitions(Agenda(1, other, "n"))


def test_definitions_with_states_are_those_of_another_version() -> None:
    with pytest.raises(MessageRefused, match="expected a mapping of call, declared, options, timetable, got"):
        read_definitions(1, write_agenda(Agenda(1, named(a=State(5)))))


def test_a_damaged_text_is_refused_or_is_another_text_of_states() -> None:
    dice, found = random.Random(1), named(a=State(0), b=State(0), c=State(0), d=State(0))
    accepted = 0
    for _ in range(3_000):
        letters = list(f"{COMMON};1C10M11Pz,0R1uo0,-1;3M2")
        for _ in range(dice.randrange(1, 6)):
            place = dice.randrange(len(letters))
            letters[place] = dice.choice(["", *"CMPR,;-0z9\n", "\u0661", letters[place] * 2])
        try:
            read = read_states("agenda 1", "".join(letters), found)
        except MessageRefused:
            continue
        accepted += 1
        assert read_states("agenda 1", write_states(read), found) == read
    assert 100 < accepted < 2_900
