"""Roll-ups: one of an object, read by the minute."""

from sedano.errors import Unavailable
from sedano.model.history.rollups import Rollup, RunPlace, RunSums, Sums, read, written
from tests.conformance.worlds import World

DAY = 1_440
MINUTE = 20_454 * DAY + 700
RUNS = RunSums({"SUCCESS": 3, "FAILURE": 1}, 1_500, {3: 2}, {0: 4})
SUMS = Sums({RunPlace("shop.ädd#1", "default", MINUTE): RUNS}, {("worker", MINUTE): 12}, 1)
FIRST = Rollup("events/dt=2026-01-01/ab.jsonl.gz", MINUTE, written(SUMS))


def test_a_store_without_roll_ups_returns_none_of_them(world: World) -> None:
    assert world.rollups.read(MINUTE, MINUTE + 5) == []


def test_a_roll_up_is_read_back_as_it_was_put(world: World) -> None:
    world.rollups.put(FIRST)
    assert world.rollups.read(MINUTE, MINUTE) == [FIRST]
    (found,) = world.rollups.read(MINUTE, MINUTE) or []
    assert read(found.text) == SUMS


def test_the_second_roll_up_of_an_object_adds_and_changes_nothing(world: World) -> None:
    for text in (FIRST.text, FIRST.text, "another"):
        world.rollups.put(FIRST._replace(text=text))
    assert world.rollups.read(MINUTE, MINUTE) == [FIRST]


def test_a_put_whose_answer_was_lost_is_made_once(world: World) -> None:
    with world.losing("PutItem"):
        try:
            world.rollups.put(FIRST)
        except Unavailable:
            assert not world.is_local
    world.rollups.put(FIRST)
    assert world.rollups.read(MINUTE, MINUTE) == [FIRST]


def test_a_window_has_its_first_and_its_last_minute_and_spans_days_in_order(world: World) -> None:
    minutes = [MINUTE - 1, MINUTE, MINUTE + DAY, MINUTE + DAY, MINUTE + 2 * DAY, MINUTE + 2 * DAY + 1]
    for number in (3, 0, 5, 2, 1, 4):
        world.rollups.put(Rollup(f"object {number}", minutes[number], str(number)))
    found = world.rollups.read(MINUTE, MINUTE + 2 * DAY) or []
    assert [(one.minute, one.text) for one in found] == [(minutes[number], str(number)) for number in (1, 2, 3, 4)]


def test_more_than_a_page_of_an_answer_is_read(world: World) -> None:
    for number in range(12):
        world.rollups.put(Rollup(f"object {number:02}", MINUTE, str(number) + "x" * 100_000))
    assert [one.text[:2].rstrip("x") for one in world.rollups.read(MINUTE, MINUTE) or []] == [str(number) for number in range(12)]
