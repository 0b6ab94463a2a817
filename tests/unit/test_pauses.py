"""A pause stops what it names, in its window and not outside, and is read back from the text that the control record holds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.messages.message import Command
from sedano.model.pauses import (
    KINDS,
    Pause,
    PauseCause,
    cause_name,
    cause_of,
    in_force,
    parsed,
    pause,
    pausing,
    queues_of,
    with_pause,
    without_pause,
)

NOW = 1_767_225_600.0
COMMAND = Command("m", "t", "shop.add", "test", 0.0, 0, tenant="acme")
names = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="="), min_size=1, max_size=30)
moments = st.one_of(st.just(0), st.integers(1, 2_000_000_000))


@given(st.sampled_from(KINDS), names, moments, moments)
def test_a_pause_is_read_back_from_its_text(kind, name, start, until):
    if until and until <= start:
        with pytest.raises(OptionError, match="until"):
            pause(kind, name, start, until)
        return
    new = pause(kind, name, start, until)
    assert parsed(new.text) == new


@pytest.mark.parametrize(("kind", "name"), [("task", "shop.add"), ("tenant", "acme"), ("circuit", "web"), ("id", "t")])
def test_it_stops_what_it_names_in_its_window_only(kind, name):
    paused = with_pause(frozenset(), pause(kind, name, NOW, NOW + 60), NOW)
    assert pausing(paused, COMMAND, "web", NOW) == pause(kind, name, NOW, NOW + 60)
    assert pausing(paused, COMMAND, "web", NOW - 1) is None
    assert pausing(paused, COMMAND, "web", NOW + 60) is None
    other = with_pause(frozenset(), pause(kind, f"{name}x"), NOW)
    assert pausing(other, COMMAND, "web", NOW) is None
    assert queues_of(paused, NOW) == frozenset()


def test_a_queue_is_a_name_alone_as_older_workers_know_it():
    paused = with_pause(frozenset(), pause("queue", "mail"), NOW)
    assert paused == {"mail"}
    assert queues_of(paused | {"queue=bulk 0 1767225601"}, NOW) == {"mail", "bulk"}
    assert queues_of(paused | {"queue=bulk 0 1767225600"}, NOW) == {"mail"}


def test_a_new_pause_takes_the_place_of_the_one_before_and_what_is_over_goes():
    paused = with_pause(frozenset({"task=a 0 10", "tenant=x"}), pause("task", "b"), NOW)
    assert paused == {"tenant=x", "task=b"}
    paused = with_pause(paused, pause("task", "b", 0, NOW + 5), NOW)
    assert paused == {"tenant=x", "task=b 0 1767225605"}
    assert without_pause(paused, "task", "b", NOW) == {"tenant=x"}


def test_what_a_newer_version_wrote_is_left_alone():
    newer = frozenset({"colour=red", "task=a 1 2 3", "task=a x y"})
    assert in_force(newer, NOW) == []
    assert without_pause(newer, "task", "a", NOW) == newer


@pytest.mark.parametrize("window", ["² 1", "1 ²", "1 " + "9" * 19, "-1 1", "1e3 2"])
def test_a_window_that_is_no_two_numbers_stops_nothing_and_raises_nothing(window):
    """Some letters are digits to Python and no numbers to it."""
    assert in_force(frozenset({f"task=a {window}", f"mail {window}", "tenant=x"}), NOW) == [pause("tenant", "x")]


@pytest.mark.parametrize(("kind", "name"), [("colour", "red"), ("task", ""), ("task", "a b"), ("tenant", "a=b")])
def test_what_cannot_be_paused_is_named(kind, name):
    with pytest.raises(OptionError, match=f"^{kind}"):
        pause(kind, name)


@given(st.text(), st.text())
def test_the_cause_of_a_pause_is_read_as_it_was_written(by: str, reason: str) -> None:
    cause = PauseCause(by, reason)
    assert cause_of(cause.text) == cause
    assert bool(cause.text) == bool(by or reason)


@pytest.mark.parametrize("text", ["", "x", "[]", '["ana"]', '["ana", 1]', '["ana", "why", "x"]', '{"ana": "why"}', "null"])
def test_a_text_that_is_no_cause_says_nothing(text: str) -> None:
    assert cause_of(text) == PauseCause()


def test_a_cause_in_words_and_the_name_under_which_it_is_kept() -> None:
    said = [PauseCause(*one).sentence for one in (("ana", "bad deploy"), ("ana", ""), ("", "bad deploy"), ("", ""))]
    assert said == ["by ana: bad deploy", "by ana", "bad deploy", ""]
    assert cause_name("queue", "mail") == "pause:queue=mail"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("queue", "mail"), "mail"),
        (("queue", "mail", 5), "queue=mail 5 0"),
        (("task", "a", 0, 10), "task=a 0 10"),
        (("task", "a", 5.9, 10.1), "task=a 5 11"),
        (("task", "a", 10.5, 10.9), "task=a 10 11"),
    ],
)
def test_a_window_begins_and_ends_at_whole_seconds(given: tuple[Any, ...], text: str) -> None:
    assert pause(*given).text == text
    assert parsed(text) == pause(*given)


def test_a_pause_that_ends_when_it_begins_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^until: 5 is not after start, 5$"):
        pause("task", "a", 5, 5)


def test_a_time_has_at_most_eighteen_digits() -> None:
    assert parsed(f"task=a 0 {'9' * 18}") == Pause("task", "a", 0, 10**18 - 1)


def test_a_command_without_a_tenant_or_a_circuit_is_stopped_by_no_pause_of_them() -> None:
    assert pausing(frozenset({"circuit=", "tenant="}), COMMAND._replace(tenant=None), "", NOW) is None


@pytest.mark.parametrize(("until", "stays"), [(1, False), (int(NOW), False), (int(NOW) + 1, True), (0, True)])
def test_a_pause_that_is_over_goes_with_the_next_change(until: int, stays: bool) -> None:
    old = Pause("task", "a", 0, until).text
    assert without_pause(frozenset({old}), "task", "b", NOW) == (frozenset({old}) if stays else frozenset())
