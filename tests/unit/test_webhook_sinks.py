"""Webhooks as sinks, against a server on this machine: the request, and which answers end a delivery."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sedano.aws.sinks.webhook import WebhookSink
from sedano.errors import ConfigurationError, NotAccepted, SedanoError, Unavailable
from sedano.memory.webhook_secrets import MemorySecretTexts
from sedano.model.canonical_json import canonical_json
from sedano.model.messages.message import Document
from sedano.model.sinks.content import content_of
from sedano.model.sources.http_polls import HttpAnswer
from sedano.model.sources.signature_schemes import standard_webhooks
from tests.unit.http_peer import Peer, served
from tests.unit.test_http_polls import Slow

SECRET = "whsec_c2VjcmV0"
NOW = 1.9e9
CONTENT = content_of(Document("price/7", "t-1", "price", "shop@host", NOW, value={"cents": 199, "name": "té"}))


def statuses(*found: int, **headers: str) -> Iterator[HttpAnswer]:
    """Answers of a receiver, without a body."""
    return (HttpAnswer(status, headers, b"") for status in found)


def sink_at(server: Peer, path: str = "/in?v=1", secret: str = SECRET, **options: Any) -> WebhookSink:
    """The sink at the server's own address."""
    return WebhookSink(f"{server.url}{path}", MemorySecretTexts({"hook": secret}), lambda: NOW, **options)


def test_a_delivery_is_one_signed_post_with_the_id_as_its_idempotency_key() -> None:
    with served(*statuses(200)) as server:
        assert sink_at(server).write("hook", CONTENT)
    ((path, headers, body),) = server.requests
    assert (path, body) == ("/in?v=1", canonical_json(CONTENT).encode())
    assert json.loads(body) == CONTENT
    assert headers["idempotency-key"] == headers["webhook-id"] == "price/7"
    assert (headers["content-type"], headers["host"]) == ("application/json", f"127.0.0.1:{server.server_port}")
    assert standard_webhooks().refusal(headers, body, [SECRET], NOW) is None


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((status, Unavailable) for status in (500, 502, 503, 599, 408, 409, 423, 425, 429)),
        *((status, ConfigurationError) for status in (301, 302, 307, 308, 304, 401, 403, 404, 405)),
        *((status, NotAccepted) for status in (400, 406, 410, 413, 415, 422)),
    ],
)
def test_each_status_has_one_meaning_and_a_redirect_is_not_followed(status: int, error: type[SedanoError]) -> None:
    with served(*statuses(status, Location="http://169.254.169.254/latest/meta-data")) as server:
        with pytest.raises(error, match=f"answered with the status {status}") as raised:
            sink_at(server).write("hook", CONTENT)
        assert raised.value.is_final is (error is NotAccepted)
        assert len(server.requests) == 1


def test_a_changed_secret_is_read_again_after_a_refusal() -> None:
    texts = {"hook": SECRET}
    with served(*statuses(200, 401, 200)) as server:
        sink = WebhookSink(f"{server.url}/", MemorySecretTexts(texts), lambda: NOW)
        sink.write("hook", CONTENT)
        texts["hook"] = "whsec_bmV3"
        with pytest.raises(ConfigurationError, match="does the receiver have the secret of this sink"):
            sink.write("hook", CONTENT)
        sink.write("hook", CONTENT)
    used = [
        next(secret for secret in (SECRET, "whsec_bmV3") if standard_webhooks().refusal(headers, body, [secret], NOW) is None)
        for _, headers, body in server.requests
    ]
    assert used == [SECRET, SECRET, "whsec_bmV3"]


def test_a_sink_without_a_secret_sends_nothing_and_says_how_to_store_one() -> None:
    with served(*statuses(200)) as server:
        with pytest.raises(ConfigurationError):
            WebhookSink(f"{server.url}/", MemorySecretTexts({}), lambda: NOW).write("hook", CONTENT)
        assert server.requests == []


def test_a_host_that_is_away_is_asked_later() -> None:
    with served(*statuses(200)) as server:
        pass
    with pytest.raises(Unavailable, match="the webhook did not answer"):
        sink_at(server).write("hook", CONTENT)


def delivered_to(answer: bytes, rest: bytes = b"") -> bool:
    """Deliver the document to a receiver that writes *answer*, and then *rest* byte by byte for ever."""
    with Slow(answer, rest, 0.02) as slow:
        address = f"http://127.0.0.1:{slow.server.getsockname()[1]}/in"
        return WebhookSink(address, MemorySecretTexts({"hook": SECRET}), lambda: NOW, answer_timeout_s=0.3).write("hook", CONTENT)


@pytest.mark.parametrize("length", ["abc", "2, 2", "-1", "2\r\nContent-Length: 2", "1_0", "", "99999999", "65536", "²"])
def test_a_delivery_was_made_whatever_the_length_of_the_answer_is(length: str) -> None:
    assert delivered_to(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode("latin-1"), b"x" * 100_000)


@pytest.mark.parametrize("headers", [b"Content-Length: 9\r\n", b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", b""])
def test_a_delivery_was_made_although_its_answer_has_no_end(headers: bytes) -> None:
    assert delivered_to(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n")
    assert delivered_to(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n", b"1\r\nx\r\n" * 100_000)


@pytest.mark.parametrize("rest", [b"", b"X" * 100_000])
def test_a_receiver_whose_status_is_slower_than_the_time_is_asked_later(rest: bytes) -> None:
    with pytest.raises(Unavailable, match="the webhook did not answer: TimeoutError"):
        delivered_to(b"", rest)


@pytest.mark.parametrize("head", [b"", b"X: ", b"Content-Length: 9\r\n"])
def test_a_receiver_whose_headers_are_slower_than_the_time_has_said_its_status(head: bytes) -> None:
    began = time.monotonic()
    assert delivered_to(b"HTTP/1.1 200 OK\r\n" + head, b"X" * 100_000)
    with pytest.raises(Unavailable, match="answered with the status 503"):
        delivered_to(b"HTTP/1.1 503 Busy\r\n" + head, b"X" * 100_000)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(("strange", "connections"), [({}, 1), ({"content-length": "0, 0"}, 2), ({"content-length": "-0"}, 2)])
def test_a_connection_is_kept_only_after_an_answer_with_a_plain_end(strange: dict[str, str], connections: int) -> None:
    with served(HttpAnswer(200, strange, b"")) as server:
        sink = sink_at(server)
        assert sink.write("hook", CONTENT)
        assert sink.write("hook", CONTENT)
    assert (len(server.requests), server.connections) == (2, connections)
