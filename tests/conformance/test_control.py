"""The control record: changed by compare-and-swap, read back as it was written."""


from sedano.errors import Unavailable
from sedano.model.cluster.control_record import Changed, ControlRecord
from tests.conformance.worlds import World

EMPTY = ControlRecord()
FIRST = ControlRecord(
    1_767_225_600_000_001, "a" * 32, {"tenant=acmé#1": 1_767_225_600, "task=shop.add": 1}, frozenset({"bulk"}),
    {"shop.add": "10/s"}, "1767225660 n", "1767225600000001 a",
    {"default": 8, "é": 10_000},
)  # fmt: skip
SECOND = ControlRecord(
    FIRST.clock + 1, "b" * 32, {}, frozenset({"default"}),
    {"shop.add": "5/s", "é": ""}, "1767225720 m", "1767225720000002 b",
    {"default": 9},
)  # fmt: skip
"""All of it is another than in the first, so that a part that is not written is seen."""


def test_what_was_never_changed_is_empty(world: World) -> None:
    assert world.control.read() == EMPTY


def test_a_change_is_read_back(world: World) -> None:
    assert world.control.change(FIRST, EMPTY) == Changed(True, FIRST)
    assert world.control.read() == FIRST
    assert world.control.change(SECOND, FIRST) == Changed(True, SECOND)
    assert world.control.read() == SECOND


def test_a_change_of_what_is_not_there_any_more_is_refused_and_gets_what_is(world: World) -> None:
    world.control.change(FIRST, EMPTY)
    rival = SECOND._replace(nonce="c" * 32)
    assert world.control.change(rival, EMPTY) == Changed(False, FIRST)
    world.control.change(SECOND, FIRST)
    assert world.control.change(rival, FIRST) == Changed(False, SECOND)
    assert world.control.read() == SECOND


def test_a_change_whose_answer_was_lost_is_recognised_as_ones_own(world: World) -> None:
    with world.losing("UpdateItem"):
        try:
            world.control.change(FIRST, EMPTY)
        except Unavailable:
            assert not world.is_local
    assert world.control.change(FIRST, EMPTY) == Changed(True, FIRST)
