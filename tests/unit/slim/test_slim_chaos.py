"""Whatever happens on the connection, a call returns the right answer or raises one of botocore's errors, and is sent three times at most.

Each answer of the server names what was asked for, so an answer to another request, a half one and an empty one are all seen to be wrong.
"""

import gzip
import json
import random
import socket
import threading
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from botocore import exceptions
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from sedano.aws.client.answer_checks import NotAnAnswer
from sedano.aws.client.faults import AWS_ERRORS
from tests.unit.slim.scripted import READ_S, TRIES, Act, Received, Scripted, Unread, answered, raw, reply, reset, slim, truth

ERROR = {"content_type": "application/x-amz-json-1.0"}
PAGE = b"<html><body>Please sign in</body></html>"


def refused(code: str, status: int = 400, **more: Any) -> Act:
    """An error of the service."""
    return reply(json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "because", **more}).encode(), status, **ERROR)


def telling(make: Callable[[bytes, Received], bytes], *, stays: bool = False) -> Act:
    """Send what *make* makes of the truth."""
    return lambda connection, received: raw(make(truth(received), received), stays=stays)(connection, received)


def headed(content: bytes, *lines: str) -> bytes:
    """A successful answer with a request id."""
    return "\r\n".join(["HTTP/1.1 200 OK", "x-amzn-requestid: a", *lines, "", ""]).encode() + content


def ended(connection: socket.socket, _: Received) -> bool:
    """Close without an answer."""
    return False


def broken(connection: socket.socket, _: Received) -> bool:
    """Reset after the request was read."""
    reset(connection)
    return False


def silent(connection: socket.socket, _: Received) -> bool:
    """Say nothing until the client is gone."""
    connection.recv(1)
    return False


def dripping(connection: socket.socket, received: Received) -> bool:
    """Send a byte every few milliseconds, each well within a timeout of single bytes, for longer than a call may take."""
    never = threading.Event()
    for byte in headed(truth(received) + b" " * 4000, f"content-length: {len(truth(received)) + 4000}"):
        connection.sendall(bytes([byte]))
        never.wait(READ_S / 50)
    return False


def chunked(content: bytes, _: Received) -> bytes:
    """The truth in chunks of seven bytes."""
    parts = [content[i : i + 7] for i in range(0, len(content), 7)]
    return headed(b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n", "transfer-encoding: chunked")


def zipped(content: bytes) -> bytes:
    """An answer that the client did not say it could read; its checksum is right."""
    return headed(content, f"content-length: {len(content)}", "content-encoding: gzip", f"x-amz-crc32: {zlib.crc32(content)}")


OTHER = b'{"Attributes":{"pk":{"S":"another"}}}'
STOLEN = headed(OTHER, f"content-length: {len(OTHER)}")
RIGHT: dict[str, Act] = {
    "chunks": telling(chunked, stays=True),
    "100 Continue first": telling(
        lambda text, _: b"HTTP/1.1 100 Continue\r\n\r\n" + headed(text, f"content-length: {len(text)}"), stays=True
    ),
    "the end of the connection as the end": telling(lambda text, _: headed(text)),
    "an answer and a stolen one": telling(lambda text, _: headed(text, f"content-length: {len(text)}") + STOLEN, stays=True),
    "an answer and the end": telling(lambda text, _: headed(text, f"content-length: {len(text)}")),
    "an answer and then a reset": telling(lambda text, _: headed(text, f"content-length: {len(text)}", "connection: close")),
}
"""Acts that answer rightly in unusual ways."""
AGAIN: dict[str, tuple[Act | Unread, type[Exception]]] = {
    "a reset before the request is read": (Unread(reset), exceptions.ConnectionClosedError),
    "the end before the request is read": (Unread(lambda _: None), exceptions.ConnectionClosedError),
    "a reset after it": (broken, exceptions.ConnectionClosedError),
    "the end after it": (ended, exceptions.ConnectionClosedError),
    "silence": (silent, exceptions.ReadTimeoutError),
    "slow bytes": (dripping, exceptions.ReadTimeoutError),
    "half a head": (telling(lambda text, _: headed(text)[:30]), exceptions.ConnectionClosedError),
    "half a body": (telling(lambda text, _: headed(text[:9], f"content-length: {len(text)}")), exceptions.ConnectionClosedError),
    "half the chunks": (telling(lambda text, received: chunked(text, received)[:90]), exceptions.ConnectionClosedError),
    "another protocol": (raw(b"SSH-2.0-OpenSSH\r\n\r\n"), exceptions.ConnectionClosedError),
    "two lengths": (telling(lambda text, _: headed(text, "content-length: 2", "content-length: 9")), exceptions.ConnectionClosedError),
    "a page of status 503": (reply(PAGE, 503, plain=True), ClientError),
    "a page of status 502 and the end": (reply(PAGE, 502, plain=True, stays=False), ClientError),
    "an internal error": (refused("InternalServerError", 500), ClientError),
    "throttling": (refused("ProvisionedThroughputExceededException"), ClientError),
    "a status of throttling": (reply(b"", 429), ClientError),
}
"""Acts after which botocore tries again, and the error if they do not end."""
ONCE: dict[str, tuple[Act, type[Exception]]] = {
    "half a body that ends the connection": (telling(lambda text, _: headed(text[:9])), NotAnAnswer),
    "an empty body": (reply(b"", 200), NotAnAnswer),
    "a page of status 200": (reply(PAGE, plain=True), NotAnAnswer),
    "a page with a request id": (reply(PAGE, crc=False), NotAnAnswer),
    "an answer without a request id": (
        telling(lambda text, _: b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(text) + text),
        NotAnAnswer,
    ),
    "a wrong checksum": (telling(lambda text, _: headed(text, f"content-length: {len(text)}", "x-amz-crc32: 1")), NotAnAnswer),
    "gzip": (telling(lambda text, _: zipped(gzip.compress(text))), NotAnAnswer),
    "a list": (reply(b"[]"), ResponseParserError),
    "a text": (reply(b'"Attributes"'), ResponseParserError),
    "attributes of another kind": (reply(b'{"Attributes": [1]}'), ResponseParserError),
    "a redirect": (reply(b"", 301, location="http://127.0.0.1:1/"), ClientError),
    "a temporary redirect": (reply(PAGE, 307, location="/elsewhere", plain=True), ClientError),
    "an expired token": (refused("ExpiredTokenException"), ClientError),
    "a condition": (refused("ConditionalCheckFailedException", Item={"pk": {"S": "a"}}), ClientError),
    "a page of status 403": (reply(PAGE, 403, plain=True), ClientError),
}  # fmt: skip
"""Acts after which botocore does not try again, and the error."""


def update(client: Any, key: str) -> Any:
    """One conditional write; return what the answer says."""
    return client.update_item(TableName="t", Key={"pk": {"S": key}}, ReturnValues="ALL_NEW")["Attributes"]["pk"]["S"]


@pytest.mark.parametrize("name", RIGHT)
def test_an_unusual_answer_that_is_right_counts_and_the_next_call_gets_its_own(name: str) -> None:
    with Scripted(RIGHT[name]) as server, slim(server.url) as (client, counts, _):
        assert [update(client, key) for key in "ab"] == ["a", "b"]
        assert server.sends == 2
    assert counts["dynamodb.UpdateItem"] in (2, 3), "an attempt on a connection that its server has just closed does not arrive"


@pytest.mark.parametrize("name", AGAIN)
def test_a_call_without_an_answer_is_sent_again_and_three_times_at_most(name: str) -> None:
    act, error = AGAIN[name]
    with Scripted(act) as server, slim(server.url) as (client, counts, pauses):
        assert update(client, "a") == "a"
        assert (server.sends, counts["dynamodb.UpdateItem"], len(pauses)) == (2, 2, 1)
    with Scripted(*[act] * TRIES) as server, slim(server.url) as (client, counts, pauses):
        with pytest.raises(error):
            update(client, "a")
        assert (server.sends, counts["dynamodb.UpdateItem"], len(pauses)) == (TRIES, TRIES, TRIES - 1)
        assert update(client, "b") == "b"


@pytest.mark.parametrize("name", ONCE)
def test_an_answer_that_says_no_is_raised_at_once(name: str) -> None:
    act, error = ONCE[name]
    with Scripted(act) as server, slim(server.url) as (client, counts, _):
        with pytest.raises(error):
            update(client, "a")
        assert server.sends == counts["dynamodb.UpdateItem"] == 1
        assert update(client, "b") == "b"


@pytest.mark.parametrize("seed", range(24))
def test_no_order_of_faults_gives_a_wrong_answer(seed: int) -> None:
    random_ = random.Random(seed)
    quick = {name: act for name, (act, _) in AGAIN.items() if name not in ("silence", "slow bytes")}
    acts: list[Act | Unread] = [*RIGHT.values(), *quick.values(), *(act for act, _ in ONCE.values())]
    script = [random_.choice(acts) if random_.random() < 0.7 else RIGHT["chunks"] for _ in range(60)]
    outcomes = set[str]()
    with Scripted(*script) as server, slim(server.url, read_timeout=5) as (client, counts, _):
        for number in range(40):
            sent, counted = server.sends, counts["dynamodb.UpdateItem"]
            try:
                assert update(client, f"key-{number}") == f"key-{number}"
                outcomes.add("answer")
            except AWS_ERRORS as error:
                outcomes.add(type(error).__name__)
            # An attempt on a connection that its server has just closed is counted, and does not arrive.
            assert server.sends - sent <= counts["dynamodb.UpdateItem"] - counted <= TRIES
    assert "answer" in outcomes
    assert len(outcomes) >= 3, outcomes


def test_the_entries_that_a_lost_batch_sent_are_confirmed_by_the_answer_of_the_second() -> None:
    with Scripted(broken) as server, slim(server.url, "sqs") as (client, _, _):
        entries = [{"Id": str(n), "MessageBody": f"body {n}"} for n in range(10)]
        answer = client.send_message_batch(QueueUrl=f"{server.url}/1/q", Entries=entries)
    assert [entry["MessageId"] for entry in answer["Successful"]] == [f"body {n}" for n in range(10)]
    assert [request.asked["Entries"] for request in server.received] == [entries] * 2


def test_retries_that_succeed_give_their_quota_back() -> None:
    """botocore allows about 35 retries more than successes: without the return of the quota, the later calls would not be sent again."""
    page = reply(PAGE, 503, plain=True)
    with Scripted(*[page, answered] * 60) as server, slim(server.url) as (client, _, _):
        assert [update(client, str(number)) for number in range(60)] == [str(number) for number in range(60)]
        assert server.sends == 120


def test_a_service_that_is_away_is_sent_fewer_requests_when_the_quota_of_retries_is_used_up() -> None:
    with Scripted(*[reply(PAGE, 503, plain=True)] * 120) as server, slim(server.url) as (client, _, _):
        for number in range(40):
            with pytest.raises(ClientError):
                update(client, str(number))
        assert 40 < server.sends < 80
