"""AWS clients whose answers are made in the process: every contender is stubbed at one of these two levels.

`AnsweringClient` replaces botocore's DynamoDB client, so only the framework and its own adapter are measured. `answering` keeps the client
and answers below it, at the point where the request would leave for the network: serialisation, signing and parsing are measured, the
network is not. The answers have the headers and the sizes of those of DynamoDB and SQS.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.config import Config
from botocore.session import Session

REGION = "us-east-1"
RECORD: Mapping[str, Any] = {
    "pk": {"S": "task#00000000-0000-7000-8000-000000000000"}, "st": {"S": "RUNNING"}, "try": {"N": "0"}, "att": {"N": "1"},
    "cnt": {"N": "1"}, "nc": {"S": "0123456789abcdef"}, "mid": {"S": "00000000-0000-7000-8000-000000000001"},
    "exp": {"N": "1800000000000"}, "clk": {"N": "1800000000000000"}, "nm": {"S": "bench.add"}, "own": {"S": "bench"},
    "ttl": {"N": "1800000000"},
}  # fmt: skip
"""A task's record as a claim returns it."""
ACCEPTED: Mapping[str, Any] = {
    "ResponseMetadata": {"HTTPStatusCode": 200, "RequestId": "bench", "HTTPHeaders": {"x-amzn-requestid": "bench"}}
}


class AnsweringClient:
    """A DynamoDB client that answers at once and stores nothing."""

    def put_item(self, **_: Any) -> Mapping[str, Any]:
        """Accept."""
        return ACCEPTED

    def update_item(self, **asked: Any) -> Mapping[str, Any]:
        """Accept, and return the record if it is requested."""
        return {**ACCEPTED, "Attributes": RECORD} if asked.get("ReturnValues") == "ALL_NEW" else ACCEPTED


def answering(service: str) -> Any:
    """Return botocore's client of *service* (`dynamodb` or `sqs`), whose requests are answered where they would leave the process."""
    session = Session()
    session.set_credentials("bench", "bench")
    client: Any = session.create_client(service, region_name=REGION, config=Config(retries={"max_attempts": 0, "mode": "standard"}))
    client.meta.events.register("before-send", _answer)
    return client


def _answer(request: Any, **_: Any) -> AWSResponse:
    asked = json.loads(request.body)
    operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
    body = json.dumps(_taken(asked) if operation == "SendMessageBatch" else _written(asked)).encode()
    sent = {"x-amzn-requestid": "bench", "content-type": "application/x-amz-json-1.0", "x-amz-crc32": str(zlib.crc32(body))}
    headers: Any = HeadersDict(sent)  # the stubs declare the type of an older botocore
    return AWSResponse(request.url, 200, headers, _Raw(body))


class _Raw:
    """The body that would be read from the network."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        """Yield the body."""
        yield self._body


def _written(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"Attributes": RECORD} if asked.get("ReturnValues") == "ALL_NEW" else {}


def _taken(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"Successful": [_entry(entry) for entry in asked["Entries"]], "Failed": []}


def _entry(entry: Mapping[str, Any]) -> Mapping[str, str]:
    digest = hashlib.md5(entry["MessageBody"].encode(), usedforsecurity=False).hexdigest()
    return {"Id": entry["Id"], "MessageId": "00000000-0000-4000-8000-000000000000", "MD5OfMessageBody": digest}
