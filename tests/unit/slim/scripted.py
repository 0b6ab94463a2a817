"""A server on loopback that follows a script, one act for each request, and slim clients that call it."""

import json
import socket
import ssl
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NamedTuple, Self

import botocore.session
from botocore.config import Config
from moto.core.models import botocore_stubber

from sedano.aws.client.slim.client import SlimClient
from sedano.aws.client.slim.request_form import learned

TRIES = 3
READ_S = 0.25


class Received(NamedTuple):
    """One request: the number of its connection, its headers (names in lower case) and its body."""

    connection: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def asked(self) -> Any:
        """The parameters of the call."""
        return json.loads(self.body)


Act = Callable[[socket.socket, Received], bool]
"""Answers a request; returns whether the connection stays open."""


def reply(content: bytes, status: int = 200, *, stays: bool = True, crc: bool = True, plain: bool = False, **headers: str) -> Act:
    """Answer with *content*. *plain*: no request id and no checksum; header names are written with underscores."""
    given = {} if plain else {"x-amzn-requestid": "request-1", **({"x-amz-crc32": str(zlib.crc32(content))} if crc else {})}
    given |= {"content-length": str(len(content)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    return raw(f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + content, stays=stays)


def raw(text: bytes, *, stays: bool = False) -> Act:
    """Send *text* as it is."""

    def act(connection: socket.socket, _: Received) -> bool:
        connection.sendall(text)
        return stays

    return act


def truth(received: Received) -> bytes:
    """The one right answer to a request: it names what was asked for."""
    asked = received.asked
    if "Entries" in asked:
        done = [{"Id": entry["Id"], "MessageId": entry.get("MessageBody", ""), "MD5OfMessageBody": "0" * 32} for entry in asked["Entries"]]
        return json.dumps({"Successful": done, "Failed": []}).encode()
    if "Key" not in asked:
        return b"{}"
    return json.dumps({"Attributes": {"pk": asked["Key"]["pk"]}}).encode()


def answered(connection: socket.socket, received: Received) -> bool:
    """Answer truthfully."""
    return reply(truth(received))(connection, received)


class Unread(NamedTuple):
    """An act that does not read its request."""

    act: Callable[[socket.socket], None]


def reset(connection: socket.socket) -> None:
    """End a connection with a reset instead of an end of stream."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Scripted:
    """The server: each request is answered by the next act of *script*, and truthfully when it is over."""

    def __init__(self, *script: Act | Unread, secure: ssl.SSLContext | None = None) -> None:
        self._secure = secure
        self.script, self.received, self.unread, self.connections = list(script), list[Received](), 0, 0
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._socket = socket.create_server(("127.0.0.1", 0))
        port = self._socket.getsockname()[1]
        self.url = f"https://localhost:{port}" if secure else f"http://127.0.0.1:{port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for one in (self._socket, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    @property
    def sends(self) -> int:
        """How many requests arrived, read or not."""
        return len(self.received) + self.unread

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection, self.connections), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            if self._secure is not None:
                connection = self._secure.wrap_socket(connection, server_side=True)
                self._open.add(connection)
            while (self._secure or connection.recv(1, socket.MSG_PEEK)) and self._turn(connection, number):
                pass
        except OSError:
            pass
        finally:
            connection.close()

    def _turn(self, connection: socket.socket, number: int) -> bool:
        with self._lock:
            act = self.script.pop(0) if self.script else answered
            if isinstance(act, Unread):
                self.unread += 1
                act.act(connection)
                return False
        received = read_request(connection, number)
        self.received.append(received)
        return act(connection, received)


def read_request(connection: socket.socket, number: int) -> Received:
    """Read one request."""
    data = b""
    while b"\r\n\r\n" not in data:
        found = connection.recv(65536)
        if not found:
            raise ConnectionError("the client is gone")
        data += found
    head, _, body = data.partition(b"\r\n\r\n")
    pairs = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
    headers = {name.lower(): value for name, _, value in pairs}
    while len(body) < int(headers["content-length"]):
        body += connection.recv(65536)
    return Received(number, headers, body)


@cache
def source(access_key: str = "AKIDEXAMPLE", token: str | None = None) -> Any:
    """A session of botocore without moto's handler, which answers in the process whatever a test calls."""
    session: Any = botocore.session.Session()
    session.unregister("before-send", botocore_stubber)
    session.set_credentials(access_key, "secret", token)
    session.set_config_variable("region", "eu-west-1")
    return session


class Client(NamedTuple):
    """A slim client, the attempts that it counted, and the pauses that it made."""

    slim: SlimClient
    counts: Counter[str]
    pauses: list[float]


def client_of(session: Any, service: str, url: str, **config: Any) -> Any:
    """Return botocore's client, configured as sedano configures it."""
    settings = {"retries": {"mode": "standard", "total_max_attempts": TRIES}, "parameter_validation": False, "read_timeout": READ_S}
    return session.create_client(service, endpoint_url=url, config=Config(**{"connect_timeout": 2, **settings, **config}))


@contextmanager
def slim(
    url: str, service: str = "dynamodb", session: Any = None, clock: Callable[[], float] | None = None, **config: Any
) -> Iterator[Client]:
    """A slim client of *service* at *url*, which makes no pauses and is closed at the end."""
    session = session or source()
    botocores, counts, pauses = client_of(session, service, url, **config), Counter[str](), list[float]()
    form = learned(botocores, service, session.get_credentials())
    options = {} if clock is None else {"clock": clock}

    def count(event: str) -> None:
        counts[event.partition(".")[2]] += 1

    made = SlimClient(botocores, service, form, session.get_credentials(), count, sleep=pauses.append, **options)
    try:
        yield Client(made, counts, pauses)
    finally:
        made.close()
