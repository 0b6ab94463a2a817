"""The resources that other tests stand on are those of the templates."""

import json

from infra.constructs.queue import FIFO, MAX_RECEIVES, MAX_RECEIVES_IN_ORDER
from sedano.model import serial, transport
from tests.plugins.resources import QUEUES, Resources


def test_every_setting_of_the_library_is_there(resources: Resources) -> None:
    assert set(resources.settings) == {
        "SEDANO_APP",
        "SEDANO_STAGE",
        "SEDANO_QUEUES",
        "SEDANO_EVENTS_QUEUE",
        "SEDANO_RECORDS_QUEUE",
        "SEDANO_PARKED_QUEUE",
        "SEDANO_LEDGER_TABLE",
        "SEDANO_CONTROL_TABLE",
        "SEDANO_BLOBS_BUCKET",
        "SEDANO_HISTORY_BUCKET",
        "SEDANO_SCHEDULER",
    }
    assert set(json.loads(resources.settings["SEDANO_QUEUES"])) == set(QUEUES)


def test_a_queue_on_moto_keeps_the_times_and_the_dead_letters_of_the_template(resources: Resources) -> None:
    url = json.loads(resources.settings["SEDANO_QUEUES"])["default"]
    attributes = resources.session.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert attributes["VisibilityTimeout"] == "36"
    assert json.loads(attributes["RedrivePolicy"])["maxReceiveCount"] == MAX_RECEIVES


def test_tables_and_buckets_on_moto_can_be_written_at_once(resources: Resources) -> None:
    for setting in ("SEDANO_LEDGER_TABLE", "SEDANO_CONTROL_TABLE"):
        table = resources.settings[setting]
        client = resources.session.client("dynamodb")
        client.put_item(TableName=table, Item={"pk": {"S": "one"}})
        assert client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]["AttributeName"] == "ttl"
    for setting in ("SEDANO_BLOBS_BUCKET", "SEDANO_HISTORY_BUCKET"):
        resources.session.client("s3").put_object(Bucket=resources.settings[setting], Key="one", Body=b"1")


def test_a_queue_that_keeps_order_keeps_it_on_moto(resources: Resources) -> None:
    url = json.loads(resources.settings["SEDANO_QUEUES"])["orders.fifo"]
    attributes = resources.session.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert (attributes["FifoQueue"], attributes["ContentBasedDeduplication"]) == ("true", "true")
    assert json.loads(attributes["RedrivePolicy"])["maxReceiveCount"] == MAX_RECEIVES_IN_ORDER
    assert (MAX_RECEIVES_IN_ORDER, FIFO) == (serial.MAX_RECEIVES, transport.FIFO)
