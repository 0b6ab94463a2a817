"""A FastAPI program publishes without blocking its event loop, connects before its first request, and sends the rest at its end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from fastapi import BackgroundTasks, FastAPI
from fastapi.testclient import TestClient

from sedano import Sedano, testing
from sedano.errors import ArgumentError, ConfigurationError, SedanoError
from sedano.fastapi import lifespan, publish, publish_with
from sedano.ports import Outgoing, Queues


class Slow:
    """The queues of a world, which take a message only when they are *released*; *entered*: one waits."""

    def __init__(self, queues: Queues) -> None:
        """Stand before *queues*."""
        self.queues, self.entered, self.released = queues, threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        """Return what the queues have beside `send`."""
        return getattr(self.queues, name)

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Take *messages* when this is released."""
        self.entered.set()
        assert self.released.wait(60)
        return self.queues.send(queue, messages)


def program() -> tuple[Sedano, FastAPI]:
    """Return an app with a task, and a web program that publishes it in each way."""
    app = Sedano("shop", queues=("default", "slow"))

    @app.task(name="shop.double")
    def double(number: int) -> int:
        return 2 * number

    web = FastAPI(lifespan=lifespan(app))

    @web.post("/published/{number}")
    async def published(number: int) -> dict[str, Any]:
        result = await publish(double, number)
        return {"id": result.id, "value": await result}

    @web.post("/late/{number}")
    async def late(number: int) -> str:
        return (await publish_with(double, (number,), countdown=60, queue="slow")).id

    @web.post("/plain/{number}")
    def plain(number: int) -> str:
        return double.delay(number).id

    @web.post("/afterwards/{number}", status_code=202)
    async def afterwards(number: int, background: BackgroundTasks) -> None:
        background.add_task(double.delay, number)

    return app, web


def test_an_async_endpoint_publishes_and_awaits_the_value() -> None:
    app, web = program()
    with testing.world(app), TestClient(web) as client:
        answer = client.post("/published/21").json()
        assert answer["value"] == 42
        assert app.result(answer["id"]).get() == 42


def test_options_background_tasks_and_plain_endpoints_publish_too() -> None:
    app, web = program()
    with testing.world(app) as world:
        with TestClient(web) as client:
            late = client.post("/late/1").json()
            plain = client.post("/plain/2").json()
            assert client.post("/afterwards/3").status_code == 202
        world.drain()
        assert [app.result(one).get() for one in (late, plain)] == [2, 4]
        assert [sent["args"] for sent in world.sent("shop.double")] == [[1], [2], [3]]


def test_an_argument_that_does_not_fit_is_refused_where_it_is_published() -> None:
    app = Sedano("shop")
    half = app.task(name="shop.half")(_half)
    wrong: Any = "two"
    with testing.world(app), pytest.raises(ArgumentError, match="expected int, got str"):
        asyncio.run(publish(half, wrong))


def _half(number: int) -> float:
    return number / 2


def test_the_event_loop_goes_on_while_a_slow_queue_is_asked() -> None:
    app = Sedano("shop")

    @app.task(name="shop.slow")
    def slow() -> None:
        """Be published."""

    async def served() -> list[str]:
        seen: list[str] = []

        async def publishing() -> None:
            await publish(slow)
            seen.append("published")

        running = asyncio.create_task(publishing())
        assert await asyncio.to_thread(queues.entered.wait, 60)
        seen.append("another request")
        queues.released.set()
        await running
        return seen

    with testing.world(app) as world:
        queues = Slow(world.queues)
        app.attach(replace(world.ports, queues=cast("Queues", queues)))
        assert asyncio.run(served()) == ["another request", "published"]


def test_a_program_that_cannot_connect_does_not_start() -> None:
    app = Sedano("shop", connect="no_such_module:connect")
    with pytest.raises(ConfigurationError, match="no_such_module"), TestClient(FastAPI(lifespan=lifespan(app))):
        raise AssertionError("it started")


def test_the_programs_own_lifespan_is_inside_and_its_end_can_publish() -> None:
    app = Sedano("shop")
    steps: list[str] = []

    @app.task(name="shop.last")
    def last() -> None:
        """Be published at the end."""

    @asynccontextmanager
    async def own(web: FastAPI) -> AsyncIterator[dict[str, str]]:
        steps.append(f"began {app._outlet is not None}")
        yield {"name": "own"}
        await publish(last)
        steps.append("ended")

    web = FastAPI(lifespan=lifespan(app, own))

    with testing.world(app) as world:
        with TestClient(web) as client:
            assert client.app_state["name"] == "own"
        assert steps == ["began True", "ended"]
        assert len(world.sent("shop.last")) == 1


def test_what_is_kept_back_is_sent_when_the_program_ends() -> None:
    app, web = program()
    with testing.world(app) as world:
        with TestClient(web):
            batch = app.batch()
            batch.__enter__()
            app.send_task("shop.double", (4,))
            assert world.sent("shop.double") == []
        assert len(world.sent("shop.double")) == 1
