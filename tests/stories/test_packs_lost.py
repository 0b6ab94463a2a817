"""Stories of packs of which a part is lost, their arguments or what one member published: no chord waits for ever."""

from typing import Any

import pytest

from sedano import group
from sedano.errors import RemoteError
from sedano.model import packs, refusals, states
from sedano.model.messages import codec
from sedano.model.messages.message import PACK, BlobRef, Command
from sedano.model.retry import Retry
from sedano.ports import PARKED
from tests.stories.packed import Crate
from tests.stories.processes import COMMANDS
from tests.stories.taps import Crash, Watch, tapped

PADDING = "x" * 7_900


def _padded(crate: Crate, joined: bool = True) -> Any:
    """Publish members whose arguments are in the blob store, launch them, and return the result."""
    task = crate.shop.task("padded", lambda number, _: crate.body(number), retry=Retry(max_retries=3, interval_start=1.0))
    members = [task.s(n, PADDING) for n in range(40)]
    result = crate.publish(members) if joined else group(members, pack=crate.size).delay()
    crate.processes.deliver()
    return result


def _blob(crate: Crate) -> BlobRef:
    found = [codec.decode(one.body) for one in crate.stage.peek(COMMANDS)]
    (ref,) = {one.data_ref for one in found if isinstance(one, Command) and one.task == PACK and one.data_ref is not None}
    assert ref is not None
    return ref


def test_a_chord_whose_pack_has_lost_its_arguments_fails() -> None:
    crate = Crate(size=64)
    result = _padded(crate)
    crate.stage.damage(_blob(crate), None)
    crate.processes.drain()
    assert {one.state for one in result.parent} == {states.FAILURE}
    assert result.state == states.FAILURE
    assert len(crate.stage.peek(PARKED)) == 1
    with pytest.raises(RemoteError):
        result.get(timeout=1)


def test_members_that_ended_arrive_although_the_arguments_are_lost_then() -> None:
    crate = Crate(size=64)
    result = _padded(crate)
    ref = _blob(crate)
    crate.during = lambda number: crate.stage.damage(ref, None) if number == 39 else None
    crate.processes.drain()
    assert result.get(timeout=1) == sum(n * n for n in range(40))
    assert set(crate.bodies.values()) == {1}


def test_a_member_that_left_a_pack_whose_arguments_are_lost_fails_and_its_neighbours_do_not() -> None:
    crate = Crate(size=64)
    result = _padded(crate)
    ref = _blob(crate)

    def during(number: int) -> None:
        if number == 3:
            crate.stage.damage(ref, None)
            raise RuntimeError("again")

    crate.during = during
    crate.processes.drain()
    assert [one.state for one in result.parent] == [states.FAILURE if n == 3 else states.SUCCESS for n in range(40)]
    assert result.state == states.FAILURE
    assert result.parent.progress().failed == 1
    (parked,) = crate.stage.peek(PARKED)
    assert parked.attributes["reason"] == refusals.BLOB
    assert str(result.parent[3].id) in str(parked.attributes)


def test_a_group_without_a_join_whose_arguments_are_lost_has_failed() -> None:
    crate = Crate(size=64)
    result = _padded(crate, joined=False)
    crate.stage.damage(_blob(crate), None)
    crate.processes.drain()
    assert {one.state for one in result} == {states.FAILURE}
    assert len(crate.stage.peek(PARKED)) == 1


@pytest.mark.parametrize("lost", [0, 2])
def test_the_lost_outbox_of_a_member_stops_no_neighbour(lost: int) -> None:
    crate, noted = Crate(size=4), list[int]()
    other = crate.shop.task("noted", lambda number, _: noted.append(number))
    crate.during = lambda number: other.delay(number, "y" * 2_000)
    result = crate.chord(4)
    crate.processes.deliver()
    pack = packs.pack_id(result.parent.id, 0)
    ledger = crate.stage.ports.ledger
    crate.processes.restart(tapped(crate.stage.ports, _after_the_record(crate, pack)))
    with pytest.raises(Crash):
        crate.processes.drain()
    _, ends = packs.read_ends(ledger.read([pack])[pack].result or "")
    outbox = ledger.read([result.parent[lost].id])[result.parent[lost].id].outbox_ref
    assert outbox is not None
    assert len(ends) == 4
    crate.stage.damage(outbox, None)
    crate.processes.recover()
    assert result.get(timeout=1) == sum(n * n for n in range(4))
    assert sorted(noted) == [n for n in range(4) if n != lost]
    assert len(crate.stage.peek(PARKED)) == 1
    assert set(crate.bodies.values()) == {1}


class _after_the_record(Watch):  # noqa: N801 - reads as a condition
    """The process dies after the record of the pack."""

    def __init__(self, crate: Crate, pack: str) -> None:
        super().__init__(0, "after", ports=frozenset({"ledger"}))
        self._crate, self._pack = crate, pack

    def break_at(self, number: int, side: Any) -> None:
        """Die once the pack has ended."""
        record = self._crate.stage.ports.ledger.read([self._pack]).get(self._pack)
        if side == "after" and not self.fired and record is not None and record.state == states.SUCCESS:
            self.fired = True
            raise Crash
