"""The built-in looks: what they find is told from a real server, file system and store."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sedano import Breaker, Sedano, checks, testing
from sedano.api.health import DEGRADED, HEALTHY, INSECURE, UNAVAILABLE, UNHEALTHY
from sedano.checks import _judged
from sedano.errors import OptionError, Unavailable
from sedano.model import states
from tests.stories.kitchen import SETTINGS
from tests.stories.taps import Watch, tapped


class Answers(BaseHTTPRequestHandler):
    """Answers OPTIONS as the path says: /status, or a wait."""

    released = threading.Event()

    def do_OPTIONS(self) -> None:
        """Answer, or wait until the test is over."""
        if self.path == "/late":
            self.released.wait(30)
        status = int(self.path[1:4]) if self.path[1:4].isdigit() else 200
        self.send_response(status)
        if self.path.endswith("/listed"):
            self.send_header("Allow", "GET, OPTIONS")
            self.send_header("Accept", "application/json")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server on this machine; its address."""
    made = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield f"127.0.0.1:{made.server_port}"
    Answers.released.set()
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.mark.parametrize(
    ("path", "options", "state"),
    [
        ("/200", {}, HEALTHY), ("/200/listed", {"method": "GET", "content_type": "application/json"}, HEALTHY),
        ("/302", {}, DEGRADED), ("/401", {}, DEGRADED), ("/500", {}, UNHEALTHY), ("/503", {}, UNHEALTHY), ("/404", {}, UNAVAILABLE),
        ("/405", {}, UNAVAILABLE), ("/200/listed", {"method": "DELETE"}, UNAVAILABLE),
        ("/200/listed", {"content_type": "text/xml"}, UNAVAILABLE), ("/late", {"timeout": 0.2}, UNHEALTHY),
    ],
)  # fmt: skip
def test_an_endpoint_is_in_one_of_five_states(server: str, path: str, options: dict[str, Any], state: str) -> None:
    found, why = checks.http(f"http://{server}{path}", **options)()
    assert found == state, why


def test_an_endpoint_without_tls_is_insecure_and_one_that_is_not_there_unhealthy(server: str) -> None:
    assert checks.http(f"https://{server}/200")()[0] == INSECURE
    assert checks.http("http://nowhere.invalid/")()[0] == UNHEALTHY
    assert checks.http("http://127.0.0.1:1/")()[0] == UNHEALTHY


def test_an_answer_that_is_almost_late_is_degraded() -> None:
    assert _judged(200, {}, "GET", "", 0.79)[0] == HEALTHY
    assert _judged(200, {}, "GET", "", 0.81)[0] == DEGRADED


def test_memory_and_disk_are_healthy_while_enough_is_left() -> None:
    assert checks.memory(least_mb=1)()[0] == HEALTHY
    assert checks.memory(least_mb=1e9)()[0] == UNHEALTHY
    assert checks.disk("/", least_mb=0.001)()[0] == HEALTHY
    assert checks.disk("/", least_mb=1e12)()[0] == UNHEALTHY
    with pytest.raises(FileNotFoundError):
        checks.disk("/not/there", least_mb=1)()


def test_dynamodb_and_sqs_are_unhealthy_when_they_do_not_answer_and_degraded_when_they_are_slow() -> None:
    app = Sedano("k")
    with testing.world(app) as world:
        assert [look()[0] for look in (checks.dynamodb(app), checks.sqs(app))] == [HEALTHY, HEALTHY]
        assert [look()[0] for look in (checks.dynamodb(app, slow=1e-12), checks.sqs(app, slow=1e-12))] == [DEGRADED, DEGRADED]
        watch = Watch(0, "before", lambda: Unavailable("away"), frozenset({"control", "consumers"}), times=9)
        app.attach(tapped(world.ports, watch))
        assert [look()[0] for look in (checks.dynamodb(app), checks.sqs(app))] == [UNHEALTHY, UNHEALTHY]


def test_a_circuit_that_watches_an_endpoint_keeps_its_task_waiting_while_that_is_down(server: str) -> None:
    app = Sedano("k")
    web = app.health_check("web", every=1)
    web(checks.http(f"http://{server}/503"))

    @app.task(name="charge", circuit=Breaker(failures=0, checks={"web": {UNHEALTHY: 1}}))
    def charge() -> None: ...

    with testing.world(app, settings=SETTINGS) as world:
        waits = charge.delay()
        world.step()
        assert waits.state == states.PENDING


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: checks.http("ftp://x"), "not an http or https address"), (lambda: checks.http("http://x", timeout=0), "timeout"),
        (lambda: checks.memory(-1), "least_mb"), (lambda: checks.disk("/", 0), "least_mb"),
    ],
)  # fmt: skip
def test_what_cannot_be_looked_at_is_named(make: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()
