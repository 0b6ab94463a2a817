"""An app whose tasks stand on streams."""

from sedano import Sedano
from sedano.streams import ObjectChange, StreamRecord, TableChange

app = Sedano("ledge", queues=("default", "orders.fifo"))


@app.stream("orders")
@app.task
def follow(record: TableChange) -> None:
    """An order changed."""


@app.stream("orders")
@app.task(queue="orders.fifo", serial_key="{record[keys][id]}")
def trail(record: TableChange) -> None:
    """An order changed, and the change before has been dealt with."""


@app.stream("clicks")
@app.task
def count(record: StreamRecord) -> None:
    """Somebody clicked."""


@app.stream("uploads", reads="s3")
@app.task
def store(change: ObjectChange) -> None:
    """An object was put into a bucket."""


@app.stream("removed", operations=["REMOVE"])
@app.task
def forget(record: TableChange) -> None:
    """Something was removed."""
