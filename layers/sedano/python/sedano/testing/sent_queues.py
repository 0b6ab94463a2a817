"""The queues of the world: those in memory, which also remember what was sent."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.errors import MessageRefused, SedanoError
from sedano.memory import MemoryQueues, queue_keys
from sedano.model.messages import codec
from sedano.model.queues import is_fifo
from sedano.model.timers import opened
from sedano.ports import PARKED, RECORDS, Clock, Outgoing

MOST_RECEIVES = 25
COPY_S = 1


class SentQueues(MemoryQueues):
    """Queues in memory that remember what was sent to tasks and events."""

    def __init__(self, clock: Clock, queues: Sequence[str], *, twice: bool = False) -> None:
        """Create these command *queues*; messages become dead letters after more receives than the engine's own limits, as in the deployed
        stack.

        *twice*: every message is delivered twice, the copy a second later, except parked ones and those of a queue that keeps order.
        """
        super().__init__(clock, queue_keys(queues), max_receives=MOST_RECEIVES)
        self.sent: list[str] = []
        self._twice = twice
        self._copies: dict[str, str] = {}
        self._timed: set[str] = set()

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send, and remember the messages that the queue took."""
        answers = super().send(queue, messages)
        accepted = [m for m, refused in zip(messages, answers, strict=True) if refused is None] if any(answers) else messages
        if queue not in (RECORDS, PARKED):
            self.sent += [m.body for m in accepted if _id(m.body) not in self._timed] if self._timed else [m.body for m in accepted]
        if self._twice and queue != PARKED and not is_fifo(queue):
            super().send(queue, [m._replace(delay=min(m.delay + COPY_S, self.bounds.max_delay)) for m in accepted])
        return answers

    def later(self, queue: str, message: Outgoing, seconds: float) -> str:
        """Set a timer, and remember its message as sent now, not again when the timer fires."""
        body = opened(message.body).body
        if _id(body) not in self._timed:
            self._timed.add(_id(body))
            self.sent.append(body)
        message_id = super().later(queue, message, seconds)
        if self._twice:
            self._copies[message_id] = super().later(queue, message, seconds + COPY_S)
        return message_id

    def forget(self, queue: str, message_id: str) -> None:
        """Remove a message and its copy."""
        for one in (message_id, self._copies.pop(message_id, None)):
            if one is not None:
                super().forget(queue, one)


def _id(body: str) -> str:
    """Return the id of the message *body*; the body itself if it is not a message, as some tests send."""
    try:
        return codec.decode(body).id
    except MessageRefused:
        return body
