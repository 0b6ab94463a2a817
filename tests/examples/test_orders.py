"""Orders: what the checks find, on a run in memory and with planted faults; the shop and the CRM."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest

import sedano.testing
from examples.local_run.command import ROOT
from examples.orders import shop, tasks
from examples.orders.checks import SINKS, Evidence, Expected, Findings, complaints, expected, findings
from examples.orders.crm import SECRET, Crm
from examples.orders.shop import SKUS, Order, orders, request_of
from sedano.aws.sinks.webhook import WebhookSink
from sedano.errors import Unavailable
from sedano.memory.webhook_secrets import MemorySecretTexts
from sedano.model.sources.webhooks import ReceivedRequest
from sedano.webhooks import WebhookRequest

DEMO = [sys.executable, "-m", "examples.orders.demo"]
COUNT, SEED = 12, 7


def wanted() -> list[Expected]:
    """What twelve orders must cause."""
    return [expected(order) for order in orders(COUNT, SEED)]


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    """A run in memory: the real application and engine, nothing disturbed."""
    with sedano.testing.world(tasks.app) as world:
        world.secrets["shop"] = shop.SECRET
        for order in orders(COUNT, SEED):
            assert world.post("/shop", *request_of(order, world.clock.now())).status == HTTPStatus.ACCEPTED
        world.drain()
        lines = [json.loads(line) for stored in world.ports.events.read() for line in stored.splitlines()]
        ids = [task for one in wanted() for task in one.tasks.values()]
        states = {task: record.state for task, record in world.ports.ledger.read(ids).items()}
        booked, stock = ({row[key]: row for row in world.table(table)} for table, key in (("orders", "order"), ("stock", "sku")))
        documents = {name: {str(one["id"]): one["value"] for one in world.documents(name)} for name in ("lake", "sales", "crm")}
    moved = Counter({sku: int(row["orders"]) for sku, row in stock.items()})
    return Evidence(
        states=states,
        writes={"orders": Counter([*booked]), "stock": moved, "sales": Counter([*documents["sales"]])},
        rows={"orders": booked, "stock": stock, "sales": documents["sales"]},
        lake=documents["lake"],
        crm=[(key, value["order"]) for key, value in documents["crm"].items()],
        left={"default": 0},
        lines=lines,
    )


GOOD = Findings(orders=COUNT, lost=0, doubled=0, half_effects=0, documents=COUNT * len(SINKS), traces_broken=0)


def test_orders_in_memory_keep_each_promise(evidence: Evidence) -> None:
    found = findings(wanted(), evidence)
    assert found == GOOD
    assert complaints(found, 3, 5, 0) == []


def without(some: Any, key: str) -> dict[str, Any]:
    """The mapping without one key."""
    return {name: value for name, value in some.items() if name != key}


def of_table(evidence: Evidence, table: str, rows: Any) -> Evidence:
    """The evidence with other rows of a table."""
    return replace(evidence, rows={**evidence.rows, table: rows})


def written(evidence: Evidence, table: str, key: str) -> Evidence:
    """The evidence with one more write to a table."""
    return replace(evidence, writes={**evidence.writes, table: evidence.writes[table] + Counter([key])})


FIRST = wanted()[0]
SAME = len([one for one in wanted() if one.order.sku == FIRST.order.sku])
"""The orders of the first one's article."""
ROW = {"sku": FIRST.order.sku, "sold": 0, "orders": 99}
FAULTS: dict[str, tuple[Callable[[Evidence], Evidence], dict[str, int]]] = {
    "a task without an end": (lambda found: replace(found, states=without(found.states, FIRST.tasks["orders.thank"])), {"lost": 1}),
    "a message left": (lambda found: replace(found, left={"default": 2}), {"lost": 2}),
    "no document in the bucket": (lambda found: replace(found, lake=without(found.lake, FIRST.document)), {"lost": 1, "documents": 35}),
    "no row of sales": (
        lambda found: of_table(found, "sales", without(found.rows["sales"], FIRST.document)),
        {"lost": 1, "documents": 35},
    ),
    "nothing at the CRM": (lambda found: replace(found, crm=found.crm[1:]), {"lost": 1, "documents": 35}),
    "an order written twice": (lambda found: written(found, "orders", FIRST.order.order), {"doubled": 1}),
    "a movement made twice": (lambda found: written(found, "stock", FIRST.order.sku), {"doubled": 1}),
    "a document written twice": (lambda found: written(found, "sales", FIRST.document), {"doubled": 1}),
    "a document that no order made": (lambda found: written(found, "sales", "stranger"), {"doubled": 1}),
    "two documents under one key": (lambda found: replace(found, crm=[*found.crm, (FIRST.document, "another")]), {"doubled": 1}),
    "an order without its movement": (
        lambda found: of_table(found, "stock", {**found.rows["stock"], FIRST.order.sku: without(ROW, "orders")}),
        {"half_effects": SAME},
    ),
    "a movement of another number": (
        lambda found: of_table(found, "stock", {**found.rows["stock"], FIRST.order.sku: {**ROW, "orders": SAME}}),
        {"half_effects": 1},
    ),
    "a movement without an order": (
        lambda found: of_table(found, "stock", {**found.rows["stock"], "nothing": {"orders": 1, "sold": 1}}),
        {"half_effects": 1},
    ),
    "a trace without a task": (
        lambda found: replace(found, lines=[line for line in found.lines if line.get("uuid") != FIRST.tasks["sink.crm"]]),
        {"traces_broken": 1},
    ),
    "a trace of two trees": (
        lambda found: replace(found, lines=[
            {**line, "parent_id": FIRST.event} if line.get("uuid") == FIRST.tasks["sink.lake"] else line for line in found.lines
        ]),
        {"traces_broken": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_found(evidence: Evidence, fault: str) -> None:
    planted, changed = FAULTS[fault]
    found = findings(wanted(), planted(evidence))
    assert found == replace(GOOD, **changed)
    assert complaints(found, 3, 5, 0)


def test_a_run_that_disturbed_nothing_proves_nothing() -> None:
    assert [words.partition(",")[0] for words in complaints(GOOD, 0, 0, 0)] == [
        "no kill hit a worker that held tasks", "the CRM turned nothing away",
    ]  # fmt: skip
    assert complaints(GOOD, 3, 5, 2) == ["2 deliveries to the CRM had a wrong signature"]
    assert complaints(GOOD, -1, 1, 0) == [], "a run of a few orders ends before a kill can hit"


def test_the_shop_signs_each_order_and_the_app_reads_it() -> None:
    order = Order("o-1", SKUS[0], 2, 150)
    body, headers = request_of(order, 1_800_000_000.0)
    received = ReceivedRequest("POST", "/shop", headers, body)
    read = tasks.placed(WebhookRequest("shop", dict(received.headers), received.body, 1_800_000_000.0))
    assert (read.order, read.sku, read.pieces, read.cents) == tuple(order)


@pytest.fixture
def crm() -> Iterator[Crm]:
    """The CRM, which listens."""
    with Crm() as listening:
        yield listening


def test_the_crm_turns_away_what_comes_before_its_repair_and_what_is_not_signed_by_its_secret(crm: Crm) -> None:
    document = {"id": "d-1", "value": {"order": "o-1"}}
    sink = WebhookSink(crm.address, MemorySecretTexts({"crm": SECRET}))
    with pytest.raises(Unavailable, match="503"):
        sink.write("crm", document)
    crm.repair()
    assert sink.write("crm", document)
    assert [(one.key, one.document) for one in crm.received] == [("d-1", document)]
    with pytest.raises(sedano.SedanoError, match="401"):
        WebhookSink(crm.address, MemorySecretTexts({"crm": "whsec_c29tZWJvZHkgZWxzZQ=="})).write("crm", document)
    assert (crm.turned_away, crm.forged, len(crm.received)) == (1, 1, 1)


@pytest.mark.parametrize("count", ["0", "-1", "many", "10001"])
def test_a_wrong_number_of_orders_is_refused_in_words(count: str) -> None:
    done = subprocess.run([*DEMO, "--orders", count], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert f"{count!r} is not a number from 1 to 10000" in done.stderr
