"""An application that declares one of everything that brings something to a stage."""

from sedano import DomainEvent, Sedano, every
from sedano.streams import StreamRecord, TableChange
from sedano.webhooks import WebhookRequest, standard_webhooks

app = Sedano("whole", queues=("default", "bulk", "orders.fifo"))
app.budget("default", most=40)


@app.event
class Sold(DomainEvent):
    """Something was sold."""

    number: int


@Sold.subscribe
@app.periodic(every(days=1), args=(1,))
@app.task(queue="bulk")
def count(number: int) -> int:
    """Count it."""
    return number


@app.webhook("till", verify=standard_webhooks())
def till(request: WebhookRequest) -> None:
    """Nothing."""


@app.stream("clicks")
@app.stream("orders")
@app.task
def seen(record: TableChange | StreamRecord) -> None:
    """Nothing."""
