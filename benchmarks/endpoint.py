"""A queue on loopback that takes messages and counts calls: the other end of the publishers that are compared.

Just enough of SQS's JSON protocol over HTTP/1.1: SendMessage and SendMessageBatch are answered as SQS answers them, everything else so that
Celery finds its queue empty. What arrives is counted and dropped. It runs in a process of its own, so that its work is nobody's CPU time;
its address is the only line it prints.

    GET /counts     calls and messages since the last time
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

HOST = "127.0.0.1"
LONGEST_LINE = 1 << 16


class Queue:
    """Counts what it is sent."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.counts: Counter[str] = Counter()

    def answer(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer one call."""
        self.counts[operation] += 1
        if operation == "SendMessageBatch":
            self.counts["messages"] += len(request["Entries"])
            return {"Successful": [{"Id": e["Id"], **_taken(e["MessageBody"])} for e in request["Entries"]], "Failed": []}
        if operation == "SendMessage":
            self.counts["messages"] += 1
            return _taken(request["MessageBody"])
        url = f"http://{HOST}/000000000000/{request.get('QueueName') or request.get('QueueNamePrefix') or 'bench'}"
        return {"QueueUrl": url, "QueueUrls": [url], "Attributes": {"ApproximateNumberOfMessages": "0"}}

    def taken_counts(self) -> Counter[str]:
        """Return the counts and begin anew."""
        taken, self.counts = self.counts, Counter()
        return taken


def _taken(body: str) -> dict[str, str]:
    return {"MessageId": str(uuid4()), "MD5OfMessageBody": hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()}


async def serve_one(queue: Queue, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until it ends."""
    try:
        while request := await reader.readline():
            headers = await _headers(reader)
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            if request.startswith(b"GET"):
                answer: Mapping[str, Any] = queue.taken_counts()
            else:
                answer = queue.answer(headers.get("x-amz-target", "").rpartition(".")[2], json.loads(body or b"{}"))
            text = json.dumps(answer).encode()
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {len(text)}\r\n\r\n"
            writer.write(head.encode() + text)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        return
    finally:
        writer.close()


async def _headers(reader: asyncio.StreamReader) -> dict[str, str]:
    headers = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return headers


async def serve() -> None:
    """Serve on a free port until the process is ended."""
    queue = Queue()
    server = await asyncio.start_server(lambda r, w: serve_one(queue, r, w), HOST, 0, limit=LONGEST_LINE)
    print(f"http://{HOST}:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
