"""The promises of a run of orders, checked against the tables, the bucket and the CRM themselves. Pure.

An order is *lost* if one of its places does not have it: the table of orders, the bucket, the table of sales, the CRM, or `thank`.
It is *doubled* if its order, its movement of the stock or its row of sales was written more than once, or the CRM was given two different
documents under one key. A *half effect* is an order without its movement of the stock, or the reverse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from examples.orders.shop import Order
from examples.orders.tasks import book, crm, lake, sales, thank
from sedano.model import states
from sedano.model.history.spans import spans
from sedano.model.messages.lineage import derived_id, result_document_id
from sedano.model.sources.webhooks import delivery_id

SINKS = tuple(sink.task for sink in (lake, sales, crm))
Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Expected:
    """What an order must cause: the event, which is the root of its trace, and the tasks, by name."""

    order: Order
    event: str
    tasks: Mapping[str, str]

    @property
    def document(self) -> str:
        """The id of the document of the order."""
        return result_document_id(self.tasks[book.name])


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found after a run.

    Args:
        states: the state of each task, by its id.
        writes: for each table (``orders``, ``stock``, ``sales``), how often each key was written, by the table's own log.
        rows: the rows of the tables, by table and key.
        lake: the documents of the bucket, by id.
        crm: the requests that the CRM accepted: the key and the order of the document.
        left: the number of messages by queue.
        lines: the lines of the event history.
    """

    states: Mapping[str, str]
    writes: Mapping[str, Counter[str]]
    rows: Mapping[str, Mapping[str, Mapping[str, Any]]]
    lake: Mapping[str, Mapping[str, Any]]
    crm: Sequence[tuple[str, str]]
    left: Mapping[str, int]
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Findings:
    """The counts of a run; all but *orders* and *documents* must be 0. *documents*: those that arrived, over all sinks."""

    orders: int
    lost: int
    doubled: int
    half_effects: int
    documents: int
    traces_broken: int


def expected(order: Order) -> Expected:
    """Return what *order* must cause; every id follows from that of its request."""
    event = derived_id(delivery_id("shop", order.order, b""), 0)
    booked = derived_id(event, book.name)
    document = result_document_id(booked)
    return Expected(order, event, {book.name: booked, **{name: derived_id(document, name) for name in (*SINKS, thank.name)}})


def findings(wanted: Sequence[Expected], evidence: Evidence) -> Findings:
    """Count what is lost, doubled, halved and broken."""
    places = [places_of(one, evidence) for one in wanted]
    return Findings(
        orders=len(wanted),
        lost=sum(not all(some.values()) for some in places) + sum(evidence.left.values()),
        doubled=_doubled(wanted, evidence),
        half_effects=_halves(wanted, evidence),
        documents=sum(some[name] for some in places for name in SINKS),
        traces_broken=len(broken_traces(wanted, evidence.lines)),
    )


def places_of(one: Expected, evidence: Evidence) -> dict[str, bool]:
    """Return for each place that must have the order whether it has it."""
    order, ended = one.order.order, {name: evidence.states.get(task) == states.SUCCESS for name, task in one.tasks.items()}
    return {
        **ended,
        "orders": order in evidence.rows["orders"],
        lake.task: ended[lake.task] and order == evidence.lake.get(one.document, {}).get("order"),
        sales.task: ended[sales.task] and order == evidence.rows["sales"].get(one.document, {}).get("order"),
        crm.task: ended[crm.task] and (one.document, order) in evidence.crm,
    }


def _doubled(wanted: Sequence[Expected], evidence: Evidence) -> int:
    """Count the writes beyond the first of each order, those of no order, and keys with which the CRM was given two documents."""
    once = {"orders": [one.order.order for one in wanted], "sales": [one.document for one in wanted]}
    beyond = sum((evidence.writes[table] - Counter(keys)).total() for table, keys in once.items())
    moved = Counter(one.order.sku for one in wanted)
    return beyond + (evidence.writes["stock"] - moved).total() + len(set(evidence.crm)) - len({key for key, _ in evidence.crm})


def _halves(wanted: Sequence[Expected], evidence: Evidence) -> int:
    """Count the orders without their movement of the stock, and the movements without an order."""
    booked = [one.order for one in wanted if one.order.order in evidence.rows["orders"]]
    rows, halves = evidence.rows["stock"], 0
    for sku in {one.order.sku for one in wanted} | set(rows):
        mine, row = [order for order in booked if order.sku == sku], rows.get(sku, {})
        off = abs(len(mine) - int(row.get("orders", 0)))
        halves += off or (sum(order.pieces for order in mine) != int(row.get("sold", 0)))
    return halves


def broken_traces(wanted: Sequence[Expected], lines: Iterable[Line]) -> list[str]:
    """Return the orders whose trace is not one tree: each of their tasks once, with its end, and all of them below that of `book`."""
    of_task: dict[str, list[Line]] = {}
    for line in lines:
        of_task.setdefault(str(line.get("uuid")), []).append(line)
    found = [(one, [line for task in one.tasks.values() for line in of_task.get(task, ())]) for one in wanted]
    return [one.order.order for one, mine in found if not _is_whole(one, mine)]


def _is_whole(one: Expected, lines: Sequence[Line]) -> bool:
    found = spans(lines, one.event)
    tasks = [(span.task, span.depth > 0) for span in found if span.kind == "task" and span.state == states.SUCCESS]
    return Counter(tasks) == Counter((task, name != book.name) for name, task in one.tasks.items())


def complaints(found: Findings, kills: int, turned_away: int, forged: int) -> list[str]:
    """Return the broken promises in words; an empty list if there are none.

    Args:
        found: the counts.
        kills: how many kills hit a worker at work; None were wanted if it is negative.
        turned_away: how many deliveries the CRM turned away.
        forged: how many deliveries had a signature that is not the CRM's.
    """
    wrong = {
        f"{found.lost} orders are lost somewhere, or messages are left": found.lost,
        f"{found.doubled} writes happened twice or were never ordered": found.doubled,
        f"{found.half_effects} orders moved no stock, or the reverse": found.half_effects,
        f"{found.documents} documents of {found.orders * len(SINKS)} arrived": found.documents != found.orders * len(SINKS),
        f"{found.traces_broken} traces are not one whole tree": found.traces_broken,
        f"{forged} deliveries to the CRM had a wrong signature": forged,
        "no kill hit a worker that held tasks, so this run proves nothing about kills": kills == 0,
        "the CRM turned nothing away, so this run proves nothing about a sink that is away": turned_away == 0,
    }
    return [words for words, is_wrong in wrong.items() if is_wrong]
