"""Stories of the reports about packs: hooks and listeners get the members that ran, and never the pack."""

from dataclasses import replace
from typing import Any

import pytest

from sedano.model import packs
from sedano.model.messages.message import PACK
from sedano.model.retry import Retry
from tests.stories.kept import assert_history_tells_what_the_ledger_holds, lines
from tests.stories.packed import Crate
from tests.stories.processes import LONG_S
from tests.stories.taps import Crash


def test_a_listener_gets_the_members_and_no_pack_that_ran_nothing() -> None:
    crate, told = Crate(), list[str]()

    def listen(ran: Any, _: Any) -> None:
        told.append(ran.held.job.command.task)

    def during(number: int) -> None:
        if number == 1 and crate.bodies[1] == 1:
            raise Crash

    crate.during = during
    result = crate.group(4)
    crate.processes.deliver()
    with pytest.raises(Crash):
        crate.processes.deliver()
    crate.stage.pass_time(LONG_S)
    crate.processes.restart()
    crate.processes.worker.recording.listener = listen
    crate.processes.drain()
    crate.assert_whole(result, 4)
    assert told == ["squared"] * 4
    assert packs.size_of(str(result.id)) == 4
    assert PACK not in told


def test_the_history_tells_of_each_member_whose_worker_died_after_the_record() -> None:
    crate = Crate(retry=Retry(max_retries=3, interval_start=1.0))

    def fails(number: int) -> None:
        if number == 2 and crate.bodies[2] == 1:
            raise RuntimeError("once")

    crate.during = fails
    result = crate.group(4)
    crate.processes.deliver()
    ledger: Any = _DiesAfter(crate.stage.ports.ledger)
    crate.processes.restart(replace(crate.stage.ports, ledger=ledger))
    with pytest.raises(Crash):
        crate.processes.deliver()
    crate.processes.recover()
    crate.assert_whole(result, 4)
    told = [str(line["uuid"]) for line in lines(crate.stage, "task-succeeded")]
    assert sorted(one for one in told if one != result.id) == sorted(str(one.id) for one in result)
    assert_history_tells_what_the_ledger_holds(crate.stage)


class _DiesAfter:
    """The ledger; the process dies after its first record."""

    def __init__(self, ledger: Any) -> None:
        self._ledger, self._died = ledger, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def record(self, outcomes: Any) -> Any:
        """Record, and die."""
        answer = self._ledger.record(outcomes)
        if self._died:
            return answer
        self._died = True
        raise Crash


@pytest.mark.parametrize("members", [4, 8])
def test_a_member_that_is_replaced_leaves_its_pack(members: int) -> None:
    crate = Crate()

    def body(number: int) -> int:
        if number == 1:
            task.replace(crate.square.si(5))
        return number

    task = crate.shop.task("replaced", body)
    result = crate.publish([task.s(n) for n in range(members)])
    crate.processes.drain()
    assert result.get(timeout=1) == sum(range(members)) - 1 + 25
    assert crate.bodies == {5: 1}


@pytest.mark.parametrize("how", ["by id, before its pack begins", "by id, while its pack runs", "by its task"])
def test_the_hook_of_revocations_is_called_once_for_each_member_that_is_revoked_without_a_run(how: str) -> None:
    crate, told = Crate(), list[tuple[str, str]]()
    crate.shop.app.on_revoke(lambda ended: told.append((ended.task_id, ended.state)))
    crate.processes.restart()

    def during(number: int) -> None:
        if number == 0 and how == "by id, while its pack runs":
            result[2].revoke()
        crate.stage.pass_time(1.1)

    crate.during = during
    result = crate.group(4)
    if how == "by id, before its pack begins":
        result[2].revoke()
    if how == "by its task":
        crate.shop.app.control.revoke_by_header("task", "squared")
    crate.processes.drain()
    revoked = [0, 1, 2, 3] if how == "by its task" else [2]
    assert told == [(result[n].id, "REVOKED") for n in revoked]


def test_a_member_that_left_without_a_run_is_reported_when_it_runs() -> None:
    crate = Crate()
    crate.during = lambda number: crate.stage.pass_time(14.0)
    result = crate.group(4)
    crate.processes.drain()
    crate.assert_whole(result, 4)
    assert set(crate.bodies.values()) == {1}
    assert crate.stage.audit.writes["claim"] > 2, "some of them left"
    assert lines(crate.stage, "task-retried") == []
    assert len(lines(crate.stage, "task-succeeded")) == 4 + 1
