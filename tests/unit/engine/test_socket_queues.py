"""A program behind the publisher: what the publisher confirms, what the program sends itself, and when. The publisher here is a script."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sedano.aws.machine import SystemClock
from sedano.engine.publisher.socket_queues import SocketQueues
from sedano.errors import ConfigurationError, NotAccepted, SedanoError, Unavailable, UnknownQueue
from sedano.memory.machine import VirtualClock
from sedano.memory.telemetry import MemoryTelemetry
from sedano.model.connection_breaker import Connection
from sedano.model.publisher_frames import Frame, FrameReader, PublisherInfo, PublishFrame, info_line
from sedano.model.queues import QueueBounds
from sedano.ports import Clock, Delivery, Outgoing
from sedano.ports.deadlines import within

QUEUE = "commands:default"
INFO = PublisherInfo(2_000, "sent", "here")
Answer = Callable[[Sequence[PublishFrame]], bytes | None]


class Own:
    """The queues that the program itself sends to."""

    bounds = QueueBounds()

    def __init__(self) -> None:
        """Send nothing yet."""
        self.sent: list[str] = []
        self.calls = 0
        self.error: SedanoError | None = None

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Note what is sent."""
        self.calls += 1
        if self.error is not None:
            raise self.error
        self.sent += [message.body for message in messages]
        return [None] * len(messages)

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Return one message."""
        return [Delivery(queue, "m", "r", f"{most} {wait}")]

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Note it."""
        self.sent.append("deleted")

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Note it."""
        self.sent.append(f"held {seconds}")


class Behind(SocketQueues):
    """The queues of a program behind a publisher, and their log."""

    def __init__(self, path: Path, own: Own, deployment: str, patience: float, clock: Clock) -> None:
        """Use *own* while the publisher at *path* is away."""
        self.logged = MemoryTelemetry()
        super().__init__(str(path), lambda: own, own.bounds, deployment, clock, self.logged, patience)


class Scripted:
    """A publisher that answers the publications of each reading as its script says; None closes the connection."""

    def __init__(self, path: Path, answer: Answer, info: PublisherInfo = INFO) -> None:
        """Listen at *path*."""
        self._listens, self._answer, self._info = socket.socket(socket.AF_UNIX), answer, info
        self._listens.bind(str(path))
        self._listens.listen(8)
        self.got: list[PublishFrame] = []
        self.connections = 0
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                channel, _ = self._listens.accept()
            except OSError:
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._serve, args=(channel,), daemon=True))
            self._threads[-1].start()

    def _serve(self, channel: socket.socket) -> None:
        with channel:
            channel.sendall(info_line(self._info))
            reader = FrameReader(1 << 20)
            while data := channel.recv(1 << 16):
                frames: list[Frame] = reader.feed(data)
                some = [frame for frame in frames if isinstance(frame, PublishFrame)]
                self.got += some
                answer = self._answer(some)
                if answer is None:
                    return
                channel.sendall(answer)

    def close(self) -> None:
        """Listen no more."""
        self._listens.shutdown(socket.SHUT_RDWR)
        self._listens.close()


def confirming(some: Sequence[PublishFrame]) -> bytes:
    """Confirm everything."""
    return f"+{some[-1].seq}\n".encode() if some else b""


@pytest.fixture
def own() -> Own:
    """The queues without a publisher."""
    return Own()


@pytest.fixture
def world(tmp_path: Path, own: Own) -> Iterator[Any]:
    """A function that starts a scripted publisher and returns it with the queues of a program behind it."""
    made: list[Scripted] = []

    def start(
        answer: Answer | None, deployment: str = "here", patience: float = 5.0, clock: Clock | None = None, **options: Any
    ) -> tuple[Any, Behind]:  # fmt: skip
        path = tmp_path / "p.sock"
        if answer is not None:
            made.append(Scripted(path, answer, **options))
        return made[-1] if made else None, Behind(path, own, deployment, patience, clock or SystemClock())

    yield start
    for one in made:
        one.close()


def messages(*bodies: str) -> list[Outgoing]:
    """Return messages of these bodies."""
    return [Outgoing(body) for body in bodies]


def test_what_the_publisher_confirms_is_accepted_and_the_program_sends_nothing(world: Any, own: Own) -> None:
    publisher, queues = world(confirming)
    assert queues.send(QUEUE, [Outgoing("a", 3, "acme"), Outgoing("b")]) == [None, None]
    assert queues.send("events", messages("c")) == [None]
    first, second, third = publisher.got
    assert (first, second) == (PublishFrame(1, QUEUE, 3, "acme", "a"), PublishFrame(2, QUEUE, 0, None, "b"))
    assert third == PublishFrame(3, "events", 0, None, "c")
    assert (own.sent, publisher.connections) == ([], 1)


def test_each_refusal_is_an_error_and_a_message_without_room_is_sent_by_the_program(world: Any, own: Own) -> None:
    _, queues = world(lambda some: b"-1 away no\n-2 refused bad\n-3 queue what\n-4 setup grant\n-5 full disk\n+6\n")
    answers = queues.send(QUEUE, messages(*"abcdef"))
    kinds = [Unavailable, NotAccepted, UnknownQueue, ConfigurationError, type(None), type(None)]
    assert [type(answer) for answer in answers] == kinds
    assert own.sent == ["e"]


def test_a_publisher_that_is_away_is_not_waited_for_again_and_the_program_sends(world: Any, own: Own) -> None:
    _, queues = world(None)
    assert queues.send(QUEUE, messages("a")) == [None]
    assert queues.send(QUEUE, messages("b")) == [None]
    assert own.sent == ["a", "b"]
    assert queues.logged.messages("warning") == ["the publisher process is away: the program sends itself"]


def test_the_program_sends_what_was_not_confirmed_when_the_publisher_ends(world: Any, own: Own) -> None:
    _, queues = world(lambda some: b"+1\n" if len(some) == 1 else None)
    assert queues.send(QUEUE, messages("a")) == [None]
    assert queues.send(QUEUE, messages("b", "c")) == [None, None]
    assert own.sent == ["b", "c"]


def test_a_restart_of_the_publisher_is_not_noticed(world: Any, own: Own) -> None:
    closes = [True]

    def answer(some: Sequence[PublishFrame]) -> bytes | None:
        return None if closes.pop() else confirming(some)

    closes[:] = [False, True, False]
    publisher, queues = world(answer)
    assert queues.send(QUEUE, messages("a")) == [None]
    assert queues.send(QUEUE, messages("b")) == [None]
    assert [one.body for one in publisher.got] == ["a", "b", "b"]
    assert (publisher.connections, own.sent) == (2, [])


def test_a_publisher_that_does_not_answer_leaves_half_of_the_time_to_the_program(world: Any, own: Own) -> None:
    _, queues = world(lambda some: b"")
    began = time.monotonic()
    with within(0.4, began):
        assert queues.send(QUEUE, messages("a")) == [None]
    assert 0.19 <= time.monotonic() - began < 0.4
    assert own.sent == ["a"]


def test_a_publisher_that_had_little_time_is_asked_again_and_one_that_had_enough_is_not(world: Any, own: Own) -> None:
    _, queues = world(lambda some: confirming(some) if some and some[0].body == "b" else b"", patience=2.0)
    with within(0.05, time.monotonic()):
        assert queues.send(QUEUE, messages("a")) == [None]
    assert queues.send(QUEUE, messages("b")) == [None]
    assert own.sent == ["a"]
    assert queues.logged.messages("warning") == []
    assert queues.send(QUEUE, messages("c")) == [None]
    assert queues.send(QUEUE, messages("d")) == [None]
    assert own.sent == ["a", "c", "d"]
    assert len(queues.logged.messages("warning")) == 1


def test_refusals_are_read_while_the_rest_is_written(world: Any, own: Own) -> None:
    refusal = f"full {'x' * 300}".encode()
    _, queues = world(lambda some: b"".join(b"-%d %s\n" % (one.seq, refusal) for one in some))
    began = time.monotonic()
    bodies = [f"{number:01000}" for number in range(2_000)]
    assert queues.send(QUEUE, messages(*bodies)) == [None] * 2_000
    assert own.sent == bodies
    assert queues.logged.messages("warning") == [], time.monotonic() - began
    assert queues._state == Connection()


def test_what_is_confirmed_before_a_failure_is_not_sent_again(world: Any, own: Own) -> None:
    _, queues = world(lambda some: b"+1\nnonsense\n")
    assert queues.send(QUEUE, messages("a", "b")) == [None, None]
    assert own.sent == ["b"]


def test_no_more_than_the_window_is_unconfirmed(world: Any, own: Own) -> None:
    most: list[int] = []

    def answer(some: Sequence[PublishFrame]) -> bytes:
        most.append(len(some))
        return confirming(some)

    publisher, queues = world(answer, info=PublisherInfo(2, "sent", "here"))
    assert queues.send(QUEUE, messages(*"abcde")) == [None] * 5
    assert [one.body for one in publisher.got] == [*"abcde"]
    assert max(most) <= 2


def test_a_large_message_is_written_whole(world: Any, own: Own) -> None:
    publisher, queues = world(confirming)
    body = "x" * 900_000
    assert queues.send(QUEUE, messages(body)) == [None]
    assert [one.body for one in publisher.got] == [body]
    assert queues.send(QUEUE, messages("b")) == [None]


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        ("commands:orders.fifo", Outgoing("a", serial_key="k")), (QUEUE, Outgoing("a", attributes={"n": "v"})),
        ("parked", Outgoing("a")), ("records", Outgoing("a")), (QUEUE, Outgoing("a", tenant="-")), (QUEUE, Outgoing("a", once="o")),
        ("commands:a b", Outgoing("a")), (QUEUE, Outgoing("a", serial_key="k")), (QUEUE, Outgoing("a", tenant="a b")),
        ("commands:orders.fifo", Outgoing("a")),
    ],
)  # fmt: skip
def test_what_a_line_cannot_carry_is_sent_by_the_program(queue: str, message: Outgoing, world: Any, own: Own) -> None:
    publisher, queues = world(confirming)
    assert queues.send(queue, [message]) == [None]
    assert (own.sent, publisher.got, publisher.connections) == (["a"], [], 0)


def test_a_publisher_of_another_deployment_is_refused_before_anything_is_sent(world: Any, own: Own) -> None:
    publisher, queues = world(confirming, deployment="there")
    with pytest.raises(ConfigurationError, match="serves another deployment than SEDANO_QUEUES names") as refused:
        queues.send(QUEUE, messages("a"))
    assert (own.sent, publisher.got) == ([], [])
    publisher._threads[-1].join(5.0)
    assert not publisher._threads[-1].is_alive(), f"the connection is closed while {refused.type} holds its frames"


def test_a_program_that_names_no_deployment_uses_that_of_the_publisher(world: Any) -> None:
    _, queues = world(confirming, deployment="")
    assert queues.send(QUEUE, messages("a")) == [None]


def test_a_program_that_cannot_send_either_gets_both_reasons(world: Any, own: Own) -> None:
    _, queues = world(None)
    own.error = Unavailable("no stage")
    (answer,) = queues.send(QUEUE, messages("a"))
    assert isinstance(answer, Unavailable)
    assert str(answer) == "publisher: [Errno 2] No such file or directory; no stage"


def test_reading_goes_past_the_publisher(world: Any, own: Own) -> None:
    _, queues = world(None)
    (delivery,) = queues.receive(QUEUE, 3, 1.5)
    assert delivery.body == "3 1.5"
    queues.delete([delivery])
    queues.hold(delivery, 4.0)
    assert own.sent == ["deleted", "held 4.0"]


def test_a_child_process_opens_a_connection_of_its_own(world: Any, own: Own) -> None:
    publisher, queues = world(confirming)
    queues.send(QUEUE, messages("a"))
    child = os.fork()
    if not child:
        os._exit(0 if queues.send(QUEUE, messages("b")) == [None] and not own.sent else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert queues.send(QUEUE, messages("c")) == [None]
    assert sorted(one.body for one in publisher.got) == ["a", "b", "c"]
    assert [one.seq for one in publisher.got if one.body == "c"] == [2]


def test_no_messages_are_no_call_of_the_publisher(world: Any, own: Own) -> None:
    publisher, queues = world(confirming)
    assert queues.send(QUEUE, []) == []
    assert publisher.connections == 0
    assert queues.bounds is own.bounds


def test_what_the_publisher_refused_for_good_is_no_call_of_the_program(world: Any, own: Own) -> None:
    _, queues = world(lambda some: b"-1 refused bad\n+2\n")
    assert [type(answer) for answer in queues.send(QUEUE, messages("a", "b"))] == [NotAccepted, type(None)]
    assert own.calls == 0


def test_one_connection_carries_one_call_after_the_other(world: Any) -> None:
    publisher, queues = world(confirming)
    for body in "abcd":
        assert queues.send(QUEUE, messages(body)) == [None]
    assert ([one.seq for one in publisher.got], publisher.connections) == ([1, 2, 3, 4], 1)


def test_what_was_answered_before_a_restart_is_not_written_again(world: Any, own: Own) -> None:
    answers = [b"+1\n", b"+2\n-3 full no\n", None, b"+1\n"]
    publisher, queues = world(lambda some: answers.pop(0) if some else b"")
    assert queues.send(QUEUE, messages("a")) == [None]
    (idle,) = queues._idle
    seen: dict[int, Any] = {}
    idle.exchange(QUEUE, messages("b", "c"), seen, time.monotonic() + 5.0)
    assert list(seen) == [0, 1]

    class Half:
        def exchange(self, queue: str, some: Sequence[Outgoing], found: dict[int, Any], until: float) -> None:
            found[0] = None
            raise ConnectionResetError

    queues._idle.append(Half())
    answers[:] = [b"+1\n"]
    assert queues.send(QUEUE, messages("d", "e")) == [None, None]
    assert ([one.body for one in publisher.got], own.sent) == ([*"abce"], [])
    assert len(queues._idle) == 1, "the connections of the publisher that ended are gone"


def test_a_publisher_is_asked_again_a_second_after_it_was_away_and_then_as_before(world: Any, own: Own) -> None:
    clock = VirtualClock(0.0)
    clock.advance(100.0)
    _, queues = world(None, clock=clock)
    assert queues.send(QUEUE, messages("a")) == [None]
    publisher, _ = world(confirming)
    clock.advance(0.5)
    assert queues.send(QUEUE, messages("b")) == [None]
    assert (own.sent, publisher.got) == (["a", "b"], [])
    clock.advance(0.5)
    assert queues.send(QUEUE, messages("c")) == queues.send(QUEUE, messages("d")) == [None]
    assert ([one.body for one in publisher.got], own.sent) == (["c", "d"], ["a", "b"])


def test_half_of_the_usual_time_is_enough_to_answer(world: Any, own: Own) -> None:
    clock = VirtualClock(0.0)

    def slow(some: Sequence[PublishFrame]) -> bytes:
        clock.advance(0.125)
        return b""

    _, queues = world(slow, clock=clock, patience=0.5)
    assert queues.send(QUEUE, messages("a")) == [None]
    assert own.sent == ["a"]
    assert len(queues.logged.messages("warning")) == 1
