"""One connection to the publisher process: its waits are bounded, its bytes arrive in any pieces, and it is closed where it fails."""

import select
import socket
from collections.abc import Iterator

import pytest

from sedano.engine.publisher.socket_connection import CHUNK, LEAST_S, LONGEST_ANSWER, PublisherConnection
from sedano.model.publisher_frames import PublisherInfo, Refusal, info_line, publication_bytes
from sedano.ports import Outgoing

NOW, QUEUE = 100.0, "commands:default"
INFO = PublisherInfo(2, "sent", "here")


class Channel(socket.socket):
    """One end of a pair of sockets, which notes what is set and where it was to be connected."""

    def __init__(self, end: socket.socket) -> None:
        """Take the place of *end*."""
        super().__init__(fileno=end.detach())
        self.noted: list[object] = []

    def connect(self, address: object) -> None:
        """Note it; the other end is there already."""
        self.noted.append(address)

    def settimeout(self, seconds: float | None) -> None:
        """Note it."""
        self.noted.append(seconds)

    def setblocking(self, flag: bool) -> None:
        """Note it and set it."""
        self.noted.append(flag)
        super().setblocking(flag)


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    """Both ends of a connection: that of the program, and that of the publisher."""
    mine, other = socket.socketpair()
    channel = Channel(mine)
    with channel, other:
        other.setblocking(False)
        yield channel, other


def opened(channel: Channel, other: socket.socket, info: PublisherInfo = INFO) -> PublisherConnection:
    """A connection whose publisher has said what it is."""
    connection = PublisherConnection(channel, lambda: NOW)
    other.sendall(info_line(info))
    assert connection.open("/run/p.sock", NOW + 2.5) == info
    return connection


def test_it_connects_within_what_is_left_and_blocks_no_more_after_that(ends: tuple[Channel, socket.socket]) -> None:
    opened(*ends)
    assert ends[0].noted == [2.5, "/run/p.sock", False]
    assert ends[0].gettimeout() == 0.0


def test_without_time_it_still_tries_for_a_moment(ends: tuple[Channel, socket.socket]) -> None:
    channel, _ = ends
    with pytest.raises(TimeoutError, match="the publisher does not answer"):
        PublisherConnection(channel, lambda: NOW).open("/run/p.sock", NOW - 1.0)
    assert (channel.noted[0], channel.fileno()) == (LEAST_S, -1)
    assert (LEAST_S, LONGEST_ANSWER) == (0.001, 4_096)


def test_it_is_closed_where_the_first_line_is_none_and_where_it_is_told_to(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    other.sendall(b"HTTP/1.1 400\n")
    with pytest.raises(ValueError, match="not a publisher"):
        PublisherConnection(channel, lambda: NOW).open("/run/p.sock", NOW + 1.0)
    assert channel.fileno() == -1


def test_it_is_closed_by_its_owner(ends: tuple[Channel, socket.socket]) -> None:
    opened(*ends).close()
    assert ends[0].fileno() == -1


def test_publications_are_numbered_over_all_exchanges_and_answered_by_their_place(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    connection = opened(channel, other)
    answers: dict[int, Refusal | None] = {}
    other.sendall(b"-2 full no room\n+2\n+3\n")
    connection.exchange(QUEUE, [Outgoing("a", 3, "acme"), Outgoing("b"), Outgoing("c")], answers, NOW + 1.0)
    assert answers == {0: None, 1: Refusal("full", "no room"), 2: None}
    other.sendall(b"-5 full no\n+4\n")
    later: dict[int, Refusal | None] = {}
    connection.exchange("events", [Outgoing("d"), Outgoing("e")], later, NOW + 1.0)
    assert later == {0: None, 1: Refusal("full", "no")}
    calls = [(1, QUEUE, 3, "acme", "a"), (2, QUEUE, 0, None, "b"), (3, QUEUE, 0, None, "c"), (4, "events", 0, None, "d")]
    written = b"".join(publication_bytes(*call) for call in (*calls, (5, "events", 0, None, "e")))
    assert other.recv(CHUNK) == written


def test_a_window_is_written_when_the_one_before_it_was_answered(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    connection = opened(channel, other)
    answers: dict[int, Refusal | None] = {}
    other.sendall(b"+2\n")
    with pytest.raises(TimeoutError):
        connection.exchange(QUEUE, [Outgoing(body) for body in "abcde"], answers, NOW)
    assert answers == {0: None, 1: None}
    assert other.recv(CHUNK).count(b"PUB ") == 4, "the third and fourth were written, and not answered"
    assert channel.fileno() == -1


def test_it_is_closed_when_the_publisher_ends_or_cannot_be_understood(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    connection = opened(channel, other)
    other.close()
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        connection.exchange(QUEUE, [Outgoing("a")], {}, NOW + 1.0)
    assert channel.fileno() == -1


def test_an_end_of_the_publisher_amid_its_answers_is_told(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    connection = opened(channel, other)
    other.sendall(b"+")
    other.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionResetError, match="the publisher closed the connection"):
        connection.exchange(QUEUE, [Outgoing("a")], {}, NOW + 1.0)


@pytest.mark.parametrize(("length", "says"), [(LONGEST_ANSWER, "does not answer"), (LONGEST_ANSWER + 1, "does not end")])
def test_a_line_of_the_publisher_has_a_longest_length(length: int, says: str, ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    connection = opened(channel, other)
    other.sendall(b"x" * length)
    with pytest.raises((ValueError, TimeoutError), match=says):
        connection.exchange(QUEUE, [Outgoing("a")], {}, NOW)


def test_an_answer_that_arrives_in_pieces_is_one(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    connection = opened(channel, other)
    answers: dict[int, Refusal | None] = {}
    other.sendall(b"-1 full n")
    with pytest.raises(TimeoutError):
        connection._line(NOW)
    other.sendall(b"o\n")
    connection.exchange(QUEUE, [Outgoing("a")], answers, NOW + 1.0)
    assert answers == {0: Refusal("full", "no")}


def test_what_the_publisher_answers_is_read_while_it_takes_no_more(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    connection = opened(channel, other, INFO._replace(window=5))
    for end, option in ((channel, socket.SO_SNDBUF), (other, socket.SO_RCVBUF)):
        end.setsockopt(socket.SOL_SOCKET, option, 1)
    other.sendall(b"-1 full no\n")
    answers: dict[int, Refusal | None] = {}
    with pytest.raises(TimeoutError):
        connection.exchange(QUEUE, [Outgoing("x" * 900_000)], answers, NOW)
    assert connection._lines == type(connection._lines)([b"-1 full no"]), "it was read before the rest could be written"
    assert select.select([other], [], [], 0)[0], "and the beginning was written"


def test_the_milliseconds_of_a_wait_are_those_that_are_left(ends: tuple[Channel, socket.socket]) -> None:
    class Waiting:
        def __init__(self) -> None:
            self.waited: list[float] = []

        def poll(self, milliseconds: float) -> list[tuple[int, int]]:
            self.waited.append(milliseconds)
            return [(7, select.POLLIN)]

    waiting = Waiting()
    connection = PublisherConnection(ends[0], lambda: NOW)
    assert connection._wait(waiting, NOW + 1.5) == select.POLLIN  # type: ignore[arg-type]
    connection._wait(waiting, NOW - 1.0)  # type: ignore[arg-type]
    assert waiting.waited == [1_500.0, 0.0]
