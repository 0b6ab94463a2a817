"""The history of worker events: objects that never change, named by what they hold."""

from hashlib import sha256

import pytest

from sedano.errors import OptionError
from tests.conformance.worlds import World

LINES = b'{"type":"task-sent"}\n{"type":"task-received"}\n'


def test_lines_are_kept_under_their_day_and_digest(world: World) -> None:
    name = world.events.append("2026-01-31", LINES)
    assert name == f"events/dt=2026-01-31/{sha256(LINES).hexdigest()}.jsonl.gz"
    assert list(world.events.read()) == [LINES]


def test_the_same_lines_are_kept_once(world: World) -> None:
    assert world.events.append("2026-01-31", LINES) == world.events.append("2026-01-31", LINES)
    assert list(world.events.read()) == [LINES]


def test_the_history_is_read_day_by_day(world: World) -> None:
    days = ["2026-02-01", "2025-12-31", "2026-01-31"]
    for day in days:
        world.events.append(day, day.encode())
    assert list(world.events.read()) == [day.encode() for day in sorted(days)]


def test_the_history_is_read_from_a_day_on(world: World) -> None:
    for day in ("2025-12-31", "2026-01-31", "2026-02-01"):
        world.events.append(day, day.encode())
    assert list(world.events.read("2026-01-31")) == [b"2026-01-31", b"2026-02-01"]
    assert list(world.events.read("2026-02-02")) == []


def test_an_empty_history_is_empty(world: World) -> None:
    assert list(world.events.read()) == []


@pytest.mark.parametrize("day", ["", "today", "2026-1-1", "2026-01-01/..", "2026-01-01\n", "../2026-01-01"])
def test_what_is_no_day_is_refused(world: World, day: str) -> None:
    with pytest.raises(OptionError, match="day"):
        world.events.append(day, LINES)
    if day:
        with pytest.raises(OptionError, match="day"):
            list(world.events.read(day))
