"""Webhooks as sinks, against a server on this machine: what is sent, which answers end a delivery, and where it never goes."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sedano.aws.sinks.webhook import WebhookSink
from sedano.errors import ConfigurationError, NotAccepted, SedanoError, Unavailable
from sedano.memory.webhook_secrets import MemorySecretTexts
from sedano.model.canonical_json import canonical_json
from sedano.model.messages.message import Document
from sedano.model.sinks.content import content_of
from sedano.model.sources.signature_schemes import standard_webhooks

SECRET = "whsec_c2VjcmV0"
NOW = 1.9e9
CONTENT = content_of(Document("price/7", "t-1", "price", "shop@host", NOW, value={"cents": 199, "name": "té"}))


class Receiver(ThreadingHTTPServer):
    """A server that keeps the requests and answers with the next of *statuses*, the last one again and again."""

    def __init__(self, *statuses: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses, self.more, self.requests = list(statuses) or [204], headers or {}, list[Any]()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        """Keep the request and answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, {name.lower(): text for name, text in self.headers.items()}, body))
        status = self.server.statuses.pop(0) if len(self.server.statuses) > 1 else self.server.statuses[0]
        self.send_response(status)
        for name, text in self.server.more.items():
            self.send_header(name, text)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Say nothing."""


@contextmanager
def served(server: Receiver) -> Iterator[Receiver]:
    """Serve until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def sink_at(server: Receiver, path: str = "/in?v=1", secret: str = SECRET, **options: Any) -> WebhookSink:
    """The sink at the server's own address."""
    return WebhookSink(f"http://127.0.0.1:{server.server_port}{path}", MemorySecretTexts({"hook": secret}), lambda: NOW, **options)


def test_a_delivery_is_one_signed_post_with_the_id_as_its_idempotency_key() -> None:
    with served(Receiver(200)) as server:
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
    with served(Receiver(status, headers={"Location": "http://169.254.169.254/latest/meta-data"})) as server:
        with pytest.raises(error, match=f"answered with the status {status}") as raised:
            sink_at(server).write("hook", CONTENT)
        assert raised.value.is_final is (error is NotAccepted)
        assert len(server.requests) == 1


def test_a_changed_secret_is_read_again_after_a_refusal() -> None:
    texts = {"hook": SECRET}
    with served(Receiver(200, 401, 200)) as server:
        sink = WebhookSink(f"http://127.0.0.1:{server.server_port}/", MemorySecretTexts(texts), lambda: NOW)
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
    with served(Receiver(200)) as server:
        with pytest.raises(ConfigurationError):
            WebhookSink(f"http://127.0.0.1:{server.server_port}/", MemorySecretTexts({}), lambda: NOW).write("hook", CONTENT)
        assert server.requests == []


def test_a_host_that_is_away_is_asked_later() -> None:
    with served(Receiver(200)) as server:
        pass
    with pytest.raises(Unavailable, match="the webhook did not answer"):
        sink_at(server).write("hook", CONTENT)


def answering(*addresses: str) -> Callable[[str, int], list[str]]:
    """A name server that gives these addresses."""
    return lambda host, port: list(addresses)


OWN = ["127.0.0.1", "10.0.0.7", "169.254.169.254", "93.184.216.34 127.0.0.1", "::1", "fd00:ec2::254", "::ffff:127.0.0.1"]


@pytest.mark.parametrize("addresses", [one.split() for one in OWN])
def test_a_name_that_leads_into_the_own_network_gets_nothing(addresses: list[str]) -> None:
    sink = WebhookSink("https://crm.example.org/", MemorySecretTexts({"hook": SECRET}), lambda: NOW, answering(*addresses))
    with pytest.raises(ConfigurationError, match="which is not public"):
        sink.write("hook", CONTENT)


def test_an_address_at_which_a_host_gives_out_its_credentials_gets_nothing_even_when_it_is_the_place() -> None:
    sink = WebhookSink("https://169.254.169.254/", MemorySecretTexts({"hook": SECRET}), lambda: NOW)
    with pytest.raises(ConfigurationError, match="which is not public"):
        sink.write("hook", CONTENT)


def test_a_name_without_an_address_is_asked_later() -> None:
    def nothing(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    sink = WebhookSink("https://crm.example.org/", MemorySecretTexts({"hook": SECRET}), lambda: NOW, nothing)
    with pytest.raises(Unavailable, match=r"crm\.example\.org of a webhook has no address now"):
        sink.write("hook", CONTENT)


def every(address: str, named: bool) -> bool:
    """Allow each address."""
    return True


def certificate(folder: Path, name: str) -> Path:
    """A certificate for *name*, with its key, in one file."""
    key, today = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder().subject_name(who).issuer_name(who).public_key(key.public_key()).serial_number(1)
        .not_valid_before(today - timedelta(days=1)).not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, hashes.SHA256())
    )  # fmt: skip
    written = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / f"{name}.pem"
    file.write_bytes(written + made.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.mark.parametrize("name", ["crm.example.org", "other.example.org"])
def test_a_delivery_goes_to_the_checked_address_under_the_certificate_of_the_name(
    name: str, tmp_path: Path
) -> None:
    file = certificate(tmp_path, name)
    with served(Receiver(200)) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        trusting = ssl.create_default_context(cafile=str(file))
        place = f"https://crm.example.org:{server.server_port}/in"
        sink = WebhookSink(place, MemorySecretTexts({"hook": SECRET}), lambda: NOW, answering("127.0.0.1"), every, trusting)
        if name == "crm.example.org":
            assert sink.write("hook", CONTENT)
            assert server.requests[0][1]["host"] == f"crm.example.org:{server.server_port}"
        else:
            with pytest.raises(Unavailable, match="did not answer: SSLError"):
                sink.write("hook", CONTENT)
            assert server.requests == []
