"""Stories of packs that are taken over and then given back unrun: no later worker runs them whole again."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from sedano import current
from sedano.engine.worker.pipeline import Worker
from sedano.errors import Unavailable
from sedano.model import packs, states
from sedano.ports import Delivery, Ports
from tests.stories.packed import Crate
from tests.stories.processes import COMMANDS, LONG_S
from tests.stories.taps import Crash, Watch, away, tapped

GIVE_BACK: dict[str, Callable[[Crate, Worker], object]] = {
    "no time is left": lambda crate, _: crate.stage.pass_time(29.9),
    "the worker drains": lambda _, worker: worker.drain(),
}


class _AfterSteal:
    """The ledger, and *act* after each take-over."""

    def __init__(self, ledger: Any, act: Callable[[], object]) -> None:
        self._ledger, self._act = ledger, act

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._ledger, name)
        if name != "steal":
            return method

        def steal(*args: Any) -> Any:
            answer = method(*args)
            self._act()
            return answer

        return steal


def _taken_over_and_given_back(crate: Crate, act: Callable[[Crate, Worker], object], deliveries: list[Delivery]) -> None:
    found: list[Worker] = []
    ports: Ports = replace(crate.stage.ports, ledger=_AfterSteal(crate.stage.ports.ledger, lambda: act(crate, found[0])))
    found.append(crate.processes.another_worker(ports, name="b"))
    found[0].work(deliveries, crate.stage.clock.now() + 30.0)


@pytest.mark.parametrize("how", GIVE_BACK)
def test_a_pack_that_is_taken_over_and_given_back_runs_no_member_again_under_the_first_fence(how: str) -> None:
    crate, fences = Crate(), Counter[tuple[int, int]]()

    def during(number: int) -> None:
        fences[number, current().fence] += 1
        if number == 1 and current().fence == packs.FENCE:
            raise Crash

    crate.during = during
    result = crate.chord(4)
    crate.processes.deliver()
    pack = packs.pack_id(result.parent.id, 0)
    with pytest.raises(Crash):
        crate.processes.deliver()
    crate.processes.restart()
    crate.stage.pass_time(LONG_S)
    _taken_over_and_given_back(crate, GIVE_BACK[how], crate.stage.ports.queues.receive(COMMANDS))
    record = crate.stage.ports.ledger.read([pack])[pack]
    assert (record.state, record.claims) == (states.RUNNING, 2), "its claim is kept, and says that it was taken over"
    crate.stage.pass_time(LONG_S)
    crate.processes.restart()
    crate.processes.drain()
    crate.assert_whole(result, 4)
    assert fences[0, packs.FENCE] == fences[1, packs.FENCE] == 1
    assert {number for number, fence in fences if fence == packs.LEFT_FENCE} == {0, 1, 2, 3}


def test_a_pack_that_is_taken_over_while_its_arguments_are_out_of_reach_is_not_run_whole_again() -> None:
    crate, runs = Crate(size=64), Counter[tuple[int, int]]()

    def body(number: int, _: str) -> int:
        runs[number, current().fence] += 1
        if number == 5 and current().fence == packs.FENCE:
            raise Crash
        return number

    task = crate.shop.task("padded", body)
    result = crate.publish([task.s(n, "x" * 7_000) for n in range(64)])
    crate.processes.deliver()
    with pytest.raises(Crash):
        crate.processes.deliver()
    crate.stage.pass_time(LONG_S)
    crate.processes.restart(tapped(crate.stage.ports, Watch(0, error=away, ports=frozenset({"blobs"}), times=10**6)))
    with suppress(Unavailable):
        crate.processes.deliver()
    crate.stage.pass_time(LONG_S)
    crate.processes.restart()
    crate.processes.drain()
    assert result.state == states.SUCCESS
    assert max(runs.values()) == 1
