"""The publisher process: one loop that reads what programs publish, stores it or sends it by its lanes, and confirms it.

A turn of the loop reads all programs that have written, then stores all their messages in one transaction (`ack=stored`) or gives them to
the lanes (`ack=sent`), and then writes one confirmation to each program. So a confirmation means that the queue has accepted the message,
or that it is committed on disk; in memory alone is only what a program still keeps.

Back-pressure: a program has at most `WINDOW` unsettled publications, and while too many messages wait, no program is read. A full spool
refuses messages, and their programs send them themselves. Publications that have not arrived whole are bounded together: the connection
that has waited longest is closed. Bytes that cannot be read end their own connection with a code, and no other.

The first signal ends it: no program is read any more, the lanes finish their messages, which are confirmed, and stored messages stay on
disk.
"""

from __future__ import annotations

import select
import selectors
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sedano.engine.drafts import Addressed
from sedano.engine.publisher.spool import Spool
from sedano.errors import SedanoError, UnknownQueue
from sedano.host.listening_socket import Listening
from sedano.host.publisher_lanes import SendingLanes, SpoolLanes, Waiting
from sedano.host.publisher_peer import Peer, forbidden, user_of
from sedano.model.publisher_frames import (
    BUSY,
    SENT,
    STORED,
    WINDOW,
    FrameError,
    PublisherInfo,
    PublishFrame,
    StatRequest,
    info_line,
    refusal_of,
    stat_line,
)
from sedano.model.queues import COMMANDS, misplaced, objection
from sedano.ports import EVENTS, Outgoing, Ports

MOST_WAITING, MOST_BYTES = 20_000, 64 * 2**20
"""The messages that wait for a lane, and the characters of their bodies, beyond which no program is read."""
MOST_HALF = MOST_BYTES // 2
"""The bytes of publications that have not arrived whole; beyond that, the connection that has waited longest is closed."""
LOOK_S = 0.2
"""How long the loop waits at most, in seconds."""
TOGETHER_MS = 1
"""How long the loop waits for a lane, in milliseconds, before it reads programs whose messages would wait for that lane, or join it."""


class PublisherSettings(NamedTuple):
    """The meaning of a confirmation (*ack*), the *deployment* in the first line, the ids of *users* that may publish, and the most
    *connections*; *drain*: seconds to end after a signal.
    """

    ack: str
    deployment: str
    users: frozenset[int]
    connections: int
    drain: float


class Stopped(NamedTuple):
    """The counts of a publisher that has ended: messages *sent*, *refused*, still *stored*, and *unsent*, which their programs keep."""

    sent: int
    refused: int
    stored: int
    unsent: int


class PublisherProcess:
    """The loop of a publisher.

    Args:
        listening: its socket.
        ports: the deployment.
        settings: see `PublisherSettings`.
        lanes: makes the lanes that send from memory, with the function that wakes this loop.
        spool: stores messages; needed with `ack=stored`.
        stored: sends what the spool has.
    """

    def __init__(
        self, listening: Listening, ports: Ports, settings: PublisherSettings, lanes: Callable[[Callable[[], None]], SendingLanes],
        spool: Spool | None, stored: SpoolLanes | None,
    ) -> None:  # fmt: skip
        """Read nothing yet."""
        self._listening, self._ports, self._settings, self._spool, self._stored = listening, ports, settings, spool, stored
        self._woken, self._wakes = socket.socketpair()
        self._woken.setblocking(False)
        self._wakes.setblocking(False)
        self._waits = select.poll()
        self._waits.register(self._woken, select.POLLIN)
        self._lanes = lanes(self._wake)
        self._selector = selectors.DefaultSelector()
        self._peers: set[Peer] = set()
        self._changed: set[Peer] = set()
        self._half: dict[Peer, int] = {}
        self._half_bytes = 0
        self._known: set[str] = set()
        self._sent = self._refused = 0
        self._is_away = self._is_paused = False
        self._info = info_line(PublisherInfo(WINDOW, settings.ack, settings.deployment))

    def run(self, asked: Sequence[int], signals: socket.socket, turned: Callable[[], None]) -> Stopped:
        """Publish until a signal is in *asked*, whose arrival makes *signals* readable; *turned* is called after each turn."""
        for channel in (self._listening.channel, self._woken, signals):
            self._selector.register(channel, selectors.EVENT_READ, channel)
        while not asked:
            self._turn()
            turned()
        self._selector.unregister(self._listening.channel)
        self._selector.unregister(signals)
        self._listening.close()  # a program that begins now sends itself, and does not wait
        if self._stored is not None:
            self._stored.stop()
        until = time.monotonic() + self._settings.drain
        while self._is_draining() and time.monotonic() < until:
            self._turn(reads=False)
            turned()
        return self._closed()

    def counts(self) -> Mapping[str, int]:
        """Return the counts that a program may ask for."""
        stored = self._stored
        return {
            "sent": self._sent + (stored.sent if stored is not None else 0), "refused": self._refused, "waiting": self._lanes.waiting,
            "stored": stored.stored if stored is not None else 0, "programs": len(self._peers), "calls": self._lanes.calls,
        }  # fmt: skip

    def _turn(self, *, reads: bool = True) -> None:
        self._changed = set()
        arrived = self._arrived()
        if arrived:
            self._take(arrived)
        self._collect()
        self._lanes.start()
        was_paused, self._is_paused = self._is_paused, not reads or self._is_full()
        for peer in set(self._peers) if not reads or self._is_paused != was_paused else self._changed:
            self._settle(peer, stopping=not reads)

    def _arrived(self) -> list[tuple[Peer, PublishFrame]]:
        """Wait for something to do, read the programs, and return what they publish."""
        arrived: list[tuple[Peer, PublishFrame]] = []
        if self._lanes.busy or self._lanes.gathers:  # more messages arrive meanwhile, for the same turn
            self._waits.poll(TOGETHER_MS)
        for key, events in self._selector.select(0 if self._lanes.gathers else LOOK_S):
            if isinstance(key.data, Peer):
                self._changed.add(key.data)
                if events & selectors.EVENT_READ and not self._is_paused:
                    self._read(key.data, arrived)
            elif key.data is self._listening.channel:
                self._accept()
            elif key.data is self._woken:
                self._woken.recv(4_096)
        return arrived

    def _is_full(self) -> bool:
        return self._lanes.waiting > MOST_WAITING or self._lanes.bytes + self._half_bytes > MOST_BYTES

    def _is_draining(self) -> bool:
        sending = self._lanes.busy or self._lanes.waiting
        return bool(sending or self._peers or (self._stored is not None and self._stored.are_running()))

    def _accept(self) -> None:
        try:
            channel, _ = self._listening.channel.accept()
        except OSError:  # the program has left already
            return
        channel.setblocking(False)
        peer, user = Peer(channel, self._ports.queues.bounds.max_bytes), user_of(channel)
        if user not in self._settings.users:
            peer.end(forbidden(user))
        elif len(self._peers) >= self._settings.connections:
            peer.end(FrameError(BUSY, f"{self._settings.connections} programs are connected"))
        else:
            peer.say(self._info)
        self._peers.add(peer)
        self._changed.add(peer)

    def _read(self, peer: Peer, arrived: list[tuple[Peer, PublishFrame]]) -> None:
        frames = peer.read()
        if frames is None:
            self._drop(peer)
            return
        asked = False
        for frame in frames:
            if not isinstance(frame, StatRequest):
                self._one(peer, frame, arrived)
            elif not asked:
                peer.say(stat_line(self.counts()))
                asked = True
        self._count_half(peer, is_new=bool(frames))

    def _count_half(self, peer: Peer, *, is_new: bool) -> None:
        """Count what *peer* has written of its next publication, which *is_new* if others have arrived; end the oldest ones beyond the
        bound.
        """
        before = self._half.pop(peer, 0) if is_new else self._half.get(peer, 0)
        unread = peer.reader.unread
        self._half_bytes += unread - before
        if unread:
            self._half[peer] = unread
        else:
            self._half.pop(peer, None)
        while self._half_bytes > MOST_HALF:
            oldest = next(iter(self._half))
            self._half_bytes -= self._half.pop(oldest)
            oldest.end(FrameError(BUSY, f"more than {MOST_HALF} bytes wait for the rest of their publications"))
            self._changed.add(oldest)

    def _one(self, peer: Peer, frame: PublishFrame | FrameError, arrived: list[tuple[Peer, PublishFrame]]) -> None:
        if isinstance(frame, FrameError):
            self._ports.telemetry.log("warning", "a connection was closed: its bytes cannot be read", code=frame.code, reason=frame.text)
            peer.end(frame)
        else:
            wrong = self._objection(frame)
            if wrong is None:
                arrived.append((peer, frame))
            else:
                self._refuse(peer, frame.seq, wrong)

    def _objection(self, one: PublishFrame) -> SedanoError | None:
        """Return why *one* can never be sent; no call is made."""
        if one.queue not in self._known:
            if one.queue != EVENTS and not one.queue.startswith(COMMANDS):
                return UnknownQueue(f"{one.queue!r} is not a command queue or {EVENTS!r}, to which programs publish")
            try:
                self._ports.queues.send(one.queue, ())
            except SedanoError as wrong:
                return wrong
            self._known.add(one.queue)
        bounds = self._ports.queues.bounds
        return objection(one.body, one.delay, one.tenant, {}, bounds) or misplaced(one.queue, one.delay, None, bounds=bounds)

    def _refuse(self, peer: Peer, seq: int, error: SedanoError) -> None:
        self._refused += 1
        peer.refuse(seq, refusal_of(error))

    def _take(self, arrived: Sequence[tuple[Peer, PublishFrame]]) -> None:
        """Store what has arrived, or give it to the lanes."""
        if self._settings.ack == SENT or self._spool is None:
            for peer, one in arrived:
                self._lanes.add(one.queue, Waiting(peer, one.seq, Outgoing(one.body, one.delay, one.tenant)))
            return
        messages = [Addressed(one.queue, Outgoing(one.body, one.delay, one.tenant)) for _, one in arrived]
        try:
            self._spool.keep(messages, self._ports.clock.now())
        except SedanoError as wrong:
            self._ports.telemetry.log("error", "the publisher cannot store messages: their programs send them", error=str(wrong))
            for peer, one in arrived:
                self._refuse(peer, one.seq, wrong)
            return
        for peer, one in arrived:
            peer.confirmations.accept(one.seq)
        if self._stored is not None:
            self._stored.added(len(messages))

    def _collect(self) -> None:
        """Confirm or refuse what the lanes have tried to send."""
        for batch, answers in self._lanes.ended():
            for one, error in zip(batch, answers, strict=True):
                if error is None:
                    self._sent += 1
                    one.peer.confirmations.accept(one.seq)
                else:
                    self._refuse(one.peer, one.seq, error)
                self._changed.add(one.peer)
            self._note(next((error for error in answers if error is not None), None), len(batch))

    def _note(self, error: SedanoError | None, count: int) -> None:
        """Log the first batch that is not sent, and the first that is sent again."""
        if error is not None and not self._is_away:
            self._ports.telemetry.log("warning", "a queue did not accept messages: their programs keep them", count=count, error=str(error))
        self._is_away = error is not None

    def _settle(self, peer: Peer, *, stopping: bool) -> None:
        """Write what is due to *peer*, and wait for its next events; drop it when it has ended."""
        if peer not in self._peers:
            return
        if not peer.flush() or (peer.is_idle and (stopping or peer.is_ended)):
            self._drop(peer)
            return
        wanted = peer.wanted & ~selectors.EVENT_READ if self._is_paused else peer.wanted
        if wanted == peer.mask:
            return
        if not peer.mask:
            self._selector.register(peer.channel, wanted, peer)
        elif wanted:
            self._selector.modify(peer.channel, wanted, peer)
        else:
            self._selector.unregister(peer.channel)
        peer.mask = wanted

    def _drop(self, peer: Peer) -> None:
        if peer.mask:
            self._selector.unregister(peer.channel)
            peer.mask = 0
        self._peers.discard(peer)
        self._half_bytes -= self._half.pop(peer, 0)
        peer.close()

    def _closed(self) -> Stopped:
        for peer in list(self._peers):
            self._drop(peer)
        self._selector.close()
        self._woken.close()
        counts = self.counts()
        stored = self._spool.waiting() if self._spool is not None and self._settings.ack == STORED else counts["stored"]
        return Stopped(sent=counts["sent"], refused=self._refused, stored=stored, unsent=self._lanes.waiting)

    def _wake(self) -> None:
        try:
            self._wakes.send(b".")
        except OSError:  # it is awake, or has ended
            return
