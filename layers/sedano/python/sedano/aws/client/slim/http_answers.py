"""Reads one HTTP/1.1 answer from a stream: whole, or not at all.

The length of a body is that of `Content-Length`, or of its chunks. An answer with neither ends with its connection; only its content can
show whether it is whole (a JSON object that was cut off cannot be parsed). An answer that could be understood in two ways (two lengths, a
length and chunks, folded or malformed headers) is refused: it is not from AWS, and nothing after it can be trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

MOST_HEAD = 1 << 16
"""The most bytes of the status line and the headers."""
MOST_BODY = 1 << 26
"""The most bytes of a body: DynamoDB's largest answers have 16 MB."""
MOST_INTERIM = 8
"""The most interim answers (100 to 199) before the answer itself."""
_STATUS = re.compile(r"HTTP/1\.([01]) ([1-5][0-9]{2})(?: .*)?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_EMPTY = frozenset({204, 304})


class BrokenAnswer(Exception):
    """The connection ended before the answer did, or the answer is not HTTP."""


class RawAnswer(NamedTuple):
    """One answer; the names of *headers* are in lower case. *reusable*: another request may follow on the same connection."""

    status_code: int
    headers: dict[str, str]
    content: bytes
    reusable: bool


class _Stream:
    """The bytes of a connection, as they are received."""

    __slots__ = ("_receive", "data")

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._receive, self.data = receive, b""

    def more(self) -> None:
        """Receive once."""
        found = self._receive()
        if not found:
            raise BrokenAnswer("the connection was closed before the end of the answer")
        self.data += found

    def until(self, end: bytes, most: int) -> bytes:
        """Return the bytes before *end*, at most *most*."""
        while (at := self.data.find(end)) < 0 and len(self.data) <= most:
            self.more()
        if at < 0 or at > most:
            raise BrokenAnswer(f"more than {most} bytes of headers")
        found, self.data = self.data[:at], self.data[at + len(end) :]
        return found

    def exactly(self, number: int) -> bytes:
        """Return the next *number* bytes."""
        if number > len(self.data):
            parts, missing = [self.data], number - len(self.data)
            while missing > 0:
                self.data = b""
                self.more()
                parts.append(self.data)
                missing -= len(self.data)
            self.data = b"".join(parts)
        found, self.data = self.data[:number], self.data[number:]
        return found

    def rest(self) -> bytes:
        """Return the bytes until the connection ends."""
        parts, size = [self.data], len(self.data)
        while found := self._receive():
            parts.append(found)
            size += len(found)
            if size > MOST_BODY:
                raise BrokenAnswer(f"more than {MOST_BODY} bytes")
        self.data = b""
        return b"".join(parts)


def read_answer(receive: Callable[[], bytes]) -> RawAnswer:
    """Return the next answer; interim answers such as 100 are passed over.

    Args:
        receive: returns the next bytes, or nothing at the end of the connection.

    Raises:
        BrokenAnswer: there is no whole answer. Errors of *receive* are passed on.
    """
    stream = _Stream(receive)
    for _ in range(MOST_INTERIM):
        minor, status, headers = _head(stream.until(b"\r\n\r\n", MOST_HEAD).decode("latin-1"))
        if status >= 200:
            content, is_framed = _body(stream, status, headers)
            stays = minor == "1" and is_framed and not stream.data and "close" not in headers.get("connection", "").lower()
            return RawAnswer(status, headers, content, stays)
        if status == 101:
            break
    raise BrokenAnswer("no answer after interim answers")


def _head(text: str) -> tuple[str, int, dict[str, str]]:
    """Return the minor version of HTTP, the status and the headers."""
    lines = text.split("\r\n")
    matched = _STATUS.fullmatch(lines[0])
    if matched is None or text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
        raise BrokenAnswer("the answer is not HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not _NAME(name):
            raise BrokenAnswer("the answer has a malformed header")
        name, value = name.lower(), value.strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return matched[1], int(matched[2]), headers


def _body(stream: _Stream, status: int, headers: dict[str, str]) -> tuple[bytes, bool]:
    """Return the body, and whether its end was known before the end of the connection."""
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is not None:
        if length is not None or coding.lower() != "chunked":
            raise BrokenAnswer(f"the length of the answer is not known: Transfer-Encoding {coding}")
        return _chunks(stream), True
    if length is not None:
        if not length.isascii() or not length.isdigit() or len(length) > 10 or int(length) > MOST_BODY:
            raise BrokenAnswer(f"the length of the answer is not valid: {length[:40]}")
        return stream.exactly(int(length)), True
    return (b"", True) if status in _EMPTY else (stream.rest(), False)


def _chunks(stream: _Stream) -> bytes:
    parts, size = [], 0
    while True:
        text = stream.until(b"\r\n", 1024).partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", text):
            raise BrokenAnswer("the answer has a malformed chunk")
        length = int(text, 16)
        size += length
        if size > MOST_BODY:
            raise BrokenAnswer(f"more than {MOST_BODY} bytes")
        if not length:
            break
        parts.append(stream.exactly(length))
        if stream.exactly(2) != b"\r\n":
            raise BrokenAnswer("the answer has a malformed chunk")
    while stream.until(b"\r\n", MOST_HEAD):  # trailers: nothing that the client needs
        pass
    return b"".join(parts)
