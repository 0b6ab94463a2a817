"""Roads that begin at a stream: a write to a table, a record of Kinesis, a message of another program's queue, as Lambda hands them over.

Lambda's part is played here, by its own protocol: it reads a shard in order, and from where the function says it could not send something
on it begins again. The endpoint goes past a batch whatever is answered, so a road could not show that nothing is lost.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from sedano.local.endpoint import REGION
from sedano.model.sources.streams import call_id
from tests.trust.driven import Driven
from tests.trust.grants import Grant
from tests.trust.roads import LARGE, Road

FUNCTION = "stream"
CLICKS = f"arn:aws:kinesis:{REGION}:000000000000:stream/clicks"
NOTES = f"arn:aws:sqs:{REGION}:000000000000:notes"
TOGETHER = 100
"""So many records Lambda hands over at most."""


def table(driven: Driven) -> str:
    """The table that stands for the stream `orders`."""
    return str(json.loads(driven.stage.environment["SEDANO_STREAM_TABLES"])["orders"])


def table_stream(driven: Driven) -> str:
    """The ARN of its stream."""
    return str(driven.client("dynamodb").describe_table(TableName=table(driven))["Table"]["LatestStreamArn"])


class TableShard:
    """The one shard of the table's stream, from now on."""

    def __init__(self, driven: Driven) -> None:
        self._driven, self._arn = driven, table_stream(driven)
        self._reader = driven.client("dynamodbstreams")
        (shard,) = self._reader.describe_stream(StreamArn=self._arn)["StreamDescription"]["Shards"]
        self._shard = {"StreamArn": self._arn, "ShardId": shard["ShardId"]}
        self._next = self._reader.get_shard_iterator(**self._shard, ShardIteratorType="LATEST")["ShardIterator"]

    def hand_over(self) -> list[str]:
        """Hand a batch to the function, once; return the ids of the records that it is done with, and go on behind them."""
        found = self._reader.get_records(ShardIterator=self._next, Limit=TOGETHER)
        records = [_as_lambda_writes(record, self._arn) for record in found["Records"]]
        if not records:
            return []
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        said = self._driven.ask(FUNCTION, {"Records": records})
        failed = numbers if said is None else [one["itemIdentifier"] for one in said["batchItemFailures"]]
        done = min(map(numbers.index, failed), default=len(records))
        if done == len(records):
            self._next = found["NextShardIterator"]
        else:
            begin = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": numbers[done]}
            self._next = self._reader.get_shard_iterator(**self._shard, **begin)["ShardIterator"]
        return [record["eventID"] for record in records[:done]]


def _as_lambda_writes(record: Mapping[str, Any], arn: str) -> dict[str, Any]:
    """A record as Lambda writes it: the moment in seconds, and whose it is."""
    told = {**record["dynamodb"], "ApproximateCreationDateTime": record["dynamodb"]["ApproximateCreationDateTime"].timestamp()}
    return {**record, "dynamodb": told, "eventSource": "aws:dynamodb", "eventSourceARN": arn}


def _read(driven: Driven, put: Mapping[str, str]) -> dict[str, Any]:
    """What was put into Kinesis, read in the name of the function as Lambda does, and written as it does."""
    reader, stream = driven.become(FUNCTION, "kinesis"), {"StreamARN": CLICKS}
    assert reader.describe_stream_summary(**stream)["StreamDescriptionSummary"]["StreamStatus"] == "ACTIVE"
    assert reader.describe_stream(**stream)["StreamDescription"]["StreamARN"] == CLICKS
    assert put["ShardId"] in [shard["ShardId"] for shard in reader.list_shards(**stream)["Shards"]]
    # from the beginning, because the endpoint's sequence numbers have zeros in front, which AWS's never have: it would refuse them
    first = reader.get_shard_iterator(**stream, ShardId=put["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    records = reader.get_records(**stream, ShardIterator=first)["Records"]
    (found,) = [record for record in records if record["SequenceNumber"] == put["SequenceNumber"]]
    told = {
        "partitionKey": found["PartitionKey"], "sequenceNumber": found["SequenceNumber"], "data": base64.b64encode(found["Data"]).decode(),
        "approximateArrivalTimestamp": found["ApproximateArrivalTimestamp"].timestamp(),
    }  # fmt: skip
    which = f"{put['ShardId']}:{put['SequenceNumber']}"
    return {"kinesis": told, "eventSource": "aws:kinesis", "eventID": which, "eventSourceARN": CLICKS}


def _heard(driven: Driven, walks: Any, stream: str, record: str, least: int = 1) -> None:
    driven.move()
    found = walks.app.result(call_id(stream, "walks.heard", record))
    assert found.state == "SUCCESS", f"{found.state}: {driven.failures}"
    assert found.get(timeout=0) >= least


def _changed(driven: Driven, walks: Any, text: str) -> None:
    shard = TableShard(driven)
    driven.client("dynamodb").put_item(TableName=table(driven), Item={"id": {"S": uuid4().hex}, "text": {"S": text}})
    done = shard.hand_over()
    assert len(done) == 1, driven.failures
    _heard(driven, walks, "orders", done[0], len(text))


def changed(driven: Driven, walks: Any) -> None:
    """What is written to a table runs the task that stands on its stream."""
    _changed(driven, walks, "small")


def changed_large(driven: Driven, walks: Any) -> None:
    """The same with a large item."""
    _changed(driven, walks, LARGE + "changed")


def clicked(driven: Driven, walks: Any) -> None:
    """What is put into a Kinesis stream runs the task that stands on it."""
    put = driven.client("kinesis").put_record(StreamARN=CLICKS, PartitionKey="someone", Data=b"tea")
    record = _read(driven, put)
    assert driven.ask(FUNCTION, {"Records": [record]}) == {"batchItemFailures": []}
    _heard(driven, walks, "clicks", record["eventID"])


def noted(driven: Driven, walks: Any) -> None:
    """What another program sends to its queue runs the task that reads it; Lambda takes it in the name of the function."""
    url, sqs = driven.url(NOTES), driven.become(FUNCTION, "sqs")
    driven.client("sqs").send_message(QueueUrl=url, MessageBody="tea")
    assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"] == NOTES
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    record = {"messageId": message["MessageId"], "body": message["Body"], "eventSource": "aws:sqs", "eventSourceARN": NOTES}
    assert driven.ask(FUNCTION, {"Records": [record]}) == {"batchItemFailures": []}
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    _heard(driven, walks, "notes", message["MessageId"])


def unreadable(driven: Driven, walks: Any) -> None:
    """What is no record is set aside."""
    assert walks.app
    record = {"eventID": uuid4().hex, "eventSourceARN": CLICKS, "kinesis": {"sequenceNumber": "1"}}
    assert driven.ask(FUNCTION, {"Records": [record]}) == {"batchItemFailures": []}
    assert driven.parked() == 1


def marked(driven: Driven, walks: Any) -> None:
    """The same in a new stage: it bears the mark of a key that was made for it."""
    driven.forget_keys()
    unreadable(driven, walks)
    assert driven.marked() == [True]


ROADS: tuple[Road, ...] = (changed, changed_large, clicked, noted, unreadable, marked)
NEEDED: dict[Grant, Road] = {
    Grant(FUNCTION, "sqs:SendMessage", "commands"): changed,
    Grant(FUNCTION, "sqs:SendMessage", "parked"): unreadable,
    Grant(FUNCTION, "s3:PutObject", "blobs"): changed_large,
    Grant(FUNCTION, "ssm:GetParameter", "keys"): marked,
    Grant(FUNCTION, "ssm:PutParameter", "keys"): marked,
    **{Grant(FUNCTION, f"sqs:{action}", "notes"): noted for action in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")},
    **{
        Grant(FUNCTION, f"kinesis:{action}", "clicks"): clicked
        for action in ("DescribeStream", "DescribeStreamSummary", "GetRecords", "GetShardIterator", "ListShards")
    },
}
