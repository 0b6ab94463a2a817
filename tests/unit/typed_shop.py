"""A user's module as a type checker sees it: `tests/unit/test_typing.py` runs `mypy --strict` on it; each wrong line must be an error."""

from typing import Any, assert_type

from sedano import AsyncResult, DomainEvent, GroupResult, Retry, Sedano, chord, group
from sedano.streams import StreamRecord, TableChange

app = Sedano("typed")


@app.task
def add(a: int, b: int = 2) -> int:
    """Declare without options."""
    return a + b


@app.task(queue="default", retry=Retry(max_retries=2), delivery="record_once", expires=5)
def tags(text: str, *, upper: bool = False) -> list[str]:
    """Declare with options."""
    return [text.upper() if upper else text]


@app.task
async def half(x: float) -> float:
    """Declare an async task."""
    return x / 2


@app.task(retry=False)
async def shown(x: float) -> str:
    """Declare an async task with options."""
    return str(x)


@app.event
class Measured(DomainEvent):
    """Declare an event."""

    what: str
    n: int


@Measured.subscribe
@app.task
def on_measured(what: str, n: int) -> None:
    """Subscribe."""


@app.stream("orders", operations=["INSERT"])
@app.task
def followed(record: TableChange) -> int:
    """Stand on the stream of a table."""
    assert_type(record["new"] or {}, dict[str, Any])
    return len(record["keys"])


@app.stream("clicks")
@app.task(queue="default")
def clicked(record: StreamRecord) -> str:
    """Stand on a stream of Kinesis."""
    return record["data"] or record["partition_key"]


async def right() -> None:
    """Use all of it rightly."""
    assert_type(add(1, 2), int)
    assert_type(add.delay(1, b=2), AsyncResult[int])
    assert_type(add.delay(1).get(), int)
    assert_type(await add.delay(1), int)
    assert_type(add.apply_async((1, 2), countdown=3).get(), int)
    assert_type(tags.delay("x", upper=True).get(), list[str])
    assert_type(await half(1.0), float)
    assert_type(half.delay(1.0), AsyncResult[float])
    assert_type(await half.delay(1.0), float)
    assert_type(half.apply_async([1.0]).get(), float)
    assert_type(shown.delay(1.0).get(), str)
    assert_type(group(add.s(1, 2), tags.s("x")).delay(), GroupResult[int | list[str]])
    assert_type(chord([add.s(1, 2)])(tags.s("x")).state, str)
    assert_type(on_measured.delay("x", 1), AsyncResult[None])
    assert_type(clicked.delay({"stream": "a", "id": "1", "at": 0.0, "partition_key": "", "data": "", "data_base64": None}).get(), str)
    assert_type(Measured(what="x", n=1).n, int)
    assert_type(Measured.delay(what="x", n=1), str)


def wrong() -> None:
    """Use it wrongly: an ignored error that is none is an error itself (`warn_unused_ignores`)."""
    add.delay("1", 2)  # type: ignore[arg-type] # a text is no int
    add.delay(1, 2, 3)  # type: ignore[call-arg] # too many
    add.delay(c=1)  # type: ignore[call-arg] # unknown
    tags.delay("x", True)  # type: ignore[call-arg] # a keyword by position
    half.delay("x")  # type: ignore[arg-type] # a text is no float
    on_measured.delay(1, 1)  # type: ignore[arg-type] # a subscribed task keeps its types
    app.stream("orders", operations=["UPDATE"])  # type: ignore[list-item] # nothing that happens to an item
    app.stream("orders")(wrong)  # type: ignore[type-var] # no task
    followed.delay({"id": "1"})  # type: ignore[typeddict-item] # a record has more
    Measured(what=1, n=1)  # type: ignore[arg-type] # a field of the wrong type
    Measured("x", 1)  # type: ignore[call-arg] # fields have names
    app.task(quue="x")  # type: ignore[call-overload] # unknown option
    app.task(delivery="twice")  # type: ignore[call-overload] # no mode of delivery
    app.task(retry=5)  # type: ignore[call-overload] # no policy
