"""Celery's own cost of one task: the tracer that every worker pool calls (no message, no broker, no result), and eager mode."""

from __future__ import annotations

from typing import Any

from celery import Celery  # type: ignore[import-untyped] # it ships no types
from celery.app.trace import build_tracer  # type: ignore[import-untyped] # it ships no types

from benchmarks.contenders.serving import Contender, Run, serve

app = Celery("bench", broker="memory://", set_as_current=False)
app.conf.task_store_eager_result = False


@app.task(name="bench.add")  # type: ignore[untyped-decorator] # it ships no types
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def tracing() -> Contender:
    """Return the tracer alone: the request exists already, and the result is not stored."""
    trace: Any = build_tracer("bench.add", add, app=app)
    request = {"id": "x", "args": [1, 2], "kwargs": {}, "is_eager": False, "delivery_info": {}, "ignore_result": True}

    def contender(tasks: int) -> Run:
        requests = [dict(request, id=str(number)) for number in range(tasks)]
        return lambda: [trace(r["id"], [1, 2], {}, r) for r in requests]

    return contender


def eager() -> Contender:
    """Return `delay` in eager mode."""
    app.conf.task_always_eager = True
    return lambda tasks: lambda: [add.delay(1, 2) for _ in range(tasks)]


if __name__ == "__main__":
    serve({"trace": tracing, "eager": eager})
