"""Stories of packs that their worker cannot run: it takes them over for the fourth time, or declares their task otherwise."""

from typing import Any

import pytest

from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import packs, states
from tests.stories.packed import Crate
from tests.stories.processes import LONG_S
from tests.stories.taps import Crash, Watch, tapped


class _BeforeRecord(Watch):
    """The process dies before each of its records in the ledger."""

    def number(self, call: str) -> int:
        """Die at the call that records."""
        if call == "ledger.record":
            raise Crash
        return super().number(call)


def test_a_pack_that_is_taken_over_again_and_again_is_no_poison() -> None:
    crate = Crate()
    result = crate.chord(4)
    crate.processes.deliver()
    takeovers = WorkerSettings().poison_after + 2
    for _ in range(takeovers):
        crate.processes.restart(tapped(crate.stage.ports, _BeforeRecord(ports=frozenset({"ledger"}))))
        with pytest.raises(Crash):
            crate.processes.deliver()
        crate.stage.pass_time(LONG_S)
    pack = packs.pack_id(str(result.parent.id), 0)
    assert crate.stage.ports.ledger.read([pack])[pack].claims == takeovers
    crate.processes.recover()
    crate.assert_whole(result, 4)
    assert {one.state for one in result.parent} == {states.SUCCESS}
    assert set(crate.bodies.values()) == {2}, "once in the pack, and once alone"


OTHERWISE: dict[str, dict[str, Any]] = {
    "recorded once": {"delivery": "record_once"}, "at least once": {"delivery": "at_least_once"}, "limited": {"concurrency": 1},
    "single": {"singleton": True},
}  # fmt: skip


@pytest.mark.parametrize("how", OTHERWISE)
def test_members_leave_where_their_task_is_declared_otherwise(how: str) -> None:
    crate, other = Crate(), Crate(**OTHERWISE[how])
    result = crate.group(4)
    crate.processes.deliver()
    registry = crate.shop.app.registry
    spec = other.shop.app.registry.tasks["squared"]
    registry.tasks["squared"] = spec._replace(function=crate.body)
    pack = packs.pack_id(str(result.id), 0)
    crate.processes.drain()
    _, ends = packs.read_ends(crate.stage.ports.ledger.read([pack])[pack].result or "")
    assert ends == [packs.LEFT] * 4
    assert sum(crate.bodies.values()) == 4


def test_members_leave_where_their_task_is_async() -> None:
    crate = Crate()

    async def waits(number: int) -> int:
        return crate.body(number)

    result = crate.group(4)
    crate.processes.deliver()
    crate.shop.task("waiting", waits)
    tasks = crate.shop.app.registry.tasks
    tasks["squared"] = tasks["waiting"]._replace(name="squared")
    crate.processes.restart()
    crate.processes.drain()
    crate.assert_whole(result, 4)
    pack = packs.pack_id(str(result.id), 0)
    _, ends = packs.read_ends(crate.stage.ports.ledger.read([pack])[pack].result or "")
    assert ends == [packs.LEFT] * 4


def test_members_leave_where_their_task_is_unknown() -> None:
    crate = Crate()
    result = crate.group(4)
    crate.processes.deliver()
    spec = crate.shop.app.registry.tasks.pop("squared")
    crate.processes.step()
    pack = packs.pack_id(str(result.id), 0)
    _, ends = packs.read_ends(crate.stage.ports.ledger.read([pack])[pack].result or "")
    assert ends == [packs.LEFT] * 4
    crate.shop.app.registry.tasks["squared"] = spec
    crate.processes.drain()
    crate.assert_whole(result, 4)
