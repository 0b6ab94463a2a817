"""The built-in tasks of maps alone: what they call, with which limits, and what they refuse before the first call."""

import asyncio
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Held
from sedano.engine.canvas.map_tasks import built_in, keeps_arguments
from sedano.engine.registry import Registry
from sedano.engine.reruns import call_of
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.engine.worker.body_results import Endings, failed
from sedano.errors import ArgumentError, OptionError, SedanoError, UnknownTask
from sedano.model.ledger.raised_errors import checked
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import MAP, MAP_ASYNC, BlobRef, Command, TimeLimits
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Ports
from tests.unit.engine.gated import job
from tests.unit.engine.test_drafting import running


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def add_later(a: int, b: int = 1) -> int:
    """Add two numbers, and yield before."""
    await asyncio.sleep(0)
    return a + b


def registry(**declared: Any) -> Registry:
    """One task of each kind."""
    found = Registry()
    for name, function in (("add", add), ("later", add_later)):
        found.tasks[name] = TaskSpec(name, function, Parameters(function), name == "later", **declared)
    return found


def mapped(own: Registry, name: str, *args: Any) -> Any:
    """Call a built-in task."""
    spec = built_in(own, name)
    assert spec is not None
    found = spec.function(*args)
    return asyncio.run(found) if spec.is_async else found


def test_a_built_in_task_is_declared_when_it_is_asked_for_first_and_no_other_is_one() -> None:
    own = registry()
    first = built_in(own, MAP)
    assert first is not None
    assert first is built_in(own, MAP) is own.tasks[MAP]
    later = built_in(own, MAP_ASYNC)
    assert later is not None
    assert (first.is_async, later.is_async) == (False, True)
    assert asyncio.iscoroutinefunction(later.function)
    assert built_in(own, "add") is None


@pytest.mark.parametrize(("name", "task"), [(MAP, "add"), (MAP_ASYNC, "later")])
def test_each_item_is_one_argument_or_all_of_them(name: str, task: str) -> None:
    assert mapped(registry(), name, task, [1, 2, 3]) == [2, 3, 4]
    assert mapped(registry(), name, task, [[1, 2], [3, 4]], True) == [3, 7]
    assert mapped(registry(), name, task, []) == []


@pytest.mark.parametrize(("name", "task"), [(MAP, "add"), (MAP_ASYNC, "later")])
def test_what_cannot_be_mapped_is_refused_before_the_first_call(name: str, task: str) -> None:
    with pytest.raises(UnknownTask, match="no task 'nothing' in this deployment"):
        mapped(registry(), name, "nothing", [1])
    with pytest.raises(OptionError, match=r"declared with serial_key.*; publish its calls one by one"):
        mapped(registry(serial_key=lambda *_: "k"), name, task, [1])
    with pytest.raises(ArgumentError):
        mapped(registry(), name, task, [[1, 2], [1, 2, 3]], True)


class Restarted:
    """Limits that note each restart."""

    def __init__(self, begun: list[int]) -> None:
        """Note restarts in *begun*."""
        self.begun = begun

    def check(self) -> None:
        """Raise nothing."""

    def again(self) -> None:
        """Note it."""
        self.begun.append(1)


def test_the_limits_begin_anew_before_each_call_but_the_first() -> None:
    begun: list[int] = []
    limits = TimeLimits(1.0, 2.0)
    with running() as context:
        with pytest.raises(OptionError, match="add has time limits, and its map names none"):
            mapped(registry(time_limits=limits), MAP, "add", [1])
        context.limits = Restarted(begun)
        assert mapped(registry(time_limits=limits), MAP, "add", [1, 2, 3]) == [2, 3, 4]
    assert len(begun) == 2


def test_calls_of_an_async_map_have_no_limits() -> None:
    with pytest.raises(OptionError, match="later is async, and the calls of an async map have no time limits"):
        mapped(registry(time_limits=TimeLimits(1.0, 2.0)), MAP_ASYNC, "later", [1])
    context = TaskContext(Command("m", "t", MAP_ASYNC, "me", 1.0, 1, time_limits=TimeLimits(1.0, 2.0)), 1, 30.0, 1)
    token = CURRENT.set(context)
    try:
        with pytest.raises(OptionError, match="later is async"):
            mapped(registry(), MAP_ASYNC, "later", [1])
    finally:
        CURRENT.reset(token)
    with running():
        assert mapped(registry(), MAP_ASYNC, "later", [1]) == [2]


def keeping(own: Registry, *args: Any, ports: Ports | None = None, **changes: Any) -> bool:
    """Whether the arguments of a map with *args* may be kept."""
    spec = built_in(own, MAP)
    assert spec is not None
    command = Command("m", MAP, "host", args=args)._replace(**changes)
    return keeps_arguments(job("m")._replace(command=command, task=spec), ports or memory.ports())


@pytest.mark.parametrize("kept", [True, False])
def test_a_map_keeps_arguments_as_the_task_does_that_it_calls(kept: bool) -> None:
    own, ports = registry(keep_arguments=kept), memory.ports()
    assert keeping(own, "add", [1]) is kept
    assert keeping(own, kwargs={"task": "add", "items": [1]}) is kept
    ref = ports.blobs.put(codec.encode_data(["add", [1]], {}))
    assert keeping(own, data_ref=ref, ports=ports) is kept
    assert keeps_arguments(job("m")._replace(task=own.tasks["add"]), ports) is kept


@pytest.mark.parametrize("args", [(), ("gone", [1]), ([1], [1])])
def test_a_map_of_a_task_that_is_not_declared_keeps_no_arguments(args: tuple[Any, ...]) -> None:
    assert not keeping(registry(), *args)


def test_arguments_of_a_map_that_cannot_be_read_are_not_kept() -> None:
    ports = memory.ports()
    with pytest.raises(SedanoError):
        keeping(registry(), data_ref=BlobRef("0" * 64, 9), ports=ports)
    spec = built_in(registry(), MAP)
    assert spec is not None
    lost = job("m")._replace(command=Command("m", MAP, "host", data_ref=BlobRef("0" * 64, 9)), task=spec)
    run = failed(KeyError("x"))
    ran = Endings(ports, LamportClock(lambda: 50), checked([KeyError])).ended(Held(lost, None), run, None)
    assert ran.run.error is not None
    assert (ran.run.error.raised, call_of(ran, ports)) == ("", None)
