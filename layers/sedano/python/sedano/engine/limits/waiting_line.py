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
from typing import NamedTuple

from sedano.engine import wake_ups
from sedano.engine.wake_ups import TakenOff, WaitingMessage
from sedano.errors import SedanoError
from sedano.model.limits.concurrency import RESERVED_MS, Permit
from sedano.ports import Delivery, Ports


class WaitingLine:
    """Lines of messages by the name of their limit."""

    def __init__(self, ports: Ports) -> None:
        """Use *ports*."""
        self._ports = ports

    def join(self, name: str, delivery: Delivery, until: float, is_free: Callable[[], bool]) -> bool:
        """Put *delivery*, which is invisible until *until* (epoch s), in the line of *name*; return whether it will be woken.

        If a permit *is_free* by now, it is visible again at once. False: ten wait already.
        """
        now = int(self._ports.clock.now() * 1000)
        text = f"{now:013d}{wake_ups.SEPARATOR}{wake_ups.written(delivery, until)}"
        if not self._ports.limits.line_up(name, text, now):
            return False
        if is_free() and self._ports.limits.leave_line(name, text):
            self._ports.queues.hold(delivery, 0.0)
        return True

    def wake(self, name: str, permit: Permit) -> None:
        """Make the first message of the line visible, and keep *permit*, which was given back, for it."""
        try:
            texts = self._ports.limits.boards(name, 0).waiting
        except SedanoError as away:
            self._ports.telemetry.log("warning", "line not read; its messages wait until a permit expires", permit=name, error=str(away))
            return
        wake_ups.wake_first(self._ports, texts, _InLine(self._ports, name, permit))


class _InLine(NamedTuple):
    """The messages in the line of *name*, for the *permit* that was given back."""

    ports: Ports
    name: str
    permit: Permit

    def take_off(self, message: WaitingMessage) -> TakenOff:
        """Take *message* out of the line."""
        return TakenOff(self.ports.limits.leave_line(self.name, message.text))

    def keep(self, message: WaitingMessage) -> None:
        """Keep the permit for *message*."""
        until, message_id = int(self.ports.clock.now() * 1000) + RESERVED_MS, message.delivery.message_id
        try:
            self.ports.limits.keep(self.name, self.permit, message_id, until)
        except SedanoError as away:
            log = self.ports.telemetry.log
            log("warning", "permit not kept for the message that is woken", permit=self.name, message_id=message_id, error=str(away))
