"""Orders of a shop, on their way to analytics: a webhook, a task with effects, and sinks.

The shop posts each order to the webhook, and may post it again. `book` writes the order and the movement of the stock in the transaction of
its own record. Its result is a document, which goes to a bucket, a table and the webhook of a CRM, and to the task `thank`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sedano import Breaker, DomainEvent, Retry, Sedano, current
from sedano.webhooks import WebhookRequest, standard_webhooks

DELIVERIES = "deliveries"
"""The queue of the sinks' deliveries: they never wait behind orders, nor orders behind them."""
PRICING_S = 0.1
"""How long the calculation of a price takes."""
RETRY = Retry(max_retries=19, interval_start=1.0, interval_max=20.0)
CIRCUIT = Breaker(failures=3, open_for=4.0, shared=True, name="crm")
"""The circuit of the CRM: three failures open it for 4 s."""

app = Sedano("orders", queues=("default", DELIVERIES))
app.table("orders", key="order")
app.table("stock", key="sku")
lake, sales = (app.sink(name, queue=DELIVERIES, retry=RETRY) for name in ("lake", "sales"))
crm = app.sink("crm", queue=DELIVERIES, retry=RETRY, circuit=CIRCUIT)


@app.event
class OrderPlaced(DomainEvent):
    """A customer placed an order."""

    order: str
    sku: str
    pieces: int
    cents: int


@app.webhook("shop", verify=standard_webhooks())
def placed(request: WebhookRequest) -> OrderPlaced:
    """Read an order of the shop."""
    found = request.json()
    return OrderPlaced(order=found["order"], sku=found["sku"], pieces=found["pieces"], cents=found["cents"])


@OrderPlaced.subscribe
@app.task(name="orders.book", sinks=[lake, sales, crm])
def book(order: str, sku: str, pieces: int, cents: int) -> dict[str, Any]:
    """Write the order and the movement of the stock together, and return the order as analytics need it."""
    time.sleep(PRICING_S)
    effects, total = current().effects, pieces * cents
    effects.put("orders", {"order": order, "sku": sku, "pieces": pieces, "cents": total}, condition=effects.ABSENT)
    effects.update("stock", {"sku": sku}, add={"sold": pieces, "orders": 1})
    return {"order": order, "sku": sku, "pieces": pieces, "cents": total}


@app.task(name="orders.thank", on=book)
def thank(document: Mapping[str, Any]) -> str:
    """Return the letter to the customer."""
    return f"Thank you for order {document['value']['order']}!"
