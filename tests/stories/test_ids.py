"""Two different tasks under one id, which their users chose: one runs, the other is set aside with the reason, not taken for a copy."""

import pytest

from sedano import chain, chord, current
from sedano.canvas import Form
from sedano.model import refusals, states
from sedano.ports import PARKED, Outgoing
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
    assert parked.attributes["detail"] == "the task add has run under this id; give this task its own id"
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
    expected = "a canvas with the same beginning and another continuation has run under this id; give this task its own id"
    assert parked.attributes["detail"] == expected


def published(stage: Stage, *forms: Form) -> list[Outgoing]:
    """Return the message that begins each of *forms* under the same id; none of them stays in the queue."""
    for form in forms:
        form.apply_async(task_id=ID)
        stage.clock.advance(3_600.0)
    deliveries = stage.ports.queues.receive(COMMANDS)
    stage.ports.queues.delete(deliveries)
    return [Outgoing(delivery.body) for delivery in deliveries]


@pytest.mark.parametrize("tries", [1, 2, 3])
@pytest.mark.parametrize("begins", ["alike", "otherwise"])
def test_another_canvas_is_set_aside_and_a_copy_is_not_also_where_the_first_task_was_tried_again(
    stage: Stage, shop: Shop, tries: int, begins: str
) -> None:
    processes = Processes(stage, shop.app)
    first, alike, otherwise = shop.flaky.s(tries), shop.flaky.s(tries), shop.label.s("tea")
    for form, what in ((first, "one"), (alike, "another"), (otherwise, "another")):
        form.link(shop.mail.si(what))
    original, other = published(stage, first, alike if begins == "alike" else otherwise)
    stage.ports.queues.send(COMMANDS, [original])
    for _ in range(tries + 1):
        processes.deliver()
        stage.ports.queues.send(COMMANDS, [other, original])
        processes.restart()
        processes.deliver()
        stage.pass_time(3.0)
    processes.drain()
    assert shop.app.result(ID).get() == tries
    assert (shop.ran["flaky"], shop.ran["mail"], shop.ran["label"]) == (tries + 1, 1, 0)
    told = {(one.attributes["reason"], one.attributes["detail"]) for one in stage.peek(PARKED)}
    what = "the task flaky" if begins == "otherwise" else "a canvas with the same beginning and another continuation"
    assert told == {(refusals.TAKEN, f"{what} has run under this id; give this task its own id")}
    assert len(stage.peek(PARKED)) == tries + 1, "whenever it came"


def test_what_replaced_a_task_that_was_tried_again_has_its_id_by_right(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)

    def swap() -> None:
        if current().attempt == 0:
            raise RuntimeError("not yet")
        shop.add.replace(shop.flaky.s(3))

    first = shop.task("swap", swap).s()
    first.link(shop.mail.si("done"))
    (original,) = published(stage, first)
    for _ in range(8):
        stage.ports.queues.send(COMMANDS, [original])
        processes.restart()
        processes.deliver()
        stage.pass_time(5.0)
    processes.drain()
    assert (shop.app.result(ID).get(), shop.ran["swap"], shop.ran["flaky"], shop.ran["mail"]) == (3, 2, 4, 1)
    assert stage.peek(PARKED) == []


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
