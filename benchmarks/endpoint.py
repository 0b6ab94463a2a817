"""SQS and DynamoDB on loopback that count calls: the endpoint of the publishers and of the workers that are compared.

It implements only the needed part of the JSON protocols over HTTP/1.1. A queue accepts messages and drops them. With `--keep` it delivers
them: a receive waits as long as it requests, and a delivered message is deleted, unless its visibility is set to 0 seconds. DynamoDB
accepts each write and has no items. It runs in its own process, so that its CPU is not measured; its address is the only line it prints.

    GET /counts            calls and messages since the last time
    GET /until/NAME/N      the same counts without a reset, when NAME (a call, or `deleted`) has reached N
    POST /fill             {"url": "…", "bodies": ["…"]}: messages without a client that sends them
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from benchmarks.answers import RECORD

HOST = "127.0.0.1"
LONGEST_LINE = 1 << 16
NO_ITEMS: Mapping[str, Mapping[str, Any]] = {
    "Query": {"Items": [], "Count": 0}, "Scan": {"Items": [], "Count": 0}, "BatchGetItem": {"Responses": {}, "UnprocessedKeys": {}},
}  # fmt: skip


class Endpoint:
    """Counts its calls, and with *keep* delivers the messages that it accepted."""

    def __init__(self, keep: bool = False) -> None:
        """Start at zero."""
        self.counts: Counter[str] = Counter()
        self._keep = keep
        self._waiting: dict[str, deque[str]] = {}
        self._given: dict[str, str] = {}
        self._changed = asyncio.Condition()

    async def answer(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer one call."""
        self.counts[operation] += 1
        known = _OPERATIONS.get(operation)
        found: Mapping[str, Any] = await self._received(request) if operation == "ReceiveMessage" else known(self, request) if known else {}
        async with self._changed:
            self._changed.notify_all()
        return found

    def taken_counts(self) -> Counter[str]:
        """Return the counts and reset them."""
        taken, self.counts = self.counts, Counter()
        return taken

    async def until(self, name: str, number: int) -> Counter[str]:
        """Wait until *name* has reached *number*; return the counts."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.counts[name] >= number)
        return self.counts

    async def fill(self, url: str, bodies: list[str]) -> None:
        """Put messages into a queue."""
        async with self._changed:
            self._queue(url).extend(bodies)
            self._changed.notify_all()

    def put(self, url: str, body: str) -> dict[str, str]:
        """Accept a message, and return its confirmation."""
        self.counts["messages"] += 1
        if self._keep:
            self._queue(url).append(body)
        return {"MessageId": str(uuid4()), "MD5OfMessageBody": hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()}

    def hold(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Deliver again a message whose visibility is set to 0 seconds."""
        if not request["VisibilityTimeout"]:
            self.counts["given back"] += 1
            self._queue(request["QueueUrl"]).append(self._given.pop(request["ReceiptHandle"]))
        return {}

    def _queue(self, url: str) -> deque[str]:
        """Return the messages of a queue, by its name: a client that looked it up has its URL without the port."""
        return self._waiting.setdefault(url.rpartition("/")[2], deque())

    def delete(self, receipts: list[str]) -> None:
        """Delete delivered messages."""
        self.counts["deleted"] += len(receipts)
        for receipt in receipts:
            self._given.pop(receipt, None)

    async def _received(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return messages; wait for the first one as long as the request says."""
        waiting = self._queue(request["QueueUrl"])
        if not self._keep:
            return {}
        async with self._changed:
            try:
                if not waiting:
                    await asyncio.wait_for(self._changed.wait_for(lambda: waiting), request.get("WaitTimeSeconds", 0))
            except TimeoutError:
                return {}
            bodies = [waiting.popleft() for _ in range(min(len(waiting), request.get("MaxNumberOfMessages", 1)))]
        return {"Messages": [self._message(body) for body in bodies]}

    def _message(self, body: str) -> Mapping[str, Any]:
        name = str(uuid4())
        self._given[name] = body
        sent = {"ApproximateReceiveCount": "1", "SentTimestamp": "1800000000000"}
        digest = hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
        return {"MessageId": name, "ReceiptHandle": name, "Body": body, "MD5OfBody": digest, "Attributes": sent}


def _sent_batch(endpoint: Endpoint, request: Mapping[str, Any]) -> Mapping[str, Any]:
    done = [{"Id": entry["Id"], **endpoint.put(request["QueueUrl"], entry["MessageBody"])} for entry in request["Entries"]]
    return {"Successful": done, "Failed": []}


def _deleted_batch(endpoint: Endpoint, request: Mapping[str, Any]) -> Mapping[str, Any]:
    endpoint.delete([entry["ReceiptHandle"] for entry in request["Entries"]])
    return {"Successful": [{"Id": entry["Id"]} for entry in request["Entries"]], "Failed": []}


def _deleted(endpoint: Endpoint, request: Mapping[str, Any]) -> Mapping[str, Any]:
    endpoint.delete([request["ReceiptHandle"]])
    return {}


def _updated(_: Endpoint, request: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"Attributes": RECORD} if request.get("ReturnValues") == "ALL_NEW" else {}


def _executed(_: Endpoint, request: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"Responses": [{"TableName": "bench"}] * len(request["Statements"])}


def _nothing(found: Mapping[str, Any], _: Endpoint, __: Mapping[str, Any]) -> Mapping[str, Any]:
    return found


def _described(_: Endpoint, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Describe any queue as existing and empty, so that Celery finds it."""
    url = f"http://{HOST}/000000000000/{request.get('QueueName') or request.get('QueueNamePrefix') or 'bench'}"
    return {"QueueUrl": url, "QueueUrls": [url], "Attributes": {"ApproximateNumberOfMessages": "0"}}


_OPERATIONS: Mapping[str, Callable[[Endpoint, Mapping[str, Any]], Mapping[str, Any]]] = {
    "SendMessage": lambda endpoint, request: endpoint.put(request["QueueUrl"], request["MessageBody"]),
    "SendMessageBatch": _sent_batch,
    "DeleteMessage": _deleted,
    "DeleteMessageBatch": _deleted_batch,
    "ChangeMessageVisibility": lambda endpoint, request: endpoint.hold(request),
    "UpdateItem": _updated,
    "BatchExecuteStatement": _executed,
    **dict.fromkeys(("GetQueueUrl", "GetQueueAttributes", "ListQueues", "CreateQueue"), _described),
    **{name: partial(_nothing, found) for name, found in NO_ITEMS.items()},
}


async def serve_one(endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until it ends."""
    try:
        while request := await reader.readline():
            headers = await _headers(reader)
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            text = json.dumps(await _asked(endpoint, request.decode("latin-1").split(), headers, json.loads(body or b"{}"))).encode()
            head = "HTTP/1.1 200 OK\r\nx-amzn-requestid: bench\r\ncontent-type: application/x-amz-json-1.0\r\n"
            writer.write(f"{head}content-length: {len(text)}\r\n\r\n".encode() + text)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        return
    finally:
        writer.close()


async def _asked(endpoint: Endpoint, words: list[str], headers: Mapping[str, str], asked: Any) -> Mapping[str, Any]:
    """Answer one request of the benchmark or of a client."""
    if words[1].startswith("/until/"):
        name, _, number = unquote(words[1].removeprefix("/until/")).rpartition("/")
        return await endpoint.until(name, int(number))
    if words[1] == "/fill":
        await endpoint.fill(asked["url"], asked["bodies"])
        return {}
    if words[0] == "GET":
        return endpoint.taken_counts()
    return await endpoint.answer(headers.get("x-amz-target", "").rpartition(".")[2], asked)


async def _headers(reader: asyncio.StreamReader) -> dict[str, str]:
    headers = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return headers


async def serve() -> None:
    """Serve on a free port until the process is ended."""
    endpoint = Endpoint(keep="--keep" in sys.argv[1:])
    server = await asyncio.start_server(lambda r, w: serve_one(endpoint, r, w), HOST, 0, limit=LONGEST_LINE)
    print(f"http://{HOST}:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
