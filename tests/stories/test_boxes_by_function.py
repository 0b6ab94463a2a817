"""Boxed tasks whose program is a Lambda function, through the real engine."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sedano import Retry, Sedano, chain, testing
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import PortMissing, RemoteError
from sedano.task import Task
from sedano.testing.deployment import World
from tests.stories.test_boxes import COMMAND
from tests.stories.test_optional_ports import without, work

Box = Task[..., Any]


@pytest.fixture
def app() -> Sedano:
    """An app without retries."""
    return Sedano("boxes", retry=Retry(max_retries=0))


@pytest.fixture(autouse=True)
def resize(app: Sedano) -> Box:
    """A box that is a function alone."""
    return app.boxed("resize", function="resizer", pool=2, timeout=20)


@pytest.fixture
def world(app: Sedano) -> Iterator[World]:
    """A world of the app."""
    with testing.world(app) as built:
        yield built


def test_a_function_gets_the_request_of_the_task_and_its_answer_is_the_result(resize: Box, world: World) -> None:
    asked: list[dict[str, Any]] = []

    def resizer(event: dict[str, Any]) -> dict[str, Any]:
        asked.append(event)
        return {"id": event["id"], "ok": sum(event["args"])}

    world.function("resizer", resizer)
    result = chain(resize.s(1, 2), resize.s(4)).delay()
    assert result.get() == 7
    assert [(one["v"], one["task"], one["attempt"]) for one in asked] == [(1, "resize", 0)] * 2
    assert asked[1]["task_id"] == result.id
    assert asked[1]["fence"] >= 1


@pytest.mark.parametrize(
    ("returned", "kind", "words"),
    [
        ({"error": {"type": "NotFound", "message": "no cat"}}, "NotFound", "no cat"),
        ({"ok": 1, "id": "another"}, "BoxReplyInvalid", "has the id 'another'"),
        ([1], "BoxReplyInvalid", "is a list, not an object"),
        ({}, "BoxReplyInvalid", "has the members"),
    ],
)
def test_what_else_a_function_returns_fails_the_attempt(resize: Box, world: World, returned: Any, kind: str, words: str) -> None:
    world.function("resizer", lambda event: {"id": event["id"], **returned} if isinstance(returned, dict) else returned)
    with pytest.raises(RemoteError, match=words) as failed:
        resize.delay().get()
    assert failed.value.type_name.endswith(kind)


def test_an_error_that_a_function_raises_is_the_error_of_the_task(resize: Box, world: World) -> None:
    def resizer(event: object) -> None:
        raise LookupError("no such photo")

    world.function("resizer", resizer)
    with pytest.raises(RemoteError, match="no such photo") as failed:
        resize.delay().get()
    assert failed.value.type_name == "LookupError"


def test_an_unknown_function_is_a_missing_box_that_names_the_remedy(resize: Box, world: World) -> None:
    with pytest.raises(RemoteError, match=r"BoxMissing.*function 'resizer'"):
        resize.delay().get()


def test_a_box_with_both_is_run_by_its_function_where_functions_can_be_called_and_else_by_its_command(app: Sedano) -> None:
    either = app.boxed("either", COMMAND, function="either", timeout=20)
    with testing.world(app) as world:
        world.function("either", lambda event: {"id": event["id"], "ok": "by function"})
        assert either.delay("about").get() == "by function"
    alone, ports = Sedano("alone", retry=Retry(max_retries=0)), without("functions")
    either = alone.boxed("either", COMMAND, function="either", timeout=20)
    alone.attach(ports)
    result = either.delay("about")
    work(alone, ports)
    assert result.get(timeout=0)["calls"] == 1
    alone.attach(None)


def test_an_app_whose_box_has_a_function_alone_is_refused_where_no_function_can_be_called(app: Sedano) -> None:
    with pytest.raises(PortMissing, match=r"functions.*the boxed task resize"):
        app.attach(without("functions"))


def test_at_most_pool_calls_of_a_function_run_at_once_in_a_worker(app: Sedano, resize: Box) -> None:
    running, most, lock, both = 0, 0, threading.Lock(), threading.Barrier(2, timeout=20)

    def resizer(event: dict[str, Any]) -> dict[str, Any]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait()
        with lock:
            running -= 1
        return {"id": event["id"], "ok": None}

    with testing.world(app, settings=WorkerSettings(lanes=0, concurrency=10)) as world:
        world.function("resizer", resizer)
        results = [resize.delay(number) for number in range(6)]
        world.drain()
        assert [result.get() for result in results] == [None] * 6
    assert most == 2
