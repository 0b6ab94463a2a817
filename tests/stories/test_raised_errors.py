"""A caller gets the app's own exceptions back from a task, and a `RemoteError` for all others."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from sedano import Retry, Sedano, chord, group, testing
from sedano.errors import OptionError, RemoteError


class OrderRefused(Exception):
    """An order that the shop refuses."""


class Late(OrderRefused):
    """A subclass that the app does not name."""


app = Sedano("refusals", raises=[OrderRefused, KeyError], retry=Retry(max_retries=1, interval_start=1))
THROWN = {
    "named": OrderRefused("no tea", 7), "key": KeyError("tea"), "late": Late("x"), "value": ValueError("x"),
    "long": OrderRefused("x" * 2_000),
}  # fmt: skip

LONG = "x" * 300_000
"""An argument that is kept in the blob store."""


@app.task
def order(which: str) -> str:
    """Raise, or succeed."""
    if which in THROWN:
        raise THROWN[which]
    return which


@app.task
async def order_soon(which: str) -> str:
    """Raise in a coroutine."""
    return str(order(which))


@app.task
def total(orders: list[str]) -> int:
    """Count."""
    return len(orders)


@app.task(keep_arguments=False)
def discreet(which: str) -> None:
    """Keep no arguments."""
    order("named" if which == LONG else which)


@app.task(keep_arguments=False)
async def discreet_soon(which: str) -> None:
    """Keep no arguments, in a coroutine."""
    discreet(which)


@pytest.fixture(autouse=True)
def world() -> Iterator[testing.World]:
    """The app in memory."""
    with testing.world(app) as world:
        yield world


@pytest.mark.parametrize("task", [order, order_soon])
def test_a_named_exception_is_raised_again_with_its_arguments_and_its_cause(task: object) -> None:
    result = task.delay("named")  # type: ignore[attr-defined] # both are tasks
    with pytest.raises(OrderRefused) as caught:
        result.get()
    assert (type(caught.value), caught.value.args) == (OrderRefused, ("no tea", 7))
    remote = caught.value.__cause__
    assert isinstance(remote, RemoteError)
    assert (remote.type_name, remote.task_id, "no tea" in remote.traceback) == ("OrderRefused", result.id, True)
    assert type(result.result) is OrderRefused
    assert (result.state, result.get(propagate=False).args) == ("FAILURE", ("no tea", 7))


@pytest.mark.parametrize("which", ["late", "value", "long"])
def test_any_other_exception_is_a_remote_error(which: str) -> None:
    with pytest.raises(RemoteError):
        order.delay(which).get()


def test_a_class_of_python_can_be_named() -> None:
    with pytest.raises(KeyError, match="tea"):
        order.delay("key").get()


def test_a_group_and_the_body_of_a_chord_raise_it_too() -> None:
    some = group(order.s("a"), order.s("named")).delay()
    with pytest.raises(OrderRefused):
        some.get()
    with pytest.raises(OrderRefused):
        some.maybe_throw()
    assert [type(one) for one in some.get(propagate=False)] == [str, OrderRefused]
    body = chord([order.s("a"), order.s("named")])(total.s())
    with pytest.raises(OrderRefused) as caught:
        body.get()
    assert isinstance(caught.value.__cause__, RemoteError)


def test_a_task_that_keeps_no_arguments_keeps_none_of_its_exception() -> None:
    with pytest.raises(RemoteError):
        discreet.delay("named").get()


def test_a_reader_that_does_not_name_the_class_gets_a_remote_error(world: testing.World) -> None:
    result = order.delay("named")
    world.drain()
    reader = Sedano("refusals")
    reader.attach(world.ports)
    with pytest.raises(RemoteError, match="OrderRefused: "):
        reader.result(result.id).get()
    reader.close()


def test_a_name_that_is_no_class_is_refused() -> None:
    with pytest.raises(OptionError, match="raises: 'KeyError' is not a class of exceptions"):
        Sedano("wrong", raises=["KeyError"])  # type: ignore[list-item]


@pytest.mark.parametrize("wrong", [None, 0, False, "", {}, set()])
def test_a_value_that_is_not_a_list_is_refused_also_if_it_is_false(wrong: Any) -> None:
    with pytest.raises(OptionError, match=f"raises: {re.escape(repr(wrong))} is not a list of classes; write raises="):
        Sedano("wrong", raises=wrong)


@pytest.mark.parametrize("given", ["named", LONG])
@pytest.mark.parametrize("task", [discreet, discreet_soon])
def test_a_map_of_a_task_that_keeps_no_arguments_records_only_the_name_and_the_text(task: Any, given: str, world: testing.World) -> None:
    mapped = [task.map(["fine", given]).delay(), task.starmap([["fine"], [given]]).delay()]
    for result in [*mapped, task.chunks([[given]], 1).delay().children[0]]:
        with pytest.raises(RemoteError, match=r"OrderRefused: .*no tea"):
            result.get()
        record = world.ports.ledger.read([result.id])[result.id]
        assert record.call is None
        assert record.error is not None
        assert (record.error.raised, record.error.arguments) == ("", "")


def test_a_map_of_a_task_that_keeps_arguments_raises_its_exception_again(world: testing.World) -> None:
    result = order.map(["fine", "named"]).delay()
    with pytest.raises(OrderRefused, match="no tea"):
        result.get()
    assert world.ports.ledger.read([result.id])[result.id].call is not None
