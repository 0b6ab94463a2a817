"""The webhook function over SQS and the Parameter Store on moto, asked as a function URL asks it."""

import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.functions.conftest import Remaining, environment, handler_of
from tests.functions.test_cold_start import start
from tests.plugins.resources import Resources
from tests.stories.forge import SECRET, closed, github

APP = "tests.stories.forge:app"
Post = Callable[..., dict[str, Any]]


def url_event(path: str, body: str, headers: Mapping[str, str], *, encoded: bool = False) -> dict[str, Any]:
    """What Lambda makes of a request to a function URL."""
    event = {
        "version": "2.0", "rawPath": path, "rawQueryString": "", "requestContext": {"http": {"method": "POST", "path": path}},
        "headers": {name.lower(): text for name, text in headers.items()}, "isBase64Encoded": encoded,
    }  # fmt: skip
    return {**event, "body": body} if body else event


@pytest.fixture
def known(settings: Mapping[str, str]) -> dict[str, str]:
    """The function's environment."""
    return {**settings, "SEDANO_APP": APP, "SEDANO_STAGE": "test"}


@pytest.fixture
def post(known: dict[str, str]) -> Iterator[Post]:
    """Post to the function, started cold, as Lambda hands over what came to its URL."""

    def post(path: str, body: str, headers: Mapping[str, str], *, encoded: bool = False) -> dict[str, Any]:
        return handler(url_event(path, body, headers, encoded=encoded), Remaining())

    with environment(known):
        handler = handler_of("webhook")
        yield post


@pytest.fixture
def secret(resources: Resources) -> str:
    """The name of the parameter that holds the forge's secret."""
    name = "/sedano/test/webhooks/github"
    resources.session.client("ssm").put_parameter(Name=name, Value=SECRET, Type="SecureString", Overwrite=True)
    return name


def events(resources: Resources, settings: Mapping[str, str]) -> list[dict[str, Any]]:
    """The events that were published."""
    found = resources.session.client("sqs").receive_message(QueueUrl=settings["SEDANO_EVENTS_QUEUE"], MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in found.get("Messages", [])]


@pytest.mark.parametrize("encoded", [False, True])
def test_what_is_signed_is_published(post: Post, secret: str, resources: Resources, known: dict[str, str], encoded: bool) -> None:
    assert secret
    body = closed(5)
    sent = base64.b64encode(body).decode() if encoded else body.decode()
    answer = post("/github", sent, github(body, "one"), encoded=encoded)
    assert answer == {"statusCode": 202, "headers": {"content-type": "text/plain; charset=utf-8"}, "body": "published: 1"}
    (event,) = events(resources, known)
    assert (event["subject"], event["data"]) == ("tests.stories.forge.IssueClosed", {"number": 5})


def test_what_is_not_signed_is_refused_and_counted(
    post: Post, secret: str, resources: Resources, known: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert secret
    assert post("/github", "{}", {})["statusCode"] == 401
    assert post("/github", "", github(b"x", "one"))["statusCode"] == 401
    assert post("/nobody", "", {})["statusCode"] == 404
    assert events(resources, known) == []
    said = capsys.readouterr().out
    assert all(f'"reason":"{reason}"' in said for reason in ("no-signature", "wrong-signature"))
    assert '"WebhooksRefused":[1' in said
    assert SECRET not in said


def test_without_its_secret_nobody_is_let_in_and_the_log_says_how_to_put_it_there(
    post: Post, resources: Resources, caplog: pytest.LogCaptureFixture
) -> None:
    name = "/sedano/test/webhooks/bare"
    assert resources.session.client("ssm").get_parameters(Names=[name])["InvalidParameters"] == [name]
    answer = post("/bare", "{}", {"X-Signature": "00"})
    assert (answer["statusCode"], answer["headers"]["retry-after"]) == (503, "30")
    said = [str(vars(line)) for line in caplog.records]
    assert any("aws ssm put-parameter --type SecureString --name /sedano/test/webhooks/bare" in line for line in said), said


class Refusing(BaseHTTPRequestHandler):
    """A Parameter Store that refuses whatever it is asked, by the last word of its address."""

    asked = 0

    def do_POST(self) -> None:
        """Refuse."""
        Refusing.asked += 1
        body = json.dumps({"__type": self.path.strip("/"), "message": "not now"}).encode()
        self.send_response(400)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@pytest.fixture
def store() -> Iterator[str]:
    """The address of a Parameter Store that refuses."""
    made = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    Refusing.asked = 0
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.mark.parametrize(
    ("refusal", "asked", "said"), [("ThrottlingException", 3, "not now"), ("AccessDeniedException", 1, "do not allow this")]
)
def test_a_cold_function_whose_secret_is_out_of_reach_asks_its_sender_to_come_again(
    known: dict[str, str], store: str, caplog: pytest.LogCaptureFixture, refusal: str, asked: int, said: str
) -> None:
    with environment({**known, "AWS_ENDPOINT_URL_SSM": f"{store}/{refusal}"}):
        handler = handler_of("webhook")
        for number in range(3):
            answer = handler(url_event("/github", closed(5).decode(), github(closed(5), str(number))), Remaining())
            assert (answer["statusCode"], answer["headers"]["retry-after"]) == (503, "30")
    assert Refusing.asked == asked, "one request asks, as often as the client tries, and the next two do not"
    lines = [line for line in caplog.records if "send again" in line.getMessage()]
    assert len(lines) == 1
    assert said in str(vars(lines[0]))


def test_a_cold_start_loads_no_worker_and_no_router(known: dict[str, str]) -> None:
    loaded = start("webhook", known, APP)
    assert loaded[0] == "True"
    idle = {"sedano.engine.worker.pipeline", "sedano.engine.router", "sedano.engine.schedules.scheduler", "sedano.result"}
    assert idle.isdisjoint(loaded)


def test_a_sender_that_checks_the_address_gets_its_challenge_back(known: dict[str, str], resources: Resources) -> None:
    lines = "app secret\nverify:mine"
    resources.session.client("ssm").put_parameter(Name="/sedano/test/webhooks/meta", Value=lines, Type="SecureString", Overwrite=True)
    asked = url_event("/meta", "", {})
    asked["requestContext"]["http"]["method"] = "GET"
    asked["rawQueryString"] = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=mine"
    with environment({**known, "SEDANO_APP": "tests.stories.test_webhooks_checked:app"}):
        answer = handler_of("webhook")(asked, Remaining())
    assert (answer["statusCode"], answer["body"]) == (200, "1158201444")
    assert answer["headers"]["content-type"] == "text/plain; charset=utf-8"
