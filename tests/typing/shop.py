"""What a user writes, as `mypy --strict` and pyright both read it: every `assert_type` holds for both (`test_checkers.py`).

It also runs in memory: each `assert_type` of a value holds for the value itself (`test_values.py`).
"""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, assert_type

from sedano import AsyncResult, Call, DomainEvent, GroupResult, ResultSet, Sedano, SharedTasks, Sig, chain, chord, every, fork, group
from sedano.fastapi import publish, publish_with
from sedano.task import AsyncTask, SyncTask, Task

shared = SharedTasks()


@shared.task
def early(day: date) -> date:
    """Be declared before there is an app."""
    return day


@shared.task(queue="slow", bind=True)
async def early_bound(self: Task[[int], Decimal], number: int) -> Decimal:
    """Be declared with options before there is an app."""
    return Decimal(number + self.request.attempt)


app = Sedano("typed", queues=("default", "slow"), raises=[KeyError])
app.include(shared)


@dataclass(frozen=True)
class Price:
    """What a task returns."""

    net: Decimal
    since: date


class Due(NamedTuple):
    """What another task returns."""

    day: datetime
    reminders: int


@app.event
class Ordered(DomainEvent):
    """What happens."""

    order: int


@app.task
def price(order: int, *, vat: float = 0.2) -> Price:
    """Stand bare above a `def`."""
    return Price(order * Decimal("1.2") if vat else Decimal(order), date(2026, 1, 1))


@app.task(queue="slow", retry=False)
def due(priced: Price, hour: int = 9) -> Due:
    """Stand with options above a `def`."""
    return Due(datetime(priced.since.year, 2, 1, hour, tzinfo=UTC), 2)


@app.task
async def fetch(url: str) -> str:
    """Stand bare above an `async def`."""
    return url.upper()


@app.task(queue="slow", time_limit=60)
async def size(url: str) -> int:
    """Stand with options above an `async def`."""
    return len(url)


@app.task
def total(prices: list[Price]) -> Decimal:
    """Be the body of a chord."""
    return sum((one.net for one in prices), Decimal(0))


@app.task
def count(values: list[Any]) -> int:
    """Be the body of a chord of different tasks."""
    return len(values)


@app.task
def dates(days: dict[str, date] | None = None) -> dict[str, date]:
    """Return what JSON does not know."""
    return days or {"first": date(2026, 1, 1)}


@app.task
def pair(number: int = 1) -> tuple[int, date]:
    """Return a tuple."""
    return number, date(2026, 1, 1)


@app.task(bind=True)
def bound(self: Task[[int], str], x: int) -> str:
    """Take the task itself first."""
    return self.name * x


@app.task(bind=True, queue="slow")
async def bound_async(self: Task[[int], float], x: int) -> float:
    """Take the task itself first in an `async def`."""
    return x / 2 + self.request.attempt


@app.task(batch=(100, "1s"))
def counted(calls: list[Call]) -> int:
    """Take many calls at once."""
    return len(calls)


@app.task
def nothing(*_: Any) -> None:
    """Return nothing."""


@app.periodic(every(60))
@app.task
def swept(limit: int = 3) -> bool:
    """Come round as a task."""
    return limit > 0


@app.periodic(every(60), queue="slow")
async def swept_async(limit: int = 3) -> bool:
    """Come round as a function."""
    return limit > 0


@Ordered.subscribe
@app.task
def ship(order: int) -> int:
    """Run when something happens."""
    return order


def published() -> None:
    """Publish single tasks."""
    assert_type(price.delay(3, vat=0.1), AsyncResult[Price])
    assert_type(price.delay(3).get(timeout=1), Price)
    assert_type(price.delay(3).get(propagate=False), Price | Exception)
    assert_type(due.apply_async((price(3),), countdown=3, queue="slow").get(), Due)
    assert_type(fetch.delay("a"), AsyncResult[str])
    assert_type(size.apply_async(["a"], expires=9.5, stamps={"who": "me"}).get(), int)
    assert_type(nothing.delay(), AsyncResult[None])
    assert_type(dates.delay().get(), dict[str, date])
    assert_type(pair.delay(number=2).get(), tuple[int, date])
    assert_type(bound.delay(1).get(), str)
    assert_type(bound_async.delay(x=1).get(), float)
    assert_type(counted.delay("anything"), AsyncResult[int])
    assert_type(early.delay(date(2026, 1, 1)).get(), date)
    assert_type(early_bound.delay(number=1).get(), Decimal)
    assert_type(nothing.delay(1, 2).get(), None)
    assert_type(swept.delay(limit=2).get(), bool)
    assert_type(swept_async.delay().get(), bool)
    assert_type(app.invoke(price, 3, vat=0.1), Price)
    assert_type(app.invoke(price.s(3), timeout=5), Price)
    assert_type(app.invoke(fetch, "a"), str)
    assert_type(ship.delay(7).get(), int)
    assert_type(Ordered.delay(order=7), str)
    assert_type(app.send_task(count.name, ([1, 2],), countdown=3), AsyncResult[Any])


async def awaited() -> None:
    """Call and await."""
    assert_type(price(3), Price)
    assert_type(bound(2), str)
    coroutine: Coroutine[Any, Any, str] = fetch("x")
    assert_type(await coroutine, str)
    assert_type(await fetch("x"), str)
    assert_type(await price.delay(3), Price)
    assert_type(await publish(price, 3, vat=0.1), AsyncResult[Price])
    assert_type(await (await publish_with(fetch, ("x",), queue="slow")), str)
    assert_type(await fetch.delay("x"), str)
    assert_type(await group(fetch.s("x"), size.s("x")).delay(), list[str | int])


def signed() -> None:
    """Make signatures and chains."""
    assert_type(price.s(3), Sig[Price])
    assert_type(price.si(3, vat=0.1), Sig[Price])
    assert_type(fetch.s("a").set(countdown=3, link=nothing.s()), Sig[str])
    assert_type(fetch.signature(("a",), immutable=True, queue="slow"), Sig[str])
    assert_type(price.s(3).delay().get(), Price)
    assert_type(~price.s(3), Price)
    assert_type((price.s(3) | due.s()).delay(), AsyncResult[Due])
    assert_type((price.si(3) | fetch.si("a") | size.s()).apply_async(countdown=2).get(), int)
    assert_type((price.s(3) | fork(nothing.s()) | due.s()).delay().get(), Due)
    assert_type((price.s(3) | fork(nothing.s())).delay().get(), Price)
    assert_type(chain(price.s(1)).delay().get(), Price)
    assert_type(chain(price.s(1), due.s(hour=8)).delay().get(), Due)
    assert_type(chain(price.si(1), fetch.si("b"), size.s())().get(), int)
    assert_type(~(fetch.s("c") | size.s()), int)
    assert_type(price.map([1, 2]).delay().get(), list[Any])
    assert_type(price.chunks([(1,), (2,)], 2).delay().get(), list[list[Any]])
    assert_type(app.signature(count.name, ([1],)).delay(), AsyncResult[Any])


def together() -> None:
    """Make groups and chords."""
    assert_type(group(price.s(1), pair.s()).delay(), GroupResult[Price | tuple[int, date]])
    assert_type(group(price.s(1), pair.s()).delay().get(), list[Price | tuple[int, date]])
    assert_type(group(price.s(1), fetch.s("a"), dates.s()).delay().get(), list[Price | str | dict[str, date]])
    assert_type(group(price.s(i) for i in range(9)).delay().get(), list[Price])
    assert_type(group([price.s(1), price.s(2)])().get(propagate=False), list[Price | Exception])
    assert_type(group(group(price.s(1)), size.s("a")).delay().get(), list[list[Price] | int])
    assert_type((fetch.s("a") | group(size.s(), fetch.s())).delay().get(), list[int | str])
    assert_type((group(price.s(i) for i in range(9)) | total.s()).delay(), AsyncResult[Decimal])
    assert_type((group(price.s(i) for i in range(9)) | total.s()).delay().get(), Decimal)
    assert_type(chord([price.s(1), price.s(2)], total.s()).delay().get(), Decimal)
    assert_type(chord(price.s(i) for i in range(3))(total.s()).get(), Decimal)
    assert_type(chord(group(price.s(1), pair.s()), count.s())().get(), int)
    assert_type(ResultSet([price.delay(1), price.delay(2)]).get(), list[Price])


def annotated(form: Sig, results: GroupResult, one: SyncTask[[int], Price], event: Ordered | None) -> GroupResult:
    """Name the types without their parameters."""
    assert_type(form.delay(), AsyncResult[Any])
    assert_type(results.get(), list[Any])
    assert_type(one(3), Price)
    assert_type(event, Ordered | None)
    return group(form).delay()


def any_kind(tasks: Sequence[Task[..., object]], forms: Sequence[Sig[object]], waits: AsyncTask[..., str]) -> None:
    """Take tasks and signatures of any kind."""


any_kind([price, fetch, due], [price.s(1), fetch.s("a")], fetch)
