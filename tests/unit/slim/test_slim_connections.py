"""Connections: many threads and one pool, a forked child, TLS, and the end."""

import os
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, SSLError

from sedano.aws.client.faults import fault
from sedano.aws.client.slim.connections import Connections, EndpointAddress
from sedano.errors import ConfigurationError
from tests.certificates import certificate
from tests.unit.slim.scripted import Received, Scripted, answered, reply, slim

REQUEST = b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}"


def update(client: Any, key: str) -> str:
    """One write; return the key that its answer names."""
    found: str = client.update_item(TableName="t", Key={"pk": {"S": key}}, ReturnValues="ALL_NEW")["Attributes"]["pk"]["S"]
    return found


def test_threads_that_share_a_client_each_get_their_own_answers() -> None:
    with (
        Scripted() as server,
        slim(server.url, read_timeout=30, max_pool_connections=4) as (client, counts, _),
        ThreadPoolExecutor(12) as threads,
    ):
        keys = [f"key-{number}" for number in range(600)]
        assert list(threads.map(lambda key: update(client, key), keys)) == keys
        assert sorted(request.asked["Key"]["pk"]["S"] for request in server.received) == sorted(keys)
    assert counts["dynamodb.UpdateItem"] == server.sends == 600


def test_a_connection_is_used_again_and_no_more_are_kept_than_the_client_may() -> None:
    together = threading.Barrier(3)

    def act(connection: Any, received: Received) -> bool:
        together.wait(30)
        return answered(connection, received)

    with Scripted(act, act, act) as server, slim(server.url, read_timeout=30, max_pool_connections=2) as (client, _, _):
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda key: update(client, key), "abc"))
        for key in "defg":
            update(client, key)
        assert server.connections == 3
        assert len({request.connection for request in server.received[3:]}) == 1


def test_a_forked_child_shares_no_connection_with_its_parent() -> None:
    with Scripted() as server, slim(server.url, read_timeout=30) as (client, _, _):
        update(client, "parent")
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if update(client, "child") == "child" else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        update(client, "parent again")
    assert [request.connection for request in server.received] == [1, 2, 1]


def test_a_server_sees_the_end_of_the_connections_of_a_closed_client_and_of_a_forgotten_one() -> None:
    ended = threading.Semaphore(0)

    def act(connection: Any, received: Received) -> bool:
        reply(b"{}")(connection, received)
        if connection.recv(1) == b"":
            ended.release()
        return False

    with Scripted(act, act) as server:
        address = EndpointAddress.of(server.url)
        closed, forgotten = Connections(address, 2, 4), Connections(address, 2, 4)
        closed.exchange(REQUEST, 30)
        forgotten.exchange(REQUEST, 30)
        closed.close()
        assert ended.acquire(timeout=30)
        del forgotten
        assert ended.acquire(timeout=30)


def test_connections_that_went_together_cost_one_attempt() -> None:
    together = threading.Barrier(3)

    def act(connection: Any, received: Received) -> bool:
        together.wait(30)
        answered(connection, received)
        connection.recv(1)  # the next request arrives, and is not answered
        return False

    with Scripted(act, act, act) as server, slim(server.url, read_timeout=30) as (client, counts, _):
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda key: update(client, key), "abc"))
        assert update(client, "d") == "d"
        assert counts["dynamodb.UpdateItem"] == 5


@pytest.mark.parametrize(
    ("url", "error"),
    [("http://127.0.0.1:1", EndpointConnectionError), ("http://no-such-host.invalid", EndpointConnectionError)],
)
def test_an_endpoint_that_is_not_there_raises_what_botocore_raises(url: str, error: type[Exception]) -> None:
    with slim(url) as (client, counts, _), pytest.raises(error, match="Could not connect to the endpoint URL"):
        update(client, "a")
    assert counts["dynamodb.UpdateItem"] == 3


def test_a_server_that_does_not_take_connections_costs_the_time_of_a_connection() -> None:
    with Scripted() as server:
        connections = Connections(EndpointAddress.of(server.url.replace("http", "https")), 0.2, 4)
        with pytest.raises(ConnectTimeoutError):  # it never answers the handshake
            connections.exchange(REQUEST, 30)


@pytest.fixture
def secured(tmp_path: Path) -> Any:
    """A server under a certificate for localhost, and the file of that certificate."""
    file = certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with Scripted(secure=context) as server:
        yield server, file


def test_a_server_under_a_trusted_certificate_answers_on_one_connection(secured: Any) -> None:
    server, file = secured
    connections = Connections(EndpointAddress.of(server.url), 5, 4, str(file))
    for _ in range(3):
        assert connections.exchange(b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", 30).status_code == 200
    assert server.connections == 1
    connections.close()


@pytest.mark.parametrize("name", ["its certificate is not trusted", "it is for another name"])
def test_a_server_under_another_certificate_gets_no_request(secured: Any, name: str) -> None:
    server, file = secured
    address = EndpointAddress.of(server.url)
    if name == "it is for another name":
        connections = Connections(address._replace(host="127.0.0.1"), 5, 4, str(file))
    else:
        connections = Connections(address, 5, 4)
    with pytest.raises(SSLError, match="CERTIFICATE_VERIFY_FAILED") as raised:
        connections.exchange(REQUEST, 30)
    assert isinstance(fault(raised.value, "dynamodb.UpdateItem"), ConfigurationError)
    assert server.sends == 0
