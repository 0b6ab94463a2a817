"""Stories of direct calls under crashes: whichever call the worker dies at, its caller learns that it must call again, with one effect."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano.canvas import Sig
from sedano.engine.worker.call_answers import CallAnswers
from sedano.errors import ResultTimeout, Unavailable
from sedano.memory.direct_calls import MemoryDirectCalls
from sedano.ports import PARKED
from tests.stories.processes import INVOCATION_S, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, tapped

MOST_CALLS = 40
TRIES = 3
"""How often the program calls: at first, again when the worker died, and once more when its claim was still held."""


def bought(shop: Shop) -> Sig:
    """A call that publishes two more tasks."""
    return shop.buy.s("shoes").set(task_id="order-17")


def bought_once(shop: Shop) -> Sig:
    """The same, under a deduplication key."""
    return shop.buy.s("shoes").set(dedup_key="order-17")


def tried_again(shop: Shop) -> Sig:
    """A call whose first attempt fails: the second one goes through the queue."""
    return shop.flaky.s(1).set(task_id="order-17")


CALLS: dict[Callable[[Shop], Sig], tuple[Any, dict[str, int]]] = {
    bought: ("shoes", {"pack": 1, "label": 1}), bought_once: ("shoes", {"pack": 1, "label": 1}), tried_again: (1, {}),
}  # fmt: skip


class Program:
    """A program that calls one task directly, and calls again with the same id until it has an answer."""

    def __init__(self, stage: Stage, shop: Shop, watch: Watch) -> None:
        """Let one worker answer under *watch*; one that dies is replaced."""
        self.stage, self.shop, self.watch, self.answered = stage, shop, watch, 0
        self.processes, direct = Processes(stage, shop.app), MemoryDirectCalls()
        self.processes.restart(tapped(stage.ports, watch))
        direct.answer = self._answer
        shop.app.attach(replace(stage.ports, direct_calls=direct))

    def _answer(self, call: Any, _: float) -> dict[str, Any]:
        """Answer as Lambda does: a process that ends gives its caller an error, and the next call a new process."""
        answers = CallAnswers(self.processes.worker, self.shop.app.registry.tasks)
        try:
            answer = answers.answer(call, self.stage.clock.now() + INVOCATION_S)
        except Crash:
            self.processes.restart()
            raise Unavailable("the worker ended without an answer") from None
        self.answered = self.answered or len(self.watch.calls)
        return answer

    def call(self, signature: Sig) -> Any:
        """Call *signature* and return its value."""
        for _ in range(TRIES):
            try:
                return self.shop.app.invoke(signature, timeout=0.001)
            except Unavailable:
                continue
            except ResultTimeout:  # it waits in its queue: for its next attempt, or because the dead worker's claim is still held
                self.processes.drain()
        raise AssertionError(f"no answer in {TRIES} calls")


@pytest.mark.parametrize("called", CALLS, ids=[called.__name__ for called in CALLS])
@pytest.mark.parametrize("side", SIDES)
def test_whatever_call_the_worker_dies_at_the_same_id_again_has_one_effect(called: Callable[[Shop], Sig], side: Side) -> None:
    value, effects = CALLS[called]
    counted, first = Watch(-1, side, ports=OUTSIDE), Shop()
    undisturbed = Program(in_memory(), first, counted)
    assert undisturbed.call(called(first)) == value
    assert 3 < undisturbed.answered < MOST_CALLS
    for at in range(undisturbed.answered):
        stage, shop, watch = in_memory(), Shop(), Watch(at, side, ports=OUTSIDE)
        program, where = Program(stage, shop, watch), f"died {side} call {at}, {counted.calls[at]}"
        assert program.call(called(shop)) == value, where
        program.processes.drain()
        assert {task: shop.ran[task] for task in effects} == effects, where
        assert (watch.fired, stage.peek(PARKED)) == (True, []), where
