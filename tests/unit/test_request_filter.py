"""The request filter of the local stage: a page of a browser, a rebound name and an unsigned request never reach the emulator."""

import asyncio
from collections.abc import Iterable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from sedano.emulator.request_filter import Receive, Send, SignatureGate

HOST = "127.0.0.1:4999"
OWN = Credentials("AKIA22222222222222AA", "secret")
FUNCTION = "/_aws/lambda-url/0123456789abcdef0123456789abcdef/signed"
Answer = tuple[int, dict[str, str], bytes]


class Emulator:
    """An application that keeps what reaches it and answers as ministack does, with CORS headers."""

    def __init__(self) -> None:
        self.reached: list[tuple[str, bytes]] = []

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        body, more = b"", scope["type"] == "http"
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        self.reached.append((scope.get("path", scope["type"]), body))
        headers = [(b"Access-Control-Allow-Origin", b"*"), (b"access-control-max-age", b"9"), (b"x-kept", b"1")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"done"})


def signed(
    path: str = "/", body: bytes = b"{}", credentials: Credentials = OWN, service: str = "sqs", **headers: str
) -> list[tuple[str, str]]:
    """The headers of a signed request."""
    asked = AWSRequest("POST", f"http://{HOST}{path}", data=body, headers={"Host": HOST, **headers})
    (S3SigV4Auth if service == "s3" else SigV4Auth)(credentials, service, "us-east-1").add_auth(asked)
    return list(asked.headers.items())


def asked(
    emulator: Emulator, headers: Iterable[tuple[str, str]], path: str = "/", pieces: Iterable[bytes] = (b"{}",), *, leaves: bool = False
) -> Answer:
    """The answer to a request whose body arrives in *pieces*; a client that *leaves* goes before the end."""
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.disconnect"} if leaves else {"type": "http.request", "body": b"", "more_body": False})
    said: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return messages.pop(0)

    async def send(message: MutableMapping[str, Any]) -> None:
        said.append(message)

    url = urlsplit(path)
    scope = {
        "type": "http", "method": "POST", "path": url.path, "raw_path": url.path.encode(), "query_string": url.query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
    }  # fmt: skip
    gate = SignatureGate(emulator, {HOST, "localhost:4999"}, {OWN.access_key: OWN.secret_key}.get)
    asyncio.run(gate(scope, receive, send))
    start, *rest = said
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, b"".join(one["body"] for one in rest)


def test_a_signed_request_passes_whole_and_its_answer_has_no_cors_headers() -> None:
    emulator = Emulator()
    status, headers, body = asked(emulator, signed(body=b"abc"), pieces=[b"a", b"", b"bc"])
    assert (status, headers, body) == (200, {"x-kept": "1"}, b"done")
    assert emulator.reached == [("/", b"abc")]


@pytest.mark.parametrize("path", ["/", FUNCTION])
@pytest.mark.parametrize(
    "browser",
    [
        [("Origin", "https://shop.example")],
        [("Origin", f"http://{HOST}")],
        [("Origin", "null")],
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
        [("Sec-Fetch-Site", "same-origin")],
    ],
)
def test_what_a_browser_sends_for_a_page_is_refused_even_if_it_is_signed(path: str, browser: list[tuple[str, str]]) -> None:
    emulator = Emulator()
    status, headers, _ = asked(emulator, [*signed(path), *browser], path)
    assert (status, emulator.reached) == (403, [])
    assert not [name for name in headers if name.startswith("access-control-")]


@pytest.mark.parametrize("path", ["/", FUNCTION])
@pytest.mark.parametrize(
    "hosts", [["evil.example:4999"], ["127.0.0.1"], ["127.0.0.1:5000"], ["127.0.0.1:4999.evil.example"], [], [HOST, "evil.example"]]
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(path: str, hosts: list[str]) -> None:
    emulator = Emulator()
    headers = [*(pair for pair in signed(path) if pair[0] != "Host"), *(("Host", host) for host in hosts)]
    assert asked(emulator, headers, path)[0] == 403
    assert emulator.reached == []


@pytest.mark.parametrize(
    "credentials", [Credentials("AKIA33333333333333BB", "secret"), Credentials("test", "test"), Credentials(OWN.access_key, "x")]
)
@pytest.mark.parametrize(("service", "says"), [("sqs", b'"message": "'), ("s3", b"<Message>")])
def test_the_credentials_of_another_run_are_refused_in_the_words_of_the_service(
    credentials: Credentials, service: str, says: bytes
) -> None:
    emulator = Emulator()
    status, headers, body = asked(emulator, signed(credentials=credentials, service=service))
    assert (status, emulator.reached) == (403, [])
    assert headers["x-amzn-errortype"] in ("UnrecognizedClientException", "SignatureDoesNotMatch")
    assert says in body
    assert b"use the variables that this run of the local stage printed" in body


BESIDE = (
    "/", "/_ministack/health", "/_ministack/reset", "/_ministack/config", "/_ministack/sqs/messages", "/_aws/lambda-url",
    "/_aws/lambda-url/", "/_aws/lambda-url/../../_ministack/reset", "/_aws/execute-api/a/b", "//_aws/lambda-url/a/",
    "/x/_aws/lambda-url/a/", "/_AWS/lambda-url/a/",
)  # fmt: skip


@pytest.mark.parametrize("path", BESIDE)
def test_unsigned_only_a_function_url_is_reached(path: str) -> None:
    emulator = Emulator()
    assert asked(emulator, [("Host", HOST)], path)[0] == 403
    assert asked(emulator, [("Host", HOST), ("X-Amz-Target", "AmazonSQS.CreateQueue")], path)[0] == 403
    assert emulator.reached == []
    assert asked(emulator, [("Host", "localhost:4999")], FUNCTION, [b"posted"])[0] == 200
    assert emulator.reached == [(FUNCTION, b"posted")]


def test_a_body_that_is_not_the_signed_one_is_refused() -> None:
    emulator = Emulator()
    assert asked(emulator, signed(body=b"{}"), pieces=[b"{", b"}x"])[0] == 403
    assert emulator.reached == []


def test_half_of_an_unsigned_body_is_never_kept() -> None:
    emulator = Emulator()
    url = AWSRequest("POST", f"http://{HOST}/bucket/key", headers={"Host": HOST})
    S3SigV4QueryAuth(OWN, "s3", "us-east-1").add_auth(url)
    assert asked(emulator, url.headers.items(), url.url, [b"ha"], leaves=True)[0] == 403
    assert emulator.reached == []
    assert asked(emulator, url.headers.items(), url.url, [b"ha", b"lf"])[0] == 200
    assert emulator.reached == [("/bucket/key", b"half")]


def test_a_websocket_is_refused_and_the_emulators_start_is_its_own() -> None:
    emulator, said = Emulator(), list[MutableMapping[str, Any]]()

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError("nothing is read")

    async def send(message: MutableMapping[str, Any]) -> None:
        said.append(message)

    gate = SignatureGate(emulator, {HOST}, {}.get)
    asyncio.run(gate({"type": "websocket", "headers": [], "path": "/"}, receive, send))
    assert (said, emulator.reached) == ([{"type": "websocket.close", "code": 1008}], [])
    asyncio.run(gate({"type": "lifespan"}, receive, send))
    assert emulator.reached == [("lifespan", b"")]
