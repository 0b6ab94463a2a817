"""The worker function as programs reach it: in memory, over Lambda's own API, and at its URL."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from sedano.aws.client.session import Session
from sedano.aws.direct_calls import _REGION, LambdaDirectCalls, UrlDirectCalls
from sedano.errors import ConfigurationError, NotAllowed, ResultTimeout, Unavailable
from sedano.memory.direct_calls import MemoryDirectCalls
from sedano.ports.direct_calls import DirectCalls
from tests.unit.test_answers import Planted

ARN = "arn:aws:lambda:eu-central-1:123456789012:function:worker:live"
SERVED = {"x-amzn-RequestId": "5a1e4d3c-0000-4000-8000-000000000000"}
Answered = tuple[bytes, dict[str, str]]


def over(answer: Answered, status: int = 200, worker: str = ARN) -> LambdaDirectCalls:
    """The adapter over a Lambda that answers so."""
    client = Planted(answer, status=status).client("lambda")
    return LambdaDirectCalls(lambda seconds: client, worker)


def in_memory() -> MemoryDirectCalls:
    """The twin, whose worker answers with what it got."""
    made = MemoryDirectCalls()
    made.answer = lambda call, seconds: {"got": call, "seconds": seconds}
    return made


@pytest.mark.parametrize("make", [in_memory, lambda: over((b'{"got":{"a":"\\u00e9"},"seconds":5.0}', SERVED))], ids=["memory", "lambda"])
def test_a_worker_answers_once_with_json(make: Callable[[], DirectCalls]) -> None:
    assert json.loads(make().call('{"a": "é"}', 5.0)) == {"got": {"a": "é"}, "seconds": 5.0}


@pytest.mark.parametrize("calls", [MemoryDirectCalls(), over((b"", {}), worker="")], ids=["memory", "lambda"])
def test_without_a_worker_it_says_what_to_do(calls: DirectCalls) -> None:
    with pytest.raises(ConfigurationError, match=r"worker"):
        calls.call("{}", 1.0)


def test_a_worker_that_ends_without_an_answer_is_no_answer() -> None:
    said = b'{"errorMessage":"RequestId: 5 Error: Runtime exited with error: signal: killed","errorType":"Runtime.ExitError"}'
    with pytest.raises(Unavailable, match=r"^the worker ended without an answer: .*signal: killed") as lost:
        over((said + b"x" * 1_000, {**SERVED, "X-Amz-Function-Error": "Unhandled"})).call("{}", 1.0)
    assert len(str(lost.value)) == len("the worker ended without an answer: ") + 300


def test_a_missing_right_and_a_missing_function_name_what_to_do() -> None:
    said = f"User: x is not authorized to perform: lambda:InvokeFunction on resource: {ARN} because no identity-based policy allows it"
    refused = (json.dumps({"Message": said}).encode(), {"x-amzn-ErrorType": "AccessDeniedException", "Content-Type": "application/json"})
    with pytest.raises(NotAllowed) as denied:
        over(refused, 403).call("{}", 1.0)
    assert denied.value.action == "lambda:InvokeFunction"
    gone = (b'{"Message":"Function not found"}', {"x-amzn-ErrorType": "ResourceNotFoundException", "Content-Type": "application/json"})
    with pytest.raises(ConfigurationError, match=f"^SEDANO_WORKER: {ARN} cannot be called: "):
        over(gone, 404).call("{}", 1.0)


def test_a_throttled_call_may_be_made_again() -> None:
    busy = (b'{"Message":"Rate exceeded"}', {"x-amzn-ErrorType": "TooManyRequestsException", "Content-Type": "application/json"})
    with pytest.raises(Unavailable, match="TooManyRequestsException"):
        over(busy, 429).call("{}", 1.0)


class Silent:
    """A client that gets no answer."""

    def __init__(self, error: Exception) -> None:
        """Raise *error* at each call."""
        self.error = error

    def invoke(self, **_: Any) -> Any:
        """Wait in vain."""
        raise self.error


def test_a_worker_that_does_not_answer_in_time_may_still_work() -> None:
    asked: list[float] = []

    def client(seconds: float) -> Any:
        asked.append(seconds)
        return Silent(ReadTimeoutError(endpoint_url="lambda"))

    calls = LambdaDirectCalls(client, ARN)
    for seconds in (1.2, 1.9, 3.0):
        with pytest.raises(ResultTimeout, match=f"^the worker did not answer within {seconds:g} s$"):
            calls.call("{}", seconds)
    assert asked == [2, 3], "one client for each number of whole seconds"


def test_a_service_that_cannot_be_reached_has_run_nothing() -> None:
    calls = LambdaDirectCalls(lambda _: Silent(ConnectTimeoutError(endpoint_url="lambda")), ARN)
    with pytest.raises(Unavailable):
        calls.call("{}", 1.0)


class Served(BaseHTTPRequestHandler):
    """A function URL that keeps what it is asked, and answers as it is told."""

    def do_POST(self) -> None:
        """Answer."""
        server: Any = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.asked.append((self.headers, body))
        status, headers, answer = server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def served() -> Iterator[Any]:
    """A server on this machine in place of Lambda."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Served) as server:
        held: Any = server
        held.asked, held.answer = [], (200, SERVED, b'{"state":"PENDING"}')
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def at(served: Any, region: str = "eu-west-1") -> UrlDirectCalls:
    """The adapter over that address."""
    return UrlDirectCalls(lambda: (Credentials("AKIDEXAMPLE", "secret", "token"), region, True), f"http://127.0.0.1:{served.server_port}/")


def test_a_request_to_a_url_is_signed_for_lambda_with_the_callers_credentials(served: Any) -> None:
    assert at(served).call('{"a": "é"}', 5.0) == b'{"state":"PENDING"}'
    ((headers, body),) = served.asked
    assert body == '{"a": "é"}'.encode()
    said = headers["Authorization"]
    assert said.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/lambda/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=" in said
    assert (headers["X-Amz-Security-Token"], headers["Content-Type"]) == ("token", "application/json")


def test_the_region_of_a_url_signs_its_requests() -> None:
    found = _REGION("https://abc.lambda-url.ap-southeast-2.on.aws/")
    assert found is not None
    assert found[1] == "ap-southeast-2"


@pytest.mark.parametrize(
    ("status", "headers", "kind", "said"),
    [
        (200, {}, Unavailable, "^lambda.InvokeFunctionUrl: the response with status 200 is not from Lambda: is a proxy in between"),
        (403, SERVED, NotAllowed, r"let these credentials in \(no\): they need lambda:InvokeFunctionUrl and lambda:InvokeFunction$"),
        (404, SERVED, ConfigurationError, "cannot be called: no$"),
        (429, SERVED, Unavailable, "^the worker ended without an answer: status 429, no$"),
        (502, SERVED, Unavailable, "^the worker ended without an answer: status 502, no$"),
    ],
)
def test_any_other_answer_of_a_url_confirms_nothing(
    served: Any, status: int, headers: dict[str, str], kind: type[Exception], said: str
) -> None:
    served.answer = (status, headers, b"no")
    with pytest.raises(kind, match=said):
        at(served).call("{}", 5.0)


def test_a_url_that_does_not_answer_and_one_that_cannot_be_reached() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        calls = UrlDirectCalls(lambda: (Credentials("a", "b"), "eu-west-1", True), f"http://127.0.0.1:{silent.getsockname()[1]}/")
        with pytest.raises(ResultTimeout, match=r"^the worker did not answer within 0\.2 s$"):
            calls.call("{}", 0.2)
    with pytest.raises(Unavailable):
        calls.call("{}", 0.2)


def test_a_session_without_credentials_says_what_to_do() -> None:
    none = SimpleNamespace(
        get_component=lambda _: SimpleNamespace(search_paths=[]), register_component=lambda *_: None, get_credentials=lambda: None,
        get_config_variable=lambda _: None,
    )  # fmt: skip
    with pytest.raises(ConfigurationError, match="the credentials of this program"):
        Session(lambda: none).identity()
