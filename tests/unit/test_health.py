"""A health check knows its own states only, is due when what it found has expired, and is asked for once in its period."""

import pytest

from sedano.errors import ConfigurationError, OptionError
from sedano.model.health import (
    DEGRADED,
    HEALTHY,
    STATES,
    UNHEALTHY,
    Health,
    from_text,
    health_check,
    is_due,
    reported,
    to_ask,
    to_text,
    worst,
)

NOW = 1_767_225_600.0
WEB = health_check("web", every=30)
NEW = Health("web")


def test_what_was_found_holds_for_its_period_and_then_expires():
    known = reported(WEB, NEW, HEALTHY, NOW, "200 OK")
    assert is_due(WEB, NEW, NOW)
    assert not is_due(WEB, known, NOW)
    assert not is_due(WEB, known, NOW + 29.9)
    assert is_due(WEB, known, NOW + 30)
    assert is_due(WEB, known, NOW - 60), "found in the future: the clock ran backwards"


def test_a_state_lasts_since_it_began_and_a_new_one_begins_now():
    known = reported(WEB, reported(WEB, NEW, DEGRADED, NOW), DEGRADED, NOW + 30, "slow")
    assert (known.since, known.at, known.detail) == (NOW, NOW + 30, "slow")
    assert reported(WEB, known, UNHEALTHY, NOW + 60).since == NOW + 60


def test_its_event_is_asked_for_once_in_a_period():
    assert to_ask(WEB, NEW, NOW)
    assert not to_ask(WEB, NEW._replace(asked=NOW), NOW + 29)
    assert to_ask(WEB, NEW._replace(asked=NOW), NOW + 30)
    assert not to_ask(WEB, reported(WEB, NEW, HEALTHY, NOW), NOW + 1)


def test_states_are_the_ceps_five_or_the_users_own():
    assert worst(WEB, [HEALTHY, UNHEALTHY, DEGRADED]) == UNHEALTHY
    own = health_check("tide", states=("low", "high"))
    assert worst(own, ["low", "high"]) == "high"
    with pytest.raises(OptionError, match="'healthy' is not one of its states low, high"):
        reported(own, Health("tide"), HEALTHY, NOW)


def test_what_is_known_is_read_back():
    known = reported(WEB, NEW, DEGRADED, NOW, "ä")
    assert from_text(to_text(known)) == known
    for text in ("", "{}", "[1, 2]"):
        with pytest.raises(ConfigurationError, match="health check"):
            from_text(text)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"name": ""}, "name"), ({"name": "a b"}, "name"), ({"name": "a:b"}, "name"), ({"states": "healthy"}, "states"),
        ({"states": ("one",)}, "states"), ({"states": ("a", "a")}, "states"), ({"every": 0}, "every"), ({"every": True}, "every"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_named(options, named):
    with pytest.raises(OptionError, match=f"^{named}"):
        health_check(**{"name": "web", "states": STATES, "every": 30, **options})
