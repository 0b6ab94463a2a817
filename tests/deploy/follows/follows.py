"""An application that follows a table, each of whose items keeps its order, a Kinesis stream, and two queues."""

from pathlib import Path

from sedano import Sedano
from sedano.streams import BusEvent, ObjectChange, QueueMessage, StreamRecord, TableChange, TopicMessage

app = Sedano("follows", queues=("default", "orders.fifo"))


@app.stream("orders", operations=("INSERT", "MODIFY"))
@app.task(queue="orders.fifo", serial_key="{record[keys][id]}")
def ordered(record: TableChange) -> str | None:
    """What happened to an order, which is also written to the file that it names, if it names one."""
    new = record["new"] or {}
    if "file" in new:
        with Path(new["file"]).open("a") as file:
            file.write(f"{new['id']} {new['step']}\n")
    return f"{new['id']} {new['step']}"


@app.stream("orders", operations=("REMOVE",))
@app.task
def dropped(record: TableChange) -> str:
    """Which order is no more."""
    return str(record["keys"]["id"])


@app.stream("clicks")
@app.task
def clicked(record: StreamRecord) -> str | None:
    """What was clicked."""
    return record["data"]


@app.stream("uploads", reads="s3")
@app.task
def stored(change: ObjectChange) -> str:
    """What was put where."""
    return f"{change['event']} {change['bucket']}/{change['key']} {change['size']}"


@app.stream("notices", reads="sns")
@app.task
def noticed(notice: TopicMessage) -> str:
    """What was published to a topic."""
    return f"{notice['subject']}: {notice['message']} {notice['attributes']['lang']}"


@app.stream("payments", reads="eventbridge")
@app.task
def paid(event: BusEvent) -> str:
    """What happened on a bus."""
    return f"{event['source']} {event['type']} {event['detail']['amount']}"


@app.stream("legacy")
@app.task
def heard(message: QueueMessage) -> str:
    """What another program sent."""
    return message["body"]
