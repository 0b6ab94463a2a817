"""The lines that a program and the publisher process of its host exchange over a socket. Pure.

    publisher   INFO {"ack":"sent","deployment":"…","version":1,"window":2000}
    program     PUB 1 commands:default 0 - 5      sequence, queue, delay in seconds, tenant or -, bytes of the body; the body follows
    publisher   +1                                every publication up to 1 is confirmed, except those that were refused
    publisher   -2 queue no such queue            publication 2 is refused: a code, and the reason
    program     STAT
    publisher   STAT {"sent":12,…}
    publisher   ERR order …                       the connection is closed: its bytes cannot be read

A body is passed on as it is: the publisher neither decodes nor changes it. A program counts its publications from 1, and keeps each of them
until it is confirmed or refused. At most `WINDOW` publications of one connection may wait for that.

Invariant of `Confirmations`: `+n` is sent only if each publication up to *n* is settled, and the refusal of one of them was sent before.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from sedano.errors import BacklogFull, ConfigurationError, NotAccepted, SedanoError, SpoolError, Unavailable, UnknownQueue

VERSION = 1
WINDOW = 2_000
"""The most publications of one connection that are neither confirmed nor refused."""
LONGEST_HEAD = 512
"""The most bytes of a line that a program sends."""
LONGEST_TEXT = 300
"""The most characters of the reason of a refusal."""
NO_TENANT = "-"
SENT, STORED = "sent", "stored"
"""The meaning of a confirmation: the queue has accepted the message; or it is in the spool of the publisher."""
AWAY, FULL, QUEUE, SETUP, REFUSED = "away", "full", "queue", "setup", "refused"
"""The codes of refusals: the queue cannot be reached; the spool takes no more; the queue is unknown; the deployment or its grants must be
changed; the message can never be accepted."""
MALFORMED, ORDER, TOO_LARGE, TOO_MANY, BUSY, FORBIDDEN = "malformed", "order", "too_large", "too_many", "busy", "forbidden"
"""The codes of errors that end a connection."""


class PublishFrame(NamedTuple):
    """One message that a program gives to the publisher, by its number *seq* in the connection."""

    seq: int
    queue: str
    delay: int
    tenant: str | None
    body: str


class StatRequest(NamedTuple):
    """A program asks for the counts of the publisher."""


class FrameError(NamedTuple):
    """The bytes of a connection cannot be read from here on: a code, and the reason."""

    code: str
    text: str


Frame = PublishFrame | StatRequest | FrameError


class PublisherInfo(NamedTuple):
    """The first line of a publisher: its *window*, the meaning of its confirmations, and the name of its deployment."""

    window: int
    ack: str
    deployment: str


class Refusal(NamedTuple):
    """The publisher does not send a message: a code, and the reason."""

    code: str
    text: str


class FrameReader:
    """Reads the frames of one program, from pieces of any length."""

    __slots__ = ("_buffer", "_last", "_most", "_open", "broken")

    def __init__(self, most: int) -> None:
        """Read bodies of at most *most* bytes."""
        self._most, self._buffer, self._last = most, bytearray(), 0
        self._open: _Head | None = None
        self.broken = False
        """Whether the bytes could not be read: everything after that is ignored."""

    @property
    def unread(self) -> int:
        """How many bytes wait for the rest of their frame."""
        return len(self._buffer)

    def stop(self) -> None:
        """Ignore everything from here on."""
        self.broken = True
        self._buffer.clear()

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that *data* completes; an error is the last one of the connection."""
        if self.broken:
            return []
        self._buffer += data
        frames: list[Frame] = []
        start = 0
        while not self.broken:
            frame, start = self._next(start)
            if frame is None:
                break
            frames.append(frame)
            self.broken = isinstance(frame, FrameError)
        del self._buffer[:start]
        return frames

    def _next(self, start: int) -> tuple[Frame | None, int]:
        """Return the frame at *start* and the place of the next one; None if bytes are missing."""
        if self._open is None:
            end = self._buffer.find(b"\n", start, start + LONGEST_HEAD + 1)
            if end < 0:
                too_long = len(self._buffer) - start > LONGEST_HEAD
                return (FrameError(MALFORMED, f"a line has more than {LONGEST_HEAD} bytes") if too_long else None), start
            read = self._head(bytes(self._buffer[start:end]))
            start = end + 1
            if not isinstance(read, _Head):
                return read, start
            self._open = read
        head, end = self._open, start + self._open.size
        if len(self._buffer) < end:
            return None, start
        self._open = None
        return _publication(head, bytes(self._buffer[start:end])), end

    def _head(self, line: bytes) -> _Head | StatRequest | FrameError:
        words = line.split(b" ")
        if words == [b"STAT"]:
            return StatRequest()
        if words[0] != b"PUB" or len(words) != _WORDS:
            return FrameError(MALFORMED, "write PUB <seq> <queue> <delay> <tenant or -> <bytes>, or STAT")
        seq, delay, size = _number(words[1]), _number(words[3]), _number(words[5])
        queue, tenant = _word(words[2]), _word(words[4])
        if seq is None or delay is None or size is None or queue is None or tenant is None:
            return FrameError(MALFORMED, "seq, delay and bytes are whole numbers; queue and tenant are printable ASCII")
        if seq != self._last + 1:
            return FrameError(ORDER, f"publication {seq} follows {self._last}; number them 1, 2, 3, …")
        if size > self._most:
            return FrameError(TOO_LARGE, f"{size} bytes; a message may have {self._most}")
        self._last = seq
        return _Head(seq, queue, delay, None if tenant == NO_TENANT else tenant, size)


class _Head(NamedTuple):
    seq: int
    queue: str
    delay: int
    tenant: str | None
    size: int


_WORDS = 6
_MOST_DIGITS = 15


def _number(word: bytes) -> int | None:
    return int(word) if word.isdigit() and len(word) <= _MOST_DIGITS else None


def _word(word: bytes) -> str | None:
    text = word.decode("latin-1")
    return text if text and text.isascii() and text.isprintable() else None


def _publication(head: _Head, body: bytes) -> Frame:
    try:
        return PublishFrame(head.seq, head.queue, head.delay, head.tenant, body.decode())
    except UnicodeDecodeError as wrong:
        return FrameError(MALFORMED, f"the body of publication {head.seq} is not UTF-8: {wrong.reason}")


class Confirmations:
    """The settled publications of one connection, at the publisher: they end in any order and are confirmed together."""

    __slots__ = ("_accepted", "_refused", "settled")

    def __init__(self) -> None:
        """Begin before the first publication."""
        self.settled = 0
        """Every publication up to this one is confirmed or refused."""
        self._accepted: set[int] = set()
        self._refused: set[int] = set()

    def accept(self, seq: int) -> None:
        """Note that publication *seq* is safe."""
        self._accepted.add(seq)

    def refuse(self, seq: int) -> None:
        """Note that publication *seq* was refused, and that its refusal is written before the next confirmation."""
        self._refused.add(seq)

    def due(self) -> int | None:
        """Return the number of a confirmation that can be sent now; None: there is nothing new to confirm."""
        confirms = None
        while True:
            following = self.settled + 1
            if following in self._accepted:
                self._accepted.remove(following)
                confirms = following
            elif following in self._refused:
                self._refused.remove(following)
            else:
                return confirms
            self.settled = following


class Unconfirmed:
    """The publications of one connection that are neither confirmed nor refused yet, at the program."""

    __slots__ = ("_pending", "last")

    def __init__(self) -> None:
        """Begin before the first publication."""
        self.last = 0
        self._pending: deque[int] = deque()

    def __len__(self) -> int:
        """Return how many are pending."""
        return len(self._pending)

    def add(self) -> int:
        """Return the number of one more publication."""
        self.last += 1
        self._pending.append(self.last)
        return self.last

    def read(self, line: bytes) -> list[tuple[int, Refusal | None]]:
        """Return the numbers that *line* settles: confirmed (None), or refused.

        Raises:
            ValueError: the line is not a confirmation or a refusal of what is pending.
        """
        if line[:1] == b"+":
            upto = _number(line[1:])
            if upto is None or upto > self.last:
                raise ValueError(f"a confirmation of {line[1:40]!r}; the last publication was {self.last}")
            found: list[tuple[int, Refusal | None]] = []
            while self._pending and self._pending[0] <= upto:
                found.append((self._pending.popleft(), None))
            return found
        words = line.decode(errors="replace").split(" ", 2)
        seq = _number(words[0][1:].encode()) if words[0][:1] == "-" else None
        if seq is None or len(words) < _REFUSAL_WORDS or seq not in self._pending:
            raise ValueError(f"an unreadable answer: {line[:80]!r}")
        self._pending.remove(seq)
        return [(seq, Refusal(words[1], words[2]))]


_REFUSAL_WORDS = 3


def info_line(info: PublisherInfo) -> bytes:
    """Return the first line of a publisher."""
    return b"INFO " + json.dumps({"version": VERSION, **info._asdict()}, separators=(",", ":"), sort_keys=True).encode() + b"\n"


def read_info(line: bytes) -> PublisherInfo:
    """Return the first line of a publisher as a value.

    Raises:
        ValueError: it is not one, or of another version.
    """
    word, _, text = line.partition(b" ")
    if word == b"ERR":
        raise ValueError(text.decode(errors="replace"))
    try:
        given = json.loads(text) if word == b"INFO" else None
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or given.get("version") != VERSION:
        raise ValueError(f"not a publisher of version {VERSION}: {line[:80]!r}")
    window, ack, deployment = given.get("window"), given.get("ack"), given.get("deployment")
    if type(window) is not int or window < 1 or ack not in (SENT, STORED) or not isinstance(deployment, str):
        raise ValueError(f"an incomplete INFO: {line[:80]!r}")
    return PublisherInfo(window, ack, deployment)


def publication_bytes(seq: int, queue: str, delay: int, tenant: str | None, body: str) -> bytes:
    """Return publication *seq* as a program writes it; its queue and tenant must be such that they travel (`travels`)."""
    data = body.encode()
    return f"PUB {seq} {queue} {delay} {NO_TENANT if tenant is None else tenant} {len(data)}\n".encode() + data


@lru_cache(maxsize=1_024)
def travels(word: str) -> bool:
    """Return whether the first line of a publication can carry *word* as its queue or its tenant."""
    return word != NO_TENANT and 1 <= len(word) <= _LONGEST_WORD and word.isascii() and word.isprintable() and " " not in word


_LONGEST_WORD = 200


def confirmation_line(upto: int) -> bytes:
    """Return the confirmation of all publications up to *upto*."""
    return b"+%d\n" % upto


def refusal_line(seq: int, refusal: Refusal) -> bytes:
    """Return the refusal of publication *seq*."""
    return f"-{seq} {refusal.code} {_one_line(refusal.text)}\n".encode(errors="replace")


def error_line(error: FrameError) -> bytes:
    """Return the last line of a connection that cannot be read."""
    return f"ERR {error.code} {_one_line(error.text)}\n".encode(errors="replace")


def stat_line(counts: Mapping[str, int]) -> bytes:
    """Return the counts of the publisher as a line."""
    return b"STAT " + json.dumps(dict(counts), separators=(",", ":"), sort_keys=True).encode() + b"\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_TEXT] or "without a reason"


_KINDS: Iterable[tuple[type[SedanoError], str]] = (
    (BacklogFull, FULL), (SpoolError, FULL), (UnknownQueue, QUEUE), (Unavailable, AWAY),
)  # fmt: skip
_ERRORS: Mapping[str, type[SedanoError]] = {QUEUE: UnknownQueue, SETUP: ConfigurationError, REFUSED: NotAccepted}


def refusal_of(error: SedanoError) -> Refusal:
    """Return the refusal of a message that failed with *error*."""
    code = next((code for kind, code in _KINDS if isinstance(error, kind)), REFUSED if error.is_final else SETUP)
    return Refusal(code, str(error))


def error_of(refusal: Refusal) -> SedanoError | None:
    """Return the error of a refused message; None where the program should send the message itself: only the publisher has no room."""
    if refusal.code == FULL:
        return None
    return _ERRORS.get(refusal.code, Unavailable)(f"publisher: {refusal.text}")
