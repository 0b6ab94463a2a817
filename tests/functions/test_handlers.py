"""The deployed handlers, invoked with the events that SQS makes, over DynamoDB, SQS and S3 on moto."""

import gzip
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from sedano.aws.settings import command_addresses
from sedano.model import states
from tests.functions.conftest import Functions, environment, handler_of
from tests.functions.corner import Sold, add, app, big
from tests.plugins.resources import Resources

RECORDED = {"s3.PutObject": 1, "dynamodb.PutItem": 1}
"""What one object of the history takes: itself, and its sums."""


def queues(functions: Functions) -> dict[str, str]:
    """The URLs of all queues by name."""
    settings = functions.resources.settings
    named: dict[str, str] = command_addresses(settings)
    return {
        **named, "events": settings["SEDANO_EVENTS_QUEUE"], "records": settings["SEDANO_RECORDS_QUEUE"],
        "parked": settings["SEDANO_PARKED_QUEUE"],
    }  # fmt: skip


def history(functions: Functions) -> list[dict[str, Any]]:
    """The event lines that the recorder wrote."""
    s3, bucket = functions.resources.session.client("s3"), functions.resources.settings["SEDANO_HISTORY_BUCKET"]
    keys = [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket).get("Contents", ())]
    assert all(key.startswith("events/dt=") and key.endswith(".jsonl.gz") for key in keys)
    texts = [gzip.decompress(s3.get_object(Bucket=bucket, Key=key)["Body"].read()) for key in keys]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_the_worker_runs_a_task_to_its_record(functions: Functions) -> None:
    result = add.delay(2, 3)
    assert functions.run("worker", functions.event(queues(functions)["default"])) == []
    assert result.get(timeout=1) == 5


def test_the_worker_learns_the_stores_time_from_a_call_that_it_makes_anyhow(functions: Functions) -> None:
    functions.handlers["worker"] = handler_of("worker")
    assert app.outlet.ports.store_time() is None
    add.delay(2, 3)
    assert functions.run("worker", functions.event(queues(functions)["default"])) == []
    known = app.outlet.ports.store_time()
    assert known is not None
    assert known.lo - 1_000 <= time.time() * 1000 <= known.hi + 1_000


def test_the_worker_reports_only_what_shall_come_again(functions: Functions) -> None:
    urls = queues(functions)
    good = add.delay(2, 3)
    app.send_task("tomorrows.task")
    event = functions.event(urls["default"])
    (unknown,) = [record["messageId"] for record in event["Records"] if "tomorrows.task" in record["body"]]
    assert functions.run("worker", event) == [unknown]
    assert good.state == states.SUCCESS


def test_a_message_that_is_reported_is_reported_once(functions: Functions) -> None:
    add.delay(2, 3)
    event = functions.event(queues(functions)["default"])
    assert len(functions.run("worker", {"Records": event["Records"] * 2}, seconds=0.2)) == 1


def test_the_worker_sets_aside_what_is_no_message(functions: Functions) -> None:
    urls = queues(functions)
    functions.sqs.send_message(QueueUrl=urls["default"], MessageBody="{nonsense")
    assert functions.run("worker", functions.event(urls["default"])) == []
    (parked,) = functions.sqs.receive_message(QueueUrl=urls["parked"], MessageAttributeNames=["All"])["Messages"]
    assert parked["Body"] == "{nonsense"
    assert parked["MessageAttributes"]["reason"]["StringValue"] == "malformed"
    assert parked["MessageAttributes"]["queue"]["StringValue"] == "commands:default"


def test_a_worker_fed_by_a_queue_that_it_does_not_know_still_loses_nothing(functions: Functions) -> None:
    urls = queues(functions)
    functions.sqs.send_message(QueueUrl=urls["default"], MessageBody="{nonsense")
    event = functions.event(urls["default"])
    for record in event["Records"]:
        record["eventSourceARN"] = "arn:aws:sqs:eu-central-1:123456789012:elsewhere"
    assert functions.run("worker", event) == []
    assert functions.count(urls["parked"]) == 1


def test_data_beyond_60_kb_travels_through_s3(functions: Functions) -> None:
    result = big.delay("x" * 100_000)
    assert functions.run("worker", functions.event(queues(functions)["default"])) == []
    assert result.get(timeout=1) == "x" * 200_000


def test_an_event_walks_from_the_router_through_the_workers(functions: Functions) -> None:
    urls = queues(functions)
    Sold.delay(what="tea")
    assert functions.run("router", functions.event(urls["events"])) == []
    for name in ("default", "bulk"):
        event = functions.event(urls[name])
        assert len(event["Records"]) == 1
        assert functions.run("worker", event) == []
    while functions.count(urls["records"]):
        assert functions.run("recorder", functions.event(urls["records"])) == []
    ended = {line["uuid"] for line in history(functions) if line["type"] == "task-succeeded"}
    named = {line["name"] for line in history(functions) if line["type"] == "task-received" and line["uuid"] in ended}
    assert named == {"tests.functions.corner.ship", "tests.functions.corner.book"}


def test_an_event_that_nobody_declared_is_left_to_a_newer_router_for_a_while_and_then_set_aside(functions: Functions) -> None:
    urls = queues(functions)
    app.outlet.announce("corner.Unheard", {})
    event = functions.event(urls["events"])
    (record,) = event["Records"]
    assert functions.run("router", event) == [record["messageId"]]
    assert functions.count(urls["parked"]) == 0
    record["attributes"]["ApproximateReceiveCount"] = "4"
    assert functions.run("router", event) == []
    assert functions.count(urls["parked"]) == 1


def test_the_recorder_writes_the_same_record_once(functions: Functions) -> None:
    urls = queues(functions)
    add.delay(2, 3)
    functions.run("worker", functions.event(urls["default"]))
    event = functions.event(urls["records"])
    assert functions.run("recorder", event) == []
    once = history(functions)
    assert functions.run("recorder", event) == []
    assert history(functions) == once
    kinds = [line["type"] for line in once]
    assert kinds.count("task-succeeded") == kinds.count("worker-invocation") == 1


def test_the_history_tells_what_an_invocation_cost(functions: Functions) -> None:
    urls = queues(functions)
    add.delay(2, 3)
    functions.run("worker", functions.event(urls["default"]))
    functions.run("recorder", functions.event(urls["records"]))
    (invocation,) = [line for line in history(functions) if line["type"] == "worker-invocation"]
    assert (invocation["messages"], invocation["cold"], invocation["given_back"]) == (1, True, 0)
    assert invocation["calls"]["dynamodb.UpdateItem"] == 3, "the heartbeat, the claim and the record"


def told(functions: Functions, kind: str) -> list[dict[str, Any]]:
    """The lines of one type in the history, in order."""
    return sorted((line for line in history(functions) if line["type"] == kind), key=lambda line: int(line["clock"]))


def test_the_history_tells_what_router_and_recorder_cost_and_telling_costs_the_recorder_no_call(functions: Functions) -> None:
    urls = queues(functions)
    Sold.delay(what="tea")
    functions.run("router", functions.event(urls["events"]))
    functions.run("recorder", functions.event(urls["records"]))
    (routed,) = told(functions, "router-invocation")
    assert (routed["messages"], routed["given_back"], routed["cold"]) == (1, 0, True)
    assert routed["calls"] == {"sqs.SendMessageBatch": 1 + 2}, "the client's, which here is the same process, and one to each of two queues"
    (recorded,) = told(functions, "recorder-invocation")
    assert (recorded["messages"], recorded["calls"]) == (1, RECORDED)
    functions.sqs.send_message(QueueUrl=urls["events"], MessageBody="{")
    functions.run("router", functions.event(urls["events"]))
    functions.run("recorder", functions.event(urls["records"]))
    assert told(functions, "message-parked")[0]["reason"] == "malformed"
    parking = {"sqs.SendMessageBatch": 2, "ssm.GetParameter": 1, "ssm.PutParameter": 1}
    assert told(functions, "router-invocation")[1]["calls"] == parking, "the record before, what was parked, and the stage's new key"
    assert told(functions, "recorder-invocation")[1]["calls"] == RECORDED


def test_a_line_tells_the_memory_that_lambda_bills(resources: Resources, settings: Mapping[str, str]) -> None:
    with environment({**settings, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024"}):
        functions = Functions(resources)
    add.delay(2, 3)
    functions.run("worker", functions.event(queues(functions)["default"]))
    functions.run("recorder", functions.event(queues(functions)["records"]))
    assert {line["memory_mb"] for kind in ("worker", "recorder") for line in told(functions, f"{kind}-invocation")} == {1024}


def test_an_invocation_without_records_does_nothing(functions: Functions) -> None:
    assert [functions.run(name, {"Records": []}) for name in ("worker", "router", "recorder")] == [[], [], []]


def test_what_is_counted_stands_in_a_namespace_of_the_stage(functions: Functions, capsys: pytest.CaptureFixture[str]) -> None:
    functions.sqs.send_message(QueueUrl=queues(functions)["default"], MessageBody="{")
    functions.run("worker", functions.event(queues(functions)["default"]))
    metrics = [json.loads(line)["_aws"]["CloudWatchMetrics"] for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    assert {metric["Namespace"] for (metric,) in metrics} == {"sedano/test"}, "two stages of an account must not be added up"
