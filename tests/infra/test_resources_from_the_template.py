"""The resources that other tests stand on are those of the templates."""

import json
from typing import Any

from infra.constructs.queue import FIFO, MAX_RECEIVES, MAX_RECEIVES_IN_ORDER
from infra.constructs.table import FAILURES, FAILURES_ENTRY, FAILURES_KEY, FAILURES_ORDER, MEMBERS, MEMBERS_KEY
from sedano.aws import failures
from sedano.aws import members as library
from sedano.aws.expressions import Write, tasks
from sedano.aws.expressions.members import BEAT
from sedano.aws.settings import command_addresses
from sedano.model import order as serial
from sedano.model import queues as transport
from sedano.model.cluster.members import MemberRecord
from tests.infra.template import Templates, target
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
    assert set(command_addresses(resources.settings)) == set(QUEUES)


def test_a_queue_on_moto_keeps_the_times_and_the_dead_letters_of_the_template(resources: Resources) -> None:
    url = command_addresses(resources.settings)["default"]
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


def test_reading_the_members_reads_nothing_else_of_the_control_table(resources: Resources) -> None:
    """The read budget of a round of the controller: one page for some 5 000 members, whatever lies beside them."""
    table, client = resources.settings["SEDANO_CONTROL_TABLE"], resources.session.client("dynamodb")
    for number in range(0, 500, 25):
        puts = [{"PutRequest": {"Item": {"pk": {"S": f"RATE#{number + n}"}, "text": {"S": "x" * 2_000}}}} for n in range(25)]
        client.batch_write_item(RequestItems={table: puts})
    members = library.DynamoMembers(client, table)
    for number in range(30):
        members.beat(MemberRecord(f"worker.{number:02}", number + 1, "ACTIVE", 0, 1_767_225_600.0))
    seen: list[tuple[str, int]] = []
    client.meta.events.register("after-call.dynamodb", lambda model, parsed, **_: seen.append((model.name, parsed.get("ScannedCount", 0))))
    assert len(members.read()) == 30
    assert seen == [("Query", 30)]


def test_the_index_of_the_members_is_the_one_that_the_library_asks(production: Templates) -> None:
    index, _ = indexes_of(production, "SedanoControlTable")
    assert (index["IndexName"], index["KeySchema"]) == (MEMBERS, [{"AttributeName": MEMBERS_KEY, "KeyType": "HASH"}])
    assert library.MEMBERS == MEMBERS
    assert f"{MEMBERS_KEY} = :kind" in BEAT.update


def test_the_index_of_failures_is_the_one_that_the_library_asks(production: Templates) -> None:
    (index,) = indexes_of(production, "SedanoLedgerTable")
    assert index["IndexName"] == failures.FAILURES == FAILURES
    assert [(one["AttributeName"], one["KeyType"]) for one in index["KeySchema"]] == [(FAILURES_KEY, "HASH"), (FAILURES_ORDER, "RANGE")]
    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(FAILURES_ENTRY)}
    assert failures.ENTRY == FAILURES_ENTRY
    for write in (tasks.RECORD_FAILURE, tasks.KEEP_FAILURE):
        assert {name for name in (FAILURES_KEY, FAILURES_ORDER, *FAILURES_ENTRY) if f" {name} = :{name}" not in write.update} == set()
    for write in (one for one in vars(tasks).values() if isinstance(one, Write)):
        is_of_a_failure = write in (tasks.RECORD_FAILURE, tasks.KEEP_FAILURE)
        assert [f" {name} = :{name}" in write.update for name in (FAILURES_KEY, FAILURES_ORDER)] == [is_of_a_failure] * 2


def test_an_index_has_the_ceilings_of_its_table(production: Templates) -> None:
    for table in production.of_type("DynamoDB::Table").values():
        assert [one for one in table["GlobalSecondaryIndexes"] if one["OnDemandThroughput"] != table["OnDemandThroughput"]] == []


def indexes_of(production: Templates, output: str) -> list[Any]:
    """The indexes of the table that an output names."""
    found: list[Any] = production.of_type("DynamoDB::Table")[target(production.outputs[output])]["GlobalSecondaryIndexes"]
    return found


def test_a_queue_that_keeps_order_keeps_it_on_moto(resources: Resources) -> None:
    url = command_addresses(resources.settings)["orders.fifo"]
    attributes = resources.session.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert (attributes["FifoQueue"], attributes["ContentBasedDeduplication"]) == ("true", "true")
    assert json.loads(attributes["RedrivePolicy"])["maxReceiveCount"] == MAX_RECEIVES_IN_ORDER
    assert (MAX_RECEIVES_IN_ORDER, FIFO) == (serial.MAX_RECEIVES, transport.FIFO)
