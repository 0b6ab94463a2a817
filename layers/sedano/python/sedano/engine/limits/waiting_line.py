"""The line of messages that wait for a permit of a limit with several boards: any permit that is given back wakes the first of them.

The line and each board are items of their own, so no write covers both. No wake-up is lost, because each side writes first and reads then:

- a **waiter** (1) makes its message invisible, (2) puts it in the line, (3) reads all boards, strongly consistent;
- a **holder** (a) gives its permit back, (b) reads the line, strongly consistent, (c) takes the first message out, (d) makes it visible.

If (a) is before (3), the waiter sees the free permit, or that of a later holder, for whom the same holds. Then it takes its message out
of the line and makes it visible. If (a) is after (3), then (b) is after (2), and the holder finds the message, or another that was
before it. One caller alone takes a message out, and makes it visible after (1). So each permit that is given back while messages wait wakes
one of them, or one of them sees it.

A wake-up is lost, and the message is invisible until its own wait is over, that is until the first permit of those that it saw expires
or its patience ends, where

- the holder dies after (a) and before (d), or does not give its permit back at all;
- the holder is a worker of a version before boards, or read the limit while it was at most ten: neither reads the line;
- (b) has no answer, or the queue does not take (d) from any message of the line;
- a message of the line was delivered since in another way, and its receipt takes the wake-up: its queue delivered it earlier, or the
  waiter had no answer to (2) or (3), and sent it anew.

If (c) has no answer, (d) follows as if it had: an entry that is still in the line then takes one more wake-up. A permit is kept for the
woken message for a moment, unless that write fails; if another has taken it by then, the message waits anew.
"""

from __future__ import annotations

from collections.abc import Callable

from sedano.errors import SedanoError
from sedano.model.limits.concurrency import RESERVED_MS, Permit
from sedano.ports import Delivery, Ports

_SEPARATOR = "\n"


class WaitingLine:
    """Lines of messages by the name of their limit."""

    def __init__(self, ports: Ports) -> None:
        """Use *ports*."""
        self._ports = ports

    def join(self, name: str, delivery: Delivery, until: float, is_free: Callable[[], bool]) -> bool:
        """Put *delivery*, which is invisible until *until* (epoch s), in the line of *name*; return whether it will be woken.

        If a permit *is_free* by now, it is visible again at once. False: ten wait already.
        """
        now = self._now()
        text = _SEPARATOR.join((f"{now:013d}", delivery.queue, delivery.receipt, delivery.message_id, str(until)))
        if not self._ports.limits.line_up(name, text, now):
            return False
        if is_free() and self._ports.limits.leave_line(name, text):
            self._ports.queues.hold(delivery, 0.0)
        return True

    def wake(self, name: str, permit: Permit) -> None:
        """Make the first message of the line visible, and keep *permit*, which was given back, for it.

        A message that was delivered since is skipped, and so is one that the queue does not make visible.
        """
        try:
            texts = self._ports.limits.boards(name, 0).waiting
        except SedanoError as away:
            self._ports.telemetry.log("warning", "line not read; its messages wait until a permit expires", permit=name, error=str(away))
            return
        for text in texts:
            _, queue, handle, message_id, until = text.split(_SEPARATOR)
            if not self._left(name, text, message_id):
                continue  # another worker wakes it
            now = self._now()
            if float(until) > now / 1000:
                self._keep(name, permit, message_id, now + RESERVED_MS)
                if made_visible(self._ports, Delivery(queue, message_id, handle, "")):
                    return

    def _left(self, name: str, text: str, message_id: str) -> bool:
        """Return whether this caller took *text* out of the line, or may have: without an answer it is unknown."""
        try:
            return self._ports.limits.leave_line(name, text)
        except SedanoError as away:
            tell_unsure(self._ports, message_id, away)
            return True

    def _keep(self, name: str, permit: Permit, message_id: str, until: int) -> None:
        try:
            self._ports.limits.keep(name, permit, message_id, until)
        except SedanoError as away:
            tell = self._ports.telemetry.log
            tell("warning", "permit not kept for the message that is woken", permit=name, message_id=message_id, error=str(away))

    def _now(self) -> int:
        return int(self._ports.clock.now() * 1000)


def made_visible(ports: Ports, delivery: Delivery) -> bool:
    """Make *delivery* visible at once; return whether its queue took that."""
    try:
        ports.queues.hold(delivery, 0.0)
    except SedanoError as error:
        tell = ports.telemetry.log
        tell("warning", "message not woken; it is delivered when its wait is over", message_id=delivery.message_id, error=str(error))
        return False
    return True


def tell_unsure(ports: Ports, message_id: str, away: SedanoError) -> None:
    """Log that it is unknown whether a waiting message was taken off, so that it is made visible in any case."""
    ports.telemetry.log("warning", "not answered whether a message waits; it is woken", message_id=message_id, error=str(away))
