"""Limits: lines of tickets, permits, the latest calls and baskets, the same in every world."""

import pytest

from sedano.model.collection import MOST_BASKET_BYTES, Latest, written
from sedano.model.limits import rate as rates
from sedano.model.limits.concurrency import GUARD_MS, Board, Permit
from sedano.model.limits.rate import Line, Pace, Paces
from tests.conformance.worlds import World

NOW = 1_800_000_000_000_000
"""Of lines, in µs; permits count in ms."""
NOW_MS = NOW // 1000
TENTH: Paces = (Pace(100_000),)
SEVERAL: Paces = (Pace(100_000, 2), Pace(300_000, 5))
THREE: Paces = (Pace(100_000, 2), Pace(100_000, 3), Pace(100_000, 4))
"""Of one interval, so that a line is as good as new at the moment when its last turn is over."""
NAME = "shop.send/100000x1/é#1"
HELD = Permit(3, NOW_MS, "nonce-1", "send one", NOW_MS + 30_000)


def begun(world: World, limits: Paces, count: int = 1, now: int = NOW, nonce: str = "a") -> Line:
    """Begin a line."""
    answer = world.limits.begin(NAME, rates.started(limits, count, now, nonce), limits)
    assert answer.done
    assert answer.line is not None
    return answer.line


def test_an_unknown_line_is_absent_and_joined_by_nobody(world: World) -> None:
    assert world.limits.line(NAME, TENTH) is None
    answer = world.limits.join(NAME, TENTH, 1, NOW)
    assert (answer.done, answer.line) == (False, None)


@pytest.mark.parametrize("limits", [TENTH, SEVERAL])
def test_a_line_is_read_back_as_it_was_begun(world: World, limits: Paces) -> None:
    line = begun(world, limits, 7)
    assert world.limits.line(NAME, limits) == line == rates.started(limits, 7, NOW, "a")


def test_only_one_of_two_begins_a_line(world: World) -> None:
    line = begun(world, TENTH)
    other = world.limits.begin(NAME, rates.started(TENTH, 1, NOW + 50_000, "b"), TENTH)
    assert (other.done, other.line) == (False, line)


def test_an_own_beginning_is_recognised_and_tells_who_joined_since(world: World) -> None:
    line = begun(world, TENTH)
    joined = world.limits.join(NAME, TENTH, 2, NOW)
    again = world.limits.begin(NAME, line, TENTH)
    assert (again.done, again.line) == (True, joined.line)


def test_tickets_are_added_while_the_line_is_ahead_and_not_afterwards(world: World) -> None:
    line = begun(world, SEVERAL, 3)
    joined = world.limits.join(NAME, SEVERAL, 4, NOW)
    assert joined.line == rates.joined(line, SEVERAL, 4)
    over = max(turn - pace.tolerance for turn, pace in zip(joined.line.turns, SEVERAL, strict=True))
    assert world.limits.join(NAME, SEVERAL, 1, over) == (False, joined.line)
    assert world.limits.join(NAME, SEVERAL, 1, over - 1).done


def test_a_line_begins_anew_when_all_turns_are_over(world: World) -> None:
    line = begun(world, SEVERAL, 3)
    idle = max(line.turns) + 200_000
    assert not world.limits.begin(NAME, rates.started(SEVERAL, 1, idle - 1, "b"), SEVERAL).done
    assert world.limits.begin(NAME, rates.started(SEVERAL, 1, idle, "b"), SEVERAL).done


def test_a_line_is_turned_only_as_it_was_seen(world: World) -> None:
    seen = begun(world, SEVERAL, 2)
    later = rates.restarted(seen, SEVERAL, 1, NOW + 150_000, "b")
    world.limits.join(NAME, SEVERAL, 1, NOW)
    refused = world.limits.turn(NAME, later, seen)
    assert (refused.done, refused.line) == (False, rates.joined(seen, SEVERAL, 1))
    assert refused.line is not None
    assert world.limits.turn(NAME, later, refused.line).done
    assert world.limits.turn(NAME, later, refused.line) == (True, later), "an own write is recognised"


@pytest.mark.parametrize("late", range(3))
def test_a_line_begins_anew_only_when_the_turn_of_each_pace_is_over(world: World, late: int) -> None:
    turns = tuple(NOW + (place == late) for place in range(3))
    world.limits.begin(NAME, Line(NOW, 1, turns, "a"), THREE)
    assert not world.limits.begin(NAME, Line(NOW, 1, turns, "b"), THREE).done
    new = Line(NOW + 1, 1, (NOW + 7, NOW + 8, NOW + 9), "b")
    assert world.limits.begin(NAME, new, THREE) == (True, new)
    assert world.limits.line(NAME, THREE) == new


@pytest.mark.parametrize("late", range(3))
def test_a_line_is_joined_while_the_turn_of_any_pace_is_to_come(world: World, late: int) -> None:
    over = tuple(NOW + pace.tolerance for pace in THREE)
    line = Line(NOW, 1, tuple(turn + (place == late) for place, turn in enumerate(over)), "a")
    world.limits.begin(NAME, line, THREE)
    assert world.limits.join(NAME, THREE, 2, NOW + 1) == (False, line)
    assert world.limits.join(NAME, THREE, 2, NOW) == (True, rates.joined(line, THREE, 2))
    assert world.limits.line(NAME, THREE) == rates.joined(line, THREE, 2)


def test_a_line_that_another_turned_is_not_turned_and_each_turn_is_kept(world: World) -> None:
    world.limits.begin(NAME, seen := Line(NOW, 4, (NOW + 1, NOW + 2, NOW + 3), "a"), THREE)
    new = Line(NOW + 5, 4, (NOW + 11, NOW + 12, NOW + 13), "b")
    assert world.limits.turn(NAME, new, seen._replace(nonce="another's")) == (False, seen)
    assert world.limits.turn(NAME, new, seen).done
    assert world.limits.line(NAME, THREE) == new


def test_a_line_that_is_not_there_is_not_turned(world: World) -> None:
    line = rates.started(TENTH, 1, NOW, "a")
    assert world.limits.turn(NAME, line, line) == (False, None)
    assert world.limits.line(NAME, TENTH) is None


def test_a_permit_that_is_held_is_kept_for_nobody_who_has_no_name(world: World) -> None:
    assert world.limits.take(NAME, HELD, "", NOW_MS).done
    answer = world.limits.take(NAME, HELD._replace(token=HELD.token + 1, nonce="nonce-2"), "", NOW_MS)
    assert (answer.done, answer.board.permits) == (False, {3: HELD})


def test_a_permit_that_was_never_taken_calls_nobody(world: World) -> None:
    assert not world.limits.call(NAME, HELD, "m", "who", NOW_MS + 1_000).done
    assert world.limits.board(NAME) == Board(NAME)


def test_the_first_calls_are_put_into_a_basket_whatever_their_number(world: World) -> None:
    basket = world.limits.put(NAME, [written("1", [], {}), written("2", [], {})], 1, NOW_MS / 1000)
    assert basket is not None
    assert len(basket.calls) == 2
    assert world.limits.put(NAME, [written("3", [], {})], 3, NOW_MS / 1000) is not None


def test_permits_are_taken_by_number_and_read_back(world: World) -> None:
    assert world.limits.board(NAME) == Board(NAME)
    answer = world.limits.take(NAME, HELD, "m-1", NOW_MS)
    assert (answer.done, answer.board) == (True, Board(NAME, {3: HELD}))
    other = HELD._replace(number=0, nonce="nonce-2")
    assert world.limits.take(NAME, other, "m-2", NOW_MS).done
    assert world.limits.board(NAME).permits == {0: other, 3: HELD}


def test_a_permit_that_is_held_is_not_taken_and_an_own_write_is_recognised(world: World) -> None:
    world.limits.take(NAME, HELD, "m-1", NOW_MS)
    refused = world.limits.take(NAME, HELD._replace(nonce="nonce-2", token=NOW_MS + 1), "m-2", NOW_MS)
    assert (refused.done, refused.board.permits) == (False, {3: HELD})
    assert world.limits.take(NAME, HELD, "m-1", NOW_MS).done


def test_a_permit_comes_free_when_it_is_over_and_never_with_an_older_token(world: World) -> None:
    world.limits.take(NAME, HELD, "m-1", NOW_MS)
    later, over = HELD._replace(nonce="nonce-2", token=NOW_MS + 1), HELD.expires + GUARD_MS
    assert not world.limits.take(NAME, later, "m-2", over - 1).done
    assert not world.limits.take(NAME, later._replace(token=NOW_MS), "m-2", over).done
    assert world.limits.take(NAME, later, "m-2", over).done


def test_only_its_holder_gives_a_permit_back(world: World) -> None:
    world.limits.take(NAME, HELD, "m-1", NOW_MS)
    assert not world.limits.give_back(NAME, HELD._replace(nonce="nonce-2")).done
    assert not world.limits.give_back(NAME, HELD._replace(token=1)).done
    assert not world.limits.give_back(NAME, HELD._replace(number=4)).done
    answer = world.limits.give_back(NAME, HELD)
    assert (answer.done, answer.board.permits[3].expires) == (True, 0)
    assert world.limits.take(NAME, HELD._replace(nonce="n", token=NOW_MS + 1), "m-2", NOW_MS).done
    assert not world.limits.give_back(NAME, HELD).done


def test_messages_wait_in_order_while_the_permit_is_held_and_there_is_room(world: World) -> None:
    assert not world.limits.wait(NAME, HELD, "first", NOW_MS).done
    world.limits.take(NAME, HELD, "m-1", NOW_MS)
    assert not world.limits.wait(NAME, HELD._replace(token=1), "another holder's", NOW_MS).done
    assert not world.limits.wait(NAME, HELD, "too late", HELD.expires).done
    assert world.limits.wait(NAME, HELD, "message 0", HELD.expires - 1).done
    assert [world.limits.wait(NAME, HELD, f"message {n}", NOW_MS).done for n in range(1, 11)] == [True] * 9 + [False]
    assert world.limits.board(NAME).waiting == tuple(f"message {n}" for n in range(10))


def test_who_gave_a_permit_back_calls_the_first_and_keeps_it_for_him(world: World) -> None:
    world.limits.take(NAME, HELD, "m-1", NOW_MS)
    for name in ("first", "second"):
        world.limits.wait(NAME, HELD, name, NOW_MS)
    assert world.limits.give_back(NAME, HELD).board.waiting == ("first", "second")
    assert not world.limits.call(NAME, HELD, "second", "m-2", NOW_MS + 5_000).done
    assert not world.limits.call(NAME, HELD._replace(nonce="x"), "first", "m-2", NOW_MS + 5_000).done
    assert not world.limits.call(NAME, HELD._replace(token=1), "first", "m-2", NOW_MS + 5_000).done
    assert world.limits.call(NAME, HELD, "first", "m-2", NOW_MS + 5_000).done
    new = HELD._replace(nonce="nonce-2", token=NOW_MS + 1)
    assert not world.limits.take(NAME, new, "m-3", NOW_MS).done
    taken = world.limits.take(NAME, new, "m-2", NOW_MS)
    assert (taken.done, taken.board) == (True, Board(NAME, {3: new}, ("second",)))
    assert not world.limits.call(NAME, HELD, "second", "m-4", NOW_MS).done


def test_the_latest_call_is_the_one_with_the_highest_clock(world: World) -> None:
    assert world.limits.latest(NAME) is None
    first, later = Latest(7, "one"), Latest(9, "two")
    assert world.limits.note(NAME, later, 0.0) == later
    assert world.limits.note(NAME, first, 0.0) == later
    assert world.limits.note(NAME, later, 0.0) == later
    assert world.limits.note(NAME, Latest(9, "of the same moment"), 0.0) == later
    assert world.limits.latest(NAME) == later
    last = Latest(10, "three")
    assert world.limits.note(NAME, last, 0.0) == last == world.limits.latest(NAME)


def test_a_basket_takes_calls_until_it_is_full_or_shut(world: World) -> None:
    calls = {str(n): written(str(n), [n, "é"], {}) for n in range(5)}
    entries = list(calls.values())
    put = world.limits.put(NAME, entries[:2], 4, 0.0)
    assert put is not None
    assert put.calls == {"0": calls["0"], "1": calls["1"]}
    assert world.limits.put(NAME, entries[2:], 4, 0.0) is None
    again = world.limits.put(NAME, entries[1:3], 4, 0.0)
    assert again is not None
    assert list(again.calls) == ["0", "1", "2"], "what comes twice counts once"
    shut = world.limits.shut(NAME, 0.0)
    assert shut == world.limits.shut(NAME, 0.0) == again._replace(shut=True)
    assert world.limits.put(NAME, entries[4:], 9, 0.0) is None


def test_who_puts_again_what_a_full_or_shut_basket_holds_is_told_that_it_is_there(world: World) -> None:
    entries = [written(str(n), [n], {}) for n in range(3)]
    full = world.limits.put(NAME, entries[:2], 2, 0.0)
    assert world.limits.put(NAME, entries[:2], 2, 0.0) == full, "the answer to the first request was lost"
    assert world.limits.put(NAME, entries[1:], 2, 0.0) is None, "one of them is not there"
    shut = world.limits.shut(NAME, 0.0)
    assert world.limits.put(NAME, entries[:1], 9, 0.0) == shut
    assert world.limits.put(NAME, entries[2:], 9, 0.0) is None


def test_an_empty_basket_can_be_shut_too(world: World) -> None:
    assert world.limits.shut(NAME, 0.0) == ({}, True)
    assert world.limits.put(NAME, [written("1", [], {})], 4, 0.0) is None


def test_a_basket_holds_no_more_than_an_item_can(world: World) -> None:
    big = written("1", ["x" * 200_000], {})
    assert world.limits.put(NAME, [big], 100, 0.0) is not None
    assert world.limits.put(NAME, [written("2", ["x" * 200_000], {})], 100, 0.0) is None
    rest = MOST_BASKET_BYTES - len(big) - len(written("3", [""], {}))
    assert world.limits.put(NAME, [written("3", ["x" * (rest + 1)], {})], 100, 0.0) is None
    if world.name != "moto":  # it counts what is added twice, and finds the item larger than 400 KB
        assert world.limits.put(NAME, [written("3", ["x" * rest], {})], 100, 0.0) is not None


def test_a_basket_is_filled_to_the_last_byte(world: World) -> None:
    first, bare = written("1", ["x" * 1_000], {}), written("2", [""], {})
    last = written("2", ["x" * (MOST_BASKET_BYTES - len(first) - len(bare))], {})
    assert world.limits.put(NAME, [first], 9, NOW_MS / 1000) is not None
    assert world.limits.put(NAME, [last], 9, NOW_MS / 1000) is not None
    assert world.limits.put(NAME, [written("3", [], {})], 9, NOW_MS / 1000) is None
