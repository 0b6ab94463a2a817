"""Calls of a program end in time, whatever AWS does: real sockets on this machine that accept and never answer, or answer byte by byte."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import botocore.session
import pytest
from botocore.exceptions import ClientError

from sedano import Sedano
from sedano.aws.client.answer_checks import Unanswered
from sedano.aws.client.call_deadlines import BoundedClient
from sedano.aws.client.faults import fault
from sedano.errors import ConfigurationError, PublishError, Unavailable
from sedano.ports import deadlines
from tests.unit.test_faults import answered

DEADLINE, GRACE = 1.5, 1.0
SETTINGS = {
    "SEDANO_LEDGER_TABLE": "ledger", "SEDANO_CONTROL_TABLE": "control", "SEDANO_BLOBS_BUCKET": "blobs", "SEDANO_HISTORY_BUCKET": "history",
    "AWS_DEFAULT_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true",
}  # fmt: skip


class Starved:
    """Measures for how long this process got no processor: a thread that sleeps for a hundredth of a second wakes later by so much.

    A machine that is busy with other things makes each call longer, which no deadline can help.
    """

    TICK_S = 0.01

    def __init__(self) -> None:
        self.seconds, self._over = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._ticks, daemon=True)

    def _ticks(self) -> None:
        before = time.monotonic()
        while not self._over.wait(self.TICK_S):
            now = time.monotonic()
            self.seconds, before = self.seconds + max(0.0, now - before - 2 * self.TICK_S), now

    def __enter__(self) -> Self:
        """Begin to measure."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop measuring."""
        self._over.set()
        self._thread.join()


class Silent:
    """A server that accepts every connection and never answers; *dribble*: it sends the head of an answer, one byte at a time."""

    def __init__(self, dribble: bool) -> None:
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.dribble, self.over, self.accepted = dribble, threading.Event(), list[socket.socket]()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            self.accepted.append(connection)
            if self.dribble:
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 10_000
        for letter in head:
            if self.over.wait(0.05):
                return
            try:
                connection.send(bytes([letter]))
            except OSError:
                return

    def close(self) -> None:
        """Let go of everything."""
        self.over.set()
        self.server.close()
        for connection in self.accepted:
            connection.close()


@pytest.fixture(params=[False, True], ids=["never answers", "dribbles"])
def silent(request: pytest.FixtureRequest) -> Iterator[Silent]:
    """A silent server, with the environment of a stage behind it."""
    server = Silent(request.param)
    url = f"{server.url}/123456789012/q"
    given = {
        **SETTINGS, "AWS_ENDPOINT_URL": server.url, "SEDANO_QUEUES": f'{{"default":"{url}"}}', "SEDANO_EVENTS_QUEUE": url,
        "SEDANO_RECORDS_QUEUE": url, "SEDANO_PARKED_QUEUE": url, "SEDANO_SPOOL": "off",
    }  # fmt: skip
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    yield server
    server.close()
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value


def shop() -> tuple[Sedano, Any]:
    """An app that has `DEADLINE` seconds for each call, and a task of it."""
    app = Sedano("silent", call_timeout=DEADLINE)

    @app.task
    def add(a: int, b: int) -> int:
        return a + b

    return app, add


def test_a_publication_from_twelve_threads_ends_in_time_and_the_next_one_at_once(silent: Silent) -> None:
    app, add = shop()
    assert app.outlet.drafting.first_queue == "default", "the client is made before time counts"

    def timed(_: int) -> tuple[float, type[BaseException]]:
        began = time.monotonic()
        with pytest.raises(PublishError) as caught:
            add.delay(1, 2)
        return time.monotonic() - began, caught.type

    with Starved() as starved, ThreadPoolExecutor(12) as pool:
        found = list(pool.map(timed, range(12)))
    assert max(seconds for seconds, _ in found) - starved.seconds <= DEADLINE + GRACE
    with Starved() as starved:
        seconds, _ = timed(0)
    assert seconds - starved.seconds <= GRACE, "the connection is open for a second: nobody waits for it again"


def test_a_read_ends_in_time(silent: Silent) -> None:
    app, _ = shop()
    result = app.result("0" * 32)
    began = time.monotonic()
    with Starved() as starved, pytest.raises(Unavailable, match="no answer"):
        _ = result.state
    assert time.monotonic() - began - starved.seconds <= DEADLINE + GRACE


class Client:
    """A client whose one operation does what it is told."""

    def __init__(self, *acts: Any) -> None:
        self.acts, self.calls = list(acts), 0

    def get_item(self, **_: Any) -> Any:
        """Do the next act."""
        self.calls += 1
        act = self.acts.pop(0)
        if isinstance(act, Exception):
            raise act
        return act()


def test_answers_and_errors_of_the_service_come_as_they_are_and_open_nothing() -> None:
    client = Client(lambda: {"Item": 1}, answered("ThrottlingException"), lambda: {"Item": 2})
    bounded = BoundedClient(client, "dynamodb", 5)
    assert bounded.get_item() == {"Item": 1}
    with pytest.raises(ClientError):
        bounded.get_item()
    assert bounded.get_item() == {"Item": 2}


def test_a_call_sees_the_context_of_its_caller() -> None:
    with deadlines.within(60, time.monotonic()):
        left = BoundedClient(Client(lambda: deadlines.left(time.monotonic())), "dynamodb", 5).get_item()
    assert 50 < left <= 60


def test_a_deadline_that_is_over_makes_no_call_and_blames_nobody() -> None:
    client = Client(dict)
    bounded = BoundedClient(client, "dynamodb", 5)
    with deadlines.within(0, time.monotonic()), pytest.raises(Unanswered, match="the deadline of the whole call has passed"):
        bounded.get_item()
    assert client.calls == 0
    assert bounded.get_item() == {}


def test_a_call_without_an_answer_fails_the_next_one_without_making_it() -> None:
    hanging = threading.Event()
    client = Client(lambda: hanging.wait(20), dict)
    bounded = BoundedClient(client, "dynamodb", 0.05)
    with pytest.raises(Unanswered, match=r"none within 0\.1 s"):
        bounded.get_item()
    with pytest.raises(Unanswered, match=r"dynamodb did not answer \(.*\) and is not called again for") as refused:
        bounded.get_item()
    assert client.calls == 1
    assert isinstance(fault(refused.value, "dynamodb.GetItem"), Unavailable)
    hanging.set()


def test_an_idle_thread_is_used_again_and_a_fork_has_none() -> None:
    names = [BoundedClient(Client(threading.get_ident), "dynamodb", 5).get_item() for _ in range(5)]
    assert len(set(names)) < 5
    child = os.fork()
    if child == 0:
        os._exit(0 if BoundedClient(Client(lambda: 7), "dynamodb", 5).get_item() == 7 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_what_makes_no_request_is_passed_on() -> None:
    session = botocore.session.Session()
    client = session.create_client("sqs", region_name="eu-west-1")
    assert BoundedClient(client, "sqs", 5).meta is client.meta


@pytest.mark.parametrize("wrong", ["fast", "0", "-1", "1e9", "nan"])
def test_a_setting_that_is_no_time_is_named(wrong: str) -> None:
    before = os.environ.get(deadlines.SETTING)
    os.environ[deadlines.SETTING] = wrong
    try:
        with pytest.raises(ConfigurationError, match=r"SEDANO_CALL_TIMEOUT: .* is not a number of seconds"):
            deadlines.patience()
        with deadlines.chosen(2.0):
            assert deadlines.patience() == 2.0
        os.environ[deadlines.SETTING] = "0.5"
        assert deadlines.patience() == 0.5
    finally:
        os.environ.pop(deadlines.SETTING)
        if before is not None:
            os.environ[deadlines.SETTING] = before
