"""Streams of a deployed stage, under a role of its own: what is written to a table, or put into a Kinesis stream,
a bucket or a queue of another program, runs the tasks on it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.local_run.watching import scan
from sedano.local import LocalStage, local_stage
from sedano.model.sources.streams import call_id
from tests.deploy.kept import result
from tests.waiting import until

CODE = Path(__file__).parent / "follows"
CLICKS = "arn:aws:kinesis:us-east-1:000000000000:stream/clicks"
LEGACY = "arn:aws:sqs:us-east-1:000000000000:legacy"
UPLOADS = "uploads-of-the-stage"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """A stage of the application with streams, where each function may do what its role allows: a table of its own, a Kinesis stream."""
    asked = {"app": "follows:app", "code": CODE, "directory": tmp_path_factory.mktemp("follows")}
    with local_stage(**asked, enforce_iam=True, streams=f"clicks={CLICKS},legacy={LEGACY}") as stage:
        _client(stage, "kinesis").create_stream(StreamName="clicks", ShardCount=1)
        _client(stage, "sqs").create_queue(QueueName="legacy")
        yield stage


def _client(stage: LocalStage, service: str) -> Any:
    return stage.endpoint.session().client(service, endpoint_url=stage.endpoint.url)


def _result(stage: LocalStage, stream: str, task: str, record: str) -> str | None:
    """The result, as it is kept, of the call of *task* with the record that has this id."""
    return result(stage, call_id(stream, task, record))


def _told(stage: LocalStage, table: str) -> list[str]:
    """The ids of the records of the table's stream."""
    reader = _client(stage, "dynamodbstreams")
    arn = _client(stage, "dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
    (shard,) = reader.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    first = reader.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
    return [str(record["eventID"]) for record in reader.get_records(ShardIterator=first["ShardIterator"])["Records"]]


def test_what_is_written_to_a_table_runs_the_task_that_asks_for_such_changes(stage: LocalStage) -> None:
    table = json.loads(stage.environment["SEDANO_STREAM_TABLES"])["orders"]
    dynamodb, key = _client(stage, "dynamodb"), {"id": {"S": "o1"}}
    dynamodb.put_item(TableName=table, Item={**key, "step": {"N": "1"}})
    dynamodb.put_item(TableName=table, Item={**key, "step": {"N": "2"}, "why": {"S": "x" * 100_000}})
    dynamodb.delete_item(TableName=table, Key=key)
    inserted, modified, removed = _told(stage, table)
    assert _result(stage, "orders", "follows.ordered", inserted) == '"o1 1"'
    assert _result(stage, "orders", "follows.ordered", modified) == '"o1 2"'
    assert _result(stage, "orders", "follows.dropped", removed) == '"o1"'


def test_what_is_written_while_the_mapping_is_off_is_told_when_it_is_on_again(stage: LocalStage) -> None:
    table, functions = json.loads(stage.environment["SEDANO_STREAM_TABLES"])["orders"], _client(stage, "lambda")
    (mapping,) = (one for one in functions.list_event_source_mappings()["EventSourceMappings"] if ":dynamodb:" in one["EventSourceArn"])
    before = len(_told(stage, table))
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    for step in range(3):
        _client(stage, "dynamodb").put_item(TableName=table, Item={"id": {"S": "o2"}, "step": {"N": str(step)}})
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    results = [_result(stage, "orders", "follows.ordered", record) for record in _told(stage, table)[before:]]
    assert results == ['"o2 0"', '"o2 1"', '"o2 2"']


def test_what_is_put_into_kinesis_runs_the_task_that_stands_on_it(stage: LocalStage) -> None:
    put = _client(stage, "kinesis").put_record(StreamName="clicks", PartitionKey="someone", Data=b"tea")
    assert _result(stage, "clicks", "follows.clicked", f"{put['ShardId']}:{put['SequenceNumber']}") == '"tea"'


def _queue(stage: LocalStage, stream: str, *services: str) -> str:
    """The ARN of the queue of *stream*, which the stage made, and to which these *services* may now send."""
    sqs, url = _client(stage, "sqs"), json.loads(stage.environment["SEDANO_STREAM_QUEUES"])[stream]
    arn = str(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"])
    allowed = {"Effect": "Allow", "Principal": {"Service": services}, "Action": "sqs:SendMessage", "Resource": arn}
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps({"Version": "2012-10-17", "Statement": [allowed]})})
    return arn


def _results(stage: LocalStage, name: str, count: int = 1) -> list[str]:
    """The results of the calls of the task *name*, sorted, when there are *count*: their ids have what the service alone knows."""
    dynamodb, table, found = _client(stage, "dynamodb"), stage.environment["SEDANO_LEDGER_TABLE"], list[str]()

    def called() -> bool:
        found[:] = [task for task, (called, _) in scan(dynamodb, table).items() if called == name]
        return len(found) == count

    until(called)
    return sorted(json.loads(str(result(stage, task))) for task in found)


def _topic(stage: LocalStage, name: str, queue: str) -> str:
    """The ARN of a topic to which the *queue* is subscribed."""
    sns = _client(stage, "sns")
    topic = str(sns.create_topic(Name=name)["TopicArn"])
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)
    return topic


def test_what_is_put_into_a_bucket_runs_the_task_that_reads_its_notifications(stage: LocalStage) -> None:
    """Those that come directly, and those that come through a topic."""
    queue, s3 = _queue(stage, "uploads", "s3.amazonaws.com", "sns.amazonaws.com"), _client(stage, "s3")
    topic = _topic(stage, "uploads", queue)
    for bucket, told in (
        (UPLOADS, {"QueueConfigurations": [{"QueueArn": queue, "Events": ["s3:ObjectCreated:*"]}]}),
        (f"{UPLOADS}-topic", {"TopicConfigurations": [{"TopicArn": topic, "Events": ["s3:ObjectCreated:*"]}]}),
    ):
        s3.create_bucket(Bucket=bucket)
        s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=told)
        s3.put_object(Bucket=bucket, Key="in/a b+é.csv", Body=b"tea")
    stored = [f"ObjectCreated {bucket}/in/a b+é.csv 3" for bucket in (UPLOADS, f"{UPLOADS}-topic")]
    assert _results(stage, "follows.stored", 2) == sorted(stored)


def test_what_is_published_to_a_topic_runs_the_task_that_reads_it(stage: LocalStage) -> None:
    topic = _topic(stage, "notices", _queue(stage, "notices", "sns.amazonaws.com"))
    lang = {"lang": {"DataType": "String", "StringValue": "en"}}
    _client(stage, "sns").publish(TopicArn=topic, Subject="Storm", Message="stay in, é", MessageAttributes=lang)
    assert _results(stage, "follows.noticed") == ["Storm: stay in, é en"]


def test_what_happens_on_a_bus_runs_the_task_that_reads_its_rule(stage: LocalStage) -> None:
    queue, events = _queue(stage, "payments", "events.amazonaws.com"), _client(stage, "events")
    events.put_rule(Name="payments", EventPattern=json.dumps({"source": ["shop.payments"]}))
    events.put_targets(Rule="payments", Targets=[{"Id": "queue", "Arn": queue}])
    entry = {"DetailType": "Paid", "Detail": json.dumps({"amount": 7})}
    events.put_events(Entries=[{"Source": "shop.other", **entry}, {"Source": "shop.payments", **entry}])
    assert _results(stage, "follows.paid") == ["shop.payments Paid 7"]


def test_what_another_program_sends_runs_the_task_and_leaves_its_queue(stage: LocalStage) -> None:
    sqs = _client(stage, "sqs")
    queue = sqs.get_queue_url(QueueName="legacy")["QueueUrl"]
    sent = sqs.send_message(QueueUrl=queue, MessageBody="tea")
    assert _result(stage, "legacy", "follows.heard", sent["MessageId"]) == '"tea"'
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    until(lambda: {*sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"].values()} == {"0"})


def test_nothing_was_denied_on_the_way(stage: LocalStage) -> None:
    assert "AccessDenied" not in stage.endpoint.log.read_text()
