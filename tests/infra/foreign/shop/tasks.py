"""Two queues, one task on each, one event."""

from sedano import DomainEvent, Sedano

app = Sedano("shop", queues=("default", "mail"))


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
