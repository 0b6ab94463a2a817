"""An application that reads a table's stream, a Kinesis stream and the queue of a bucket: with tasks of two of its three queues."""

from sedano import Sedano
from sedano.streams import ObjectChange, StreamRecord, TableChange

app = Sedano("streamed", queues=("default", "bulk", "orders.fifo"))


@app.stream("orders", operations=("INSERT",))
@app.task(queue="orders.fifo", serial_key="{record[keys][id]}")
def ordered(record: TableChange) -> None:
    """Nothing."""


@app.stream("clicks")
@app.stream("orders")
@app.task
def seen(record: TableChange | StreamRecord) -> None:
    """Nothing."""


@app.stream("uploads", reads="s3")
@app.task
def stored(change: ObjectChange) -> None:
    """Nothing."""
