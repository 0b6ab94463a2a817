"""Two queues, a task or two on each, one event, two streams."""

from sedano import DomainEvent, Sedano
from sedano.streams import StreamRecord, TableChange

app = Sedano("shop", queues=("default", "mail"), connect="sedano.memory:ports")


@app.event
class Ordered(DomainEvent):
    """Somebody ordered something."""

    number: int


@Ordered.subscribe
@app.task(queue="mail", ignore_result=True)
def confirm(number: int) -> None:
    """Write to the customer."""


@app.task(delivery="record_once")
def total(prices: list[int]) -> int:
    """The sum of the prices."""
    return sum(prices)


@app.stream("clicks")
@app.stream("orders")
@app.task(queue="mail")
def follow(record: TableChange | StreamRecord) -> None:
    """What happened to an order, and what a customer looked at."""
