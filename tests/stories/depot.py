"""An app that stands on the stream of a table of orders, in order and in none, and on that of a shop's clicks; and how it gets records."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sedano import Call, Sedano
from sedano.host.sources import reading
from sedano.memory.stream_records import table_record
from sedano.streams import StreamRecord, TableChange
from sedano.testing import World
from tests.stories.refusing import Refuses, Refusing

APP = "tests.stories.depot:app"
app = Sedano("depot", queues=("default", "orders.fifo"))
told: list[Any] = []
fails: dict[Any, int] = {}
"""How often a change with such a `step` still fails."""


@app.stream("orders")
@app.task(queue="orders.fifo", serial_key="{record[keys][id]}")
def follow(record: TableChange) -> None:
    """The step that an order has reached, in the order in which it did."""
    step = (record["new"] or {}).get("step")
    if fails.get(step, 0):
        fails[step] -= 1
        raise ConnectionError(f"step {step} is not yet possible")
    told.append((record["keys"]["id"], step))


@app.stream("orders", operations=["REMOVE"])
@app.task(ignore_result=True)
def forget(record: TableChange) -> None:
    """An order that is gone."""
    told.append(("gone", record["keys"]["id"], record["expired"]))


@app.stream("clicks")
@app.stream("returns")
@app.task
def count(record: StreamRecord) -> str:
    """What was clicked; its data is text."""
    told.append((record["stream"], json.loads(record["data"] or "null")))
    return record["id"]


@app.stream("clicks")
@app.task(batch=(10, "5s"))
def sum_up(calls: list[Call]) -> None:
    """Clicks by the tens."""
    told.append(len(calls))


def order(which: int, step: object, number: int) -> dict[str, Any]:
    """The record, number *number*, of an order that reached a *step*."""
    return table_record(number, 1_767_225_600.0, {"id": which}, {"id": which, "step": step}, None)


def take(
    world: World, stream: str, records: Sequence[Mapping[str, Any]], refuses: Refuses, seconds: float = 60.0
) -> int:  # fmt: skip
    """Hand over *records* while the queues refuse; how many are done with."""
    refusing: Any = Refusing(world.ports.queues, refuses)
    app.attach(replace(world.ports, queues=refusing))
    try:
        return reading(app).take(stream, records, world.clock.now() + seconds)
    finally:
        app.attach(world.ports)
