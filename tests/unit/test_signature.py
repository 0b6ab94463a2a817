"""A signature is a value: copies change, it does not; options that cannot be honoured are refused by name."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError, UnknownOption
from sedano.model.tasks.signature import (
    MAX_DELAY_S,
    NO_OPTIONS,
    ON_DUPLICATE,
    OPTION_NAMES,
    Options,
    Signature,
    call_text,
    changed,
    delay_of,
    expiry_of,
)

NOW = 1_795_172_400.0
ADD = Signature("shop.add", (1,), {"b": 2}, Options(tenant="acme", countdown=3))


def at(seconds):
    """Return the moment *seconds* from now, in some time zone."""
    return datetime.fromtimestamp(NOW, timezone(timedelta(hours=5))) + timedelta(seconds=seconds)


def test_a_copy_changes_what_it_is_told_and_the_signature_stays():
    copy = ADD.set(queue="slow", countdown=5)
    assert copy.options == Options(queue="slow", tenant="acme", countdown=5)
    assert (copy.task, copy.args, copy.kwargs) == (ADD.task, ADD.args, ADD.kwargs)
    assert ADD.options == Options(tenant="acme", countdown=3)
    assert ADD.set() == ADD


@given(st.lists(st.integers()).map(tuple), st.dictionaries(st.sampled_from("abc"), st.integers()))
def test_a_clone_takes_arguments_in_front_and_keywords_over_its_own(args, kwargs):
    clone = ADD.clone(args, kwargs)
    assert clone.args == args + ADD.args
    assert clone.kwargs == {"b": 2} | kwargs
    assert ADD.kwargs == {"b": 2}
    assert ADD.clone() == ADD


def test_an_immutable_signature_takes_nothing():
    fixed = Signature("shop.add", (1,), immutable=True)
    assert fixed.clone((9,), {"b": 9}) is fixed
    assert fixed.set(queue="slow").immutable


def test_an_unknown_option_is_refused_by_name_and_the_known_are_named():
    with pytest.raises(UnknownOption, match=r"^contdown: not an option; known are queue, .*tenant.*; did you mean countdown\?$"):
        ADD.set(contdown=3)
    with pytest.raises(UnknownOption, match=r"^colour: not an option; known are queue, .*, serial_key, priority$"):
        ADD.set(colour="red")
    assert changed(NO_OPTIONS, {}) is NO_OPTIONS
    assert set(OPTION_NAMES) == set(Options.__slots__)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"countdown": 1, "eta": at(1)}, "countdown, eta: give only one"),
        ({"countdown": -0.001}, "countdown: -0.001 is in the past"),
        ({"countdown": math.nan}, "countdown: nan"),
        ({"countdown": -math.inf}, "countdown: -inf"),
        ({"eta": at(1).replace(tzinfo=None)}, "eta: .* has no time zone"),
        ({"expires": at(1).replace(tzinfo=None)}, "expires: .* has no time zone"),
        ({"expires": math.nan}, "expires: nan"),
        ({"expires": math.inf}, "expires: inf"),
        ({"expires": 10**5000}, "expires: an integer of more than 60 digits is not a valid time; give seconds"),
        ({"expires": "5"}, "expires: expected a number of seconds, or a datetime with a time zone, got str"),
        ({"expires": timedelta(hours=1)}, "expires: expected .*, got timedelta"),
        ({"eta": "tomorrow"}, "eta: expected a datetime with a time zone, got str"),
        ({"countdown": "5"}, "countdown: expected a number of seconds, got str"),
        ({"countdown": True}, "countdown: expected a number of seconds, got bool"),
        ({"budget": "5"}, "budget: expected an integer, got str"),
        ({"ignore_result": "no"}, "ignore_result: expected True or False, got str"),
        ({"dedup_key": 5}, "dedup_key: expected a string, got int"),
        ({"task_id": 5}, "task_id: expected a string, got int"),
        ({"task_id": ""}, "task_id: is empty"),
        ({"tenant": ""}, "tenant: is empty"),
        ({"queue": ""}, "queue: is empty"),
        ({"on_duplicate": "ignore"}, "on_duplicate: 'ignore' is not one of return, wait, drop, raise"),
        ({"dedup_key": "k", "task_id": "t"}, "dedup_key, task_id: give only one"),
        ({"budget": -1}, "budget: -1 is negative"),
    ],
)
def test_options_that_contradict_themselves_are_refused_by_name(options, words):
    with pytest.raises(OptionError, match=f"^{words}"):
        Options(**options)
    with pytest.raises(OptionError, match=f"^{words}"):
        Signature("f").set(**options)


def test_the_edges_of_options_are_allowed():
    Options(countdown=0, budget=0, expires=0.0, dedup_key="")
    for word in ON_DUPLICATE:
        assert Options(on_duplicate=word).on_duplicate == word


@given(st.floats(0, MAX_DELAY_S))
def test_a_delay_is_a_whole_number_of_seconds_and_never_too_short(countdown):
    delay = delay_of(Options(countdown=countdown), NOW)
    assert delay == math.ceil(countdown)
    assert 0 <= delay <= MAX_DELAY_S


@given(st.integers(-(10**6), int(MAX_DELAY_S)))
def test_a_moment_delays_by_its_distance_and_a_past_one_not_at_all(seconds):
    assert delay_of(Options(eta=at(seconds)), NOW) == max(0, seconds)


@pytest.mark.parametrize(
    "options", [Options(countdown=MAX_DELAY_S + 1), Options(countdown=math.inf), Options(eta=at(int(MAX_DELAY_S) + 1))]
)
def test_a_time_beyond_a_year_is_refused_by_name(options):
    with pytest.raises(OptionError, match=r"^(countdown|eta): .* can wait here, 31622400 s \(366 days\)"):
        delay_of(options, NOW)


def test_without_a_time_there_is_no_delay():
    assert delay_of(NO_OPTIONS, NOW) == 0


def test_a_publication_expires_by_its_own_word_else_by_the_tasks_else_never():
    assert expiry_of(NO_OPTIONS, None, NOW) is None
    assert expiry_of(NO_OPTIONS, 60.0, NOW) == NOW + 60
    assert expiry_of(Options(expires=5), 60.0, NOW) == NOW + 5
    assert expiry_of(Options(expires=0), 60.0, NOW) == NOW
    assert expiry_of(Options(expires=at(7)), 60.0, NOW) == NOW + 7
    assert expiry_of(Options(expires=datetime.fromtimestamp(NOW, UTC)), None, NOW) == NOW


def test_arguments_are_written_as_in_a_call():
    assert call_text((7, "é"), {"order": [None], "n": 1.5}) == '7, "é", order=[null], n=1.5'
    assert (call_text((), {}), call_text((), {"n": "é"})) == ("", 'n="é"')


def test_a_deduplication_key_that_is_not_text_is_refused():
    with pytest.raises(OptionError, match=r"^dedup_key: 'order-\\udcff' has half a surrogate pair, which is not text; give text"):
        Options(dedup_key="order-\udcff")
    assert Options(dedup_key="\U0001f955").dedup_key == "\U0001f955"
