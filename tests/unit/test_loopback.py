"""A server of this machine alone: connections wait until it begins, each carries one request, and it ends once for all who ask."""

import http.client
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sedano.errors import UsageError
from sedano.web.loopback import HOST, LoopbackHandler, LoopbackServer, listener


class Echo(LoopbackHandler):
    """Answers with the method; 304 for the path that asks for it."""

    def respond(self) -> None:
        """Send the method."""
        self.send(304 if self.path == "/known" else 200, {"content-type": "text/plain"}, self.command.encode())


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """A server that has not begun."""
    with listener(0) as listening:
        server = LoopbackServer(listening, Echo, "echo")
        yield server
        server.end()


def asked(server: LoopbackServer, method: str, path: str = "/") -> tuple[int, bytes, str | None]:
    connection = http.client.HTTPConnection(HOST, server.server_address[1], timeout=60)
    connection.request(method, path)
    answer = connection.getresponse()
    found = answer.status, answer.read(), answer.getheader("content-length")
    connection.close()
    return found


def test_a_connection_waits_until_the_server_begins(server: LoopbackServer) -> None:
    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(asked, server, "GET")
        server.begin()
        assert early.result(60) == (200, b"GET", "3")


def test_a_head_and_a_known_content_have_no_body(server: LoopbackServer) -> None:
    server.begin()
    assert asked(server, "HEAD") == (200, b"", "4")
    assert asked(server, "GET", "/known") == (304, b"", None)


def test_one_that_never_began_ends_as_well(server: LoopbackServer) -> None:
    server.end()
    assert server.socket.fileno() == -1


def test_it_ends_once_for_all_who_ask(server: LoopbackServer) -> None:
    server.begin()
    with ThreadPoolExecutor(3) as pool:
        for one in [pool.submit(server.end) for _ in range(3)]:
            one.result(60)
    assert server.socket.fileno() == -1


def test_the_last_port_is_used_again_where_it_is_free_and_a_taken_one_is_refused() -> None:
    with listener(0) as first:
        port = first.getsockname()[1]
        assert first.getsockname()[0] == "127.0.0.1"
        with listener(0, port) as other:
            assert other.getsockname()[1] != port
        with pytest.raises(UsageError, match=f"port {port}: .*; give another one with --web-port, or 0 for a free one"):
            listener(port, option="--web-port")
    with listener(0, port) as again:
        assert again.getsockname()[1] == port
