"""The rules of the inbox: a closed table of verbs, bodies and memos that anybody may have written, ids that are obeyed once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError, TooLarge
from sedano.model.cluster import inbox
from sedano.model.cluster.inbox import MOST_ENTRIES, MOST_OBEYED, VERBS, InboxCommand, InboxEntry, Obeyed, Receiving
from sedano.model.seals.seal import EXPIRED, REFUSALS, TOLERANCE_S

NOW = 1_767_225_600
ASKED = inbox.asking("m-1", "ping", "", NOW + 0.7, 60)
bodies = st.builds(InboxCommand, st.text(min_size=1), st.text(), st.text(), st.integers(0, 2**40), st.integers(0, 2**40))
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(plain, lambda some: st.lists(some) | st.dictionaries(st.text(), some))


def entry(asked: InboxCommand = ASKED, to: str = inbox.WORKERS) -> InboxEntry:
    """An entry under some seal."""
    return InboxEntry(to, "seal", inbox.body_of(asked))


def test_a_command_holds_from_its_whole_second_for_the_seconds_that_were_asked() -> None:
    assert InboxCommand("m-1", "ping", "", NOW, NOW + 60) == ASKED


@pytest.mark.parametrize(
    ("verb", "argument", "seconds", "words"),
    [
        ("shutdown", "", 60, "verb: 'shutdown' is not one of ping, stats, stacks, check_health, reload, log, expired, drain, pause, "),
        ("ping", "x", 60, "argument: ping takes no argument"),
        ("check_health", "", 60, "argument: check_health takes the name of the health check"),
        ("concurrency", "", 60, "argument: concurrency takes a number from 1 to 1000"),
        *(("concurrency", one, 60, f"argument: '{one}' is not valid; concurrency takes a number from 1 to 1000")
          for one in ("0", "-1", "08", "1001", "9999", "four", "4 ", "٤")),
        *(("log", one, 60, f"argument: '{one}' is not valid; log takes a level and seconds, such as debug or debug 600")
          for one in ("loud", "DEBUG", "debug 0", "debug 3601", "debug 60s", "debug  60", "debug 60 ")),
        ("terminate", "", 60, "argument: terminate takes the id of the task"),
        ("ping", "", 0, "seconds: 0 is not between 1 and 900"),
        ("ping", "", 901, "seconds: 901 is not between 1 and 900"),
        ("check_health", "x" * 950, 60, "argument: it has 950 characters; the body may have 1000 bytes"),
    ],
)
def test_a_command_that_no_worker_could_obey_is_refused_where_it_is_made(verb: str, argument: str, seconds: int, words: str) -> None:
    with pytest.raises(OptionError, match="^" + words.replace("(", r"\(")):
        inbox.asking("m-1", verb, argument, NOW, seconds)


@given(asked=bodies)
def test_a_body_is_read_back_as_it_was_written_or_is_too_long(asked: InboxCommand) -> None:
    body = inbox.body_of(asked)
    assert inbox.asked_of(body) == (asked if len(body.encode()) <= inbox.MOST_BODY else None)


@given(found=values)
def test_a_body_of_another_shape_asks_nothing(found: object) -> None:
    assert inbox.asked_of(json.dumps(found)) is None
    assert inbox.asked_of(json.dumps({**ASKED._asdict(), "expires": found})) in (None, ASKED._replace(expires=found))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change", [{"id": ""}, {"id": 1}, {"verb": None}, {"argument": 0}, {"issued": -1}, {"issued": 1.5}, {"expires": True}]
)
def test_a_body_with_a_field_of_another_type_asks_nothing(change: dict[str, object]) -> None:
    assert inbox.asked_of(json.dumps({**ASKED._asdict(), **change})) is None


@given(text=st.text() | values.map(json.dumps))
def test_any_text_in_the_memo_is_read_as_entries_and_raises_nothing(text: str) -> None:
    for one in inbox.entries_of(text):
        assert all(type(part) is str for part in one)


def test_entries_are_read_back_and_what_is_not_one_is_left_out() -> None:
    text = inbox.text_of([entry(), entry(to="worker:a")])
    assert inbox.entries_of(text) == [entry(), entry(to="worker:a")]
    assert inbox.entries_of(json.dumps([["a", "b"], ["a", "b", 3], "abc", list(entry())])) == [entry()]


def test_an_entry_is_removed_once_it_can_be_accepted_no_more_and_a_full_inbox_is_refused() -> None:
    text = ""
    for number in range(MOST_ENTRIES):
        text = inbox.with_entry(text, entry(ASKED._replace(id=str(number))), NOW)
    last = NOW + 60 + TOLERANCE_S
    with pytest.raises(TooLarge, match="holds 32 commands that have not expired"):
        inbox.with_entry(text, entry(), last)
    assert inbox.entries_of(inbox.with_entry(text, entry(), last + 1)) == [entry()]


def test_an_id_is_remembered_until_its_entry_can_be_accepted_no_more_and_memory_is_bounded() -> None:
    obeyed = Obeyed()
    assert all(obeyed.add(ASKED._replace(id=str(number)), NOW) for number in range(MOST_OBEYED))
    last = NOW + 60 + TOLERANCE_S
    assert not obeyed.add(ASKED, last)
    assert (len(obeyed), "0" in obeyed, "m-1" in obeyed) == (MOST_OBEYED, True, False)
    assert obeyed.add(ASKED, last + 1)
    assert (len(obeyed), "0" in obeyed, "m-1" in obeyed) == (1, False, True)


def test_a_worker_that_drains_can_be_paused_and_never_receives_again() -> None:
    state = Receiving()
    for verb, then in (("pause", (True, False)), ("resume", (False, False)), ("ping", (False, False)), ("drain", (False, True))):
        state = inbox.after(state, verb)
        assert state == then
    assert all(inbox.after(state, verb).draining for verb in VERBS)


@pytest.mark.parametrize(("asked", "at", "holds"), [
    ("", NOW, False), (inbox.note(NOW, "n"), NOW + TOLERANCE_S, True), (inbox.note(NOW, "n"), NOW + TOLERANCE_S + 0.5, False),
    ("later form", NOW, True), ("9" * 13 + " n", NOW, True), ("\u0663 n", NOW, True),
])  # fmt: skip
def test_the_inbox_is_read_only_while_something_announced_may_hold(asked: str, at: float, holds: bool) -> None:
    assert inbox.may_hold(asked, at) is holds


def test_an_announcement_keeps_the_later_end() -> None:
    assert inbox.announced("", NOW, "n") == f"{NOW} n"
    assert inbox.announced(f"{NOW + 5} m", NOW, "n") == f"{NOW + 5} n"
    assert inbox.announced(f"{NOW - 5} m", NOW, "n") == f"{NOW} n"
    assert inbox.announced("later form", NOW, "n") == f"{NOW} n"


def test_an_entry_without_a_seal_is_held_to_its_own_times() -> None:
    body = inbox.body_of(ASKED)
    assert inbox.unsigned_refusal("{}", NOW) == inbox.UNREADABLE
    for at in (NOW - TOLERANCE_S, NOW + 60 + TOLERANCE_S):
        assert inbox.unsigned_refusal(body, at) is None
    for at in (NOW - TOLERANCE_S - 1, NOW + 61 + TOLERANCE_S):
        assert inbox.unsigned_refusal(body, at) == EXPIRED


@given(answers=st.dictionaries(st.text(), st.text(max_size=100), max_size=4))
def test_answers_are_read_back(answers: dict[str, str]) -> None:
    assert inbox.answers_of(inbox.answers_text(answers)) == answers


@given(text=st.text() | values.map(json.dumps))
def test_any_text_in_the_place_of_answers_is_read_and_raises_nothing(text: str) -> None:
    assert all(type(said) is str for said in inbox.answers_of(text).values())


def test_no_two_refusals_have_one_code_and_the_audience_of_a_worker_is_never_that_of_all() -> None:
    codes = [*REFUSALS, *inbox.REFUSALS]
    assert len({*codes}) == len(codes)
    assert inbox.audience(None) == "workers" != inbox.audience("workers")


@pytest.mark.parametrize("number", [1, 9, 10, 99, 100, 999, 1_000])
def test_a_process_may_be_asked_for_any_number_of_lanes_up_to_a_thousand(number: int) -> None:
    assert inbox.asking("m", "concurrency", str(number), NOW, 60).argument == str(number)


@pytest.mark.parametrize(("argument", "meant"), [
    ("debug", ("debug", 300)), ("info 1", ("info", 1)), ("warning 999", ("warning", 999)), ("error 2999", ("error", 2_999)),
    ("error 3599", ("error", 3_599)), ("error 3600", ("error", 3_600)),
])
def test_a_log_level_holds_for_five_minutes_unless_the_command_says_for_how_long(argument: str, meant: tuple[str, int]) -> None:
    assert inbox.log_level(inbox.asking("m", "log", argument, NOW, 60).argument) == meant
