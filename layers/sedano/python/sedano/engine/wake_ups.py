"""Wake-ups: a permit or lease that was given back is kept for the first message that waits for it, and this message is made visible.

Messages wait for a permit at its board or in the line of its limit, and for a singleton at its lease. Each of these is a list of texts, one
for each message: its queue, its receipt, its id, and until when it is invisible. One caller alone takes a message off its list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sedano.errors import SedanoError
from sedano.ports import Delivery, Ports

SEPARATOR = "\n"


class WaitingMessage(NamedTuple):
    """A message of a list: its *text* there, the *delivery* that its receipt belongs to, and until when (epoch s) it is invisible."""

    text: str
    delivery: Delivery
    until: float


class TakenOff(NamedTuple):
    """The answer to a call that takes a message off its list: *done*, or another caller took it off.

    *is_free*: no other caller has taken the permit or the lease since. *waiting*: the texts of the list after the call, if the answer shows
    them.
    """

    done: bool
    is_free: bool = True
    waiting: Sequence[str] | None = None


class WaitingList(Protocol):
    """A list of messages that wait for one permit or lease."""

    def take_off(self, message: WaitingMessage) -> TakenOff:
        """Take *message* off the list."""

    def keep(self, message: WaitingMessage) -> None:
        """Keep the permit or lease for *message*, which was taken off; does nothing if `take_off` does that in the same write."""


def written(delivery: Delivery, until: float) -> str:
    """Return the text of *delivery*, which is invisible until *until* (epoch s)."""
    return SEPARATOR.join((delivery.queue, delivery.receipt, delivery.message_id, str(until)))


def read(text: str) -> WaitingMessage:
    """Return the message of *text*, which may have other words in front."""
    queue, receipt, message_id, until = text.split(SEPARATOR)[-4:]
    return WaitingMessage(text, Delivery(queue, message_id, receipt, ""), float(until))


def wake_first(ports: Ports, texts: Sequence[str], waiting: WaitingList) -> bool:
    """Make the first message of *texts* visible and keep the permit or lease for it; return whether that is done, or nothing is free.

    A message that was delivered since is followed by the next, and so is one that another caller took off, because two things that are
    given back at once wake two messages, or one that its queue does not make visible. A call without an answer may have taken the message
    off, so it is made visible as if it had.
    """
    left = list(texts)
    while left:
        message = read(left.pop(0))
        answer = _taken_off(ports, message, waiting)
        if not answer.is_free:
            return True
        if answer.waiting is not None:
            left = [text for text in left if text in answer.waiting]
        if answer.done and message.until > ports.clock.now():
            waiting.keep(message)
            if _made_visible(ports, message.delivery):
                return True
    return False


def _taken_off(ports: Ports, message: WaitingMessage, waiting: WaitingList) -> TakenOff:
    try:
        return waiting.take_off(message)
    except SedanoError as away:
        log, message_id = ports.telemetry.log, message.delivery.message_id
        log("warning", "not answered whether a message waits; it is woken", message_id=message_id, error=str(away))
        return TakenOff(done=True)


def _made_visible(ports: Ports, delivery: Delivery) -> bool:
    try:
        ports.queues.hold(delivery, 0.0)
    except SedanoError as error:
        log = ports.telemetry.log
        log("warning", "message not woken; it is delivered when its wait is over", message_id=delivery.message_id, error=str(error))
        return False
    return True
