"""What a user writes about workers: boot steps, services, boxed tasks, configuration, tables, effects, sinks, hooks, broadcasts.

`mypy --strict` and pyright both read it (`test_checkers.py`), and `test_values.py` runs it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, assert_type

from sedano import COLD, AsyncResult, EndedRun, Retry, Sedano, Sig, TaskContext, current

app = Sedano("workers")
connections: list[str] = []
begun: list[str] = []


@dataclass(frozen=True)
class Mail:
    """Settings with defaults."""

    sender: str = "shop@example.com"
    patience: timedelta = timedelta(seconds=30)
    pool: int = field(default=10, metadata=COLD)


settings = app.configure(Mail, layers=["env:SHOP_"])
app.table("orders", key="order")
app.table("lines", key=("order", "line"))


@app.boot
def database() -> Iterator[None]:
    """Start and stop."""
    connections.append("open")
    yield
    connections.clear()


@app.boot(name="warm", after=["database"], optional=True, timeout=5, attempts=2)
def cache() -> None:
    """Start alone, with options."""


@app.service
async def poll() -> None:
    """Run beside the tasks."""


@app.before_run
def begin(task: TaskContext) -> None:
    """Be called before each body."""
    begun.append(task.task)


@app.on_failure
def failed(run: EndedRun) -> None:
    """Be called after a failure."""
    begun.append(run.message)


resize = app.boxed("resize", ["resize", "--fast"], pool=2, memory="512M", timeout=20, retry=Retry(max_retries=2))
thumbnails = app.boxed("thumbnails", function="thumbnails", pool=4, queue="default")


@app.task
def order(number: str) -> int:
    """Write with the outcome."""
    effects = current().effects
    assert_type(effects.put("orders", {"order": number, "count": 1}), None)
    effects.update("orders", {"order": "all"}, add={"count": 1})
    assert_type(effects.delete("lines", {"order": number, "line": 1}), None)
    return len(settings().sender)


bi = app.sink("bi", queue="default", retry=Retry(max_retries=3))
price = app.document("price", sinks=[bi, "bi"])


@app.task(sinks=bi)
def average(user: int) -> float:
    """Be a document with each result."""
    assert_type(price.publish({"user": user}, id=str(user)), str)
    return user / 4


@app.task(on=[price, average])
def look(document: dict[str, Any]) -> None:
    """Receive documents."""
    begun.append(document["name"])


def declared() -> None:
    """Look at what the decorators hand back: the functions themselves."""
    assert_type(database, Callable[[], Iterator[None]])
    assert_type(cache(), None)
    hook: Callable[[TaskContext], None] = begin
    hook(current())
    assert_type(settings(), Mail)
    assert_type(settings().patience, timedelta)
    assert_type(settings.origins(), dict[str, str])


def published() -> None:
    """Publish boxed tasks, whose results are what their program answers."""
    assert_type(resize.delay(640, 480), AsyncResult[Any])
    assert_type(thumbnails.s("cat.jpg"), Sig[Any])
    assert_type(order.delay("o-1").get(), int)
    assert_type(average.delay(4).get(), float)


def asked() -> None:
    """Ask workers."""
    assert_type(app.control.broadcast("ping"), str)
    assert_type(app.control.broadcast("check_health", "database", to="w.1", seconds=30), str)
