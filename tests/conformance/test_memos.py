"""Memos: read back by name, changed by compare-and-swap."""

from sedano.errors import Unavailable
from sedano.model.memos import Memo, MemoChanged
from tests.conformance.worlds import World

NAME = "circuit:shop.ädd#1"
NEW = Memo(NAME)
FIRST = Memo(NAME, '["ä",1.5]', "a" * 32)
SECOND = Memo(NAME, "[]", "b" * 32)


def test_what_was_never_written_is_not_there(world: World) -> None:
    assert world.memos.read([NAME, "budget:default"]) == {}


def test_a_change_is_read_back(world: World) -> None:
    assert world.memos.change(FIRST, NEW) == MemoChanged(True, FIRST)
    assert world.memos.change(SECOND, FIRST) == MemoChanged(True, SECOND)
    other = Memo("budget:default", "x", "c" * 32)
    assert world.memos.change(other, Memo(other.name)) == MemoChanged(True, other)
    assert world.memos.read([NAME, other.name, "health:none"]) == {NAME: SECOND, other.name: other}


def test_a_change_of_what_is_not_there_any_more_is_refused_and_gets_what_is(world: World) -> None:
    assert world.memos.change(SECOND, FIRST) == MemoChanged(False, NEW)
    world.memos.change(FIRST, NEW)
    rival = SECOND._replace(nonce="c" * 32)
    assert world.memos.change(rival, NEW) == MemoChanged(False, FIRST)
    world.memos.change(SECOND, FIRST)
    assert world.memos.change(rival, FIRST) == MemoChanged(False, SECOND)
    assert world.memos.read([NAME]) == {NAME: SECOND}


def test_a_change_whose_answer_was_lost_is_recognised_as_ones_own(world: World) -> None:
    with world.losing("UpdateItem"):
        try:
            world.memos.change(FIRST, NEW)
        except Unavailable:
            assert not world.is_local
    assert world.memos.change(FIRST, NEW) == MemoChanged(True, FIRST)
