"""The tasks of the project."""

from typing import Any

from django.db import connection

from sedano.django.interface import TaskContext
from tests.frameworks.django_shop.declared import django_task
from tests.frameworks.django_shop.queue import app

failures: list[str] = []


class Unpaid(Exception):
    """An order is not paid."""


@app.task(name="shop.ship")
def ship(order: int) -> str:
    """Ship, as a task of sedano."""
    with connection.cursor() as cursor:
        cursor.execute("select %s", [order])
        return f"parcel {cursor.fetchone()[0]}"


@app.task(name="shop.aship")
async def aship(order: int) -> str:
    """Ship, as an async task of sedano."""
    return f"parcel {order}"


@django_task
def add(a: int, b: int = 1) -> int:
    """Add, as a task of Django."""
    return a + b


@django_task(queue_name="slow")
async def upper(text: str) -> str:
    """Be an async task of Django."""
    return text.upper()


@django_task(takes_context=True)
def attempt(context: TaskContext, to: str) -> list[Any]:
    """Take the context."""
    if context.attempt < 2:
        raise ConnectionError(to)
    return [context.attempt, context.task_result.id, to]


@django_task(backend="once", queue_name="slow")
def fail(kind: str) -> None:
    """Fail."""
    failures.append(kind)
    raise {"own": Unpaid, "named": LookupError}.get(kind, ValueError)(kind)


@django_task
def dated() -> object:
    """Return what JSON does not know."""
    return object()
