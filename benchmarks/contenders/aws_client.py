"""Calls of DynamoDB and SQS to a counting endpoint on loopback: with boto3, with sedano's botocore client, and with the slim client.

The name of a contender is a client and a call, such as `slim-claim`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import boto3

from benchmarks.answers import RECORD
from benchmarks.contenders.serving import Contender, serve
from sedano.aws.client.session import Session
from sedano.aws.expressions import tasks

_BODY = json.dumps({"specversion": "1.0", "type": "bench.add", "id": "0" * 36, "data": {"args": [1, 2], "kwargs": {}}})
CLAIM: Mapping[str, Any] = {
    "TableName": "ledger", "Key": {"pk": RECORD["pk"]}, "ReturnValues": "ALL_NEW",
    "ExpressionAttributeValues": {
        **tasks.CLAIM.values,
        **{f":{name}": RECORD[name] for name in ("nc", "mid", "exp", "clk", "nm", "own", "ttl", "try")},
    },
    **tasks.CLAIM.parameters,
}  # fmt: skip
"""A claim as the ledger makes it."""
SENDS: Mapping[str, Any] = {
    "QueueUrl": "http://127.0.0.1/000000000000/bench",
    "Entries": [{"Id": str(number), "MessageBody": _BODY} for number in range(10)],
}
CALLS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "claim": ("dynamodb", "update_item", CLAIM),
    "send": ("sqs", "send_message_batch", SENDS),
}
_BOTO3: Any = boto3.client  # its stubs know a client by the literal name of its service
CLIENTS: Mapping[str, Callable[[str], Any]] = {
    "boto3": _BOTO3,
    "botocore": lambda service: Session(slim=False).client(service),
    "slim": lambda service: Session(slim=True).client(service),
}


def calling(client: str, call: str) -> Contender:
    """Return a contender that makes so many calls, one after the other on one connection."""
    service, operation, parameters = CALLS[call]
    made: Any = getattr(CLIENTS[client](service), operation)

    def run(number: int) -> None:
        for _ in range(number):
            if made(**parameters)["ResponseMetadata"]["HTTPStatusCode"] != 200:
                raise AssertionError("a call was refused")

    return lambda number: lambda: run(number)


if __name__ == "__main__":
    serve({sys.argv[1]: lambda: calling(*sys.argv[1].split("-"))})
