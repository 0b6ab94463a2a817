"""The line of messages that wait for a permit of a limit with several boards: any permit that is given back wakes the first of them.

The line and each board are items of their own, so no write covers both. No wake-up is lost, because each side writes first and reads then:

- a **waiter** (1) makes its message invisible, (2) puts it in the line, (3) reads all boards, strongly consistent;
- a **holder** (a) gives its permit back, (b) reads the line, strongly consistent, (c) takes the first message out, (d) makes it visible.

If (a) is before (3), the waiter sees the free permit, or that of a later holder, for whom the same holds. Then it takes its message out
of the line and makes it visible. If (a) is after (3), then (b) is after (2), and the holder finds the message, or another that was
before it. One caller alone takes a message out, and makes it visible after (1). So each permit that is given back while messages wait wakes
one of them, or one of them sees it.

If a worker dies between (c) and (d), or the answer of (c) is lost, the message is invisible until its own wait is over: until the first
permit expires. A permit is kept for the woken message for a moment; if another has taken it by then, the message waits anew.
"""

from __future__ import annotations

from collections.abc import Callable

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

        A message that was delivered since is skipped.
        """
        for text in self._ports.limits.boards(name, 0).waiting:
            if not self._ports.limits.leave_line(name, text):
                continue  # another worker wakes it
            _, queue, handle, message_id, until = text.split(_SEPARATOR)
            now = self._now()
            if float(until) > now / 1000:
                self._ports.limits.keep(name, permit, message_id, now + RESERVED_MS)
                self._ports.queues.hold(Delivery(queue, message_id, handle, ""), 0.0)
                return

    def _now(self) -> int:
        return int(self._ports.clock.now() * 1000)
