"""Two different tasks under one id, which their users chose: one runs, the other is set aside with the reason, not taken for a copy."""

import pytest

from sedano import chain, chord
from sedano.canvas import Form
from sedano.model import refusals, states
from sedano.ports import PARKED
from tests.stories.kept import assert_kept, succeeded
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage

ID = "order-4711"


def test_another_task_under_an_id_that_is_taken_is_set_aside_and_told(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.add.apply_async((1, 2), task_id=ID)
    shop.pack.apply_async(("tea",), task_id=ID)
    shop.add.apply_async((1, 2), task_id=ID)
    processes.drain()
    (parked,) = stage.peek(PARKED)
    assert (parked.attributes["reason"], parked.attributes["field"]) == (refusals.TAKEN, "taskid")
    assert parked.attributes["detail"] == "the task add has run under this id; give this one its own"
    assert_kept(stage, succeeded(add=1), (refusals.TAKEN,))


def test_a_canvas_of_another_shape_published_while_the_first_waits_unbegun_is_set_aside(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    first = chain(shop.add.s(1, 1), shop.add.s(1)).apply_async(task_id=ID)
    stage.clock.advance(3_600.0)
    chain(shop.pack.s("tea"), shop.label.s()).apply_async(task_id=ID)
    assert len(stage.peek(COMMANDS)) == 2
    processes.drain()
    assert first.get() == 3
    assert_kept(stage, succeeded(add=2), (refusals.TAKEN,))


def going_on(shop: Shop, shape: str, last: int) -> Form:
    """A canvas that begins with the same task whatever comes *last*."""
    first = shop.add.s(1, 1)
    if shape == "chord":
        return chord([first, shop.add.s(2, 2)], shop.total.s()) | shop.add.s(last)
    if shape == "callback":
        first.link(shop.add.s(last))
        return first
    return chain(first, *[shop.add.s(1)] * (40 if shape == "long chain" else 0), shop.add.s(last))


@pytest.mark.parametrize(("shape", "value", "runs"), [("chain", 102, 2), ("long chain", 142, 42), ("chord", 106, 3), ("callback", 2, 2)])
def test_a_canvas_that_begins_alike_and_goes_on_otherwise_is_set_aside_and_a_copy_is_not(
    stage: Stage, shop: Shop, shape: str, value: int, runs: int
) -> None:
    processes = Processes(stage, shop.app)
    for last in (100, 200, 100):
        first = going_on(shop, shape, last).apply_async(task_id=ID)
        stage.clock.advance(3_600.0)
    assert len(stage.peek(COMMANDS)) == 3, "each waited for longer than its id was reserved"
    processes.drain()
    assert (first.get(), shop.ran["add"]) == (value, runs)
    (parked,) = stage.peek(PARKED)
    assert (parked.attributes["reason"], parked.attributes["field"]) == (refusals.TAKEN, "taskid")
    assert parked.attributes["detail"] == "a canvas that begins alike and goes on otherwise has run under this id; give this one its own"


def test_what_replaced_a_task_has_its_id_by_right(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.task("swap", lambda n: shop.add.replace(shop.add.s(n, 1)), retry=False)
    result = chord([shop.app_sig("swap").clone((1,)), shop.add.s(1, 1)], shop.total.s()).delay()
    processes.deliver()
    copies = stage.peek(COMMANDS)
    assert len(copies) == 2, "the members, of which one will be replaced"
    processes.drain()
    stage.ports.queues.send(COMMANDS, copies)
    processes.restart()
    processes.drain()
    assert (result.get(), result.state) == (4, states.SUCCESS)
    assert stage.peek(PARKED) == []
