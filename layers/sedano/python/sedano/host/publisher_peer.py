"""A program that is connected to the publisher: the bytes that arrived, the answers that are due, and who it is."""

from __future__ import annotations

import os
import selectors
import socket
import struct
from contextlib import suppress

from sedano.model.publisher_frames import (
    FORBIDDEN,
    TOO_MANY,
    WINDOW,
    Confirmations,
    Frame,
    FrameError,
    FrameReader,
    PublishFrame,
    Refusal,
    confirmation_line,
    error_line,
    refusal_line,
)

CHUNK = 65_536
MOST_UNREAD = 65_536
"""The answers, in bytes, that a program may leave unread before the publisher stops reading from it."""
DISCARDS = 64
"""The pieces that are read and thrown away before a broken connection is closed, so that its last line arrives."""


class Peer:
    """One connection. *channel* does not block."""

    __slots__ = ("_out", "channel", "confirmations", "is_closing", "is_ended", "mask", "reader", "seq")

    def __init__(self, channel: socket.socket, most: int) -> None:
        """Read bodies of at most *most* bytes."""
        self.channel, self.reader, self.confirmations = channel, FrameReader(most), Confirmations()
        self._out = bytearray()
        self.seq = 0
        """The number of its last publication."""
        self.is_closing = False
        """Whether it is closed as soon as its last line is written."""
        self.is_ended = False
        """Whether the program writes no more, and only waits for its answers."""
        self.mask = 0
        """The events that the loop waits for."""

    def read(self) -> list[Frame] | None:
        """Return the frames that have arrived; None: the connection is broken."""
        try:
            data = self.channel.recv(CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            return None
        self.is_ended = not data
        frames = self.reader.feed(data)
        for place, frame in enumerate(frames):
            if isinstance(frame, PublishFrame):
                self.seq = frame.seq
                if self.seq - self.confirmations.settled > WINDOW:
                    self.reader.stop()
                    return [*frames[:place], FrameError(TOO_MANY, f"more than {WINDOW} publications wait for their answers")]
        return frames

    @property
    def is_idle(self) -> bool:
        """Whether each of its publications is settled and each answer written."""
        return self.seq == self.confirmations.settled and not self._out

    @property
    def wanted(self) -> int:
        """The events that the loop should wait for."""
        reads = 0 if self.is_closing or self.is_ended or len(self._out) > MOST_UNREAD else selectors.EVENT_READ
        return reads | (selectors.EVENT_WRITE if self._out else 0)

    def say(self, line: bytes) -> None:
        """Write *line* when the loop flushes."""
        if not self.is_closing:
            self._out += line

    def refuse(self, seq: int, refusal: Refusal) -> None:
        """Refuse publication *seq*."""
        self.confirmations.refuse(seq)
        self.say(refusal_line(seq, refusal))

    def end(self, error: FrameError) -> None:
        """Write why the connection is closed, and close it then."""
        self.say(error_line(error))
        self.reader.stop()
        self.is_closing = True

    def flush(self) -> bool:
        """Write what is due; return whether the connection goes on."""
        upto = self.confirmations.due()
        if upto is not None:
            self.say(confirmation_line(upto))
        try:
            while self._out:
                del self._out[: self.channel.send(self._out)]
        except BlockingIOError:
            return True
        except OSError:
            return False
        return not self.is_closing

    def close(self) -> None:
        """Close the connection; unread bytes are thrown away first, because they would take the last line with them."""
        if self.is_closing:
            with suppress(OSError):
                for _ in range(DISCARDS):
                    if not self.channel.recv(CHUNK):
                        break
        self.channel.close()


def user_of(channel: socket.socket) -> int:
    """Return the id of the user at the other end of a unix socket."""
    _, user, _ = struct.unpack("3i", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return int(user)


def forbidden(user: int) -> FrameError:
    """Return the last line for a program of a *user* that may not publish here."""
    return FrameError(FORBIDDEN, f"user {user} may not publish here; start the publisher of user {os.getuid()} with --allow {user}")
