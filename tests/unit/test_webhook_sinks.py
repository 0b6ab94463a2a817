"""Webhooks as sinks, against a server on this machine: the request, and which answers end a delivery."""

from __future__ import annotations

import json
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
