"""Powertools for Lambda: a batch of ten SQS records, plain, and each under its idempotency decorator; and a plain loop over boto3."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import boto3
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

from benchmarks.answers import AnsweringClient, answering
from benchmarks.contenders.serving import Contender, Run, serve

BATCH = 10


class Context:
    """The part of Lambda's context that Powertools needs."""

    function_name = "bench"

    def get_remaining_time_in_millis(self) -> int:
        """Return a long time."""
        return 900_000


def add(body: dict[str, Any]) -> int:
    """Add."""
    a, b = body["args"]
    return int(a + b)


def idempotent(client: Any) -> Callable[..., int]:
    """Return `add` under the idempotency decorator over the DynamoDB *client*."""
    config = IdempotencyConfig(event_key_jmespath="id")
    config.register_lambda_context(Context())  # type: ignore[arg-type] # only what it calls
    layer = DynamoDBPersistenceLayer(table_name="bench", boto3_client=client)
    decorated: Callable[..., int] = idempotent_function(add, data_keyword_argument="body", config=config, persistence_store=layer)
    return decorated


def plain_batch() -> Contender:
    """Return a handler of batches."""
    return _batches(lambda record: add(json.loads(record.body)))


def idempotent_batch(client: Callable[[], Any]) -> Contender:
    """Return a handler of batches whose records are idempotent over the client that *client* returns."""
    once = idempotent(client())
    return _batches(lambda record: once(body=json.loads(record.body)))


def put_loop(made: Callable[[], Any]) -> Contender:
    """Return a plain loop over the client that *made* returns: one conditional put for each message, then the body."""
    client = made()

    def handle(event: dict[str, Any]) -> None:
        for record in event["Records"]:
            body = json.loads(record["body"])
            client.put_item(
                TableName="bench", Item={"pk": {"S": body["id"]}, "st": {"S": "SUCCESS"}, "res": {"S": json.dumps(add(body))}},
                ConditionExpression="attribute_not_exists(pk)",
            )  # fmt: skip

    def handle_all(events: list[dict[str, Any]]) -> None:
        for event in events:
            handle(event)

    def contender(tasks: int) -> Run:
        return partial(handle_all, [_event(start) for start in range(0, tasks, BATCH)])

    return contender


def _batches(handler: Any) -> Contender:
    processor, context = BatchProcessor(event_type=EventType.SQS), Context()

    def handle(event: dict[str, Any]) -> None:
        answer = process_partial_response(event, handler, processor, context)  # type: ignore[arg-type] # only what it calls
        if answer["batchItemFailures"]:
            raise AssertionError("a record failed")

    def handle_all(events: list[dict[str, Any]]) -> None:
        for event in events:
            handle(event)

    def contender(tasks: int) -> Run:
        return partial(handle_all, [_event(start) for start in range(0, tasks, BATCH)])

    return contender


def _event(start: int) -> dict[str, Any]:
    return {"Records": [_record(start + offset) for offset in range(BATCH)]}


def _record(number: int) -> dict[str, Any]:
    body = json.dumps({"id": f"task-{number}", "args": [1, 2]})
    return {
        "messageId": f"m-{number}", "receiptHandle": f"r-{number}", "body": body, "attributes": {"ApproximateReceiveCount": "1"},
        "messageAttributes": {}, "md5OfBody": "", "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:1:q",
        "awsRegion": "us-east-1",
    }  # fmt: skip


if __name__ == "__main__":
    serve({
        "batch": plain_batch, "idempotency": partial(idempotent_batch, AnsweringClient),
        "idempotency-client": partial(idempotent_batch, partial(answering, "dynamodb")),
        "put-client": partial(put_loop, partial(answering, "dynamodb")),
        "idempotency-loopback": partial(idempotent_batch, partial(boto3.client, "dynamodb")),
        "put-loopback": partial(put_loop, partial(boto3.client, "dynamodb")),
    })  # fmt: skip
