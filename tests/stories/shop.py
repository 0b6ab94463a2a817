"""The app that most stories are about: a small shop whose tasks note that they ran."""

import functools
import inspect
from collections import Counter
from collections.abc import Iterable
from typing import Any

from sedano import Retry, Sedano, chord, current
from sedano.canvas import Form, Sig
from sedano.event import EventType
from sedano.model.tasks.signature import Signature
from sedano.task import Task
from tests.stories.stage import QUEUES

SOON = Retry(max_retries=3, interval_start=2.0, jitter=False)


class Shop:
    """One shop: its app, its tasks, and *ran*: how often each body ran, by task name."""

    def __init__(self) -> None:
        """Declare everything."""
        self.app = Sedano("shop", queues=QUEUES, retry=SOON)
        self.ran: Counter[str] = Counter()
        self.seen: list[Any] = []
        self._plain()
        self._orders()

    def task(self, name: str, body: Any, **options: Any) -> Task[..., Any]:
        """Declare *body* as task *name*; it notes that it ran."""
        self.app.task(name=name, **options)(body if inspect.iscoroutinefunction(body) else _noting(self.ran, name, body))
        return Task(self.app.registry.tasks[name], self.app)

    def app_sig(self, name: str) -> Sig:
        """Return the signature of the task *name* without arguments."""
        return Sig(Signature(name), self.app)

    def together(self, signatures: Iterable[Form]) -> list[Any]:
        """Publish *signatures* in tens, as tasks that have nothing to do with one another, and return their results."""
        with self.app.batch():
            return [signature.delay() for signature in signatures]

    def _plain(self) -> None:
        self.add = self.task("add", lambda a, b: a + b)
        self.total = self.task("total", sum)
        self.once = self.task("once", self._followed, delivery="record_once")
        self.loose = self.task("loose", self._followed, delivery="at_least_once", ignore_result=True)
        self.alone = self.task("alone", lambda n: n, singleton=True)
        self.fails = self.task("fails", self._fail, retry=False)
        self.soon = self.task("soon", self._soon)
        self.plan = self.task("plan", self._plan)
        self.flaky = self.task("flaky", self._flaky)
        self.big = self.task("big", lambda text: text + "!")

    def _orders(self) -> None:
        self.pack = self.task("pack", lambda what: what)
        self.label = self.task("label", lambda what: what)
        self.buy = self.task("buy", self._buy)
        self.mail = self.task("mail", lambda what: what)
        self.count = self.task("count", lambda what: what, queue="bulk")
        self.Bought: EventType[Any] = self.app.event(type("Bought", (), {"__annotations__": {"what": str}, "__module__": "shop"}))
        for task in (self.mail, self.count):
            self.Bought.subscribe(task)

    def _followed(self, n: int) -> int:
        self.pack.delay(f"of {n}")
        return n

    async def _soon(self, n: int) -> int:
        self.ran["soon"] += 1
        self.pack.delay(n)
        return n

    def _plan(self, size: int) -> str:
        return chord(self.add.s(n, n) for n in range(size))(self.total.s()).id

    def _fail(self) -> None:
        raise ValueError("out of stock")

    def _flaky(self, until: int) -> int:
        self.pack.delay("only what succeeds is packed")
        if current().attempt < until:
            raise RuntimeError("not yet")
        return current().attempt

    def _buy(self, what: str) -> str:
        self.seen.append(current().fence)
        self.pack.delay(what)
        self.label.delay(what)
        self.Bought.delay(what=what)
        return what


def _noting(ran: Counter[str], name: str, body: Any) -> Any:
    def noted(*args: Any, **kwargs: Any) -> Any:
        ran[name] += 1
        return body(*args, **kwargs)

    return functools.wraps(body)(noted)
