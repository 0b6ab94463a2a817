"""FastAPI: connect when the program starts, send pending messages when it ends, and publish without blocking the event loop.

    from fastapi import FastAPI
    from sedano.fastapi import lifespan, publish

    web = FastAPI(lifespan=lifespan(app))

    @web.post("/orders/{order}")
    async def ordered(order: int) -> dict[str, str]:
        result = await publish(ship, order)
        return {"task": result.id}

An endpoint that is a plain `def` runs in its own thread and calls `ship.delay(order)`. Needs the package fastapi.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.types import Lifespan

from sedano.app import Sedano
from sedano.task import P, R, Task

if TYPE_CHECKING:
    from typing import Unpack

    from sedano.model.tasks.published_options import LinkedOptions
    from sedano.result import AsyncResult


def lifespan(app: Sedano, inner: Lifespan[FastAPI] | None = None) -> Lifespan[FastAPI]:
    """Return a lifespan that connects *app* before the first request and sends pending messages after the last one.

    Without it, the app connects at the first publication, and a missing setting fails a request. With it, the program does not start.

    Args:
        app: the app whose tasks the program publishes.
        inner: the program's own lifespan; it begins when *app* is connected and ends before *app* is closed, so it can publish.
    """

    @asynccontextmanager
    async def spanned(web: FastAPI) -> AsyncIterator[Any]:
        await run_in_threadpool(getattr, app, "outlet")
        try:
            if inner is None:
                yield None
            else:
                async with inner(web) as state:
                    yield state
        finally:
            await run_in_threadpool(app.close)

    return spanned


async def publish(task: Task[P, R], *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R]:
    """Publish *task* with these arguments in a thread of the server's pool, so that the event loop serves other requests meanwhile.

    Raises:
        ArgumentError, Unserialisable, PublishError: see `Task.delay`.
    """
    return await run_in_threadpool(task.delay, *args, **kwargs)


async def publish_with(
    task: Task[..., R], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Unpack[LinkedOptions]
) -> AsyncResult[R]:
    """Publish *task* with options in a thread of the server's pool; see `Task.apply_async`."""
    return await run_in_threadpool(task.apply_async, args, kwargs, **options)
