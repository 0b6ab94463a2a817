"""Stories of packs whose task is paused, revoked or limited at run time: a pack is no way around it."""

from collections.abc import Callable
from typing import Any

import pytest

from sedano.errors import OptionError
from sedano.memory import MemoryLedger
from sedano.model import packs, states
from sedano.model.ledger.records import RECORD_LIFETIME_S
from sedano.model.retry import Retry
from sedano.ports import PARKED
from tests.stories.packed import Crate

MEMBERS = 8
HELD: dict[str, Callable[[Any], object]] = {
    "a pause of the task": lambda control: control.pause(task="squared"),
    "a concurrency of 0": lambda control: control.concurrency("squared", 0),
}


def _steps(crate: Crate) -> None:
    for _ in range(6):
        crate.processes.step()
        crate.stage.pass_time(0.2)


@pytest.mark.parametrize("padding", [0, 7_900])
@pytest.mark.parametrize("how", HELD)
def test_a_task_that_is_held_is_held_in_packs(how: str, padding: int) -> None:
    crate = Crate(size=8)
    long = crate.shop.task("padded", lambda number, _: crate.body(number))
    HELD[how](_Renamed(crate.shop.app.control, "padded") if padding else crate.shop.app.control)
    members = [long.s(n, "x" * padding) if padding else crate.square.s(n) for n in range(64 if padding else MEMBERS)]
    crate.size = 64 if padding else 8
    crate.publish(members)
    _steps(crate)
    assert sum(crate.bodies.values()) == 0


class _Renamed:
    """The control of an app, for the task *name* in place of `squared`."""

    def __init__(self, control: Any, name: str) -> None:
        self._control, self._name = control, name

    def pause(self, task: str) -> object:
        """Pause the task."""
        assert task == "squared"
        return self._control.pause(task=self._name)

    def concurrency(self, task: str, number: int) -> object:
        """Limit the task."""
        assert task == "squared"
        return self._control.concurrency(self._name, number)


def test_a_pause_that_is_lifted_lets_the_pack_run_whole() -> None:
    crate = Crate(size=8)
    crate.shop.app.control.pause(task="squared")
    result = crate.chord(MEMBERS)
    _steps(crate)
    crate.shop.app.control.resume(task="squared")
    crate.processes.drain()
    crate.assert_whole(result, MEMBERS)
    assert crate.stage.audit.writes["claim"] == 3, "the launch, one pack and the body"


def test_a_member_that_is_paused_by_its_id_waits_alone() -> None:
    crate = Crate(size=8)
    result = crate.group(MEMBERS)
    crate.shop.app.control.pause(id=result[2].id)
    _steps(crate)
    assert crate.bodies == {n: 1 for n in range(MEMBERS) if n != 2}
    crate.shop.app.control.resume(id=result[2].id)
    crate.processes.drain()
    crate.assert_whole(result, MEMBERS)


@pytest.mark.parametrize("members", [MEMBERS, 40])
def test_a_revoked_task_runs_in_no_pack(members: int) -> None:
    crate = Crate(size=8)
    crate.shop.app.control.revoke_by_header("task", "squared")
    result = crate.chord(members)
    crate.processes.drain()
    assert sum(crate.bodies.values()) == 0
    assert {one.state for one in result.parent} == {states.REVOKED}
    assert result.state == states.FAILURE
    assert crate.stage.peek(PARKED) == []
    assert crate.stage.audit.writes["claim"] == 2 + -(-members // 8), "each pack is ended whole"


def test_a_revoked_task_runs_in_no_pack_whose_calls_are_in_the_blob_store() -> None:
    crate, runs = Crate(size=64), list[int]()
    long = crate.shop.task("padded", lambda number, _: runs.append(number))
    crate.shop.app.control.revoke_by_header("task", "padded")
    result = crate.publish([long.s(n, "x" * 7_900) for n in range(64)])
    for _ in range(20):
        crate.processes.step()
    assert runs == []
    crate.processes.drain()
    assert {one.state for one in result.parent} == {states.REVOKED}


def test_a_pause_that_comes_while_a_pack_runs_stops_the_members_that_have_not_begun() -> None:
    crate = Crate(size=8)

    def during(number: int) -> None:
        if number == 2:
            crate.shop.app.control.pause(task="squared")
        crate.stage.pass_time(1.1)

    crate.during = during
    result = crate.group(MEMBERS)
    _steps(crate)
    assert set(crate.bodies) == {0, 1, 2}
    crate.shop.app.control.resume(task="squared")
    crate.processes.drain()
    crate.assert_whole(result, MEMBERS)


def test_a_rate_that_is_set_at_run_time_holds_for_each_member() -> None:
    crate = Crate(size=8)
    crate.shop.app.control.rate_limit("squared", "1/m")
    result = crate.group(MEMBERS)
    _steps(crate)
    assert sum(crate.bodies.values()) == 1
    crate.processes.drain()
    crate.assert_whole(result, MEMBERS)


def test_a_time_limit_that_is_set_at_run_time_holds_for_each_member() -> None:
    crate = Crate(size=4)
    crate.shop.app.control.time_limit("squared", hard=9)
    crate.during = lambda _: crate.stage.pass_time(7.0)
    result = crate.chord(4)
    crate.processes.drain()
    crate.assert_whole(result, 4)
    assert crate.stage.audit.writes["claim"] > 3, "a member does not begin without the time of its limit"


def test_a_limit_that_was_removed_changes_nothing() -> None:
    crate = Crate(size=8)
    control = crate.shop.app.control
    control.rate_limit("squared", "1/m")
    control.concurrency("squared", 1)
    control.rate_limit("squared", None)
    control.concurrency("squared", None)
    result = crate.chord(MEMBERS)
    crate.processes.drain()
    crate.assert_whole(result, MEMBERS)
    assert crate.stage.audit.writes["claim"] == 3


@pytest.mark.parametrize("terminate", [False, True])
def test_a_member_that_is_revoked_by_id_while_its_pack_runs_does_not_begin(terminate: bool) -> None:
    crate = Crate(size=8)

    def during(number: int) -> None:
        if number == 1:
            result.parent[5].revoke(terminate=terminate)
        crate.stage.pass_time(1.1)

    crate.during = during
    result = crate.chord(MEMBERS)
    crate.processes.drain()
    assert crate.bodies == {n: 1 for n in range(MEMBERS) if n != 5}
    assert [one.state for one in result.parent] == [states.REVOKED if n == 5 else states.SUCCESS for n in range(MEMBERS)]
    assert result.state == states.FAILURE


def test_a_member_whose_pack_is_deleted_is_revoked_in_its_own_record() -> None:
    crate = Crate(size=4, retry=Retry(max_retries=9, interval_start=60.0, jitter=False))

    def fails(number: int) -> None:
        if number == 1:
            raise RuntimeError("again")

    crate.during = fails
    result = crate.group(4)
    for _ in range(2):
        while crate.processes.step():
            pass
        crate.stage.pass_time(61.0)
    assert (crate.bodies[1], result[1].state) == (2, "RETRY")
    crate.stage.pass_time(RECORD_LIFETIME_S - 100.0)
    ledger = crate.stage.audit.inner
    assert isinstance(ledger, MemoryLedger)
    assert packs.pack_id(str(result.id), 0) in ledger.age_out()
    result[1].revoke()
    assert ledger.read([result[1].id])[result[1].id].state == states.REVOKED
    assert ledger.read([packs.pack_id(str(result.id), 0)]) == {}
    crate.processes.drain()
    assert crate.bodies[1] == 2


@pytest.mark.parametrize("begun", [False, True])
def test_the_id_of_a_pack_cannot_be_revoked(begun: bool) -> None:
    crate = Crate()
    result = crate.group(4)
    crate.processes.deliver()
    control, pack, refusals = crate.shop.app.control, packs.pack_id(str(result.id), 0), list[str]()

    def revoke(number: int) -> None:
        if number == 1:
            with pytest.raises(OptionError, match=r"is a pack.*ids of its members") as refused:
                control.revoke([result[3].id, pack])
            refusals.append(str(refused.value))

    if begun:
        crate.during = revoke
    else:
        revoke(1)
    crate.processes.drain()
    assert len(refusals) == 1
    assert [one.state for one in result] == ["SUCCESS"] * 4, "the other ids are not revoked either"
